"""What a reader makes of a foreign file: its runs with all that could name a treatment, and what it had to leave out.

Roles (which field is a factor, which a condition) are given later, by `fields`: a file does not know its own question.
Of a response only a name of which there is no doubt has a better direction; of any other neither is better, so that a
verdict says "different" and not "better", until `--better` says which.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pgassay.record.values import Reason
from pgassay.study.responses import Better, Response, Scale

ABORTED = "aborted"
FAILED_TRANSACTIONS = "failed_transactions"
FOLDER = "folder"
"""The field that holds the folder of a file, where several files are read."""
FILE = "file"
"""The field that holds the name of a file without what numbers a repetition, where a file is a run."""

_HIGHER, _LOWER = Better.HIGHER, Better.LOWER
_KNOWN: tuple[tuple[str, str, str, Better], ...] = (
    (r"tps|transactions?_per_second", "transactions per second", "1/s", _HIGHER),
    (r"qps|queries_per_second", "queries per second", "1/s", _HIGHER),
    (r"iops", "I/Os per second", "1/s", _HIGHER),
    (r"nopm", "new orders per minute", "1/min", _HIGHER),
    (r"tpm(c)?", "transactions per minute", "1/min", _HIGHER),
    (r"(avg_|mean_)?latency(_avg|_mean)?(_ms)?|lat_ms", "mean latency", "ms", _LOWER),
    (r"latency_stddev_ms", "standard deviation of latency", "ms", _LOWER),
    (r"(latency_)?p(\d+)(_ms)?", "percentile of latency", "ms", _LOWER),
)


@dataclass(frozen=True)
class Second:
    """One value of a run's own series: a row as `record.series` takes it."""

    monotonic_ns: int
    wall_ns: int
    source: str
    name: str
    unit: str
    value: float | None


@dataclass(frozen=True)
class ForeignRun:
    """One run as its source gives it.

    `place` is where it stands ("results.csv line 3"); `fields` all that could name a level, as text; `responses` its
    values (None where the source has none). `seconds` is how long it ran, `planned_s` how long it should have,
    `started_s` when (since the epoch); each None where the source does not say. `second` is the place in time of a
    value that is a second of a run and not a run.
    """

    place: str
    fields: Mapping[str, str]
    responses: Mapping[str, float | None]
    seconds: float | None = None
    planned_s: float | None = None
    started_s: float | None = None
    second: float | None = None
    problems: tuple[Reason, ...] = ()
    series: tuple[Second, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """A file, line or job that gave no run, and why."""

    place: str
    reason: str


@dataclass(frozen=True)
class Reading:
    """All that was read. `kind` names the format; the first of `responses` is the primary.

    `suggested` are the fields that name a treatment when no option does, the best first; `conditions` those that say
    what was asked of a system, across which systems are not compared; `columns` those that may be settings or results.
    `repetition` is the field that numbers the runs of a treatment; `ordered` says that
    the runs stand in the order in which they ran; `remarks` what a reader of the results must know.
    """

    kind: str
    runs: tuple[ForeignRun, ...]
    responses: tuple[Response, ...]
    left_out: tuple[LeftOut, ...] = ()
    suggested: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    repetition: str = ""
    ordered: bool = False
    remarks: tuple[str, ...] = field(default=())


def combine(readings: Iterable[Reading]) -> Reading:
    """Several files' readings as one; the runs of several files are in order of time only if each tells its time."""
    found = [reading for reading in readings]
    runs = tuple(run for reading in found for run in reading.runs)
    several = sum(bool(reading.runs) for reading in found) > 1
    return Reading(
        kind=", ".join(dict.fromkeys(reading.kind for reading in found if reading.runs)),
        runs=runs,
        responses=tuple({each.name: each for reading in found for each in reading.responses}.values()),
        left_out=tuple(each for reading in found for each in reading.left_out),
        suggested=tuple(dict.fromkeys(name for reading in found for name in reading.suggested)),
        conditions=tuple(dict.fromkeys(name for reading in found for name in reading.conditions)),
        columns=tuple(dict.fromkeys(name for reading in found for name in reading.columns)),
        repetition=next((reading.repetition for reading in found if reading.repetition), ""),
        ordered=not several and any(reading.ordered for reading in found),
        remarks=tuple(dict.fromkeys(remark for reading in found for remark in reading.remarks)),
    )


def response(name: str, better: Better | None = None) -> Response:
    """The declaration of a response called `name`: title, unit and direction, which `better` overrules."""
    for pattern, title, unit, direction in _KNOWN:
        if re.fullmatch(pattern, name.lower()):
            said = title if "percentile" not in title else f"{name.lower()}: {title}"
            return Response(name, said, unit, better or direction)
    scale = Scale.DIFFERENCE if name.lower().endswith("share") else Scale.RATIO
    return Response(name, name, "share" if scale is Scale.DIFFERENCE else "", better or Better.NEITHER, scale)
