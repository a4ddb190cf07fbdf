"""The proof of a candidate: against the start, the default and the rule of thumb, and without each of its lines.

One study of fresh trials. What it shows to be as good without a line loses that line, and then the rest is proved in a
study of its own. Where it shows the default or the rule of thumb to do better than what is left, that is
taken as a whole, and proved in its turn, where the budget has room for that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
from pgassay.study.units import canonical

CONFIRMATION = "confirmation"
"""The name of the study that proves a candidate, line by line."""
AGAIN = "confirmation-of-the-rest"
"""The same of what is left where lines went."""
TAKEN = "confirmation-of-what-did-better"
"""The same of the default or the rule of thumb, where that was shown to do better than what was left."""
START, DEFAULT, RULE = "start", "default", "rule of thumb"
_FIRST = 0.7
"""Of the confirmation's time where there is much: the rest is for what is left when lines have gone."""
_BACK, _AT_ONCE = 0.6, 0.2
"""Of the restoration's time: putting lines back one by one; what is left of them at once, twice."""


@dataclass(frozen=True)
class Outdone:
    """The default or the rule of thumb was shown to do better than what was left of the search's lines."""

    by: str
    left: Configuration
    """What was left."""
    found: Compared
    """What was left against what did better, in fresh trials."""


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
    outdone: Outdone | None = None


def proved(
    task: Task,
    candidate: Configuration,
    shown: Sequence[Screened],
    laboratory: Laboratory,
    tell: Tell,
    spare_s: float,
) -> Proved:
    """The candidate's proof; `shown` is what shows that its lines help, `spare_s` what earlier steps did not need."""
    start, amounts = task.space.start, task.amounts
    others = references(task)
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
    found = Proved(lines, final, proof, chosen, CONFIRMATION if final == candidate else AGAIN)
    if not amounts.takeover_s:
        return found
    unused_s = amounts.confirmation_s + spare_s - first_s if final == candidate else 0.0
    return _of_what_did_better(task, found, final, laboratory, tell, amounts.takeover_s + unused_s)


def _of_what_did_better(
    task: Task,
    before: Proved,
    left: Configuration,
    laboratory: Laboratory,
    tell: Tell,
    budget_s: float,
) -> Proved:
    """The proof of the default or the rule of thumb, where one was shown to do better; else that of what was left.

    It is taken as a whole, since that is what was shown: which of its lines make it better is not known. Where it does
    better by no more than the margin it is not taken: that much does not matter, and most of its lines do nothing.
    """
    others = references(task)
    better = {name: each for name, each in before.proof.items() if name != START and _matters(task, each)}
    if not better or before.proof[START].verdict.kind not in (Kind.WORSE, Kind.FAILED):
        return before
    name = max(better, key=lambda each: better[each].effect.estimate * (1 if task.higher else -1))
    taken = others[name]
    tell(messages.confirms_better(name))
    arms = [each for each in dict.fromkeys([*others.values(), left]) if each != taken]
    compared = laboratory.study(TAKEN, taken, arms, task.seed + 9, budget_s)
    start = compared.get(others[START])
    if start is None or start.verdict.kind not in (Kind.WORSE, Kind.FAILED) or left not in compared:
        return before
    if compared[left].verdict.kind in (Kind.BETTER, Kind.EQUIVALENT):
        return before
    lines = _taken_over(before.lines, taken, others[START], name)
    proof = {each: compared[one] for each, one in others.items() if one in compared}
    outdone = Outdone(name, left, compared[left])
    return replace(before, lines=lines, final=taken, proof=proof, study=TAKEN, outdone=outdone)


def _matters(task: Task, found: Compared) -> bool:
    """Is it shown to be better, and does it seem to be so by more than the margin?"""
    if found.verdict.kind is not Kind.BETTER:
        return False
    estimate = found.effect.estimate
    return estimate > 1 + task.margin if task.higher else estimate * (1 + task.margin) < 1


def _taken_over(lines: Sequence[Line], taken: Configuration, start: Configuration, name: str) -> tuple[Line, ...]:
    """The lines of what did better: those that were left where they are the same, the others named after it."""
    mine, before = taken.changes_from(start), {each.name: each for each in lines}
    kept = tuple(
        before[each]
        if each in before and before[each].kept and canonical(before[each].value) == canonical(value)
        else Line(each, value, start.values[each], None, True, taken_from=name)
        for each, value in mine.items()
    )
    return (*kept, *(replace(each, kept=False) for each in lines if each.name not in mine))


def references(task: Task) -> dict[str, Configuration]:
    """What a candidate is proved against, by name."""
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
