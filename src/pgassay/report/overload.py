"""Trials that were offered more than they did: at a rate (pgbench -R) the queue then grows, and latency is waiting.

pgbench's manual: with -R latency counts from the scheduled start, so a server that does not keep up shows mostly the
lag behind the schedule, which depends on how long the window was.
"""

from collections.abc import Iterator, Sequence

from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.study.responses import Status

KEPT_UP_SHARE = 0.95
"""Of the offered rate; less is called falling behind."""

RATE = "load.rate"
DONE = "tps"


def overloads(trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    """A sentence for each arm of which a valid trial fell behind the rate that it was offered, by the worst one."""
    worst: dict[tuple[str, float], list[float]] = {}
    for trial in trials:
        offered, done = _offered(trial), trial.responses.get(DONE)
        if trial.status is Status.VALID and offered is not None and done is not None:
            place = trial.arm
            worst.setdefault((place, offered), []).append(done)
    return tuple(_sentences(worst))


def _sentences(done_by_arm: dict[tuple[str, float], list[float]]) -> Iterator[str]:
    for (place, offered), done in done_by_arm.items():
        behind = [each for each in done if each < KEPT_UP_SHARE * offered]
        if behind:
            counted = f"in {len(behind)} of {len(done)} valid trials" if len(done) > 1 else "in its only valid trial"
            rates = f"offered {words.number(offered)}/s, done {words.number(min(behind))}/s"
            yield f"the load fell behind with {place} {counted}: {rates}: latencies are mostly schedule lag"


def _offered(trial: TrialRecord) -> float | None:
    level = trial.levels.get(RATE)
    try:
        return float(level.canonical) if level is not None else None
    except ValueError:
        return None  # none: as many as possible
