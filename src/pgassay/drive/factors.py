"""The factors of the drive room: where PostgreSQL's bytes go, and what lies under them.

`drive.data` and `drive.wal` name a drive, `drive.data.NAME` says more of it; `drive.state` and `drive.timing` hold for
all drives of a treatment. All are baked into the snapshot.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pgassay._core import DRIVE_CODECS, DRIVE_STORES, GC_POLICIES, TIMING_PROFILES
from pgassay.bench.factor import Catalogue, Factor, Readable, Setup, Stage
from pgassay.drive import messages, readback
from pgassay.drive.block import description
from pgassay.drive.block import messages as block_messages
from pgassay.drive.block.description import PRESETS
from pgassay.drive.block.filesystems import KINDS
from pgassay.drive.wishes import AGED, AUTO, DESCRIBED, DEVICE, DIRECTORY, FRESH, IMAGE, OFF
from pgassay.study.levels import Level
from pgassay.study.units import parse_memory

TIMINGS = (OFF, "on", *TIMING_PROFILES)
_PREFIX = "drive."
_WRITES_MAX = 100
_PLAIN = (DIRECTORY, IMAGE, *PRESETS)


@dataclass(frozen=True)
class Drive(Factor):
    """`drive.data`, `drive.wal`: a kind, a directory or device by its path, or a description file."""

    pattern: str = "drive.data"
    summary: str = "where the clusters live: directory, directory:PATH, image, ssd, csd, device:/dev/…, FILE.toml"
    stage: Stage = Stage.INIT

    def parse(self, name: str, typed: str) -> Level:
        """The level with its path made absolute; `UsageError` for anything else."""
        kind, _, path = typed.strip().partition(":")
        if typed.strip() in _PLAIN:
            return Level(typed, typed.strip())
        if kind == DIRECTORY and path.strip():
            return Level(typed, f"{DIRECTORY}:{_absolute(path)}")
        if kind == DEVICE and path.startswith("/dev/"):
            return Level(typed, f"{DEVICE}:{path}")
        if typed.endswith(".toml"):
            file = _absolute(typed)
            description.read(file)
            return Level(typed, f"{DESCRIBED}:{file}#{description.digest(file)}")
        raise messages.bad_level(typed)

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """Ask for this drive."""
        setup.drive[name.removeprefix(_PREFIX)] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The drive in which the server says that its data (or its WAL) are, as /proc and the drive itself tell."""
        return readback.drive_of(readback.place_of(readable.server, name), level.canonical)


Canonical = Callable[[str, str], str]
"""From name and typed text to the canonical text; raises `UsageError`."""


def _as_typed(name: str, typed: str) -> str:
    return typed


ReadBack = Callable[[Path, str, str], str | None]
"""From the place, the factor's name and the asked level to what holds."""


@dataclass(frozen=True)
class Detail(Factor):
    """`drive.data.NAME`, `drive.wal.NAME`, or one of the whole set."""

    pattern: str = ""
    canonical: Canonical = _as_typed
    summary: str = ""
    reading: ReadBack = readback.nothing
    stage: Stage = Stage.INIT

    def parse(self, name: str, typed: str) -> Level:
        """The level in canonical form; raises `UsageError`."""
        return Level(typed, self.canonical(name, typed.strip()))

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """Ask for it."""
        setup.drive[name.removeprefix(_PREFIX)] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """From the kernel, the file system's own tools, or the emulated drive."""
        if self.reading is readback.nothing:
            return None
        return self.reading(readback.place_of(readable.server, name), name, level.canonical)


def _absolute(path: str) -> Path:
    return Path(path).expanduser().resolve()


def _choice(*known: str) -> Canonical:
    def canonical(name: str, typed: str) -> str:
        if typed not in known:
            raise block_messages.unknown_word(name, typed, known)
        return typed

    return canonical


def _codec(name: str, typed: str) -> str:
    return PRESETS["csd"].with_values({"emulation.codec": typed}).core.codec


def _bytes(name: str, typed: str) -> str:
    return f"{parse_memory(typed)}B"


def _capacity(name: str, typed: str) -> str:
    return AUTO if typed == AUTO else _bytes(name, typed)


def _share(name: str, typed: str) -> str:
    try:
        value = float(typed[:-1]) / 100 if typed.endswith("%") else float(typed)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 10.0:
        raise block_messages.unknown_word(name, typed, ("a share such as 7% or 0.07",))
    return f"{value:g}"


def _count(name: str, typed: str) -> str:
    if not typed.isdecimal() or int(typed) > _WRITES_MAX:
        raise block_messages.unknown_word(name, typed, (f"a whole number up to {_WRITES_MAX}",))
    return str(int(typed))


def _mkfs(name: str, typed: str) -> str:
    words = typed.split()
    for position, word in enumerate(words):
        if word.startswith("/") or (position == 0 and not word.startswith("-")):
            raise block_messages.not_an_option(name, word)
    return " ".join(words)


def _mount_options(name: str, typed: str) -> str:
    options = [word.strip() for word in typed.split(",") if word.strip()]
    for word in options:
        if any(letter in word for letter in " /\\\"'") or word in ("bind", "ro", "remount", "loop", "move"):
            raise block_messages.unknown_word(name, word, ("mount options such as noatime,discard",))
    return ",".join(sorted(set(options)))


def _details(owner: str) -> tuple[Factor, ...]:
    of = f"drive.{owner}"
    policies = ", ".join(GC_POLICIES)
    return (
        Detail(f"{of}.filesystem", _choice(*KINDS), f"the file system: {', '.join(KINDS)}", readback.filesystem),
        Detail(f"{of}.mkfs", _mkfs, "further options of mkfs: -b 1024, -J size=64", readback.mkfs),
        Detail(f"{of}.mount_options", _mount_options, "mount options (default: noatime)", readback.mount_options),
        Detail(f"{of}.capacity", _capacity, "the drive's capacity (default: by the data), or auto", readback.capacity),
        Detail(f"{of}.over_provisioning", _share, "flash beyond capacity: 7% is T/U − 1", readback.described),
        Detail(f"{of}.codec", _codec, f"compression: {', '.join(DRIVE_CODECS)}, or another level", readback.described),
        Detail(f"{of}.policy", _choice(*GC_POLICIES), f"garbage collection: {policies}", readback.described),
        Detail(f"{of}.precondition", _count, "times that a device is written over first (default: 0)"),
        Detail(f"{of}.store", _choice(*DRIVE_STORES), "where contents are kept: memory, file", readback.described),
        Detail(f"{of}.store_bytes", _bytes, "room for contents and snapshots", readback.described),
    )


FACTORS: Catalogue = {
    factor.pattern: factor
    for factor in (
        Drive(),
        Drive("drive.wal", "where the WAL lives, if not with the data: as drive.data"),
        *_details("data"),
        *_details("wal"),
        Detail("drive.state", _choice(FRESH, AGED), "emulated drives start fresh, or aged to their steady state"),
        Detail(
            "drive.check",
            _choice(OFF, "on"),
            "on: after each trial look whether tables, indexes, file system and drive are sound (default: off)",
            stage=Stage.RUN,
        ),
        Detail("drive.live_share", _share, "share of an aged drive that holds live blocks (default: 80%)"),
        Detail("drive.compressed_to", _share, "what the filling of an aged drive compresses to (default: 50%)"),
        Detail(
            "drive.timing",
            _choice(*TIMINGS),
            f"service times of emulated drives: {', '.join(TIMINGS)}",
            readback.timing,
        ),
    )
}
"""Pattern to factor."""
