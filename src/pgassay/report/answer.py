"""The answer in one to three sentences: what was found, what it costs, what to do. Plain values in, texts out.

Nothing is computed here. Every number comes from an effect, a verdict or a threshold, is rounded to three significant
digits and kept beside the text, so that a reader can look it up. The sentences follow the verdicts: what is unresolved
there is not shown here, what was refused is not compared, and what is not crash-safe is never recommended.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Effect
from pgassay.analysis.numbers import plural, rounded, tenths
from pgassay.analysis.verdicts import Kind
from pgassay.report.advice import advice
from pgassay.report.case import (
    CHANGES_MAX,
    EACH_MAX,
    Case,
    Headline,
    Text,
    joined,
    listed,
    moved_of,
    not_judged,
    place_of,
    short,
    shortened,
    size_of,
)
from pgassay.report.phrases import of
from pgassay.report.section import Badge
from pgassay.report.words import PROVISIONAL
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Judged

SENTENCES_MAX = 3
BADGES_MAX = 6
"""More comparisons get a sentence for each group, and no badges."""
_WHOLE_FROM = 10.0
"""Per cent from which a badge has no decimals."""
_TIMES_FROM = 2.0
"""A ratio from which it is written as times, since +845 % is hard to read."""


def headline(case: Case) -> Headline:
    """The headline of a study that compares treatments; raises ValueError where there is no comparison."""
    if not case.verdicts:
        raise ValueError("nothing was compared")
    text = Text(level=case.verdicts[0].effect.level)
    subjects = _subjects(case)
    parts = (_found(case, text), _costs(case, subjects, text), what := advice(case, subjects, text))
    found = badges(case)
    return Headline(
        [part for part in parts if part][:SENTENCES_MAX], text.figures, found, [what] if found and what else ()
    )


def badges(case: Case) -> Sequence[Badge]:
    """A line for each comparison, as `75: same speed (±10 %), -48 % WAL, +26 % space`; none where they are many."""
    if case.objections or len(case.verdicts) > BADGES_MAX:
        return ()
    return [Badge(_badged(case, each.effect), each.verdict.kind, found_of(case, each)) for each in case.verdicts]


def _badged(case: Case, effect: Effect) -> str:
    at = effect.place.cell.name
    name = short(effect.treatment, beside=case.baseline)
    return f"{name} at {at}" if at else name


def found_of(case: Case, judged: "Judged") -> Sequence[str]:
    """What was found of one comparison: its verdict, what else moved, and what is not known yet."""
    return [_verdict_badge(case, judged), *_other_badges(case, judged)]


def _verdict_badge(case: Case, judged: "Judged") -> str:
    """Of the primary response."""
    name, kind = of(case.primary).badge, judged.verdict.kind
    if kind in (Kind.FAILED, Kind.NOT_COMPARED):
        return kind.value
    if not_judged(judged):
        return "no verdict yet"
    if kind is Kind.UNRESOLVED:
        return f"{name} not settled"
    if kind is Kind.EQUIVALENT:
        return f"same {name} ({_within(judged).removeprefix('within ')})"
    return _changed(case, case.primary, judged.effect)


def _other_badges(case: Case, judged: "Judged") -> Iterator[str]:
    """Of what else moved, and of what is not known yet."""
    if judged.verdict.kind is Kind.FAILED:
        return
    place = judged.effect.place
    yield from (_changed(case, each.response, each.effect) for each in case.changes if each.effect.place == place)
    for response, names in case.unresolved:
        if place.treatment in names:
            yield f"{of(response).badge} not settled"


def _changed(case: Case, response: Response, effect: Effect) -> str:
    """`-48 % WAL (data as loaded, a checkpoint every 3 s)`: to a per cent from ten on, since the rows have the rest."""
    phrase, shown = of(response), _shown(effect.estimate, effect.scale, response)
    unit = "%" if effect.scale is Scale.RATIO else phrase.unit
    if _in_times(effect):
        amount, unit = f"×{rounded(effect.estimate)}", ""
    elif unit in ("%", "points") and abs(shown) >= _WHOLE_FROM:
        amount = f"{shown:+.0f}"
    else:
        amount = _signed(effect.estimate, effect.scale, response)
    regime = _regime(case, Text()).values() if response.name in _BY_REGIME else ()
    return " ".join(filter(None, (amount, unit, phrase.badge, f"({', '.join(regime)})" if regime else "")))


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
    seen = [each.effect for each in compared if each.effect.contrasts and not each.effect.bounded]
    if seen:
        some = sorted(seen, key=lambda each: abs(_shown(each.estimate, each.scale, case.primary)))[-EACH_MAX:]
        said += f"; {PROVISIONAL}: {'; '.join(_provisional(case, each, text) for each in some)}"
    if case.disturbed is None:
        return said
    lost, every = case.disturbed.discarded, case.disturbed.trials
    of_all = f"{text.count(lost, 'discarded trials')} of {text.count(every, 'trials')} trials"
    return f"{said}; {of_all} were discarded because other programs disturbed them"


def _provisional(case: Case, effect: Effect, text: Text) -> str:
    """What blocks show that are too few for a verdict: their mean, and the least and the greatest of them."""
    amount = _phrased(case, case.primary, [effect], [_value(case.primary, effect, text)], text)
    seen = [value for _, value in effect.contrasts]
    if len(seen) == 1:
        return f"with {place_of(effect)} {amount}"
    span = _span(min(seen), max(seen), effect.scale, case.primary, text, f"blocks of {effect.place.name}")
    return f"with {place_of(effect)} {amount} (blocks {span})"


def _and_refused(case: Case, text: Text) -> str:
    refused = [each for each in case.verdicts if each.verdict.kind is Kind.NOT_COMPARED]
    if not refused:
        return ""
    counted = text.count(len(refused), "comparisons that were refused")
    return f"; {counted} {plural('comparison', len(refused))} refused ({shortened(refused[0].effect.refused)})"


def _one_by_one(case: Case, text: Text) -> str:
    """Each comparison by itself; those with the same verdict, and those that show no difference, in one phrase."""
    still = [each for each in case.verdicts if each.verdict.kind is Kind.UNRESOLVED and not not_judged(each)]
    judged = [each for each in case.verdicts if each not in still]
    parts = [_both(case, judged, text)] if _alike(case, judged) else [_said(case, each, text) for each in judged]
    if still:
        names = [place_of(each.effect) for each in still]
        listed = " or ".join(
            f"with {short(name, beside=names[0]) if place else name} ({_interval(each.effect, case.primary, text)})"
            for place, (name, each) in enumerate(zip(names, still, strict=True))
        )
        parts.append(f"{of(case.primary).name} is not settled {listed}")
    return "; ".join(parts)


def _alike(case: Case, judged: Sequence["Judged"]) -> bool:
    """Can these stand in one phrase: the same verdict in the same direction at one place, both in per cent?"""
    effects = [each.effect for each in judged]
    return (
        len(judged) > 1
        and len({each.verdict.kind for each in judged}) == 1
        and judged[0].verdict.kind in (Kind.BETTER, Kind.WORSE)
        and len({each.place.cell for each in effects}) == 1
        and _same_words(effects)
    )


def _same_words(effects: Sequence[Effect]) -> bool:
    """Do these changes go the same way, and all in per cent (or all as times, or all in a unit)?"""
    times = {each.scale is Scale.RATIO and each.estimate >= _TIMES_FROM for each in effects}
    return len({each.estimate > each.none for each in effects}) == 1 and len(times) == 1


def _both(case: Case, judged: Sequence["Judged"], text: Text) -> str:
    """Several comparisons with the same verdict."""
    effects = [each.effect for each in judged]
    names, cell = listed([each.treatment for each in effects]), effects[0].place.cell.name
    than = f"{short(case.baseline, beside=effects[0].treatment)}{f' at {cell}' if cell else ''}"
    amounts = [f"{_value(case.primary, each, text)} ({_interval(each, case.primary, text)})" for each in effects]
    said = _phrased(case, case.primary, effects, amounts, text)
    return f"{names} are {judged[0].verdict.kind.value} than {than}: {said}"


def _said(case: Case, judged: "Judged", text: Text) -> str:
    """One comparison with a verdict, in words."""
    effect, kind, place = judged.effect, judged.verdict.kind, place_of(judged.effect)
    if kind is Kind.FAILED:
        return f"{place} failed ({shortened(judged.verdict.text.removeprefix('failed: '))})"
    if kind is Kind.NOT_COMPARED:
        return f"{place} was not compared with {case.baseline} ({shortened(effect.refused)})"
    if kind is Kind.UNRESOLVED:
        return _not_yet(case, [judged], text)
    baseline = short(case.baseline, beside=effect.treatment)
    if kind is Kind.EQUIVALENT:
        return f"{place} is equivalent to {baseline} {_within(judged)}: {_amount(case, effect, text)}"
    if kind is Kind.DIFFERENT:
        return f"with {place} {_amount(case, effect, text)}"
    return f"{place} is {kind.value} than {baseline}: {_amount(case, effect, text)}"


def _within(judged: "Judged") -> str:
    """`within ±2 %`, of a verdict of equivalence."""
    return judged.verdict.text.removeprefix("equivalent ").partition(" (")[0]


def _in_groups(case: Case, text: Text) -> str:
    """Of many comparisons the best, the worst and how many of each kind."""
    groups: dict[str, list[Judged]] = {}
    for each in case.verdicts:
        groups.setdefault("early" if not_judged(each) else each.verdict.kind.value, []).append(each)
    noun = "comparisons" if len({each.effect.place.cell for each in case.verdicts}) > 1 else "treatments"
    total = text.count(len(case.verdicts), noun)
    if list(groups) == [Kind.UNRESOLVED.value]:
        return f"{of(case.primary).name} is not settled in any of {total} {noun} ({_widest(case, text)})"
    if list(groups) == [Kind.EQUIVALENT.value]:
        within = _within(case.verdicts[0])
        return f"all {total} {noun} are equivalent to {case.baseline} {within} in {of(case.primary).name}"
    if list(groups) == [Kind.BETTER.value]:
        best = max(case.verdicts, key=size_of)
        most = f"most of all {place_of(best.effect)}: {_amount(case, best.effect, text)}"
        return f"all {total} {noun} are better than {case.baseline}, {most}"
    parts: list[str] = []
    for kind in (*_ORDER, "early"):
        if kind in groups:
            parts.append(_group(case, kind, groups[kind], text, first=not parts))
    if Kind.BETTER.value not in groups and Kind.DIFFERENT.value not in groups:
        parts.insert(0, f"nothing was shown to be better than {case.baseline}")
    return f"of {total} {noun} {'; '.join(parts)}" if Kind.BETTER.value in groups else "; ".join(parts)


_ORDER = tuple(
    kind.value
    for kind in (
        Kind.BETTER, Kind.DIFFERENT, Kind.WORSE, Kind.EQUIVALENT, Kind.UNRESOLVED, Kind.FAILED, Kind.NOT_COMPARED,
    )
)  # fmt: skip


def _group(case: Case, kind: str, members: Sequence["Judged"], text: Text, *, first: bool) -> str:
    """How many are of a kind, with the largest of them; the `first` group names the baseline."""
    counted, verb = text.count(len(members), f"that are {kind}"), "is" if len(members) == 1 else "are"
    one = members[0]
    if kind in (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT):
        one = max(members, key=size_of)
        which = "namely" if len(members) == 1 else "most of all"
        than = f" {'from' if kind == Kind.DIFFERENT else 'than'} {case.baseline}" if first else ""
        return f"{counted} {verb} {kind}{than}, {which} {place_of(one.effect)}: {_amount(case, one.effect, text)}"
    if kind == Kind.FAILED:
        return f"{counted} failed ({place_of(one.effect)}: {shortened(one.verdict.text.removeprefix('failed: '))})"
    if kind == Kind.NOT_COMPARED:
        return f"{counted} {'was' if len(members) == 1 else 'were'} not compared ({shortened(one.effect.refused)})"
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
    return f"intervals from {span}{more}"


def _interval(effect: Effect, response: Response, text: Text) -> str:
    """The interval in words; the first of a headline says how sure it is.

    without signs where both ends go the estimate's way, which the sentence names: `29.2 to 30.3 %` of what is less.
    Of an estimate in times the ends are times too.
    """
    if not effect.informative:
        return "how much is not known"
    what = f"{response.name} {effect.place.name}"
    if _in_times(effect):
        ends = [(effect.low, f"{what}, low"), (effect.high, f"{what}, high")]
        span = " to ".join(text.number(rounded(value), value, name) for value, name in ends) + " times"
    else:
        span = _span(effect.low, effect.high, effect.scale, response, text, what)
    return f"{text.certainty()}{span}"


def _span(low: float, high: float, scale: Scale, response: Response, text: Text, what: str) -> str:
    ends = [(low, f"{what}, low"), (high, f"{what}, high")]
    if scale is Scale.RATIO and high >= 1.0 + _TIMES_FROM:
        first, last = (text.number(f"×{rounded(value)}", value, name) for value, name in ends)
        return f"{first} to {last}"
    unit = "%" if scale is Scale.RATIO else of(response).unit
    shown = [_shown(value, scale, response) for value, _ in ends]
    if max(shown) < 0.0:
        ends.reverse()
    written = _size if min(shown) > 0.0 or max(shown) < 0.0 else _signed
    first, last = (text.number(written(value, scale, response), value, name) for value, name in ends)
    return f"{first} to {last} {unit}".strip()


def _signed(value: float, scale: Scale, response: Response) -> str:
    size = _size(value, scale, response)
    return f"-{size}" if _shown(value, scale, response) < 0.0 else f"+{size}"


def _size(value: float, scale: Scale, response: Response) -> str:
    """Without its sign; per cents and points to a decimal, as the tables have them, so that no two differ on a page."""
    size = abs(_shown(value, scale, response))
    if isfinite(size) and (scale is Scale.RATIO or response.unit == "share"):
        return tenths(size).removesuffix(".0")
    return rounded(size)


def _shown(value: float, scale: Scale, response: Response) -> float:
    """A ratio as a change in per cent, a difference of shares in points, any other as it is."""
    if scale is Scale.RATIO:
        return (value - 1.0) * 100.0
    return value * 100.0 if response.unit == "share" else value


def _amount(case: Case, effect: Effect, text: Text) -> str:
    """Of the primary response: `throughput is 20.1 % higher (95 % interval 18.4 to 21.9 %)`."""
    said = _phrased(case, case.primary, [effect], [_value(case.primary, effect, text)], text)
    return f"{said} ({_interval(effect, case.primary, text)})"


def _phrased(case: Case, response: Response, effects: Sequence[Effect], amounts: Sequence[str], text: Text) -> str:
    """Changes of one direction in a phrase: `the database is 7.7 % and 24.5 % larger`."""
    phrase, first = of(response), effects[0]
    end = phrase.more if first.estimate > first.none else phrase.less
    if _in_times(first):
        end = phrase.times
    said = phrase.sentence(joined(list(dict.fromkeys(amounts))), end, case.work)
    regime = _regime(case, text) if response.name in _BY_REGIME else {}
    return f"{said} {', '.join(map(' '.join, regime.items()))}" if regime else said


_BY_REGIME = ("wal_bytes_per_transaction", "full_page_images_per_transaction")
"""What depends most on how often checkpoints come and on the age of the data: a number is true for these alone."""
_OFTEN_S = 60.0
"""A server in use has a checkpoint every few minutes; more often than this is named."""


def _regime(case: Case, text: Text) -> Mapping[str, str]:
    """`data as loaded`, `a checkpoint every 3 s`, by preposition; nothing where a server in use has the same."""
    found = {"on": "data as loaded"} if case.fresh else {}
    if case.checkpoint_s is not None and case.checkpoint_s < _OFTEN_S:
        seconds = text.number(rounded(case.checkpoint_s), case.checkpoint_s, "seconds from one checkpoint to the next")
        found["with"] = f"a checkpoint every {seconds} s"
    return {**found, "at": "full speed"} if case.full_speed else found


def _in_times(effect: Effect) -> bool:
    return effect.scale is Scale.RATIO and effect.estimate >= _TIMES_FROM


def _value(response: Response, effect: Effect, text: Text, most: Effect | None = None) -> str:
    """`20.1 %`, `2.25 times`; with the `most` of several conditions `20 to 30 %`."""
    what = f"{response.name} {effect.treatment}"
    values = [effect.estimate] if most is None else [effect.estimate, most.estimate]
    if _in_times(effect):
        return f"{' to '.join(text.number(rounded(value), value, what) for value in values)} times"
    shown = " to ".join(text.number(_size(value, effect.scale, response), value, what) for value in values)
    return f"{shown} {'%' if effect.scale is Scale.RATIO else of(response).unit}".strip()


def _subjects(case: Case) -> Sequence[str]:
    """The treatments whose costs are named: the only ones, or the best of many."""
    names = list(dict.fromkeys(each.effect.treatment for each in case.verdicts))
    if case.objections or all(map(not_judged, case.verdicts)):
        return ()
    if len(names) <= EACH_MAX:
        return names
    better = [each for each in case.verdicts if each.verdict.kind is Kind.BETTER]
    return [max(better, key=size_of).effect.treatment] if better else ()


def _costs(case: Case, subjects: Sequence[str], text: Text) -> str:
    """Other responses that moved, with the subjects that they moved with."""
    parts = []
    for names, moved in _together(case, subjects):
        phrases = [
            _phrased(case, response, [each[0] for each in every], _values(response, every, text), text)
            for response, every in moved
        ]
        said = "; ".join(phrases) if any("," in each for each in phrases) else joined(phrases)
        alone = len({each.effect.treatment for each in case.verdicts}) == 1
        parts.append(said if alone else f"with {listed(names)} {said}")
    still = [of(response).name for response, names in case.unresolved if any(name in names for name in subjects)]
    if still:
        some = [*still[:CHANGES_MAX], *(["more"] if len(still) > CHANGES_MAX else [])]
        parts.append(f"{joined(some)} {'is' if len(still) == 1 else 'are'} unresolved")
    return "; ".join(parts)


_Moved: TypeAlias = list[tuple[Response, list[Sequence[Effect]]]]
"""Responses that moved, each with its effects of every treatment at all places."""


def _together(case: Case, subjects: Sequence[str]) -> list[tuple[Sequence[str], _Moved]]:
    """What moved with all subjects alike, and then what moved with one of them only (or otherwise)."""
    found = {name: dict(_by_name(case, name)) for name in subjects}
    shared: _Moved = []
    for name, (response, effects) in found[subjects[0]].items() if len(subjects) > 1 else ():
        every = [effects, *(mine[name][1] for other in subjects[1:] if name in (mine := found[other]))]
        if len(every) == len(subjects) and _same_words([each for effects in every for each in effects]):
            shared.append((response, every))
    names = {response.name for response, _ in shared}
    rest = [
        (
            [subject],
            [(response, [effects]) for name, (response, effects) in found[subject].items() if name not in names],
        )
        for subject in subjects
    ]
    return [each for each in ((subjects, shared), *rest) if each[1]]


def _by_name(case: Case, treatment: str) -> Iterator[tuple[str, tuple[Response, Sequence[Effect]]]]:
    return ((response.name, (response, effects)) for response, effects in moved_of(case, treatment))


def _values(response: Response, every: Sequence[Sequence[Effect]], text: Text) -> list[str]:
    """An amount for each treatment, from the least to the most of its places."""
    amounts = []
    for effects in every:
        rising = sorted(effects, key=lambda each: abs(_shown(each.estimate, each.scale, response)))
        least, most = rising[0], rising[-1]
        same = rounded(least.estimate) == rounded(most.estimate)
        amounts.append(_value(response, least, text, None if same else most))
    return amounts
