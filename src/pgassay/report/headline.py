"""The headline, first on page, terminal and JSON: the answer in one to three sentences, and one line of facts.

What power cuts did comes first in every run that has some. For a study that compares, the answer is its verdicts
(`answer`). For covariates alone it is the highest point of the curve, how well that is known and what stops the load
there. For a drive it is what that drive does at most.

The strongest reasons behind a verdict are for who reads no further: what surely changed, or else what stops the load.
Of the costs of a transaction those that an administrator pays for come first, each once, where it changed most: an
association and no proof, as everywhere (`analysis.explanation`). What the advice gives a reason to take stands with the
steps that it takes, and what they risk.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.capacities import Resource
from pgassay.analysis.curves import Curve
from pgassay.analysis.effects import Effect, informative
from pgassay.analysis.explanation import amount, has_moved, negligible, size
from pgassay.analysis.numbers import plural, rounded
from pgassay.analysis.verdicts import Kind, verdict
from pgassay.record.directory import holder
from pgassay.report import (
    bottleneck,
    cache,
    decide,
    drives,
    formatting,
    functions,
    likeness,
    power_cuts,
    servers,
    statements,
)
from pgassay.report.adoption import adopted_by, advice, crash_risks, durability_traded
from pgassay.report.answer import (
    EACH_MAX,
    PAID,
    PAID_FIRST,
    SAME,
    Case,
    Change,
    Disturbed,
    Headline,
    by_thresholds,
    choices,
    finding,
    found_of,
    going_on,
    headline,
    joined,
    listed,
    not_judged,
)
from pgassay.report.section import Badges, Brief, Listing, Part, Section, Sentences, Surface, Values
from pgassay.report.trials import median_s, middle
from pgassay.study.document import COUNTED_RESPONSE
from pgassay.study.drives import dilation, emulated, timed
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Response, Scale, Status
from pgassay.study.units import format_bytes
from pgassay.study.work import COUNTED

if TYPE_CHECKING:
    from pgassay.report.findings import Findings, Judged

_LOAD = {
    "load.scale": "scale", "load.warehouses": "warehouses", "load.tables": "tables", "load.rows": "rows each",
    "load.size": "table of", "load.file_size": "file of", "load.clients": "clients", "load.threads": "threads",
}  # fmt: skip
"""Factors that say how large a load is, with their words in the line of facts."""
_BEFORE = ("scale", "table of", "file of")
"""Words that stand before their number."""
_MANY = 0.1
"""A larger share of discarded trials is named."""
_LISTED_MAX, _CURVES_MAX = 3, 2
_FEW_IMAGES = 0.01
"""In a transaction; a load that writes fewer has no part in it that depends on the checkpoint."""
_NOT_TIMED = "time depends on waiting, caches and contention, which are not counted"


@dataclass(frozen=True)
class Facts:
    """Where the numbers come from; empty or None where the record does not have it, no `hosts` without a fleet."""

    postgresql: Sequence[str]
    machine: str
    date: str
    load: Mapping[str, str]
    window_s: float | None
    blocks: int
    trials: int
    discarded: int
    source: str = ""
    hosts: int = 0

    @property
    def line(self) -> str:
        """All in one line."""
        sizes = [
            f"{name} {size}" if name in _BEFORE else formatting.sized(size, name) for name, size in self.load.items()
        ]
        window = formatting.duration(self.window_s)
        if self.window_s is not None and self.window_s < 1.0:
            window = f"{1000.0 * self.window_s:.0f} ms"
        length = "" if self.window_s is None else f"{window} a trial"
        lost = f", {self.discarded} discarded" if self.discarded else ""
        hosts = f"{formatting.counted(self.hosts, 'host')}, " if self.hosts else ""
        counted = f"{hosts}{formatting.counted(self.blocks, 'block')}, {formatting.counted(self.trials, 'trial')}{lost}"
        versions = f"PostgreSQL {', '.join(self.postgresql)}" if self.postgresql else ""
        return "; ".join(filter(None, (self.source, versions, self.machine, self.date, *sizes, length, counted)))


def headline_of(findings: "Findings") -> Headline:
    """The headline of a run."""
    if findings.unmeasured:
        return Headline([findings.unmeasured])
    cuts = power_cuts.headline(findings)
    if cuts is not None and power_cuts.decide(findings):
        return cuts
    if findings.verdicts:
        found = statements.with_sentence(headline(findings.once(case_of)), findings)
        more = (*_images(findings), _NOT_TIMED) if findings.counted else tuple(_along(findings))
        first, *others = found.sentences
        found = replace(found, sentences=(first, *more, *others), rest=(*more, *found.rest))
    else:
        found = of_curves(findings)
    if cuts is None:
        return found
    # No badges: they would stand before what power cuts did, and are about the rest alone.
    first, *others = found.sentences
    return Headline((*cuts.sentences, f"{findings.primary.title}: {first}", *others))


def _along(findings: "Findings") -> Iterator[str]:
    """What counted trials found along with times, and what of the CPU time that explains; nothing before a verdict."""
    both = findings.once(functions.along)
    if not both or all(not_judged(each.instructions) for each in both):
        return
    case = replace(findings.once(case_of), label="", objections=())

    def said(judged: Sequence["Judged"]) -> str:
        primary = replace(findings.responses[judged[0].effect.response], better=Better.NEITHER)
        return finding(replace(case, primary=primary, verdicts=judged))

    yield said([each.instructions for each in both])
    for each in both if len(both) <= EACH_MAX else ():
        if each.explained is not None:
            share, low, high = (f"{100 * value:.0f}" for value in each.explained)
            yield f"{said([each.cpu])}, of which the instructions explain {share} % ({low} to {high} %)"
        elif each.instructions.verdict.kind is Kind.DIFFERENT:
            open_ = each.cpu.verdict.kind is Kind.UNRESOLVED
            yield said([each.cpu]) + (", so what the instructions explain of it is not known" if open_ else "")


def _images(findings: "Findings") -> Iterator[str]:
    """How many full-page images a count has in it: a page's first change after a checkpoint writes one, others do not.

    So a longer window has fewer for each transaction, and another difference.
    """
    name = "full_page_images_per_transaction"
    valid = [trial for trial in findings.trials if trial.status is Status.VALID and COUNTED in trial.regime]
    images = [each for trial in valid if (each := trial.responses.get(name)) is not None]
    if images and max(images) >= _FEW_IMAGES:
        number, work = findings.study.fixed.get("load.transactions"), findings.work.name
        first = f"the first {number.typed} {work}s" if number is not None else f"the first {work}s"
        span = " to ".join(dict.fromkeys(map(rounded, (min(images), max(images)))))
        writes = f"on average each of {first} after a checkpoint writes {span} full-page images"
        yield f"{writes}; the difference depends on how many"


def case_of(findings: "Findings") -> Case:
    """What the headline of a run that compares is made of."""
    study, discarded, every = findings.study, len(findings.discarded), len(findings.trials)
    paces = [study.fixed.get(name) for name in ("load.rate", "load.transactions")]
    held = any(level is not None and level.typed != "none" for level in paces)
    held |= "load.rate" in {*study.factors, *study.conditions, *study.covariates}
    changed = any(each.verdict.kind in (Kind.BETTER, Kind.WORSE) for each in findings.verdicts)
    return Case(
        primary=findings.primary,
        baseline=findings.baseline,
        verdicts=findings.verdicts,
        changes=tuple(changes(findings)),
        recommended=_recommended(findings),
        unresolved=tuple(unresolved(findings)),
        disturbed=Disturbed(discarded, every) if discarded > _MANY * every else None,
        standings=decide.standings(findings),
        label=label(findings),
        unsafe=[each.name for each in study.treatments if crash_risks(each.levels)],
        traded={
            each.name: lost
            for each in study.treatments
            if (lost := durability_traded(each.levels, study.design.baseline.levels))
        },
        otherwise=[each.place.treatment for each in findings.once(statements.of_run).wrong],
        objections=findings.objections(findings.primary) if findings.imported else (),
        imported=bool(findings.imported),
        finished=findings.finished,
        extensible=extensible(findings),
        interrupted=not findings.finished and holder(findings.run.path) is None,
        work=findings.work.name,
        fresh=any(trial.regime.get("age") == "none" for trial in findings.trials) and not findings.imported,
        full_speed=findings.primary.name == "tps" and not held and changed,
        checkpoint_s=_checkpoint_s(findings),
        varied=[*study.conditions, *study.covariates],
    )


def extensible(findings: "Findings") -> bool:
    """Not where hosts of a fleet ran it, nor where fewer blocks were planned for than a verdict takes."""
    design = findings.study.design
    hosts = any(trial.host for trial in findings.trials)
    return not hosts and (design.horizon or design.blocks_max) >= FIRST_LOOK


def _checkpoint_s(findings: "Findings") -> float | None:
    """Seconds from one checkpoint to the next, the median of the valid trials that had one."""
    return middle(
        window / cycles
        for trial in findings.trials
        if trial.status is Status.VALID
        and isinstance(window := trial.regime.get("window_s"), int | float)
        and isinstance(cycles := trial.regime.get("checkpoint_cycles"), int | float)
        and cycles >= 1
    )


def _recommended(findings: "Findings") -> str:
    """What the cache study recommends, which weighs memory against time."""
    found = findings.once(cache.CacheFindings)
    if not found.spots or not found.advice:
        return ""
    each = [
        f"{format_bytes(one.recommendation.size)}{f' with {one.series}' if one.series else ''}" for one in found.advice
    ]
    sizes = {format_bytes(one.recommendation.size) for one in found.advice}
    each = [*sizes] if len(sizes) == 1 else each
    return f"for this pattern shared_buffers of {joined(each)} is recommended"


def label(findings: "Findings") -> str:
    """On what the numbers were made, where that was no ordinary server or not pgassay's doing; else empty."""
    if findings.imported:
        return "by these imported runs, which pgassay did not measure"
    levels = [findings.study.levels_of(arm) for arm in findings.study.arms]
    model = findings.study.model.label if findings.study.model is not None else ""
    unlike, modelled = likeness.label(findings), [each for each in levels if emulated(each)]
    if not modelled:
        return ", ".join(filter(None, (model, servers.label(findings), unlike)))
    some = "" if len(modelled) == len(levels) else "partly "
    slower = max(map(dilation, modelled))
    clock = f" ({drives.slowed(slower)})" if slower > 1 else ""
    times = f" with {drives.LABEL}{clock}" if any(map(timed, modelled)) else ""
    return ", ".join(filter(None, (model, f"{some}on emulated drives{times}", unlike)))


def changes(findings: "Findings") -> Iterator[Change]:
    """Other responses that surely moved by more than was asked for: a cost first, then those that the study names."""
    failed = {each.effect.place for each in findings.verdicts if each.verdict.kind is Kind.FAILED}
    named = [
        Change(response, each.effect)
        for response, judged in findings.secondary_verdicts
        for each in judged
        if each.verdict.kind in (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT) and each.effect.informative
    ]
    names = {each.response.name for each in named}
    again = {other for name in names for other in SAME.get(name, ())}
    for name in PAID:
        moved = [
            Change(findings.responses[name], effect)
            for effect in findings.costs
            if effect.response == name and effect.place not in failed and _moved(findings, effect)
        ]
        if moved and name not in (*names, findings.study.primary):
            yield from moved
            break
    yield from (each for each in named if each.response.name not in again)
    for each in findings.once(functions.along):
        if each.instructions.verdict.kind is Kind.DIFFERENT and COUNTED_RESPONSE not in names:
            yield Change(findings.responses[COUNTED_RESPONSE], each.instructions.effect)


def unresolved(findings: "Findings") -> Iterator[tuple[Response, Collection[Place]]]:
    """Secondary responses of which nothing is known yet though there are blocks enough, with their places."""
    named = {response.name for response, _ in findings.secondary_verdicts}
    again = {other for name in named for other in SAME.get(name, ())}
    for response, judged in findings.secondary_verdicts:
        still = [each for each in judged if each.verdict.kind is Kind.UNRESOLVED and each.effect.blocks >= FIRST_LOOK]
        if still and response.name not in again:
            yield response, {each.effect.place for each in still}


def _moved(findings: "Findings", effect: Effect) -> bool:
    design, response = findings.study.design, findings.responses[effect.response]
    kind = verdict(effect, response, resolution=design.resolution, blocks_max=design.blocks_max).kind
    if kind not in (Kind.BETTER, Kind.WORSE) or not effect.informative or negligible(effect, response):
        return False
    return effect.scale is Scale.DIFFERENCE or abs(log(effect.estimate)) > log(1.0 + design.resolution)


def of_curves(findings: "Findings") -> Headline:
    """The headline of a study without comparisons: the best that was measured, how well it is known, what to do."""
    head = f"{place}, " if (place := label(findings)) else ""
    if capacities := drives.best(findings.trials):
        most = []
        for resource, (value, _) in capacities.items():
            if resource is Resource.WRITTEN_BYTES:
                most.append(f"writes {_bytes(value)}")
            else:
                most.append(f"{'reads' if resource is Resource.READS else 'flushes'} {rounded(value)} times")
        first = f"in a second this drive at most {joined(most)}"
    else:
        peaks = [each for curve in findings.curves if (each := _peak(findings, curve))]
        if not peaks:
            return Headline([f"{head}nothing was measured yet"])
        first = "; ".join(peaks[:_CURVES_MAX])
        if len(peaks) > _CURVES_MAX:
            rest = len(peaks) - _CURVES_MAX
            first += f"; {rest} more {plural('curve', rest)} below"
    return Headline([each for each in (head + first, _known(findings), _then(findings)) if each])


def _bytes(value: float) -> str:
    divisor, step = formatting.byte_step(value)
    return f"{rounded(value / divisor)} {step}"


def _peak(findings: "Findings", curve: Curve) -> str:
    """The best point of a curve, with its interval and what stops the load there; empty where none was measured."""
    response, points = findings.primary, [point for point in curve.points if point.value == point.value]
    if not points:
        return ""
    least = response.better is Better.LOWER
    point = (min if least else max)(points, key=lambda point: point.value)
    written = _bytes if response.unit in formatting.BYTES else rounded
    value, shown = written(point.value), ""
    if informative(point.low, point.high, response.scale):
        shown = f" (between {written(point.low)} and {written(point.high)})"
    if response.unit in ("1/s", "count"):
        value = f"{value} {response.title}"
    else:
        unit = "" if response.unit in formatting.BYTES else formatting.unit(response)
        value = f"{response.title} {value} {unit}".strip()
    spot = (curve.treatment, curve.condition, point.covariate)
    same = (one for one in findings.bottlenecks if (one.treatment, one.condition, one.covariate) == spot)
    stops = next((f", bottleneck: {one.diagnosis.cause}" for one in same), "")
    where = formatting.place(curve.treatment, curve.condition)
    found = f"{'lowest' if least else 'highest'} measured {value}{shown} at {point.covariate}{stops}"
    return f"{where}: {found}" if where else found


def _known(findings: "Findings") -> str:
    points = [point for curve in findings.curves for point in curve.points]
    resolution = findings.study.design.resolution
    asked = f"±{resolution * 100:.3g} %"
    if not any(point.bounded for point in points):
        most = max((point.blocks for point in points), default=0)
        run = f"{most} {'counts' if most == 1 else 'count'} so far"
        return f"no point has an interval yet: it takes {FIRST_LOOK} blocks, and {run}"
    good = sum(
        point.high / point.value - 1.0 <= resolution
        for point in points
        if point.value > 0.0 and point.bounded and informative(point.low, point.high, Scale.RATIO)
    )
    if good == len(points):
        return f"every point is known to {asked}"
    return f"{good} of {len(points)} points {'is' if good == 1 else 'are'} known to {asked}"


def _then(findings: "Findings") -> str:
    """Where the curves surely bend, or what a disk study saw of caches; before five blocks what an interval takes."""
    if found := decide.standings(findings):
        return by_thresholds(found)
    if findings.disk_signs:
        return findings.disk_signs[0][1]
    most = max((point.blocks for curve in findings.curves for point in curve.points), default=0)
    if most < FIRST_LOOK and findings.finished and not findings.imported:
        more = formatting.counted(FIRST_LOOK - most, "more block")
        return f"{going_on(extensible(findings))}: it takes at least {more}"
    bends = []
    for each in findings.scalings:
        kink = each.usable_kink
        if kink is not None and kink.located:
            where = formatting.place(each.treatment, each.condition) or "the curve"
            at, low, high = map(rounded, (kink.at.value, kink.at.low, kink.at.high))
            bends.append(f"{where} bends at {at} (between {low} and {high}) clients")
    return "; ".join(bends[:_CURVES_MAX])


def facts(findings: "Findings") -> Facts:
    """The line of facts."""
    return Facts(
        postgresql=versions(findings.run.host),
        machine="" if findings.imported else machine(findings.run.host),
        date="" if findings.imported else findings.run.header.started_utc[:10],
        load=_sizes(findings),
        window_s=median_s(findings.trials, "window_s"),
        blocks=findings.blocks,
        trials=len(findings.trials),
        discarded=len(findings.discarded),
        source="imported" if findings.imported else "",
        hosts=len({trial.host for trial in findings.trials if trial.host}),
    )


def versions(host: Mapping[str, Any]) -> Sequence[str]:
    """`15.18`, of every server under test."""
    known = host.get("postgres")
    servers = known if isinstance(known, list) else []
    texts = [str(each.get("version", "")) for each in servers if isinstance(each, Mapping)]
    numbers = (next((word for word in text.split() if word[0].isdigit()), "") for text in texts)
    return list(dict.fromkeys(filter(None, numbers)))


def machine(host: Mapping[str, Any]) -> str:
    """Processor, cores and memory in one line."""
    cpu, memory = host.get("cpu"), host.get("memory")
    cpu, memory = (each if isinstance(each, Mapping) else {} for each in (cpu, memory))
    cores, total = cpu.get("cores") or cpu.get("processors"), memory.get("total_bytes")
    counted = formatting.counted(cores, "core") if isinstance(cores, int) else ""
    size = formatting.size(total) if isinstance(total, int) else ""
    return ", ".join(filter(None, (str(cpu.get("model") or ""), counted, size)))


def _sizes(findings: "Findings") -> Mapping[str, str]:
    """How large the load was, by word: one value, a few, or from the least to the most.

    A scale says nothing about data that a script of the user's own has made.
    """
    found = {}
    for name, word in _LOAD.items():
        levels = (each.levels for each in findings.trials if name != "load.scale" or "load.init" not in each.levels)
        typed = list(dict.fromkeys(level.typed for each in levels if (level := each.get(name))))
        if all(each.replace(".", "", 1).isdecimal() for each in typed):
            typed.sort(key=float)
        typed = [f"{int(each):,}" if each.isascii() and each.isdigit() else each for each in typed]
        if typed:
            found[word] = joined(typed) if len(typed) <= _LISTED_MAX else f"{typed[0]} to {typed[-1]}"
    return found


def _describe(findings: "Findings") -> Iterator[Part]:
    found, about = headline_of(findings), facts(findings)
    answer = {
        "sentences": [formatting.sentence(each) for each in found.sentences],
        "facts": {**asdict(about), "line": about.line},
    }
    yield Values({"headline": answer})
    if found.badges:
        where = label(findings)
        yield Badges(f"{where}, against {findings.baseline}" if where else f"against {findings.baseline}", found.badges)
        yield Sentences(found.rest, on=Surface.PAGE)
    yield Sentences(found.sentences, on=Surface.TERMINAL if found.badges else Surface.BOTH)
    yield Sentences((about.line,), small=True)


SECTION = Section("headline", "Answer", _describe, open=True)

SHOWN = 3
"""Reasons, for who reads no further."""


def reasons(findings: "Findings") -> tuple[str, ...]:
    """At most three, the strongest first; none where nothing surely changed and no bottleneck is known.

    None of power cuts, too, where speed is not what is judged.
    """
    if power_cuts.decide(findings):
        return ()
    changed = tuple(cost_changes(findings))
    stops = tuple(bottleneck.stops(findings))
    if not changed:
        return stops[:SHOWN]
    return (*changed[: SHOWN - 1], *stops[:1], *changed[SHOWN - 1 :])[:SHOWN]


def cost_changes(findings: "Findings") -> Iterator[str]:
    """Every cost that surely changed, where it changed most."""
    moved: dict[str, Effect] = {}
    for cost in findings.costs:
        if cost.response == findings.study.primary:  # the verdict says it, and it is not its own reason
            continue
        known = moved.get(cost.response)
        if has_moved(cost, findings.responses[cost.response]) and (known is None or size(cost) > size(known)):
            moved[cost.response] = cost
    for cost in sorted(moved.values(), key=lambda cost: (cost.response not in PAID_FIRST, -size(cost))):
        response = findings.responses[cost.response]
        yield f"{response.title} {amount(cost, response)} with {cost.place.name}"


def _applying(findings: "Findings") -> Iterator[Part]:
    """The treatments that the advice names, each once with what was found of it and how to apply it, or why none."""
    case = findings.once(case_of) if findings.verdicts else None
    if case is None or not (taken := choices(case)):
        why = _nothing_to_apply(findings)
        yield Brief(why)
        yield Sentences((why,))
        return
    yield Brief(f"how to set {listed(taken, 'or')}, and what that risks")
    treatments = {each.name: each for each in findings.study.treatments}
    for name in taken:
        mine = [each for each in findings.verdicts if each.effect.treatment == name]
        won = [each for each in mine if each.verdict.kind is Kind.BETTER]
        about = []
        for each in won or mine:
            place = formatting.place(each.effect.condition, each.effect.covariate)
            said = each.verdict.text if won else ", ".join(found_of(case, each))
            about.append(f"{place}: {said}" if place else said)
        adopted = adopted_by(trial for trial in findings.trials if trial.treatment == name)
        yield Listing(name, advice(treatments[name], adopted), "; ".join(about))


def _nothing_to_apply(findings: "Findings") -> str:
    if len(findings.study.treatments) < 2:
        return "one treatment was run, so there is nothing to choose between"
    better = {each.effect.treatment for each in findings.verdicts if each.verdict.kind is Kind.BETTER}
    if not better:
        return f"no treatment was shown to be better than {findings.baseline}, so there is nothing to apply"
    unsafe = better <= {*findings.once(case_of).unsafe}
    why = "is not crash-safe" if unsafe else "does not pass your thresholds, or answers statements otherwise"
    return f"none of these treatments is one to recommend: what was better {why}"


APPLYING = Section("apply", "Applying it", _applying, link="Applying it", on=Surface.PAGE)
