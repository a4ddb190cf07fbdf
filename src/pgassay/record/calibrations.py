"""What calibrations found: `calibration.json` with a calibration's run, and one small file a user for studies to use.

The user's file is `$XDG_STATE_HOME/pgassay/calibration.json`. An entry holds for one host, one place (file system and
device), one PostgreSQL and one load; a later calibration of the same replaces it. A file that cannot be read counts
as missing: a study then says nothing about noise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pgassay.record import formats
from pgassay.record.disk import Disk, keep_file, replace_file
from pgassay.record.errors import as_record_error

if TYPE_CHECKING:
    from pgassay.analysis.alternation import Shares

STUDY = "calibration"
"""The name that a calibration's run has instead of a study's; its clusters are in a directory of this name."""
CLUSTER = f"{STUDY}.cluster"
"""The factor of a calibration: a cluster of its own."""
AFTER_RESTART = f"{STUDY}.run"
"""The covariate of a calibration: which run after a restart it is, from 1."""
TURNS = "turns"
"""The folder inside a calibration's run in which the run of equal servers in turns lies, and what it is called in files
of format 1, where earlier versions had a second one along with it."""
FORMAT = 1
FILE = "calibration.json"


@dataclass(frozen=True)
class Setting:
    """What a calibration holds for. `host` is a hash, `load` all of the load's options; empty where it is not known.

    Calibrations of versions before 0.2 kept only the options that were given.
    """

    host: str
    filesystem: str
    device: str
    postgres: str
    load: Mapping[str, str]

    def same_place(self, other: "Setting") -> bool:
        return (self.host, self.filesystem, self.device) == (other.host, other.filesystem, other.device)

    def differences(self, other: "Setting") -> tuple[str, ...]:
        """What differs beyond the place, as `clients=8`, in this setting's words."""
        names = sorted(self.load.keys() | other.load.keys())
        found = [
            f"{name}={self.load.get(name, 'default')}" for name in names if self.load.get(name) != other.load.get(name)
        ]
        return tuple(found if self.postgres == other.postgres else [f"postgres={self.postgres}", *found])


@dataclass(frozen=True)
class NoiseRecord:
    """A response's noise: standard deviations of logarithms, with the interval of `noise`, one trial's in a block.

    `drift` is the relative change over the session.
    """

    noise: float
    noise_low: float
    noise_high: float | None
    cluster: float
    restart: float
    run: float
    drift: float | None = None


@dataclass(frozen=True)
class TurnsRecord:
    """Equal servers that took turns of `slice_s`: what noise that left, as standard deviations of logarithms.

    `noise` is one arm's value in a block, with its interval; along with those of what its slices share (`machine`), of
    a server's start (`instance`) and of one slice (`slice`), of which a block had `rounds` an arm.
    """

    noise: float
    noise_low: float
    noise_high: float
    machine: float
    instance: float
    slice: float
    rounds: float
    blocks: int
    slice_s: float

    def noise_with(self, rounds: int) -> float:
        """The noise that so many rounds would leave: a start's stays, slices average out."""
        return sqrt(self.instance**2 + self.slice**2 / rounds)


def turns_record(found: "Shares", blocks: int, slice_s: float) -> TurnsRecord:
    return TurnsRecord(
        noise=found.noise,
        noise_low=found.noise_low,
        noise_high=found.noise_high,
        machine=sqrt(found.machine),
        instance=sqrt(found.instance),
        slice=sqrt(found.slice),
        rounds=found.rounds,
        blocks=blocks,
        slice_s=slice_s,
    )


@dataclass(frozen=True)
class Calibration:
    measured_utc: str
    setting: Setting
    clusters: int
    blocks: int
    runs: int
    trial_s: float
    run_s: float
    noise: Mapping[str, NoiseRecord]
    run_directory: str = ""
    capacities: Mapping[str, float] = field(default_factory=dict)
    """What the drive can do in a second, by resource (see `analysis.capacities`)."""
    turns: Mapping[str, TurnsRecord] = field(default_factory=dict)
    """What servers in turns came to, by method (`TURNS`); empty in calibrations of versions before 0.2."""
    impossible_latency_share: float | None = None
    """The share of latencies that no answer can have, by the client's own clock, in the worst trial; None where single
    latencies were not counted."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Ways that were not measured, with the reason."""
    pending: tuple[str, ...] = ()
    """Ways that are still to be measured; `pgassay resume` goes on with them."""


@dataclass(frozen=True)
class Known:
    """Every calibration that the user's file holds."""

    calibrations: tuple[Calibration, ...] = ()
    format: int = field(default=FORMAT)


def nearest(calibrations: Iterable[Calibration], setting: Setting) -> Calibration | None:
    """The one of this place and this load, or of the load that differs least; None for other places or scripts.

    Of several that fit equally well it is the latest.
    """
    alike = [
        each
        for each in calibrations
        if each.setting.same_place(setting)
        and all(each.setting.load.get(name) == setting.load.get(name) for name in ("driver", "script"))
    ]
    alike.sort(key=lambda each: each.measured_utc, reverse=True)
    return min(alike, key=lambda each: len(each.setting.differences(setting)), default=None)


def worst_clock(calibrations: Iterable[Calibration], place: Setting) -> tuple[float | None, str]:
    """The greatest share of impossible latencies of a place's calibrations, and the day; None if not counted."""
    known = [
        (each.impossible_latency_share, each.measured_utc[:10])
        for each in calibrations
        if each.impossible_latency_share is not None and each.setting.same_place(place)
    ]
    return max(known, default=(None, ""))


def user_file(environment: Mapping[str, str], home: Path) -> Path:
    """Where the user's file is (XDG Base Directory Specification)."""
    named = environment.get("XDG_STATE_HOME", "")
    state = Path(named) if named.startswith("/") else home / ".local" / "state"
    return state / "pgassay" / FILE


def read(disk: Disk, path: Path) -> Known:
    """The user's file; empty when there is none, it cannot be read, or a later version wrote it."""
    return formats.read_or(disk, path, Known())


def remember(disk: Disk, path: Path, new: Calibration) -> None:
    with as_record_error(path, "keep the calibration"):
        kept = [each for each in read(disk, path).calibrations if each.setting != new.setting]
        keep_file(disk, path, formats.encode(Known((*kept, new))), private=True)


def read_from_run(disk: Disk, run: Path) -> Calibration | None:
    """What a run directory has in `calibration.json`; None where that is missing or cannot be read."""
    try:
        return msgspec.json.decode(disk.read(run / FILE), type=Calibration)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def write_to_run(disk: Disk, run: Path, new: Calibration) -> Path:
    path = run / FILE
    with as_record_error(path, "write the calibration"):
        replace_file(disk, path, formats.encode(new))
    return path
