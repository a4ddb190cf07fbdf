"""Emulated service times in a report: how far drives kept to them, and the label that speeds made by them carry.

A drive that answers later than the device it stands for would have says so in every trial (docs/drives.md,
"Speed", says what may be compared).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pgassay.analysis.comparable import ACCEPTABLE_ERROR, Errors, Levels, is_speed
from pgassay.analysis.effects import Effect
from pgassay.analysis.numbers import per_cent
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.record.values import TrialRecord
from pgassay.study.drives import dilation, timed
from pgassay.study.levels import Place
from pgassay.study.model import Study
from pgassay.study.responses import Response, Status

LABEL = "emulated service times"
"""Stands behind every verdict on a speed that they made."""

ROWS = (
    ("asked_service_us", "requested service time, mean, us (emulated)"),
    ("service_time_error", "answered later than requested by, mean"),
    ("late_answers", "answers more than 10 % late"),
)
"""Responses with their titles, for the drives' table."""


def errors_of(trials: Iterable[TrialRecord]) -> Errors:
    """How much later than asked drives answered: the worst valid trial of each place, None if one is silent."""
    found: dict[Place, float | None] = {}
    for trial in trials:
        if trial.status is Status.VALID:
            place = trial.place
            error, known = trial.responses.get("service_time_error"), found.get(place, 0.0)
            found[place] = None if error is None or known is None else max(error, known)
    return found


def labelled(study: Study, response: Response, effect: Effect, found: Verdict, errors: Errors) -> Verdict:
    """The verdict, with the label where it is on a speed of drives with emulated service times.

    Within one drive speeds are compared however late it answered, so the label tells where it did not keep its times.
    """
    if not is_speed(response) or found.kind in (Kind.NOT_COMPARED, Kind.FAILED):
        return found
    place = effect.place
    mine = [study.levels_of(arm) for arm in study.arms if arm.place == place]
    if not any(map(timed, mine)):
        return found
    beside = place._replace(treatment=study.design.baseline.name)
    worst = max((error for each in (place, beside) if (error := errors.get(each)) is not None), default=0.0)
    missed = f", which a drive missed by {per_cent(worst)}" if worst > ACCEPTABLE_ERROR else ""
    slower = max(map(dilation, mine))
    slowed_ = f", {slowed(slower)}" if slower > 1 else ""
    return replace(found, text=f"{found.text} ({LABEL}{slowed_}{missed})")


def slowed(times: int) -> str:
    """The label of rates and times by a slower clock."""
    return f"clock slowed {times}×"


def made_by(levels: Iterable[Levels]) -> str:
    """What speeds of drives with these levels are made by."""
    slower = max(map(dilation, levels), default=1)
    return f"{LABEL} ({slowed(slower)})" if slower > 1 else LABEL


def notes(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """What has to be said of drives with service times; nothing without."""
    profiles = dict.fromkeys(trial.levels["drive.timing"].canonical for trial in trials if timed(trial.levels))
    if not profiles:
        return
    yield f"{LABEL} ({', '.join(profiles)}): latencies and speeds are those of a modelled device, not of a real drive"
    for slower in sorted({dilation(trial.levels) for trial in trials} - {1}):
        yield (
            f"{slowed(slower)}: a second of these drives is {slower} of this machine's. Rates and times are told by the"
            f" drives' clock, to which the processor is {slower} times as fast as it is; lengths of trials, axes of"
            " seconds and the server's own timers go by the machine's"
        )
    worst = max((error for error in errors_of(trials).values() if error is not None), default=None)
    if worst is not None and worst > ACCEPTABLE_ERROR:
        yield (
            f"a drive answered up to {per_cent(worst)} later than the device that it emulates: beyond "
            f"{per_cent(ACCEPTABLE_ERROR)} speeds of different drives are not compared (a slower clock, drive.dilation,"
            " a slower profile or a quieter machine would help)"
        )
