"""The proof of a candidate: against the start, the default and the rule of thumb, and without each of its lines.

One study of fresh trials. What it shows to be as good without a line loses that line, and then the rest is proved in a
study of its own.

Where the default or the rule of thumb does better than what is left, it is taken: as a whole first, since that is what
was shown. Then each of its lines that no trial has shown to help is in or out along with all others, and what is shown
to help is proved as any other candidate is, against the whole. Where the whole does better than that, or there is no
time, all of its lines stay, and that is said.
"""

from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pgassay.advise import budget, lines
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
from pgassay.advise.failures import Noted
from pgassay.advise.screening import Screened
from pgassay.advise.smoothing import SURE
from pgassay.advise.space import Configuration, differing, within
from pgassay.advise.task import Laboratory, Task, Tell
from pgassay.analysis.verdicts import Kind
from pgassay.report.words import counted
from pgassay.study.units import canonical

CONFIRMATION = "confirmation"
"""The name of the study that proves a candidate, line by line."""
AGAIN = "confirmation-of-the-rest"
"""The same of what is left where lines went."""
START, DEFAULT, RULE = "start", "default", "rule of thumb"
_FIRST = 0.7
"""Of the confirmation's time where there is much: the rest is for what is left when lines have gone."""
_BACK, _AT_ONCE = 0.6, 0.2
"""Of the restoration's time: putting lines back one by one; what is left of them at once, twice."""


_CONFIRMS = "confirming what is left against the start, the default and the rule of thumb"


@dataclass(frozen=True)
class Course:
    """The names of a proof's studies, and what their seeds begin with."""

    first: str
    rest: str
    prefix: str = ""
    seed: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Of all its studies."""
        back = ("reduction", "restoration", "reduction-again")
        return self.first, self.rest, *(f"{self.prefix}{each}" for each in back)


@dataclass(frozen=True)
class Shares:
    """The seconds of a proof: its first study, that of the rest, and what puts lines back."""

    first_s: float
    rest_s: float
    back_s: float = 0.0


MAIN = Course(CONFIRMATION, AGAIN)


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
    compared: Mapping[Configuration, Compared] | None = None
    """All that was compared with `final`."""


def shares(task: Task, total_s: float) -> Shares:
    """Of a candidate's confirmation; what the rest and putting back do not need is nobody's."""
    back_s = task.amounts.restoration_s
    first_s = total_s * (_FIRST if back_s else 1.0)
    return Shares(first_s, total_s - first_s, back_s)


def proved(
    task: Task,
    candidate: Configuration,
    shown: Sequence[Screened],
    laboratory: Laboratory,
    tell: Tell,
    seconds: Shares,
    course: Course = MAIN,
    further: Sequence[Configuration] = (),
) -> Proved:
    """The candidate's proof; `shown` is what shows that its lines help, `further` ones are compared with it, too."""
    start = task.space.start
    others = [*references(task).values(), *further]
    alone = left_out_in_turn(candidate, start)
    each = f", and without each of its {len(alone)} lines" if len(alone) > 1 else ""
    tell(f"{_CONFIRMS}{each}")
    arms = [each for each in dict.fromkeys([*others, *alone.values()]) if each != candidate]
    compared = laboratory.study(course.first, candidate, arms, task.seed + course.seed + 3, seconds.first_s)
    lines = supported(judged(candidate, start, compared), shown, task.space, higher=task.higher)
    names = [each.name for each in shown]
    lines = _minimal(task, candidate, lines, compared.get(start), names, laboratory, course, seconds.back_s)
    final, chosen = reduced(start, lines), compared.get(start)
    if final == start:
        return Proved(lines, None, {}, chosen)
    if final != candidate:
        tell(_CONFIRMS)
        arms = [each for each in dict.fromkeys(others) if each != final]
        compared = laboratory.study(course.rest, final, arms, task.seed + course.seed + 8, seconds.rest_s)
    proof = {name: compared[each] for name, each in references(task).items() if each in compared}
    return Proved(lines, final, proof, chosen, course.first if final == candidate else course.rest, compared)


def references(task: Task) -> dict[str, Configuration]:
    """What a candidate is proved against, by name."""
    usual = within(task.space.dimensions, task.space.rule_of_thumb, task.limits)
    return {START: task.space.start, DEFAULT: task.space.default, RULE: usual}


def worse(found: Compared | None) -> bool:
    """Was it shown to be worse, or not to work?"""
    return found is not None and found.verdict.kind in (Kind.WORSE, Kind.FAILED)


def _minimal(
    task: Task,
    best: Configuration,
    lines: tuple[Line, ...],
    whole: Compared | None,
    shown: Sequence[str],
    laboratory: Laboratory,
    course: Course,
    back_s: float,
) -> tuple[Line, ...]:
    """The lines, those that went put back as far as all of them together are missed.

    The one that is shown to help most by itself, if that is enough and there is time to look; or else those together
    that are `shown` to matter. A line that neither shows stays out, whatever the `whole` is worth.
    """
    start, seed = task.space.start, task.seed + course.seed

    def missed(left: tuple[Line, ...], name: str, more: int) -> bool:
        rest = reduced(start, left)
        if rest == best:
            return False
        if rest == start:
            return worse(whole)
        name = f"{course.prefix}{name}"
        return worse(laboratory.study(name, best, [rest], seed + more, back_s * _AT_ONCE).get(rest))

    if sum(not each.kept for each in lines) < 2 or not missed(lines, "reduction", 4):
        return lines
    if back_s:
        rest = reduced(start, lines)
        arms = [each for each in put_back_in_turn(rest, lines).values() if each != best]
        name = f"{course.prefix}restoration"
        found = laboratory.study(name, rest, [*arms, best], seed + 5, back_s * _BACK)
        restored_lines = restored(rest, lines, found, higher=task.higher)
        if restored_lines != lines and not missed(restored_lines, "reduction-again", 6):
            return restored_lines
    return kept_together(lines, shown)


TAKEN = "confirmation-of-what-did-better"
"""The study of the default or the rule of thumb, where that was shown to do better than what was left."""
ITS_LINES = "confirmation-of-its-lines"
"""The same of those of its lines that are shown to help."""
_LINES = Course(ITS_LINES, "confirmation-of-the-rest-of-its-lines", "taken-", 10)
_IN_AND_OUT = 0.5
"""Of the time for lines of what was taken, at most, unless they need more: trials of lines in and out."""
_MORE = 0.3
"""Of what is to spare beyond the time for its lines: the proof of the whole."""


class Apart(StrEnum):
    """What came of telling the lines apart of what was taken."""

    DONE = "the others were not shown to help"
    ALL = "none of its lines could be left out"
    NO_TIME = "which of its lines do it was not tried: there was no time for that, so all of them stay"
    NONE = "no more of its lines were shown to help by themselves, so all of them stay"
    MISSED = "only those of its lines that were shown to help were not shown to do as well, so all of them stay"


@dataclass(frozen=True)
class Outdone:
    """The default or the rule of thumb was shown to do better than what was left of the search's lines."""

    by: str
    left: Configuration
    """What was left."""
    found: Compared
    """What was left against what did better, in fresh trials."""
    apart: Apart = Apart.NO_TIME
    lines: int = 0
    """Of what did better."""


@dataclass(frozen=True)
class Evidence:
    """What trials have said of lines before."""

    screened: Sequence[Screened]
    tried: Sequence[Screened]
    """In or out along with the lines of the search."""
    noted: MutableSequence[Noted]


@dataclass(frozen=True)
class Answer:
    """The proof of what is recommended, and what it was taken from, if that is not what the search had left."""

    proved: Proved
    outdone: Outdone | None = None
    tried: tuple[Screened, ...] = field(default=())
    """Lines of what was taken, each in or out along with its others."""


def answered(
    task: Task, before: Proved, evidence: Evidence, laboratory: Laboratory, tell: Tell, given_s: float
) -> Answer:
    """What the proof left; or the default or the rule of thumb, where it is shown to do better by more than the margin.

    Where it does better by no more than the margin it is not taken: that much does not matter. `given_s` is what
    search and proof left to the proof; what it has not taken is for the lines of what does better.
    """
    better = {name: each for name, each in before.proof.items() if name != START and _matters(task, each)}
    if before.final is None or not task.amounts.takeover_s or not better or not worse(before.proof.get(START)):
        return Answer(before)
    name = max(better, key=lambda each: better[each].effect.estimate * (1 if task.higher else -1))
    others, left, amounts = references(task), before.final, task.amounts
    taken = others[name]
    shown = _shown(task, taken, evidence)
    left_s = given_s + amounts.takeover_s + amounts.taken_lines_s - sum(map(laboratory.spent_s, MAIN.names))
    left_s = max(left_s, amounts.takeover_s)
    least_s = _least_s(task, taken, left, shown)
    spare_s = left_s - amounts.takeover_s - least_s
    tell(f"confirming the {name}, which was shown to do better than what was left")
    arms = [each for each in dict.fromkeys([*others.values(), left]) if each != taken]
    whole_s = left_s if spare_s < 0 else amounts.takeover_s + _MORE * spare_s
    compared = laboratory.study(TAKEN, taken, arms, task.seed + 9, whole_s)
    if not worse(compared.get(others[START])) or left not in compared:
        return Answer(before)
    if compared[left].verdict.kind in (Kind.BETTER, Kind.EQUIVALENT):
        return Answer(before)
    if _keeps(laboratory, before.study) and not _keeps(laboratory, TAKEN):
        return Answer(before)
    proof = {each: compared[one] for each, one in others.items() if one in compared}
    lines_taken = _whole(before.lines, taken, others[START], name)
    found = replace(before, lines=lines_taken, final=taken, proof=proof, study=TAKEN)
    outdone = Outdone(name, left, compared[left], lines=len(taken.changes_from(others[START])))
    if spare_s < 0:
        return Answer(found, outdone)
    left_s -= laboratory.spent_s(TAKEN)
    return _of_its_lines(task, found, outdone, taken, shown, evidence, laboratory, tell, left_s)


def _of_its_lines(
    task: Task,
    whole: Proved,
    outdone: Outdone,
    taken: Configuration,
    shown: Mapping[str, Screened],
    evidence: Evidence,
    laboratory: Laboratory,
    tell: Tell,
    left_s: float,
) -> Answer:
    """What was `taken` with only those lines that are shown to help, where that is as good; else the `whole`."""
    start, tried = task.space.start, tuple[Screened, ...]()
    names = [each for each in taken.changes_from(start) if each not in shown]
    if left_s < _least_s(task, taken, outdone.left, shown):
        return Answer(whole, outdone)
    if names:
        tell(f"trying {counted(len(names), 'line')} of the {outdone.by} in and out: {', '.join(names)}")
        trials_s = task.trial_s(names) * 2 * budget.taken_pairs(len(names))
        trials_s = max(trials_s, min(_IN_AND_OUT * left_s, left_s - _proof_s(task, outdone.left, len(shown) + 1)))
        tried, spent_s = lines.of_what_did_better(task, taken, names, laboratory, evidence.noted, trials_s)
        left_s -= spent_s
        shown = {**lines.shown(task, taken, tried), **shown}
    candidate = start.with_values({name: taken.values[name] for name in shown})
    by_trials = {each.name: each for each in tried}

    def stays(apart: Apart) -> Answer:
        kept = (replace(one, screened=by_trials.get(one.name)) if one.taken_from else one for one in whole.lines)
        return Answer(replace(whole, lines=tuple(kept)), replace(outdone, apart=apart), tried)

    if candidate in (start, outdone.left):
        return stays(Apart.NONE)
    if left_s < _proof_s(task, outdone.left, len(shown)):
        return stays(Apart.NO_TIME)
    rest_s = _rest_s(task, outdone.left)
    seconds, further = Shares(left_s - rest_s, rest_s), (taken, outdone.left)
    found = proved(task, candidate, tuple(shown.values()), laboratory, tell, seconds, _LINES, further)
    against = found.compared or {}
    if not worse(found.proof.get(START)):
        return stays(Apart.MISSED)
    others = [each for each in (taken, outdone.left) if each in against]
    breaks = _keeps(laboratory, TAKEN) and not _keeps(laboratory, found.study)
    if breaks or any(_matters(task, against[each]) for each in others):
        return stays(Apart.MISSED)
    mine = {each.name for each in found.lines}
    gone = (
        Line(each, value, start.values[each], None, False, screened=by_trials.get(each))
        for each, value in taken.changes_from(start).items()
        if each not in mine
    )
    rest = [*found.lines, *gone]
    known = {each.name for each in rest}
    rest += [replace(each, kept=False) for each in whole.lines if each.name not in known]
    proof = replace(whole, lines=tuple(rest), final=found.final, proof=found.proof, study=found.study)
    return Answer(proof, replace(outdone, apart=Apart.ALL if found.final == taken else Apart.DONE), tried)


def _keeps(laboratory: Laboratory, study: str) -> bool:
    return all(each.probability >= SURE for each in laboratory.kept(study))


def _shown(task: Task, taken: Configuration, evidence: Evidence) -> dict[str, Screened]:
    """What has shown that lines of it help at its levels; two levels that were set against each other show nothing."""
    start = task.space.start.values
    tried = [each for each in evidence.tried if canonical(each.start) == canonical(start[each.name])]
    return lines.shown(task, taken, [*tried, *evidence.screened])


def _least_s(task: Task, taken: Configuration, left: Configuration, shown: Mapping[str, Screened]) -> float:
    """The least that telling its lines apart takes, if one more of them is shown to help."""
    unshown = [each for each in taken.changes_from(task.space.start) if each not in shown]
    pairs_s = task.trial_s(unshown) * 2 * budget.taken_pairs(len(unshown))
    return pairs_s + _proof_s(task, left, len(shown) + min(len(unshown), 1))


def _proof_s(task: Task, left: Configuration, count: int) -> float:
    """The least that a proof of so many lines takes, and one of the rest of them."""
    return _trial_s(task, left) * budget.BLOCKS_MIN * count + 2 * _rest_s(task, left)


def _rest_s(task: Task, left: Configuration) -> float:
    """Of a proof without leaving out lines: along with what all are set against, and what the search had left."""
    arms = 1 + len({*references(task).values(), left})
    return _trial_s(task, left) * budget.BLOCKS_MIN * arms


def _trial_s(task: Task, left: Configuration) -> float:
    """Of a proof: it sets lines of the references against them, and against what the search had left."""
    return task.trial_s(differing(task.space.start, (*references(task).values(), left)))


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
