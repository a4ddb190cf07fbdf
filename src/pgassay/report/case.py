"""What a headline is made of: the findings as plain values, and the numbers that its sentences have used.

`answer` writes what was found and what it costs, `advice` what to do; both ask the same of a case.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgassay.analysis.boundaries import FIRST_LOOK, LEVEL
from pgassay.analysis.effects import Effect
from pgassay.analysis.verdicts import Kind
from pgassay.report.section import Badge
from pgassay.study.responses import Better, Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Judged

CHANGES_MAX = 3
"""As many changes are named of a treatment, its primary response's among them."""
EACH_MAX = 2
"""Up to so many comparisons stand one by one; of more the best, the worst and how many of each kind."""
_REASON_MAX = 120
_TELLING = (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT)
"""Verdicts that name a change of the primary response."""


@dataclass(frozen=True)
class Figure:
    """A number of a headline: its text there, its unrounded value, and what it is."""

    text: str
    value: float
    what: str


@dataclass(frozen=True)
class Change:
    """A response beside the primary that surely moved, by more than was asked for."""

    response: Response
    effect: Effect

    @property
    def adverse(self) -> bool:
        """Is it for the worse?"""
        more = self.effect.estimate > self.effect.none
        return self.response.better is not Better.NEITHER and more != (self.response.better is Better.HIGHER)


@dataclass(frozen=True)
class Standing:
    """What became of the user's thresholds with one treatment: `failed` and `unknown` are their texts."""

    treatment: str
    passed: int
    failed: Sequence[str] = ()
    unknown: Sequence[str] = ()


@dataclass(frozen=True)
class Disturbed:
    """How many of all trials were discarded because of other programs."""

    discarded: int
    trials: int


@dataclass(frozen=True)
class Case:
    """What a headline is made of.

    `changes` are other responses that moved, in the order of the sentence, `unresolved` those of which nothing
    is known yet, with the treatments. `disturbed` says how many trials were discarded where those were many. `label`
    says on what the numbers were made where that was no ordinary server ("emulated drives"), `unsafe` names treatments
    that are not crash-safe, `otherwise` those that answer statements otherwise than the baseline, and `objections` are
    lint's against runs that others made. `recommended` is what a section recommends by rules of its own. `varied` are
    conditions and covariates.
    """

    primary: Response
    baseline: str
    verdicts: Sequence["Judged"]
    changes: Sequence[Change] = ()
    unresolved: Sequence[tuple[Response, Collection[str]]] = ()
    disturbed: Disturbed | None = None
    standings: Sequence[Standing] = ()
    recommended: str = ""
    label: str = ""
    unsafe: Sequence[str] = ()
    traded: Mapping[str, str] = field(default_factory=dict)
    """Of treatments that are less durable than the baseline what may be lost."""
    otherwise: Sequence[str] = ()
    objections: Sequence[str] = ()
    imported: bool = False
    finished: bool = True
    extensible: bool = True
    """May `pgassay resume RUN --more` take a finished run as far as a verdict?"""
    interrupted: bool = False
    work: str = "transaction"
    fresh: bool = False
    """Were the data as they were loaded, and not aged by updates?"""
    full_speed: bool = False
    """Was the load played as fast as it went, and did a treatment change how fast? Then more or fewer transactions
    shared what a checkpoint costs."""
    checkpoint_s: float | None = None
    """Seconds from one checkpoint to the next, where that is known."""
    varied: Sequence[str] = ()


@dataclass
class Text:
    """Sentences while they are written, with every number that stands in them."""

    figures: list[Figure] = field(default_factory=list)
    level: float = LEVEL
    sure: bool = False
    """Was it said how sure the intervals are?"""

    def certainty(self) -> str:
        """`95 % interval ` where an interval is written for the first time, then nothing."""
        if self.sure:
            return ""
        self.sure = True
        return f"{self.number(f'{self.level * 100:.3g}', self.level, 'how sure an interval is')} % interval "

    def number(self, text: str, value: float, what: str) -> str:
        """`text` as it is, its number kept."""
        self.figures.append(Figure(text, value, what))
        return text

    def count(self, value: int, what: str) -> str:
        """A number of things."""
        return self.number(str(value), value, what)


@dataclass(frozen=True)
class Headline:
    """One to three sentences without full stops, and the numbers in them.

    `badges` say what was found in a line each; then `beside` are the sentences that these do not say.
    """

    sentences: Sequence[str]
    figures: Sequence[Figure]
    badges: Sequence[Badge] = ()
    beside: Sequence[str] = ()


def not_judged(judged: "Judged") -> bool:
    return judged.verdict.kind is Kind.UNRESOLVED and judged.effect.blocks < FIRST_LOOK


def place_of(effect: Effect) -> str:
    at = effect.place.cell.name
    return f"{effect.treatment} at {at}" if at else effect.treatment


def shortened(reason: str) -> str:
    return reason if len(reason) <= _REASON_MAX else f"{reason[:_REASON_MAX].rsplit(' ', 1)[0]} …"


def size_of(judged: "Judged") -> float:
    effect = judged.effect
    if effect.scale is Scale.DIFFERENCE or effect.estimate <= 0.0:
        return abs(effect.estimate)
    return max(effect.estimate, 1.0 / effect.estimate)


def moved_of(case: Case, treatment: str) -> Sequence[tuple[Response, Sequence[Effect]]]:
    """Responses that moved the same way at every place of the treatment; what is for the worse is never left out."""
    places = {each.effect.place for each in case.verdicts if each.effect.treatment == treatment}
    found: dict[str, list[Change]] = {}
    for change in case.changes:
        if change.effect.place in places:
            found.setdefault(change.response.name, []).append(change)
    whole = [
        each
        for each in found.values()
        if len(each) == len(places) and len({change.effect.estimate > change.effect.none for change in each}) == 1
    ]
    decided = any(each.effect.treatment == treatment and each.verdict.kind in _TELLING for each in case.verdicts)
    ranked = sorted(whole, key=lambda each: (not each[0].adverse, each[0].response.cost))[: CHANGES_MAX - decided]
    return [(each[0].response, [change.effect for change in each]) for each in whole if each in ranked]


def joined(parts: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """`table.fillfactor=90 and 75`: treatments, with what they share written once."""
    return joined([names[0], *(short(each, beside=names[0]) for each in names[1:])], last)


def short(name: str, *, beside: str) -> str:
    """What distinguishes a treatment from one that was named before: `75` beside `table.fillfactor=90`.

    Of several factors those that differ, with their names; the whole name where the two have other factors.
    """
    mine, theirs = (each.split(", ") for each in (name, beside))
    if not all("=" in part for part in (*mine, *theirs)) or _factors(mine) != _factors(theirs):
        return name
    if len(mine) == 1:
        return name.partition("=")[2]
    return ", ".join(part for part, other in zip(mine, theirs, strict=True) if part != other) or name


def _factors(parts: Sequence[str]) -> list[str]:
    return [part.partition("=")[0] for part in parts]
