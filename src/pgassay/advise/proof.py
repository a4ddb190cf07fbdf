"""The proof of a candidate: against the start, the default and the rule of thumb, and without each of its lines.

One study of fresh trials. What it shows to be as good without a line loses that line, and then the rest is proved in a
study of its own. What does better than what is left is proved in its turn (fallback.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    again = _Again(task, candidate, laboratory, course, seconds.back_s)
    lines = again.minimal(lines, compared.get(start), [each.name for each in shown])
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


@dataclass(frozen=True)
class _Again:
    """Looks whether lines that go one by one are missed together."""

    task: Task
    best: Configuration
    laboratory: Laboratory
    course: Course
    back_s: float

    def minimal(self, lines: tuple[Line, ...], whole: Compared | None, shown: Sequence[str]) -> tuple[Line, ...]:
        """The lines, those that went put back as far as all of them together are missed.

        The one that is shown to help most by itself, if that is enough and there is time to look; or else those
        together that are `shown` to matter. A line that neither shows stays out, whatever the whole is worth.
        """
        if sum(not each.kept for each in lines) < 2:
            return lines
        if not self._missed(lines, whole, "reduction", 4):
            return lines
        if self.back_s:
            rest = reduced(self.task.space.start, lines)
            arms = [each for each in put_back_in_turn(rest, lines).values() if each != self.best]
            found = self._study("restoration", rest, [*arms, self.best], 5, _BACK)
            more = restored(rest, lines, found, higher=self.task.higher)
            if more != lines and not self._missed(more, whole, "reduction-again", 6):
                return more
        return kept_together(lines, shown)

    def _missed(self, left: tuple[Line, ...], whole: Compared | None, name: str, seed: int) -> bool:
        rest = reduced(self.task.space.start, left)
        if rest == self.best:
            return False
        if rest == self.task.space.start:
            return worse(whole)
        return worse(self._study(name, self.best, [rest], seed, _AT_ONCE).get(rest))

    def _study(
        self, name: str, baseline: Configuration, arms: Sequence[Configuration], seed: int, share: float
    ) -> Mapping[Configuration, Compared]:
        seeded = self.task.seed + self.course.seed + seed
        return self.laboratory.study(f"{self.course.prefix}{name}", baseline, arms, seeded, self.back_s * share)
