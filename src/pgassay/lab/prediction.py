"""What a run's loads become on other drives: from each treatment's write signature to drives of any size.

Emulated drives that were aged have recorded how their load writes (`drive.write_signature`). With `times` more data it
is simulated on a drive of another capacity and over-provisioning. The same simulation of the recorded drive itself is
set beside what that drive settled at when it was aged, which no part of the prediction has seen: that is its error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from pgassay.bench.write_signature import SIGNATURE, SUFFIX, WriteSignature
from pgassay.drive.options import DriveOptions
from pgassay.flash.prediction import COMPRESSING, SIMULATED_BYTES, Prediction, Target, predict
from pgassay.lab import messages
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Place
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Status

_SOURCE = "drive"
_LIVE_SHARE = "drive.live_share"
_BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Asked:
    """The drives that are asked about: data of the baseline in bytes, capacity, shares of spare flash.

    `live_share` fills the drive up with cold data; None: it holds the data alone.
    """

    data_bytes: int
    capacity_bytes: int
    over_provisioning: Sequence[float]
    live_share: float | None = None
    rated_cycles: int = 3000
    simulated_bytes: int = SIMULATED_BYTES
    """Of a larger drive so much is simulated."""
    superblock_bytes: int | None = None
    """Of the drive; None: a thousandth of it."""


@dataclass(frozen=True)
class Predicted:
    """One treatment: what its drive would be like, and the error of the method on the drive that was recorded.

    `settled` is what that drive's own ageing came to (None where it did not settle), `again` what is simulated for it.
    """

    place: Place
    kind: str
    physical_bytes: float
    drives: tuple[Prediction, ...]
    settled: float | None
    again: Prediction

    @property
    def error(self) -> float | None:
        """How far the simulation of the recorded drive is from what it settled at, as a share."""
        if self.settled is None or self.again.write_amplification is None:
            return None
        return self.again.write_amplification / self.settled - 1


@dataclass(frozen=True)
class Recorded:
    """One treatment of the run, by medians over its valid trials."""

    place: Place
    signature: WriteSignature
    kind: str
    capacity_bytes: float
    over_provisioning: float
    pages_per_block: int | None
    live_share: float
    settled: float | None
    database_bytes: float
    physical_bytes: float
    compression_ratio: float


def predictions(run: Run, asked: Asked) -> Iterator[Predicted]:
    """Of each treatment whose drive was aged; takes seconds each. Raises `UsageError` where none was."""
    known = recorded(run)
    baseline = parse_recorded(run.header.study, run.study).design.baseline.name
    sizes = {each.place.cell: each.database_bytes for each in known if each.place.treatment == baseline}
    fitting = [each for each in known if each.place.cell in sizes]
    if not fitting:
        raise messages.nothing_to_predict(run.path)
    for each in fitting:
        yield _predicted(each, asked, asked.data_bytes / sizes[each.place.cell])


def _predicted(each: Recorded, asked: Asked, times: float) -> Predicted:
    own = int(each.capacity_bytes)
    stored = each.physical_bytes * times
    live = max(stored * each.compression_ratio, (asked.live_share or 0.0) * asked.capacity_bytes)

    superblock = None if asked.superblock_bytes is None else asked.superblock_bytes // _BLOCK_BYTES

    def target(capacity: int, spare: float, live_bytes: float, more: float, pages: int | None) -> Target:
        share = 1 / each.compression_ratio if each.kind == COMPRESSING else 1.0
        return Target(each.kind, capacity, spare, live_bytes, more, share, pages, asked.rated_cycles)

    drives = [
        predict(each.signature, target(asked.capacity_bytes, spare, live, times, superblock), asked.simulated_bytes)
        for spare in asked.over_provisioning
    ]
    recorded_drive = target(own, each.over_provisioning, each.live_share * own, 1.0, each.pages_per_block)
    again = predict(each.signature, recorded_drive, own)
    return Predicted(each.place, each.kind, stored, tuple(drives), each.settled, again)


def recorded(run: Run) -> list[Recorded]:
    """Every treatment whose drive was aged and whose space was measured."""
    trials: dict[Place, list[TrialRecord]] = {}
    for trial in run.trials:
        if trial.status is Status.VALID:
            trials.setdefault(trial.place, []).append(trial)
    found = (_one(run, place, mine) for place, mine in trials.items())
    return [each for each in found if each is not None]


def _one(run: Run, place: Place, trials: Sequence[TrialRecord]) -> Recorded | None:
    """None for a treatment whose drive was not aged, or whose space was not measured."""
    regime = trials[0].regime
    file = run.trial_directory(trials[0].number) / f"{_SOURCE}.{SIGNATURE}{SUFFIX}"
    capacity, spare = (regime.get(f"{_SOURCE}.{name}") for name in ("capacity_bytes", "over_provisioning"))
    superblock = regime.get(f"{_SOURCE}.superblock_bytes")
    settled = regime.get(f"{_SOURCE}.settled_write_amplification")
    sizes = [_median(trials, name) for name in ("database_bytes", "physical_bytes", "compression_ratio")]
    if not run.disk.exists(file) or not isinstance(capacity, int | float) or not isinstance(spare, int | float):
        return None
    database, physical, ratio = sizes
    if database is None or physical is None or ratio is None:
        return None
    level = trials[0].levels.get(_LIVE_SHARE)
    return Recorded(
        place,
        WriteSignature.from_text(run.disk.read(file).decode()),
        str(regime.get(f"{_SOURCE}.model", "")),
        float(capacity),
        float(spare),
        int(superblock) // _BLOCK_BYTES if isinstance(superblock, int | float) else None,
        float(level.canonical) if level is not None else DriveOptions().live_share,
        settled if isinstance(settled, float) else None,
        database,
        physical,
        ratio,
    )


def _median(trials: Sequence[TrialRecord], name: str) -> float | None:
    found = [value for trial in trials if (value := trial.responses.get(name)) is not None]
    return median(found) if found else None
