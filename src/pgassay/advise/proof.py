"""The proof of a candidate: against the start, the default and the rule of thumb, and without each of its lines.

One study of fresh trials. What it shows to be as good without a line loses that line, and then the rest is proved in a
study of its own.

Where the default or the rule of thumb does better than what is left, it is taken as a whole, since that is what was
shown, and that is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pgassay.advise.elimination import (
    Compared,
    Line,
    judged,
    kept_together,
    left_out_in_turn,
    reduced,
    supported,
)
from pgassay.advise.screening import Screened
from pgassay.advise.smoothing import SURE
from pgassay.advise.space import Configuration, within
from pgassay.advise.task import Laboratory, Task, Tell
from pgassay.analysis.verdicts import Kind
from pgassay.study.units import canonical

CONFIRMATION = "confirmation"
"""The name of the study that proves a candidate, line by line."""
AGAIN = "confirmation-of-the-rest"
"""The same of what is left where lines went."""
_REDUCTION = "reduction"
"""The study that sees whether lines that went are missed together."""
START, DEFAULT, RULE = "start", "default", "rule of thumb"
_FIRST = 0.7
"""Of the time beyond the least: the rest is for what is left when lines have gone."""


_CONFIRMS = "confirming what is left against the start, the default and the rule of thumb"


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
    task: Task,
    candidate: Configuration,
    shown: Sequence[Screened],
    laboratory: Laboratory,
    tell: Tell,
    total_s: float,
) -> Proved:
    """The candidate's proof; `shown` is what shows that its lines help.

    It takes `total_s`; what the rest does not need is nobody's.
    """
    start, others = task.space.start, [*references(task).values()]
    least_s = min(total_s, task.amounts.least.confirmation_s)
    first_s = least_s + _FIRST * (total_s - least_s)
    alone = left_out_in_turn(candidate, start)
    each = f", and without each of its {len(alone)} lines" if len(alone) > 1 else ""
    tell(f"{_CONFIRMS}{each}")
    arms = [each for each in dict.fromkeys([*others, *alone.values()]) if each != candidate]
    compared = laboratory.study(CONFIRMATION, candidate, arms, task.seed + 3, first_s)
    lines = supported(judged(candidate, start, compared), shown, task.space, higher=task.higher)
    lines = _minimal(task, candidate, lines, compared.get(start), [each.name for each in shown], laboratory)
    final, chosen = reduced(start, lines), compared.get(start)
    if final == start:
        return Proved(lines, None, {}, chosen)
    if final != candidate:
        tell(_CONFIRMS)
        arms = [each for each in dict.fromkeys(others) if each != final]
        compared = laboratory.study(AGAIN, final, arms, task.seed + 8, total_s - first_s)
    proof = {name: compared[each] for name, each in references(task).items() if each in compared}
    return Proved(lines, final, proof, chosen, CONFIRMATION if final == candidate else AGAIN)


def references(task: Task) -> dict[str, Configuration]:
    usual = within(task.space.dimensions, task.space.rule_of_thumb, task.limits)
    return {START: task.space.start, DEFAULT: task.space.default, RULE: usual}


def worse(found: Compared | None) -> bool:
    return found is not None and found.verdict.kind in (Kind.WORSE, Kind.FAILED)


def _minimal(
    task: Task,
    best: Configuration,
    lines: tuple[Line, ...],
    whole: Compared | None,
    shown: Sequence[str],
    laboratory: Laboratory,
) -> tuple[Line, ...]:
    """The lines, those that went and that are `shown` to matter put back where all of them together are missed.

    A line that nothing shows stays out, whatever the `whole` is worth.
    """
    rest = reduced(task.space.start, lines)
    if rest == best or sum(not each.kept for each in lines) < 2:
        return lines
    missed = (
        whole if rest == task.space.start else laboratory.study(_REDUCTION, best, [rest], task.seed + 4, 0.0).get(rest)
    )
    return kept_together(lines, shown) if worse(missed) else lines


TAKEN = "confirmation-of-what-did-better"
"""The study of the default or the rule of thumb, where that was shown to do better than what was left."""


@dataclass(frozen=True)
class Outdone:
    """The default or the rule of thumb was shown to do better than what was left of the search's lines."""

    by: str
    left: Configuration
    """What was left."""
    found: Compared
    """What was left against what did better, in fresh trials."""


def answered(
    task: Task, before: Proved, laboratory: Laboratory, tell: Tell, given_s: float
) -> tuple[Proved, Outdone | None]:
    """What the proof left; or the default or the rule of thumb, where it is shown to do better by more than the margin.

    Where it does better by no more than the margin it is not taken: that much does not matter. `given_s` is what
    search and proof left to the proof; what it has not used is for the proof of what does better.
    """
    better = {name: each for name, each in before.proof.items() if name != START and _matters(task, each)}
    takeover_s, left = task.amounts.takeover_s, before.final
    if left is None or not takeover_s or not better or not worse(before.proof.get(START)):
        return before, None
    name = max(better, key=lambda each: better[each].effect.estimate * (1 if task.higher else -1))
    others = references(task)
    taken, start = others[name], others[START]
    used_s = sum(map(laboratory.spent_s, (CONFIRMATION, AGAIN, _REDUCTION)))
    tell(f"confirming the {name}, which was shown to do better than what was left")
    arms = [each for each in dict.fromkeys([*others.values(), left]) if each != taken]
    compared = laboratory.study(TAKEN, taken, arms, task.seed + 9, max(given_s + takeover_s - used_s, takeover_s))
    if not worse(compared.get(start)) or left not in compared:
        return before, None
    if compared[left].verdict.kind in (Kind.BETTER, Kind.EQUIVALENT):
        return before, None
    if _keeps(laboratory, before.study) and not _keeps(laboratory, TAKEN):
        return before, None
    proof = {each: compared[one] for each, one in others.items() if one in compared}
    lines = _whole(before.lines, taken, start, name)
    return replace(before, lines=lines, final=taken, proof=proof, study=TAKEN), Outdone(name, left, compared[left])


def _keeps(laboratory: Laboratory, study: str) -> bool:
    return all(each.probability >= SURE for each in laboratory.kept(study))


def _matters(task: Task, found: Compared) -> bool:
    """Is it shown to be better, and does it seem to be so by more than the margin?"""
    if found.verdict.kind is not Kind.BETTER:
        return False
    estimate = found.effect.estimate
    return estimate > 1 + task.margin if task.higher else estimate * (1 + task.margin) < 1


def _whole(before: Sequence[Line], taken: Configuration, start: Configuration, name: str) -> tuple[Line, ...]:
    """The lines of what did better: those that were left where they are the same, the others named after it."""
    mine, known = taken.changes_from(start), {each.name: each for each in before}
    kept = tuple(
        known[each]
        if each in known and known[each].kept and canonical(known[each].value) == canonical(value)
        else Line(each, value, start.values[each], None, True, taken_from=name)
        for each, value in mine.items()
    )
    return (*kept, *(replace(each, kept=False) for each in before if each.name not in mine))
