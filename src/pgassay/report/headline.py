"""The headline, first on page, terminal and JSON: the answer in one to three sentences, and one line of facts.

What power cuts did comes first in every run that has some. For a study that compares, the answer is its verdicts
(`answer`). For covariates alone it is the highest point of the curve, how well that is known and what stops the load
there. For a drive it is what that drive does at most.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from statistics import median
from typing import TYPE_CHECKING, Any

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.capacities import Resource
from pgassay.analysis.curves import Curve, Point
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import negligible
from pgassay.analysis.numbers import plural, rounded
from pgassay.analysis.verdicts import Kind, verdict
from pgassay.record.holder import holder
from pgassay.report import cache, curves, decide, disk, likeness, power_cuts, statements, words
from pgassay.report.adoption import crash_risks, durability_traded
from pgassay.report.advice import by_thresholds, going_on
from pgassay.report.answer import headline
from pgassay.report.case import Case, Change, Disturbed, Headline, Text, joined
from pgassay.report.section import Badges, Block, Section, Sentences, Surface
from pgassay.report.service_times import made_by
from pgassay.report.trials import median_s
from pgassay.study.drives import emulated, timed
from pgassay.study.responses import Better, Response, Scale, Status
from pgassay.study.units import format_bytes

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_COSTS = (
    "wal_bytes_per_transaction", "nand_bytes_per_transaction", "server_cpu_us_per_transaction",
    "disk_written_bytes_per_transaction",
)  # fmt: skip
"""Costs that a DBA pays for; the first that moved stands beside the secondary responses."""
_SAME: Mapping[str, Sequence[str]] = {
    "database_bytes": ("table_bytes", "index_bytes"),
    "physical_bytes": ("database_bytes", "table_bytes", "index_bytes"),
    "latency_p99_ms": ("latency_ms", "latency_p50_ms", "latency_p95_ms"),
}
"""A response and those that say the same again: one of them is enough for a headline."""
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
        sizes = [f"{name} {size}" if name in _BEFORE else words.sized(size, name) for name, size in self.load.items()]
        length = "" if self.window_s is None else f"{words.duration(self.window_s)} a trial"
        lost = f", {self.discarded} discarded" if self.discarded else ""
        hosts = f"{words.counted(self.hosts, 'host')}, " if self.hosts else ""
        counted = f"{hosts}{words.counted(self.blocks, 'block')}, {words.counted(self.trials, 'trial')}{lost}"
        versions = f"PostgreSQL {', '.join(self.postgresql)}" if self.postgresql else ""
        return "; ".join(filter(None, (self.source, versions, self.machine, self.date, *sizes, length, counted)))


def headline_of(findings: "Findings") -> Headline:
    """The headline of a run."""
    if findings.unmeasured:
        return Headline([findings.unmeasured], ())
    cuts = power_cuts.headline(findings)
    if cuts is not None and power_cuts.decide(findings):
        return cuts
    if findings.verdicts:
        found = statements.with_sentence(headline(findings.once(case_of)), findings)
    else:
        found = of_curves(findings)
    if cuts is None:
        return found
    # No badges: they would stand before what power cuts did, and are about the rest alone.
    first, *others = found.sentences
    return Headline((*cuts.sentences, f"{findings.primary.title}: {first}", *others), (*cuts.figures, *found.figures))


def case_of(findings: "Findings") -> Case:
    """What the headline of a run that compares is made of."""
    study = findings.study
    return Case(
        primary=findings.primary,
        baseline=findings.baseline,
        verdicts=findings.verdicts,
        changes=tuple(changes(findings)),
        recommended=_recommended(findings),
        unresolved=tuple(unresolved(findings)),
        disturbed=_disturbed(findings),
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
        full_speed=_full_speed(findings),
        checkpoint_s=_checkpoint_s(findings),
        varied=[*study.conditions, *study.covariates],
    )


def extensible(findings: "Findings") -> bool:
    """Not where hosts of a fleet ran it, nor where fewer blocks were planned for than a verdict takes."""
    design = findings.study.design
    hosts = any(trial.host for trial in findings.trials)
    return not hosts and (design.horizon or design.blocks_max) >= FIRST_LOOK


def _full_speed(findings: "Findings") -> bool:
    """Are transactions a second the answer, of a load that no rate holds back, and did a treatment change them?"""
    study, moved = findings.study, (Kind.BETTER, Kind.WORSE)
    levels = [study.fixed.get(name) for name in ("load.rate", "load.transactions")]
    held = any(level is not None and level.typed != "none" for level in levels)
    held |= "load.rate" in {*study.factors, *study.conditions, *study.covariates}
    return findings.primary.name == "tps" and not held and any(each.verdict.kind in moved for each in findings.verdicts)


def _checkpoint_s(findings: "Findings") -> float | None:
    """Seconds from one checkpoint to the next, the median of the valid trials that had one."""
    found = [
        window / cycles
        for trial in findings.trials
        if trial.status is Status.VALID
        and isinstance(window := trial.regime.get("window_s"), int | float)
        and isinstance(cycles := trial.regime.get("checkpoint_cycles"), int | float)
        and cycles >= 1
    ]
    return median(found) if found else None


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
        return ", ".join(filter(None, (model, unlike)))
    some = "" if len(modelled) == len(levels) else "partly "
    times = f" with {made_by(modelled)}" if any(map(timed, modelled)) else ""
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
    again = {other for name in names for other in _SAME.get(name, ())}
    yield from _cost(findings, {*names, findings.study.primary}, failed)
    yield from (each for each in named if each.response.name not in again)


def unresolved(findings: "Findings") -> Iterator[tuple[Response, Collection[str]]]:
    """Secondary responses of which nothing is known yet though there are blocks enough, with their treatments."""
    named = {response.name for response, _ in findings.secondary_verdicts}
    again = {other for name in named for other in _SAME.get(name, ())}
    for response, judged in findings.secondary_verdicts:
        still = [each for each in judged if each.verdict.kind is Kind.UNRESOLVED and each.effect.blocks >= FIRST_LOOK]
        if still and response.name not in again:
            yield response, {each.effect.treatment for each in still}


def _disturbed(findings: "Findings") -> Disturbed | None:
    """How many trials were discarded, where that is more than a tenth."""
    lost, every = len(findings.discarded), len(findings.trials)
    return Disturbed(lost, every) if lost > _MANY * every else None


def _cost(findings: "Findings", named_already: set[str], failed: set[Any]) -> Iterator[Change]:
    for name in _COSTS:
        moved = [
            Change(findings.responses[name], effect)
            for effect in findings.costs
            if effect.response == name and effect.place not in failed and _moved(findings, effect)
        ]
        if moved and name not in named_already:
            yield from moved
            return


def _moved(findings: "Findings", effect: Effect) -> bool:
    design = findings.study.design
    kind = verdict(
        effect, findings.responses[effect.response], resolution=design.resolution, blocks_max=design.blocks_max
    ).kind
    if kind not in (Kind.BETTER, Kind.WORSE) or not effect.informative:
        return False
    if negligible(effect, findings.responses[effect.response]):
        return False
    return effect.scale is Scale.DIFFERENCE or abs(log(effect.estimate)) > log(1.0 + design.resolution)


def of_curves(findings: "Findings") -> Headline:
    """The headline of a study without comparisons: the best that was measured, how well it is known, what to do."""
    text = Text()
    head = f"{place}, " if (place := label(findings)) else ""
    capacities = disk.best(findings.trials)
    if capacities:
        first = head + _of_drive(capacities, text)
    else:
        ranked = [each for curve in findings.curves if (each := _best(curve, findings.primary))]
        if not ranked:
            return Headline([f"{head}nothing was measured yet"], ())
        first = head + "; ".join(_peak(findings, *each, text) for each in ranked[:_CURVES_MAX])
        if len(ranked) > _CURVES_MAX:
            rest = len(ranked) - _CURVES_MAX
            first += f"; {text.count(rest, 'curves that are not named')} more {plural('curve', rest)} below"
    sentences = [first, _known(findings, text), _then(findings, text)]
    return Headline([each for each in sentences if each], text.figures)


def _of_drive(found: Mapping[Resource, tuple[float, str]], text: Text) -> str:
    """What a drive does at most, of each kind."""
    parts = []
    for resource, (value, _) in found.items():
        what = f"{resource.value}, a second"
        if resource is Resource.WRITTEN_BYTES:
            parts.append(f"writes {text.number(_bytes(value), value, what)}")
        else:
            does = "reads" if resource is Resource.READS else "flushes"
            parts.append(f"{does} {text.number(rounded(value), value, what)} times")
    return f"in a second this drive at most {joined(parts)}"


def _bytes(value: float) -> str:
    """A number of bytes as a sentence has it, in the steps of the tables."""
    divisor, step = words.byte_step(value)
    return f"{rounded(value / divisor)} {step}"


def _best(curve: Curve, response: Response) -> tuple[Curve, Point] | None:
    points = [point for point in curve.points if point.value == point.value]
    if not points:
        return None
    chosen = min if response.better is Better.LOWER else max
    return curve, chosen(points, key=lambda point: point.value)


def _peak(findings: "Findings", curve: Curve, point: Point, text: Text) -> str:
    """The best point of a curve, with its interval and what stops the load there."""
    response, what = findings.primary, f"{findings.primary.name} {words.place(curve.treatment, curve.condition)}"
    least = "lowest" if response.better is Better.LOWER else "highest"
    value = _quantity(point.value, response, text, what)
    shown = ""
    if curves.has_band(point, response.scale):
        ends = [
            _number(end, response, text, f"{what}, {name}") for end, name in ((point.low, "low"), (point.high, "high"))
        ]
        shown = f" (between {ends[0]} and {ends[1]})"
    where = words.place(curve.treatment, curve.condition)
    stops = next(
        (
            each.diagnosis.cause
            for each in findings.bottlenecks
            if (each.treatment, each.condition, each.covariate) == (curve.treatment, curve.condition, point.covariate)
        ),
        "",
    )
    stopped = f", bottleneck: {stops}" if stops else ""
    return f"{where}{': ' if where else ''}{least} measured {value}{shown} at {point.covariate}{stopped}"


def _number(value: float, response: Response, text: Text, what: str) -> str:
    shown = _bytes(value) if response.unit in words.BYTES else rounded(value)
    return text.number(shown, value, what)


def _quantity(value: float, response: Response, text: Text, what: str) -> str:
    shown = _number(value, response, text, what)
    if response.unit in ("1/s", "count"):
        return f"{shown} {response.title}"
    return f"{response.title} {shown} {words.unit(response) if response.unit not in words.BYTES else ''}".strip()


def _known(findings: "Findings", text: Text) -> str:
    """How many points are known to the asked resolution."""
    points = [point for curve in findings.curves for point in curve.points]
    resolution = findings.study.design.resolution
    asked = text.number(f"{resolution * 100:.3g}", resolution, "the asked resolution")
    if not any(point.bounded for point in points):
        most = max((point.blocks for point in points), default=0)
        takes = text.count(FIRST_LOOK, "blocks that an interval takes")
        run = f"{text.count(most, 'blocks of a point')} {'counts' if most == 1 else 'count'} so far"
        return f"no point has an interval yet: it takes {takes} blocks, and {run}"
    good = sum(
        point.high / point.value - 1.0 <= resolution
        for point in points
        if point.value > 0.0 and point.bounded and curves.has_band(point, Scale.RATIO)
    )
    if good == len(points):
        return f"every point is known to ±{asked} %"
    known = text.count(good, f"points known to ±{asked} %")
    return f"{known} of {text.count(len(points), 'points')} points {'is' if good == 1 else 'are'} known to ±{asked} %"


def _then(findings: "Findings", text: Text) -> str:
    """Where the curves surely bend, or what a disk study saw of caches; before five blocks what an interval takes."""
    if found := decide.standings(findings):
        return by_thresholds(found, text)
    if findings.disk_signs:
        return "; ".join(dict.fromkeys(sign for _, sign in findings.disk_signs[:1]))
    points = [point for curve in findings.curves for point in curve.points]
    most = max((point.blocks for point in points), default=0)
    if most < FIRST_LOOK and findings.finished and not findings.imported:
        more = FIRST_LOOK - most
        blocks = f"{text.count(more, 'more blocks')} more {plural('block', more)}"
        return f"{going_on(extensible(findings))}: it takes at least {blocks}"
    bends = []
    for each in findings.scalings:
        kink = each.usable_kink
        if kink is not None and kink.located:
            where = words.place(each.treatment, each.condition) or "the curve"
            at = [text.number(rounded(v), v, f"kink of {where}") for v in (kink.at.value, kink.at.low, kink.at.high)]
            bends.append(f"{where} bends at {at[0]} (between {at[1]} and {at[2]}) clients")
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
    found = (
        [str(each.get("version", "")) for each in known if isinstance(each, Mapping)] if isinstance(known, list) else []
    )
    numbers = (next((word for word in text.split() if word[0].isdigit()), "") for text in found)
    return list(dict.fromkeys(filter(None, numbers)))


def machine(host: Mapping[str, Any]) -> str:
    """Processor, cores and memory in one line."""
    cpu, memory = host.get("cpu"), host.get("memory")
    cpu, memory = (each if isinstance(each, Mapping) else {} for each in (cpu, memory))
    cores, total = cpu.get("cores") or cpu.get("processors"), memory.get("total_bytes")
    counted = words.counted(cores, "core") if isinstance(cores, int) else ""
    size = words.size(total) if isinstance(total, int) else ""
    return ", ".join(filter(None, (str(cpu.get("model") or ""), counted, size)))


def _sizes(findings: "Findings") -> Mapping[str, str]:
    """How large the load was, by word: one value, a few, or from the least to the most.

    A scale says nothing about data that a script of the user's own has made.
    """
    found = {}
    for name, word in _LOAD.items():
        levels = (each.levels for each in findings.trials if name != "load.scale" or "load.init" not in each.levels)
        typed = list(dict.fromkeys(level.typed for each in levels if (level := each.get(name))))
        if 0 < len(typed) <= _LISTED_MAX:
            found[word] = joined([_with_commas(each) for each in _in_order(typed)])
        elif typed:
            ordered = _in_order(typed)
            found[word] = f"{_with_commas(ordered[0])} to {_with_commas(ordered[-1])}"
    return found


def _in_order(typed: Sequence[str]) -> Sequence[str]:
    return sorted(typed, key=float) if all(each.replace(".", "", 1).isdecimal() for each in typed) else typed


def _with_commas(typed: str) -> str:
    return f"{int(typed):,}" if typed.isascii() and typed.isdigit() else typed


def _blocks(findings: "Findings") -> Iterator[Block]:
    found = findings.once(headline_of)
    if found.badges:
        where = label(findings)
        yield Badges(f"{where}, against {findings.baseline}" if where else f"against {findings.baseline}", found.badges)
        yield Sentences(found.beside, on=Surface.PAGE)
    yield Sentences(found.sentences, on=Surface.TERMINAL if found.badges else Surface.BOTH)
    yield Sentences((findings.once(facts).line,), small=True)


def _plain(findings: "Findings") -> Mapping[str, object]:
    found, about = findings.once(headline_of), findings.once(facts)
    return {
        "headline": {
            "sentences": [words.sentence(each) for each in found.sentences],
            "figures": [asdict(each) for each in found.figures],
            "facts": {**asdict(about), "line": about.line},
        }
    }


SECTION = Section("headline", "Answer", _blocks, _plain, open=True)
