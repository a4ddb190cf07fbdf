"""The proof of a candidate: against the start, the default and the rule of thumb, and without each of its lines.

One study of fresh trials. What it shows to be as good without a line loses that line, and then the rest is proved in a
study of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgassay.advise import messages
from pgassay.advise.constraints import within
from pgassay.advise.elimination import (
    Compared,
    Line,
    judged,
    kept_together,
    left_out_in_turn,
    put_back_in_turn,
    reduced,
    restored,
    supported,
)
from pgassay.advise.screening import Screened
from pgassay.advise.space import Configuration
from pgassay.advise.task import Laboratory, Task, Tell
from pgassay.analysis.verdicts import Kind

CONFIRMATION = "confirmation"
"""The name of the study that proves a candidate, line by line."""
AGAIN = "confirmation-of-the-rest"
"""The same of what is left where lines went."""
START, DEFAULT, RULE = "start", "default", "rule of thumb"
_FIRST = 0.7
"""Of the confirmation's time where there is much: the rest is for what is left when lines have gone."""
_BACK, _AT_ONCE = 0.6, 0.2
"""Of the restoration's time: putting lines back one by one; what is left of them at once, twice."""


@dataclass(frozen=True)
class Proved:
    """What the proof left of a candidate. `study` is the one that says so."""

    lines: tuple[Line, ...]
    final: Configuration | None
    proof: Mapping[str, Compared]
    """The start, the default and the rule of thumb against `final`."""
    chosen: Compared | None
    """The start against the candidate."""
    study: str = CONFIRMATION


def proved(
    task: Task, candidate: Configuration, shown: Sequence[Screened], laboratory: Laboratory, tell: Tell, spare_s: float
) -> Proved:
    """The candidate's proof; `shown` is what shows that its lines help, `spare_s` what earlier steps did not need."""
    start, amounts = task.space.start, task.amounts
    others = _references(task)
    alone = left_out_in_turn(candidate, start)
    tell(messages.confirms(len(alone)))
    arms = [each for each in dict.fromkeys([*others.values(), *alone.values()]) if each != candidate]
    first_s = (amounts.confirmation_s + spare_s) * (_FIRST if amounts.restoration_s else 1.0)
    compared = laboratory.study(CONFIRMATION, candidate, arms, task.seed + 3, first_s)
    lines = supported(judged(candidate, start, compared), shown, task.space, higher=task.higher)
    lines = _minimal(task, candidate, lines, compared.get(start), laboratory, [each.name for each in shown])
    final, chosen = reduced(start, lines), compared.get(start)
    if final == start:
        return Proved(lines, None, {}, chosen)
    if final != candidate:
        tell(messages.confirms(0))
        arms = [each for each in dict.fromkeys(others.values()) if each != final]
        rest_s = amounts.confirmation_s + spare_s - first_s
        compared = laboratory.study(AGAIN, final, arms, task.seed + 8, rest_s)
    proof = {name: compared[each] for name, each in others.items() if each in compared}
    return Proved(lines, final, proof, chosen, CONFIRMATION if final == candidate else AGAIN)


def _references(task: Task) -> dict[str, Configuration]:
    usual = within(task.space.dimensions, task.space.rule_of_thumb, task.limits)
    return {START: task.space.start, DEFAULT: task.space.default, RULE: usual}


def _minimal(
    task: Task,
    best: Configuration,
    lines: tuple[Line, ...],
    whole: Compared | None,
    laboratory: Laboratory,
    shown: Sequence[str],
) -> tuple[Line, ...]:
    """The lines, those that went put back as far as all of them together are missed.

    The one that is shown to help most by itself, if that is enough and there is time to look; or else those together
    that the screening has `shown` to matter. A line that neither shows stays out, whatever the whole is worth.
    """
    back_s = task.amounts.restoration_s

    def missed(left: tuple[Line, ...], name: str, seed: int) -> bool:
        rest = reduced(task.space.start, left)
        if rest == best:
            return False
        at_start = rest == task.space.start
        again = {} if at_start else laboratory.study(name, best, [rest], seed, back_s * _AT_ONCE)
        found = whole if at_start else again.get(rest)
        return found is not None and found.verdict.kind in (Kind.WORSE, Kind.FAILED)

    if sum(not each.kept for each in lines) < 2:
        return lines
    if not missed(lines, "reduction", task.seed + 4):
        return lines
    if back_s:
        rest = reduced(task.space.start, lines)
        arms = [each for each in put_back_in_turn(rest, lines).values() if each != best]
        found = laboratory.study("restoration", rest, [*arms, best], task.seed + 5, back_s * _BACK)
        more = restored(rest, lines, found, higher=task.higher)
        if more != lines and not missed(more, "reduction-again", task.seed + 6):
            return more
    return kept_together(lines, shown)
