"""Published findings against one's own effect: reproduced, contradicted, not testable or not comparable here.

A claim names the range of effects that would reproduce it. An interval inside the range reproduces it, one outside
contradicts it; an interval that holds both says neither, and the judgement then says how many blocks more would.

Paired claims are those that no comparison of two treatments answers. `per` divides the response by another one of the
same trial (the WAL's write amplification by the data's). `against` may name another condition or covariate point (38
threads against 1). `than` holds a change against the same change with other levels (what FILLFACTOR costs on one drive,
by what it costs on the other). All sides are taken from the same block, so that what moves a whole block cancels, and
the interval is that of any other comparison that stands for itself; of several `than` the weakest decides, and they
share an error rate.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from math import inf, isfinite, log

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.compare import Looks, compare
from pgassay.analysis.effects import Effect, few_blocks
from pgassay.analysis.forecast import blocks_to_distinguish
from pgassay.analysis.numbers import duration
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Verdict, needs, not_compared
from pgassay.study.drives import CLAIMED, DATA, DECLARABLE, WAL, kind_of, role_of
from pgassay.study.levels import Arm, Levels, Place
from pgassay.study.model import Claim, Study
from pgassay.study.responses import Better, Response, Scale


class Mark(StrEnum):
    """What a run says about a published claim."""

    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    NOT_TESTABLE = "not testable here"
    NOT_COMPARABLE = "not comparable here"


@dataclass(frozen=True)
class ClaimJudgement:
    """A claim with its mark and the sentence that a report prints."""

    claim: Claim
    mark: Mark
    text: str
    more_blocks: int | None = None
    why: str = ""
    """Of a contradicted claim: what may be behind it."""


def judge(
    claim: Claim,
    effect: Effect | None,
    *,
    blocks_max: int = 30,
    verdict: Verdict | None = None,
    repeatable: bool = True,
    points: bool = False,
) -> ClaimJudgement:
    """Mark `claim` by the effect of its treatment against its baseline; None when this run has no such effect.

    `verdict` is the one on the same comparison, where the report has one: while it is unresolved, the claim asks for
    the blocks that it asks for. Nobody can add blocks to runs that are not `repeatable`. A difference of shares is
    written in percentage `points`, as everywhere on a page.
    """
    if claim.untestable:
        return not_testable(claim, claim.untestable)
    if claim.low is None and claim.high is None:
        return not_testable(claim, "the claim states no range that a run could test")
    if effect is not None and effect.refused:
        return not_testable(claim, not_compared(effect.refused))
    if effect is None or effect.blocks == 0:
        return not_testable(claim, "this run has no block with valid trials of both treatments")
    if effect.blocks < FIRST_LOOK or not effect.bounded:
        return not_testable(claim, few_blocks(effect.blocks, FIRST_LOOK))
    low, high = _ends(claim)
    if claim.magnitude is not None and low <= effect.none <= high:
        return not_testable(claim, "its range includes no effect, and a size was published")
    points = points and effect.scale is Scale.DIFFERENCE
    form, times = ("+.1f", 100.0) if points else (".3f" if effect.scale is Scale.RATIO else "+.3g", 1.0)
    value, least, most = (f"{each * times:{form}}" for each in (effect.estimate, effect.low, effect.high))
    found = f"here {value}{' points' if points else ''} [{least}, {most}]"
    clear = _marked(claim, effect.low, effect.high, found, points)
    if clear is not None:
        return clear
    wide = f"for {band(claim, points)}, {found}" if effect.informative else "to say anything"
    if not repeatable:
        return not_testable(claim, f"the interval is too wide {wide}")
    if verdict is not None and not verdict.settled:
        blocks, needed = verdict.more_blocks, f"the verdict comes first: it {needs(verdict.more_blocks, None)}"
    else:
        blocks = _more_blocks(effect, low, high, blocks_max)
        settled = "the verdict asks only for a difference and is settled, to tell this range"
        needed = f"{'it' if verdict is None else settled} {needs(blocks, None)}"
    return not_testable(claim, f"the interval is too wide {wide}; {needed}", blocks)


def judge_range(claim: Claim, value: float, low: float, high: float) -> ClaimJudgement:
    """Mark a claim on a figure that was fitted (a kink, a gain) by its interval; the claim's range is of the figure."""
    if claim.low is None and claim.high is None:
        return not_testable(claim, "the claim states no range that a run could test")
    found = f"here {value:.3g} [{low:.3g}, {high:.3g}]"
    return _marked(claim, low, high, found) or not_testable(
        claim, f"the interval is too wide for {band(claim)}, {found}"
    )


def band(claim: Claim, points: bool = False) -> str:
    """The range that reproduces a claim, as printed with its mark: `1.10–1.35`, `1.10 or more`, `5–10 points`."""
    low, high = (
        "" if end is None else f"{end * 100:g}" if points else f"{end:.2f}" if round(end, 2) == end else f"{end:g}"
        for end in (claim.low, claim.high)
    )
    unit = " points" if points else ""
    if low and high:
        return f"{low}–{high}{unit}"
    return f"{low}{unit} or more" if low else f"{high}{unit} or less"


def _marked(claim: Claim, low: float, high: float, found: str, points: bool = False) -> ClaimJudgement | None:
    """Reproduced or contradicted, as the interval lies inside the claim's range or outside it; None for astride."""
    least, most = _ends(claim)
    if least <= low and high <= most:
        return ClaimJudgement(claim, Mark.REPRODUCED, f"reproduced: {found}, inside {band(claim, points)}")
    if high < least or low > most:
        return ClaimJudgement(claim, Mark.CONTRADICTED, f"contradicted: {found}, outside {band(claim, points)}")
    return None


def _ends(claim: Claim) -> tuple[float, float]:
    return -inf if claim.low is None else claim.low, inf if claim.high is None else claim.high


def effect_of(claim: Claim, effects: Sequence[Effect], named: frozenset[str] | None = None) -> Effect | None:
    """The first effect whose treatment, condition and covariate hold every level that the claim names.

    The effects must be against the claim's `against`: pass `compare(…, baseline=the label of it)`. `named` are those
    that a label has to name (see `needed_parts`): all of the claim's treatment by default.
    """
    named = label_parts(claim.treatment) if named is None else named
    for effect in effects:
        have = {part for label in effect.place for part in parts_of(label)}
        if effect.response == claim.response and named <= have:
            return effect
    return None


def instances(claim: Claim, study: Study) -> tuple[Claim, ...]:
    """The claims that one of a study file stands for: on each drive of a role, and at each level of its `each`."""
    found, levels = by_role(claim, study), _levels_there(study, claim.each)
    if len(levels) < 2:
        return found
    return tuple(
        replace(one, text=f"{one.text} ({one.each}={level})", treatment={**one.treatment, one.each: level})
        for one in found
        for level in levels
    )


def by_role(claim: Claim, study: Study) -> tuple[Claim, ...]:
    """The claim on each drive of the study that is what the authors' drive was; the claim itself where there is none.

    Claims name drives by the emulated kinds: `ssd` stands for a normal drive and `csd` for a compressing one. Of
    several drives in one role each is judged, and named behind the claim's text.
    """
    asked = {
        (name, word): [level for level in _levels_there(study, name) if role_of(level) == role_of(word)]
        for levels in (claim.treatment, claim.against, *claim.than)
        for name, word in levels.items()
        if name in (DATA, WAL) and word in CLAIMED
    }
    if not asked or not all(asked.values()):
        return (claim,)
    found = []
    for chosen in product(*asked.values()):
        put = dict(zip(asked, chosen, strict=True))
        treatment, against, *than = (
            {name: put.get((name, word), word) for name, word in levels.items()}
            for levels in (claim.treatment, claim.against, *claim.than)
        )
        named = ", ".join(dict.fromkeys(f"{name}={level}" for (name, _), level in put.items()))
        several = any(len(levels) > 1 for levels in asked.values())
        text = f"{claim.text} ({named})" if several else claim.text
        found.append(replace(claim, text=text, treatment=treatment, against=against, than=tuple(than)))
    return tuple(found)


def undeclared(claim: Claim, study: Study) -> tuple[str, ...]:
    """Drives of the study of which nobody said what they are, as typed, if the claim is about drives."""
    asked = {*claim.treatment, *claim.against, *(name for each in claim.than for name in each)} & {DATA, WAL}
    found = (level for name in sorted(asked) for level in _levels_there(study, name) if role_of(level) is None)
    return tuple(level for level in dict.fromkeys(found) if kind_of(level) in DECLARABLE)


def _levels_there(study: Study, name: str) -> list[str]:
    known = (levels[name].typed for arm in study.arms if name in (levels := study.levels_of(arm)))
    return list(dict.fromkeys(known))


def needed_parts(levels: Mapping[str, str], study: Study) -> frozenset[str]:
    """The parts that a label of this study has to have for these levels: what is held throughout no label names.

    Where the study has names for its treatments, a label has the name of the one that these levels leave.
    """
    parts = label_parts(levels) - _held(study)
    varied = {name for each in study.treatments for name in each.levels}
    treated = parts & label_parts({name: typed for name, typed in levels.items() if name in varied})
    names = [each.called for each in study.treatments if treated <= label_parts(_typed(each.levels))]
    return (parts - treated) | {names[0]} if treated and len(names) == 1 and names[0] else parts


def missing_levels(claim: Claim, study: Study) -> tuple[str, ...]:
    """The levels that the claim is about and that this study neither varies nor holds, as parts."""
    there = _held(study).union(*(label_parts(_typed(arm.levels)) for arm in study.arms))
    asked = (
        *claim.treatment.items(),
        *claim.against.items(),
        *(level for each in claim.than for level in each.items()),
    )
    return tuple(each for each in dict.fromkeys(f"{name}={typed}" for name, typed in asked) if each not in there)


def treatment_of(levels: Mapping[str, str], study: Study) -> str | None:
    """The name of the treatment of just these levels, however ordered, and of what is held; None if there is none."""
    asked = label_parts(levels) - _held(study)
    return next((each.name for each in study.treatments if label_parts(_typed(each.levels)) == asked), None)


def _held(study: Study) -> frozenset[str]:
    return label_parts(_typed(study.fixed))


def _typed(levels: Levels) -> dict[str, str]:
    return {name: level.typed for name, level in levels.items()}


def label_parts(levels: Mapping[str, str]) -> frozenset[str]:
    """`{"table.fillfactor": "75"}` as the parts of a label: `table.fillfactor=75`."""
    return frozenset(f"{name}={typed}" for name, typed in levels.items())


def parts_of(label: str) -> frozenset[str]:
    """The parts of a label that an arm, a condition or a place has."""
    return frozenset(part for part in label.split(", ") if part)


def not_testable(claim: Claim, reason: str, blocks: int | None = None) -> ClaimJudgement:
    """The mark of a claim that this run cannot test, with the reason; `blocks` more might do, None where unknown."""
    return ClaimJudgement(claim, Mark.NOT_TESTABLE, f"not testable here: {reason}", blocks)


def beyond(claim: Claim, *, data_bytes: float | None, memory_bytes: float | None, window_s: float | None) -> str:
    """Why a run of this size says nothing about a claim; empty where it does, None for what the run does not know."""
    found = []
    if claim.data_of_memory is not None:
        asked = f"it is about data of at least {claim.data_of_memory:g} times the memory"
        if data_bytes is None or memory_bytes is None:
            found.append(f"{asked}, and this run does not know how large its own were")
        elif data_bytes < claim.data_of_memory * memory_bytes:
            found.append(f"{asked}, and here they were {data_bytes / memory_bytes:.2g} times it")
    if claim.window_s is not None:
        asked = f"it is about windows of at least {duration(claim.window_s)}"
        if window_s is None:
            found.append(f"{asked}, and this run does not know how long its own were")
        elif window_s < claim.window_s:
            found.append(f"{asked}, and here they lasted {duration(window_s)}")
    return "; ".join(found)


def _more_blocks(effect: Effect, low: float, high: float, blocks_max: int) -> int | None:
    """Blocks more until the interval clears the nearer bound of the claim's range."""
    ends = (effect.estimate, *filter(isfinite, (low, high)))
    if effect.scale is Scale.RATIO:
        ends = tuple(log(value) if value > 0.0 else -inf for value in ends)
    centre, *bounds = ends
    distance = min(abs(centre - bound) for bound in bounds)
    if not (isfinite(distance) and isfinite(effect.spread)) or effect.between is not None:
        return None
    total = blocks_to_distinguish(
        effect.spread, distance, comparisons=effect.comparisons, blocks_max=blocks_max, level=effect.level
    )
    return None if total is None else max(1, total - effect.blocks)


def not_recorded(responses: Sequence[str]) -> str:
    """A claim is about responses that the run did not declare."""
    return f"this run did not measure {' and '.join(responses)}"


_MINE, _THEIRS = "claimed", "against"
_NOWHERE_ELSE: tuple[Mapping[str, str]] = ({},)


@dataclass(frozen=True)
class Sides:
    """The arm that a claim is about, and the arm that it is held against: the same for two responses of one trial.

    `than` has the two arms of each change that theirs is held against.
    """

    mine: Arm
    theirs: Arm
    than: tuple["Sides", ...] = ()


def is_paired(claim: Claim, study: Study) -> bool:
    """Does the claim divide two responses, hold two changes against each other, or compare conditions or covariates?"""
    elsewhere = {*study.conditions, *study.covariates}
    return bool(claim.per or claim.than) or bool(elsewhere & set(claim.against))


def sides(claim: Claim, study: Study) -> Sides | None:
    """The first arm of the claim's levels that has a partner: the arm that differs in the levels of `against` alone.

    Both must be there with the levels of each `than`, too. None where no arm has all that.
    """
    wanted = label_parts(claim.treatment)
    by_levels = {label_parts(_typed(study.levels_of(arm))): arm for arm in study.arms}
    for parts, arm in by_levels.items():
        if not wanted <= parts:
            continue
        mine = _typed(study.levels_of(arm))
        found = []
        for other in (*_NOWHERE_ELSE, *claim.than):
            pair = [by_levels.get(label_parts({**mine, **change, **other})) for change in ({}, claim.against)]
            if pair[0] is not None and pair[1] is not None:
                found.append(Sides(pair[0], pair[1]))
        if len(found) == 1 + len(claim.than):
            return replace(found[0], than=tuple(found[1:]))
    return None


def paired_effect(
    claim: Claim,
    found: Sides,
    response: Response,
    values: Sequence[Observation],
    divisors: Sequence[Observation] | None,
    *,
    blocks_max: int,
    looks: Looks,
    than: Sides | None = None,
) -> Effect:
    """The effect that the claim is about, of the arm that it is about; of a change, held against that of `than`.

    `values` are those of its response, `divisors` those of `claim.per` in the same trials, in the same order; None
    without one. Without `against`, the two responses of each trial are set against each other.
    """
    mine, theirs = found.mine.place, found.theirs.place
    if divisors is not None and not claim.against:
        sorted_out = [*_at(values, mine, _MINE), *_at(divisors, mine, _THEIRS)]
    else:
        if divisors is not None:
            both = zip(values, divisors, strict=True)
            values = [each._replace(value=_quotient(each.value, other.value)) for each, other in both]
        if than is None:
            sorted_out = [*_at(values, mine, _MINE), *_at(values, theirs, _THEIRS)]
        else:
            scale = response.scale if divisors is None else Scale.RATIO
            sorted_out = [*_changes(values, found, _MINE, scale), *_changes(values, than, _THEIRS, scale)]
    if divisors is not None:
        response = Response(claim.response, f"{response.title} / {claim.per}", "ratio", Better.NEITHER, Scale.RATIO)
    (effect,) = compare(
        sorted_out,
        response,
        _THEIRS,
        blocks_max=blocks_max,
        comparisons=max(1, len(claim.than)),
        looks=looks,
        arms=[Place(_MINE)],
    )
    return replace(effect, treatment=mine.treatment, condition=mine.condition, covariate=mine.covariate)


def weakest(claim: Claim, judged: Sequence[tuple[ClaimJudgement, Effect]]) -> ClaimJudgement:
    """The judgement of a claim about a change that is held against several: it holds where it holds against each.

    One that contradicts decides; `judged` are in the order of the claim's `than`.
    """
    order = (Mark.CONTRADICTED, Mark.NOT_TESTABLE, Mark.REPRODUCED)
    strengths = [
        (order.index(found.mark), effect.low if claim.low is not None else -effect.high) for found, effect in judged
    ]
    place = strengths.index(min(strengths))
    found, _ = judged[place]
    if len(judged) == 1:
        return found
    levels = ", ".join(f"{name}={typed}" for name, typed in claim.than[place].items())
    return replace(found, text=f"{found.text}; the weakest of {len(judged)}, against {levels}")


def _changes(observations: Sequence[Observation], pair: Sides, name: str, scale: Scale) -> list[Observation]:
    """The change of each block between two arms, under a name of its own; None where one of them has no value."""
    theirs = {each.block: each.value for each in observations if each.place == pair.theirs.place}
    found = []
    for each in _at(observations, pair.mine.place, name):
        other = theirs.get(each.block)
        difference = each.value - other if each.value is not None and other is not None else None
        found.append(each._replace(value=_quotient(each.value, other) if scale is Scale.RATIO else difference))
    return found


def _at(observations: Iterable[Observation], place: Place, name: str) -> list[Observation]:
    """Those of one place, under a name of its own, as if they were a treatment of one cell."""
    return [Observation(each.block, name, "", "", each.value) for each in observations if each.place == place]


def _quotient(value: float | None, divisor: float | None) -> float | None:
    return value / divisor if value is not None and divisor is not None and divisor > 0 else None
