"""How every trial went second by second, and what of it a reader should distrust.

The record says it since trials are judged when they are committed; older ones are judged here, all in one pass over
the series.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pgassay.analysis.steadiness import UNKNOWN, Steadiness, TrialCourse, courses_of_samples
from pgassay.record.values import TrialRecord
from pgassay.study.responses import Response, Status

if TYPE_CHECKING:
    import polars as pl

    Gather = Callable[[Callable[[pl.LazyFrame], pl.LazyFrame]], pl.DataFrame]

NAME = "tps"
WARM_UP = "_warmup"
NAMED_MAX = 12
"""A sentence names no more trials than this."""

MEANINGS: Mapping[Steadiness, str] = {
    Steadiness.WARMING: "still warmed up in their window: ask for a longer load.warmup",
    Steadiness.SLOWING: "slowed down in their window and stayed so: what they began with does not last",
    Steadiness.DRIFTING: "went up or down all the time: they had no steady state to measure",
    Steadiness.CYCLIC: "went up and down in cycles, as checkpoints do: their windows must cover whole ones",
    Steadiness.UNSETTLED: "jumped between levels",
    Steadiness.UNKNOWN: "are too short (below 30 s) or have too many gaps to tell whether they were steady",
}


def courses_of(trials: Sequence[TrialRecord], gather: "Gather | None") -> Mapping[int, TrialCourse]:
    """Trial number to its course, for every committed trial; `gather` answers a query on all series.

    None where the load tells no seconds: there is nothing to read then.
    """
    known = {trial.number: course for trial in trials if (course := _recorded(trial)) is not None}
    missing = [trial.number for trial in trials if trial.number not in known]
    judged = _judged(gather, missing, every=not known) if missing and gather else {}
    return {trial.number: known.get(trial.number) or judged.get(trial.number, UNKNOWN) for trial in trials}


def told(responses: Iterable[Response]) -> bool:
    """Does the load tell its transactions per second at all?"""
    return any(response.name == NAME for response in responses)


def doubts(
    trials: Sequence[TrialRecord], courses: Mapping[int, TrialCourse], responses: Iterable[Response]
) -> Iterator[str]:
    """A sentence for each class but flat, about the trials that count; none for a load that tells no seconds."""
    if not told(responses):
        return
    valid = [trial.number for trial in trials if trial.status is Status.VALID]
    for kind, meaning in MEANINGS.items():
        numbers = [number for number in valid if courses[number].kind is kind]
        if not numbers:
            continue
        if len(numbers) == len(valid):
            yield f"all valid trials ({len(valid)}) {meaning}"
        else:
            named = ", ".join(map(str, numbers[:NAMED_MAX])) + (", …" if len(numbers) > NAMED_MAX else "")
            yield f"{len(numbers)} of {len(valid)} valid trials ({named}) {meaning}"


def _recorded(trial: TrialRecord) -> TrialCourse | None:
    kind = trial.regime.get("steadiness")
    if not isinstance(kind, str) or kind not in list(Steadiness):
        return None
    numbers = [trial.regime.get(name) for name in ("truncation_s", "tps_error", "cycle_s")]
    truncation_s, error, cycle_s = (float(each) if isinstance(each, int | float) else None for each in numbers)
    return TrialCourse(Steadiness(kind), truncation_s, error, cycle_s)


def _judged(gather: "Gather", numbers: Sequence[int], *, every: bool) -> dict[int, TrialCourse]:
    import polars as pl

    wanted = pl.col("name") == NAME
    if not every:
        wanted &= pl.col("trial").is_in(list(numbers))
    rows = gather(lambda series: series.filter(wanted).select("trial", "monotonic_ns", "source", "value"))
    table = rows.filter(~pl.col("source").str.ends_with(WARM_UP))  # apart: costly on all rows, cheap on these
    values = table["value"].fill_null(float("nan")).to_numpy()
    return courses_of_samples(table["trial"].to_numpy(), table["monotonic_ns"].to_numpy(), values)
