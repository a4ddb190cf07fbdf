"""The answer in one to three sentences: what was found, what it costs, what to do. Plain values in, texts out.

Nothing is computed here. Every number comes from an effect, a verdict or a threshold, is rounded to three significant
digits and kept beside the text, so that a reader can look it up. The sentences follow the verdicts: what is unresolved
there is not shown here, what was refused is not compared, and what is not crash-safe is never recommended.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Effect
from pgassay.analysis.messages import duration, plural
from pgassay.analysis.verdicts import Kind
from pgassay.report.phrases import Phrase, of
from pgassay.study.responses import Better, Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Judged

SENTENCES_MAX = 3
CHANGES_MAX = 3
"""As many changes beside the primary's are named of a treatment."""
_EACH_MAX = 2
"""Up to so many comparisons are told one by one; of more the best, the worst and how many of each kind."""
_TIMES_FROM = 2.0
"""A ratio from which it is told as times, since +845 % is hard to read."""
_REASON_MAX = 120


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
class Case:
    """What a headline is made of.

    `changes` are other responses that moved, in the order in which they are told. `label` says on what the numbers were
    made where that was no ordinary server ("emulated drives"), `unsafe` names treatments that are not crash-safe, and
    `objections` are lint's against runs that others made. `varied` are conditions and covariates.
    """

    primary: Response
    baseline: str
    verdicts: Sequence["Judged"]
    changes: Sequence[Change] = ()
    standings: Sequence[Standing] = ()
    label: str = ""
    unsafe: Sequence[str] = ()
    objections: Sequence[str] = ()
    imported: bool = False
    finished: bool = True
    work: str = "transaction"
    varied: Sequence[str] = ()


@dataclass
class Text:
    """Sentences while they are written, with every number that stands in them."""

    figures: list[Figure] = field(default_factory=list)

    def number(self, text: str, value: float, what: str) -> str:
        """`text` as it is, its number kept."""
        self.figures.append(Figure(text, value, what))
        return text

    def count(self, value: int, what: str) -> str:
        """A number of things."""
        return self.number(str(value), value, what)


@dataclass(frozen=True)
class Headline:
    """One to three sentences without full stops, and the numbers in them."""

    sentences: Sequence[str]
    figures: Sequence[Figure]


def headline(case: Case) -> Headline:
    """The headline of a study that compares treatments; raises ValueError where there is no comparison."""
    if not case.verdicts:
        raise ValueError("nothing was compared")
    text = Text()
    subjects = _subjects(case)
    parts = (_found(case, text), _costs(case, subjects, text), _advice(case, subjects, text))
    return Headline([part for part in parts if part][:SENTENCES_MAX], text.figures)


def three(value: float) -> str:
    """Three significant digits, with commas from a thousand on."""
    if not isfinite(value):
        return "∞" if value > 0 else "-∞"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100.0 else f"{rounded:.3g}"


def _found(case: Case, text: Text) -> str:
    """What the verdicts say of the primary response."""
    head = f"{case.label}: " if case.label else ""
    if case.objections:
        listed = "; ".join(case.objections)
        return f"{head}no verdict: lint objects to these runs ({_short(listed)})"
    compared = [each for each in case.verdicts if each.verdict.kind is not Kind.NOT_COMPARED]
    judged = [each for each in compared if not _early(each)]
    if not judged and compared:
        return head + _not_yet(case, compared, text) + _and_refused(case, text)
    if len(case.verdicts) <= _EACH_MAX:
        return head + _one_by_one(case, text)
    return head + _in_groups(case, text)


def _early(judged: "Judged") -> bool:
    return judged.verdict.kind is Kind.UNRESOLVED and judged.effect.blocks < FIRST_LOOK


def _not_yet(case: Case, compared: Sequence["Judged"], text: Text) -> str:
    most = max(each.effect.blocks for each in compared)
    takes = text.count(FIRST_LOOK, "blocks that a verdict takes")
    run = f"{text.count(most, 'blocks in common with the baseline')} {'was' if most == 1 else 'were'} run"
    return f"no verdict yet on {of(case.primary).name}: it takes {takes} blocks, and {run}"


def _and_refused(case: Case, text: Text) -> str:
    refused = [each for each in case.verdicts if each.verdict.kind is Kind.NOT_COMPARED]
    if not refused:
        return ""
    counted = text.count(len(refused), "comparisons that were refused")
    return f"; {counted} {plural('comparison', len(refused))} refused ({_short(refused[0].effect.refused)})"


def _one_by_one(case: Case, text: Text) -> str:
    """Each comparison by itself; those that show no difference in one phrase."""
    still = [each for each in case.verdicts if each.verdict.kind is Kind.UNRESOLVED and not _early(each)]
    parts = [_said(case, each, text) for each in case.verdicts if each not in still]
    if still:
        listed = " or ".join(
            f"with {_place(each.effect)} ({_between(each.effect, case.primary, text)})" for each in still
        )
        parts.append(f"no difference in {of(case.primary).name} was shown {listed}")
    return "; ".join(parts)


def _said(case: Case, judged: "Judged", text: Text) -> str:
    """One comparison with a verdict, in words."""
    effect, kind, place = judged.effect, judged.verdict.kind, _place(judged.effect)
    if kind is Kind.FAILED:
        return f"{place} failed ({_short(judged.verdict.text.removeprefix('failed: '))})"
    if kind is Kind.NOT_COMPARED:
        return f"{place} was not compared with {case.baseline} ({_short(effect.refused)})"
    if kind is Kind.UNRESOLVED:
        return _not_yet(case, [judged], text)
    amount = f"{_amount(case, case.primary, effect, text)} ({_between(effect, case.primary, text)})"
    if kind is Kind.EQUIVALENT:
        within = judged.verdict.text.removeprefix("equivalent ").partition(" (")[0]
        return f"{place} is equivalent to {case.baseline} {within}: {amount}"
    if kind is Kind.DIFFERENT:
        return f"with {place} {amount}"
    return f"{place} is {kind.value} than {case.baseline}: {amount}"


def _in_groups(case: Case, text: Text) -> str:
    """Of many comparisons the best, the worst and how many of each kind."""
    groups: dict[str, list[Judged]] = {}
    for each in case.verdicts:
        groups.setdefault("early" if _early(each) else each.verdict.kind.value, []).append(each)
    noun = "comparisons" if len({each.effect.place.cell for each in case.verdicts}) > 1 else "treatments"
    total = text.count(len(case.verdicts), noun)
    if list(groups) == [Kind.UNRESOLVED.value]:
        return f"no difference in {of(case.primary).name} was shown in any of {total} {noun} ({_widest(case, text)})"
    if list(groups) == [Kind.EQUIVALENT.value]:
        within = case.verdicts[0].verdict.text.removeprefix("equivalent ").partition(" (")[0]
        return f"all {total} {noun} are equivalent to {case.baseline} {within} in {of(case.primary).name}"
    parts = []
    for kind in (*_ORDER, "early"):
        if kind in groups:
            parts.append(_group(case, kind, groups[kind], text))
    if Kind.BETTER.value not in groups and Kind.DIFFERENT.value not in groups:
        parts.insert(0, f"nothing was shown to be better than {case.baseline}")
    return f"of {total} {noun} {'; '.join(parts)}" if Kind.BETTER.value in groups else "; ".join(parts)


_ORDER = tuple(
    kind.value
    for kind in (
        Kind.BETTER, Kind.DIFFERENT, Kind.WORSE, Kind.EQUIVALENT, Kind.UNRESOLVED, Kind.FAILED, Kind.NOT_COMPARED,
    )
)  # fmt: skip


def _group(case: Case, kind: str, members: Sequence["Judged"], text: Text) -> str:
    counted, verb = text.count(len(members), f"that are {kind}"), "is" if len(members) == 1 else "are"
    first = members[0]
    if kind in (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT):
        first = max(members, key=_size)
        which = "" if len(members) == 1 else "most of all "
        told = f"{_amount(case, case.primary, first.effect, text)} ({_between(first.effect, case.primary, text)})"
        than = f" than {case.baseline}" if kind is not Kind.DIFFERENT else f" from {case.baseline}"
        return f"{counted} {verb} {kind}{than}, {which}{_place(first.effect)}: {told}"
    if kind == Kind.FAILED:
        return f"{counted} failed ({_place(first.effect)}: {_short(first.verdict.text.removeprefix('failed: '))})"
    if kind == Kind.NOT_COMPARED:
        return f"{counted} {'was' if len(members) == 1 else 'were'} not compared ({_short(first.effect.refused)})"
    if kind == "early":
        return f"{counted} {verb} not judged yet"
    return f"{counted} {verb} {kind}"


def _size(judged: "Judged") -> float:
    effect = judged.effect
    if effect.scale is Scale.DIFFERENCE or effect.estimate <= 0.0:
        return abs(effect.estimate)
    return max(effect.estimate, 1.0 / effect.estimate)


def _place(effect: Effect) -> str:
    at = effect.place.cell.name
    return f"{effect.treatment} at {at}" if at else effect.treatment


def _short(reason: str) -> str:
    return reason if len(reason) <= _REASON_MAX else f"{reason[:_REASON_MAX].rsplit(' ', 1)[0]} …"


def _widest(case: Case, text: Text) -> str:
    known = [each.effect for each in case.verdicts if each.effect.informative]
    if not known:
        return "every interval is too wide to say anything"
    low, high = min(known, key=lambda each: each.low), max(known, key=lambda each: each.high)
    span = _span(low.low, high.high, low.scale, case.primary, text, "the widest interval")
    wide = len(case.verdicts) - len(known)
    more = f"; {text.count(wide, 'intervals without information')} too wide to say anything" if wide else ""
    return f"intervals {span}{more}"


def _between(effect: Effect, response: Response, text: Text) -> str:
    """The interval in words."""
    if not effect.informative:
        return "how much is not known"
    return _span(effect.low, effect.high, effect.scale, response, text, f"{response.name} {effect.place.name}")


def _span(low: float, high: float, scale: Scale, response: Response, text: Text, what: str) -> str:
    ends = ((low, f"{what}, low"), (high, f"{what}, high"))
    if scale is Scale.RATIO and high >= 1.0 + _TIMES_FROM:
        first, last = (text.number(f"×{three(value)}", value, name) for value, name in ends)
        return f"between {first} and {last}"
    unit = "%" if scale is Scale.RATIO else of(response).unit
    first, last = (text.number(_signed(value, scale, response), value, name) for value, name in ends)
    return f"between {first} and {last} {unit}".strip()


def _signed(value: float, scale: Scale, response: Response) -> str:
    shown = _shown(value, scale, response)
    return three(shown) if shown < 0.0 else f"+{three(shown)}"


def _shown(value: float, scale: Scale, response: Response) -> float:
    """A ratio as a change in per cent, a difference of shares in points, any other as it is."""
    if scale is Scale.RATIO:
        return (value - 1.0) * 100.0
    return value * 100.0 if response.unit == "share" else value


def _amount(case: Case, response: Response, effect: Effect, text: Text) -> str:
    """`throughput is 20.1 % higher`, `the database is 2.25 times as large`."""
    return _told(of(response), response, (effect.estimate,), effect, text, case.work)


def _told(phrase: Phrase, response: Response, values: Sequence[float], effect: Effect, text: Text, work: str) -> str:
    """A change in a phrase; two values are the least and the most of several conditions."""
    what = f"{response.name} {effect.treatment}"
    if effect.scale is Scale.RATIO and min(values) >= _TIMES_FROM:
        shown = " to ".join(text.number(three(value), value, what) for value in values)
        return phrase.sentence(f"{shown} times", phrase.times, work)
    sizes = sorted((abs(_shown(value, effect.scale, response)), value) for value in values)
    shown = " to ".join(text.number(three(size), value, what) for size, value in sizes)
    unit = "%" if effect.scale is Scale.RATIO else phrase.unit
    more = effect.estimate > effect.none
    return phrase.sentence(f"{shown} {unit}".strip(), phrase.more if more else phrase.less, work)


def _subjects(case: Case) -> Sequence[str]:
    """The treatments whose costs are told: the only ones, or the best of many."""
    names = list(dict.fromkeys(each.effect.treatment for each in case.verdicts))
    if case.objections or all(map(_early, case.verdicts)):
        return ()
    if len(names) <= _EACH_MAX:
        return names
    better = [each for each in case.verdicts if each.verdict.kind is Kind.BETTER]
    return [max(better, key=_size).effect.treatment] if better else ()


def _costs(case: Case, subjects: Sequence[str], text: Text) -> str:
    """Other responses that moved, of each subject."""
    told = {name: parts for name in subjects if (parts := [*_changed(case, name, text)])}
    if not told:
        return ""
    if len({each.effect.treatment for each in case.verdicts}) == 1:
        return _joined(next(iter(told.values())))
    return "; ".join(f"with {name} {_joined(parts)}" for name, parts in told.items())


def _changed(case: Case, treatment: str, text: Text) -> Iterator[str]:
    for response, effects in _chosen(case, treatment):
        values = [each.estimate for each in effects]
        ends = (min(values), max(values)) if three(min(values)) != three(max(values)) else (values[0],)
        yield _told(of(response), response, ends, effects[0], text, case.work)


def _chosen(case: Case, treatment: str) -> Sequence[tuple[Response, Sequence[Effect]]]:
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
    ranked = sorted(whole, key=lambda each: not each[0].adverse)[:CHANGES_MAX]
    return [(each[0].response, [change.effect for change in each]) for each in whole if each in ranked]


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _advice(case: Case, subjects: Sequence[str], text: Text) -> str:
    """What to do."""
    if case.standings:
        return _by_thresholds(case.standings, text)
    if case.objections:
        return "repeat the comparison in randomised blocks (pgassay run, pgassay compare)"
    for rule in _RULES:
        if found := rule(case, subjects, text):
            return found
    return ""


def _by_thresholds(standings: Sequence[Standing], text: Text) -> str:
    total = max(each.passed + len(each.failed) + len(each.unknown) for each in standings)
    whole = [each.treatment or "it" for each in standings if not each.failed and not each.unknown]
    failed = [each for each in standings if each.failed]
    unknown = [each for each in standings if each.unknown and not each.failed]
    head = f"of your {text.count(total, 'thresholds')} {plural('threshold', total)}"
    parts = []
    if whole:
        verb = "passes" if len(whole) == 1 else "pass"
        parts.append(f"{_joined(whole)} {verb} {'it' if total == 1 else 'all'}")
    parts += [f"{each.treatment or 'it'} fails {_joined(each.failed)}" for each in failed]
    parts += [f"{_joined(each.unknown)} is not known for {each.treatment or 'it'}" for each in unknown]
    return f"{head} {'; '.join(parts)}"


def _reasons(case: Case, treatment: str, *, adverse: bool) -> Sequence[str]:
    chosen = _chosen(case, treatment)
    return list(dict.fromkeys(of(r).reason for r, effects in chosen if Change(r, effects[0]).adverse is adverse))


def _take(case: Case, subjects: Sequence[str], text: Text) -> str:
    """Of treatments that are better, which to take."""
    kinds: dict[str, set[Kind]] = {}
    for each in case.verdicts:
        kinds.setdefault(each.effect.treatment, set()).add(each.verdict.kind)
    better = [name for name, found in kinds.items() if Kind.BETTER in found]
    if not better:
        return ""
    allowed = [name for name in better if name not in case.unsafe]
    if not allowed:
        verb = "is" if len(better) == 1 else "are"
        return f"{_joined(better)} {verb} not crash-safe: measured here, and never recommended"
    safe = [name for name in allowed if kinds[name] <= {Kind.BETTER, Kind.EQUIVALENT}]
    if not safe:
        mixed = [name for name in allowed if Kind.WORSE in kinds[name]]
        on = f" of {', '.join(case.varied)}" if case.varied else ""
        rest = "worse" if mixed else "not shown to be"
        return f"take {(mixed or allowed)[0]} only where it is better: at other levels{on} it is {rest}"
    named = [name for name in subjects if name in safe][:1] or safe[:1]
    against = _reasons(case, named[0], adverse=True)
    unless = f", unless {_joined(against)} {'counts' if len(against) == 1 else 'count'} more" if against else ""
    others = len(safe) - 1
    also = ""
    if others:
        also = f"; {text.count(others, 'others that are better')} more {'is' if others == 1 else 'are'} better, too"
        also += ", and they were not compared with each other"
    return f"take {named[0]}{unless}{also}"


def _early_advice(case: Case, subjects: Sequence[str], text: Text) -> str:
    """Before five blocks only more of them help."""
    early = [each for each in case.verdicts if _early(each)]
    if not early or len(early) < sum(each.verdict.kind is not Kind.NOT_COMPARED for each in case.verdicts):
        return ""
    if case.imported:
        return "these runs are too few to decide anything"
    needed = max((each.verdict for each in early), key=lambda each: each.more_blocks or 0)
    blocks = needed.more_blocks or 0
    more = f"at least {text.count(blocks, 'more blocks')} more {plural('block', blocks)}{_time(needed.more_s, text)}"
    return f"run it again with a larger --budget or --blocks: it takes {more}" if case.finished else f"it takes {more}"


def _time(seconds: float | None, text: Text) -> str:
    return "" if seconds is None else f" ({text.number(duration(seconds), seconds, 'seconds')})"


def _open(case: Case, subjects: Sequence[str], text: Text) -> str:
    """While the primary is unresolved: the other responses, and what an answer would take."""
    still = [each for each in case.verdicts if each.verdict.kind is Kind.UNRESOLVED]
    if not still:
        return ""
    worse = [each.effect.treatment for each in case.verdicts if each.verdict.kind is Kind.WORSE]
    against = list(dict.fromkeys(reason for name in subjects for reason in _reasons(case, name, adverse=True)))
    known = [each for each in still if each.verdict.more_blocks is not None]
    more = ""
    if known and not case.imported:
        nearest = min(known, key=lambda each: each.verdict.more_blocks or 0)
        blocks = nearest.verdict.more_blocks or 0
        counted = text.count(blocks, "more blocks")
        about = f"about {counted} more {plural('block', blocks)}{_time(nearest.verdict.more_s, text)}"
        first = "" if len(case.verdicts) == 1 else f" with {_place(nearest.effect)}"
        more = f"{about} may settle {of(case.primary).name}{first}"
    if worse:
        keep = f"keep {case.baseline} rather than {_joined(list(dict.fromkeys(worse))[:_EACH_MAX])}"
        return f"{keep}; {more}" if more else keep
    if against:
        return f"decide by {_joined(against)}{f', or run on: {more}' if more else ''}"
    if more:
        return more
    if case.imported:
        return "these runs do not decide it"
    return "more blocks than can be run would be needed: decide by other reasons, or ask for a coarser resolution"


def _settled(case: Case, subjects: Sequence[str], text: Text) -> str:
    """Nothing better, and everything decided: worse, equivalent, failed or refused."""
    kinds = {each.verdict.kind for each in case.verdicts}
    if Kind.DIFFERENT in kinds:
        return "neither direction is better by itself: decide by what you need"
    if kinds <= {Kind.FAILED, Kind.WORSE}:
        return f"keep {case.baseline}"
    reasons = [reason for name in subjects for side in (True, False) for reason in _reasons(case, name, adverse=side)]
    if reasons:
        return f"decide by {_joined(list(dict.fromkeys(reasons)))}"
    if kinds <= {Kind.NOT_COMPARED}:
        return "see the costs and the space, which can be compared"
    return f"keep {case.baseline}: no gain was shown"


_RULES: Sequence[Callable[[Case, Sequence[str], Text], str]] = (_early_advice, _take, _open, _settled)
"""The first that has something to say gives the advice."""
