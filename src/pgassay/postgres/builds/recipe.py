"""What a build is made of: the source and sizes that a study asks for, and the recipe that names a build in the cache.

Everything that can change the programs is in the recipe: the same key means the same programs. See PostgreSQL's manual,
"configure Options": --with-blocksize, --with-wal-blocksize, --with-segsize. Pure.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from pgassay.errors import UsageError
from pgassay.interfaces.errors import BenchError
from pgassay.study.units import format_bytes, parse_memory, parse_whole

ROOM = "free space there, remove builds (pgassay postgres list, remove), or name another place with PGASSAY_CACHE"


class BuildError(BenchError):
    """A PostgreSQL could not be built, fetched or verified."""


def failed(step: str, words: str, hint: str, log: Path) -> BuildError:
    return BuildError(f"{step} failed: {words}", f"{hint}; its whole output is in {log}")


BLOCK_BYTES = tuple(1024 * 2**power for power in range(6))
"""The page sizes that PostgreSQL knows: 1 to 32 kB."""
WAL_BLOCK_BYTES = tuple(1024 * 2**power for power in range(7))
"""The WAL block sizes that it knows: 1 to 64 kB."""
DEFAULT_BLOCK_BYTES = 8192
DEFAULT_SEGMENT_BYTES = 1 << 30
DEFAULT_CFLAGS = "-O2"
"""PostgreSQL's own for gcc and clang; said outright, so that the user's environment does not enter."""


@dataclass(frozen=True)
class Recipe:
    """One build: sizes in bytes, `flags` are configure's beyond the sizes, `compiler` as it names itself."""

    source_sha256: str
    version: str
    block_bytes: int
    wal_block_bytes: int
    segment_bytes: int
    flags: tuple[str, ...]
    cflags: str
    compiler: str
    extension_sha256: str = ""
    """Of the source of an extension that is built in addition; empty without one."""

    @property
    def key(self) -> str:
        """The name of the build in the cache: 24 hexadecimal digits over everything above."""
        parts = {name: value for name, value in asdict(self).items() if name != "extension_sha256" or value}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]

    @property
    def name(self) -> str:
        """For people: `15.18, 2kB pages, 8kB WAL blocks`, and the extension's hash if there is one."""
        sizes = f"{self.version}, {self.block_bytes // 1024}kB pages, {self.wal_block_bytes // 1024}kB WAL blocks"
        return f"{sizes}, extension {self.extension_sha256[:12]}" if self.extension_sha256 else sizes

    def configure_options(self) -> list[str]:
        return [
            f"--with-blocksize={self.block_bytes // 1024}",
            f"--with-wal-blocksize={self.wal_block_bytes // 1024}",
            f"--with-segsize={self.segment_bytes >> 30}",
            *self.flags,
            f"CFLAGS={self.cflags}",
        ]


def block_bytes(text: str) -> int:
    """`"4kB"` in bytes; raises `UsageError` for a size that PostgreSQL does not know."""
    return _one_of("build.block_size", text, BLOCK_BYTES)


def wal_block_bytes(text: str) -> int:
    return _one_of("build.wal_block_size", text, WAL_BLOCK_BYTES)


def compiler_flags(text: str) -> str:
    """Flags of the compiler, with one space between them; raises `UsageError` for what is none."""
    words = text.split()
    if not all(re.fullmatch(r"-[\w=,.+:/-]+", word) for word in words):
        raise UsageError(
            f'"build.cflags" cannot be "{text}"', "give compiler flags separated by spaces: -O3 -march=native"
        )
    return " ".join(words)


def _one_of(name: str, text: str, known: tuple[int, ...]) -> int:
    if (number := parse_whole(text.strip())) is not None:
        # 8192 or 8? SHOW counts bytes, configure kB; at most one of them is a size that PostgreSQL knows.
        meant = [size for size in known if size in (number, number * 1024)]
        hint = (
            f'write "{format_bytes(meant[0])}"' if meant else f"PostgreSQL knows {', '.join(map(format_bytes, known))}"
        )
        raise UsageError(f'"{name}" = {text} has no unit', hint)
    size = parse_memory(text)
    if size not in known:
        raise UsageError(
            f'"{name}" cannot be "{text}"', f"PostgreSQL knows {', '.join(format_bytes(size) for size in known)}"
        )
    return size


FETCHED = ("official", "distribution")
_PATHS = ("tarball", "directory", "git")


@dataclass(frozen=True)
class Spec:
    """`kind` with its path and, for git, the commit as typed."""

    kind: str
    path: Path | None = None
    commit: str = ""

    def __str__(self) -> str:
        if self.path is None:
            return self.kind
        return f"{self.kind}:{self.path}{f'@{self.commit}' if self.commit else ''}"


def parse_spec(text: str) -> Spec:
    kind, colon, rest = text.strip().partition(":")
    if kind in FETCHED and not colon:
        return Spec(kind)
    commit = ""
    if kind == "git":
        rest, _, commit = rest.rpartition("@")
    if kind not in _PATHS or not rest or (kind == "git" and not commit) or commit.startswith("-"):
        raise UsageError(
            f'"{text}" names no source of PostgreSQL',
            "give official, distribution, tarball:FILE, directory:DIR or git:DIR@COMMIT",
        )
    return Spec(kind, Path(rest).expanduser().resolve(), commit)


def parse_extension(text: str) -> Spec:
    """The source of an extension that a text names: directory:DIR or git:DIR@COMMIT; raises `UsageError`."""
    if text.strip().partition(":")[0] not in ("directory", "git"):
        raise UsageError(f'"{text}" names no source of an extension', "give directory:DIR or git:DIR@COMMIT")
    return parse_spec(text)
