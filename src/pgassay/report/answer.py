"""The answer in one to three sentences: what was found, what it costs, what to do. Plain values in, texts out.

Nothing is computed here. Every number comes from an effect, a verdict or a threshold, is rounded to three significant
digits and kept beside the text, so that a reader can look it up. The sentences follow the verdicts: what is unresolved
there is not shown here, what was refused is not compared, and what is not crash-safe is never recommended.
"""

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Effect
from pgassay.analysis.messages import plural, rounded
from pgassay.analysis.verdicts import Kind
from pgassay.report.advice import advice
from pgassay.report.case import (
    CHANGES_MAX,
    EACH_MAX,
    Case,
    Headline,
    Text,
    joined,
    moved_of,
    not_judged,
    place_of,
    shortened,
    size_of,
)
from pgassay.report.phrases import Phrase, of
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Judged

SENTENCES_MAX = 3
_TENTH = 0.05
"""What is rounded to a tenth of a per cent at least."""
_TIMES_FROM = 2.0
"""A ratio from which it is told as times, since +845 % is hard to read."""


def headline(case: Case) -> Headline:
    """The headline of a study that compares treatments; raises ValueError where there is no comparison."""
    if not case.verdicts:
        raise ValueError("nothing was compared")
    text = Text()
    subjects = _subjects(case)
    parts = (_found(case, text), _costs(case, subjects, text), advice(case, subjects, text))
    return Headline([part for part in parts if part][:SENTENCES_MAX], text.figures)


def _found(case: Case, text: Text) -> str:
    """What the verdicts say of the primary response."""
    head = f"{case.label}: " if case.label else ""
    if case.objections:
        listed = "; ".join(case.objections)
        return f"{head}no verdict: lint objects to these runs ({shortened(listed)})"
    compared = [each for each in case.verdicts if each.verdict.kind is not Kind.NOT_COMPARED]
    judged = [each for each in compared if not not_judged(each)]
    if not judged and compared:
        return head + _not_yet(case, compared, text) + _and_refused(case, text)
    if len(case.verdicts) <= EACH_MAX:
        return head + _one_by_one(case, text)
    return head + _in_groups(case, text)


def _not_yet(case: Case, compared: Sequence["Judged"], text: Text) -> str:
    most = max(each.effect.blocks for each in compared)
    takes = text.count(FIRST_LOOK, "blocks that a verdict takes")
    have = f"{text.count(most, 'blocks in common with the baseline')} {'counts' if most == 1 else 'count'} so far"
    said = f"no verdict yet on {of(case.primary).name}: it takes {takes} blocks, and {have}"
    if case.disturbed is None:
        return said
    lost, every = case.disturbed.discarded, case.disturbed.trials
    of_all = f"{text.count(lost, 'discarded trials')} of {text.count(every, 'trials')} trials"
    return f"{said}; {of_all} were discarded because other programs disturbed them"


def _and_refused(case: Case, text: Text) -> str:
    refused = [each for each in case.verdicts if each.verdict.kind is Kind.NOT_COMPARED]
    if not refused:
        return ""
    counted = text.count(len(refused), "comparisons that were refused")
    return f"; {counted} {plural('comparison', len(refused))} refused ({shortened(refused[0].effect.refused)})"


def _one_by_one(case: Case, text: Text) -> str:
    """Each comparison by itself; those that show no difference in one phrase."""
    still = [each for each in case.verdicts if each.verdict.kind is Kind.UNRESOLVED and not not_judged(each)]
    parts = [_said(case, each, text) for each in case.verdicts if each not in still]
    if still:
        listed = " or ".join(
            f"with {place_of(each.effect)} ({_between(each.effect, case.primary, text)})" for each in still
        )
        parts.append(f"no difference in {of(case.primary).name} was shown {listed}")
    return "; ".join(parts)


def _said(case: Case, judged: "Judged", text: Text) -> str:
    """One comparison with a verdict, in words."""
    effect, kind, place = judged.effect, judged.verdict.kind, place_of(judged.effect)
    if kind is Kind.FAILED:
        return f"{place} failed ({shortened(judged.verdict.text.removeprefix('failed: '))})"
    if kind is Kind.NOT_COMPARED:
        return f"{place} was not compared with {case.baseline} ({shortened(effect.refused)})"
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
        groups.setdefault("early" if not_judged(each) else each.verdict.kind.value, []).append(each)
    noun = "comparisons" if len({each.effect.place.cell for each in case.verdicts}) > 1 else "treatments"
    total = text.count(len(case.verdicts), noun)
    if list(groups) == [Kind.UNRESOLVED.value]:
        return f"no difference in {of(case.primary).name} was shown in any of {total} {noun} ({_widest(case, text)})"
    if list(groups) == [Kind.EQUIVALENT.value]:
        within = case.verdicts[0].verdict.text.removeprefix("equivalent ").partition(" (")[0]
        return f"all {total} {noun} are equivalent to {case.baseline} {within} in {of(case.primary).name}"
    if list(groups) == [Kind.BETTER.value]:
        best = max(case.verdicts, key=size_of)
        told = f"{_amount(case, case.primary, best.effect, text)} ({_between(best.effect, case.primary, text)})"
        return f"all {total} {noun} are better than {case.baseline}, most of all {place_of(best.effect)}: {told}"
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
        first = max(members, key=size_of)
        which = "" if len(members) == 1 else "most of all "
        told = f"{_amount(case, case.primary, first.effect, text)} ({_between(first.effect, case.primary, text)})"
        than = f" than {case.baseline}" if kind is not Kind.DIFFERENT else f" from {case.baseline}"
        return f"{counted} {verb} {kind}{than}, {which}{place_of(first.effect)}: {told}"
    if kind == Kind.FAILED:
        return f"{counted} failed ({place_of(first.effect)}: {shortened(first.verdict.text.removeprefix('failed: '))})"
    if kind == Kind.NOT_COMPARED:
        return f"{counted} {'was' if len(members) == 1 else 'were'} not compared ({shortened(first.effect.refused)})"
    if kind == "early":
        return f"{counted} {verb} not judged yet"
    return f"{counted} {verb} {kind}"


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
        first, last = (text.number(f"×{rounded(value)}", value, name) for value, name in ends)
        return f"between {first} and {last}"
    unit = "%" if scale is Scale.RATIO else of(response).unit
    first, last = (text.number(_signed(value, scale, response), value, name) for value, name in ends)
    return f"between {first} and {last} {unit}".strip()


def _signed(value: float, scale: Scale, response: Response) -> str:
    size = _size(value, scale, response)
    return f"-{size}" if _shown(value, scale, response) < 0.0 else f"+{size}"


def _size(value: float, scale: Scale, response: Response) -> str:
    """Without its sign; per cents and points to a decimal, as the tables have them, so that no two differ on a page."""
    size = abs(_shown(value, scale, response))
    if isfinite(size) and (scale is Scale.RATIO or response.unit == "share") and size >= _TENTH:
        return f"{size:,.1f}".removesuffix(".0")
    return rounded(size)


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
        shown = " to ".join(text.number(rounded(value), value, what) for value in values)
        return phrase.sentence(f"{shown} times", phrase.times, work)
    rising = sorted(values, key=lambda value: abs(_shown(value, effect.scale, response)))
    shown = " to ".join(text.number(_size(value, effect.scale, response), value, what) for value in rising)
    unit = "%" if effect.scale is Scale.RATIO else phrase.unit
    more = effect.estimate > effect.none
    return phrase.sentence(f"{shown} {unit}".strip(), phrase.more if more else phrase.less, work)


def _subjects(case: Case) -> Sequence[str]:
    """The treatments whose costs are told: the only ones, or the best of many."""
    names = list(dict.fromkeys(each.effect.treatment for each in case.verdicts))
    if case.objections or all(map(not_judged, case.verdicts)):
        return ()
    if len(names) <= EACH_MAX:
        return names
    better = [each for each in case.verdicts if each.verdict.kind is Kind.BETTER]
    return [max(better, key=size_of).effect.treatment] if better else ()


def _costs(case: Case, subjects: Sequence[str], text: Text) -> str:
    """Other responses that moved, of each subject."""
    told = {name: parts for name in subjects if (parts := [*_changed(case, name, text)])}
    parts = [f"with {name} {joined(parts)}" for name, parts in told.items()]
    if told and len({each.effect.treatment for each in case.verdicts}) == 1:
        parts = [joined(next(iter(told.values())))]
    still = [of(response).name for response, names in case.unresolved if any(name in names for name in subjects)]
    if still:
        some = [*still[:CHANGES_MAX], *(["more"] if len(still) > CHANGES_MAX else [])]
        parts.append(f"{joined(some)} {'is' if len(still) == 1 else 'are'} unresolved")
    return "; ".join(parts)


def _changed(case: Case, treatment: str, text: Text) -> Iterator[str]:
    for response, effects in moved_of(case, treatment):
        values = [each.estimate for each in effects]
        ends = (min(values), max(values)) if rounded(min(values)) != rounded(max(values)) else (values[0],)
        yield _told(of(response), response, ends, effects[0], text, case.work)
