"""The primary along the covariates: a curve for each treatment and condition, as tables, figure and sentences.

A study of covariates alone has these for a verdict: how well its points are known, where each curve bends and peaks.

Of a curve over clients or threads the kink, what lies beyond it, and the Universal Scalability Law are fitted. The two
lines are fitted to the points that ask for no more than the usable processors, as published, where there are enough of
them: beyond, everything is flat. The figure has a panel a curve. The CPU yardstick, where it was measured, is drawn at
the scale that lays its first point on the curve's, so that the two shapes can be compared although their units differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from pgassay.analysis.curves import (
    LEAST,
    Curve,
    Estimate,
    Kink,
    Scalability,
    curves,
    kink,
    points_of,
    scalability,
)
from pgassay.analysis.effects import informative
from pgassay.analysis.numbers import per_cent
from pgassay.analysis.observations import Observation
from pgassay.report import bottleneck, formatting
from pgassay.report.bottleneck import Processors
from pgassay.report.section import Brief, Drawing, Figure, Part, Section, Sentences, Table, Values
from pgassay.report.trials import in_order, number_of
from pgassay.report.vega import GREY, INK, PALETTE, SOFT
from pgassay.study.responses import Better, Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_RECORDED = ("load.clients", "load.threads")
"""Covariates of that kind in records of earlier versions, which do not say it."""
YARDSTICK = "cpu_yardstick_per_s"
BAD_FIT = 0.25
"""The spread of the points around a law, as a share, from which it describes them too badly to read figures off."""

EVENTS = Response(YARDSTICK, "events of sysbench cpu per second", "1/s", Better.HIGHER)
_YARDSTICK_TITLE = "CPU yardstick: sysbench cpu with as many threads as clients"


@dataclass(frozen=True)
class Scaling:
    """The fits of one curve; None where there are too few points. `upto` is the last point of the two lines."""

    treatment: str
    condition: str
    kink: Kink | None
    law: Scalability | None
    upto: float

    @property
    def name(self) -> str:
        """Treatment and condition; empty where the study has neither."""
        return formatting.place(self.treatment, self.condition)

    @property
    def usable_kink(self) -> Kink | None:
        """The two lines, unless they describe the points too badly."""
        return self.kink if self.kink is not None and describes(self.kink) else None

    @property
    def usable_law(self) -> Scalability | None:
        """The law, unless it describes the points too badly."""
        return self.law if self.law is not None and describes(self.law) else None


def describes(fit: Kink | Scalability) -> bool:
    """Do the points lie near enough to a fit? One rule for sentences, claims and figures."""
    return fit.misfit <= BAD_FIT


def scalings(findings: "Findings", response: str) -> tuple[Scaling, ...]:
    """Fits of a response for each treatment in each condition, in the study's order.

    None unless the study's one covariate is an amount of clients, threads or processors, as its factor said.
    """
    study, scales = findings.study, findings.run.header.scales
    if len(study.covariates) != 1 or set(study.covariates) - set(_RECORDED if scales is None else scales):
        return ()
    places = dict.fromkeys((arm.treatment.name, arm.condition.name) for arm in study.arms)
    seen, usable = findings.observations(response), findings.processors.usable
    return tuple(scaling_of(seen, *place, usable) for place in places)


def scaling_of(seen: Sequence[Observation], treatment: str, condition: str, usable: int | None) -> Scaling:
    """The fits of one curve over clients; `usable` processors bound the two lines, None where not known."""
    values: dict[float, dict[int, float]] = {}
    for each in seen:
        place = number_of(each.covariate)
        if (each.treatment, each.condition) == (treatment, condition) and place is not None and each.value is not None:
            values.setdefault(place, {})[each.block] = each.value
    points = points_of(values)
    within = {place: column for place, column in values.items() if usable is not None and place <= usable}
    lines = points_of(within) if len(within) >= LEAST else points
    upto = float(lines.places[-1]) if len(lines.places) else 0.0
    return Scaling(treatment, condition, kink(lines), scalability(points), upto)


def _fits(findings: "Findings") -> Iterator[Part]:
    fits = {"scalings": findings.scalings, "yardsticks": findings.yardsticks}
    yield Values({"beside": {name: [_fit_values(each) for each in found] for name, found in fits.items()}})
    yield Brief(
        f"where {formatting.counted(len(findings.scalings), 'curve')} bend and peak, by two lines and by the USL"
    )
    yield from _fit_table("", findings.scalings, findings.processors, findings.primary)
    if findings.yardsticks:
        yardstick = tuple(_fit_table(_YARDSTICK_TITLE, findings.yardsticks, findings.processors, EVENTS))
        missing = f"{_YARDSTICK_TITLE}: not measured: too few points, or sysbench is not installed here"
        yield from yardstick or (Sentences((missing,)),)
    if findings.verdicts:  # else the verdict shows it
        yield Figure("scaling", lambda: fit_drawing(findings))


def _fit_table(title: str, found: Sequence[Scaling], processors: Processors, response: Response) -> Iterator[Table]:
    fitted = [each for each in found if each.kink is not None or each.law is not None]
    if not fitted:
        return
    head = (
        "curve",
        "kink at, clients",
        "slope beyond ÷ before",
        "contention",
        "coherency",
        "peak at, clients",
        f"peak, {formatting.unit(response)}",
        "misfit",
    )
    rows = []
    for each in fitted:
        bend, law, cells = each.usable_kink, each.usable_law, [formatting.MISSING] * 6
        if bend is not None:
            cells[:2] = _ends(bend.at, ".1f") if bend.seen else "none seen", _ends(bend.gain, ".2f")
        if law is not None:
            low, high = (
                formatting.number(law.peak.low),
                formatting.number(law.peak.high) if isfinite(law.peak.high) else "∞",
            )
            peak = f"{formatting.number(law.peak.value)} [{low}, {high}]" if isfinite(law.peak.value) else "∞"
            ends = (law.peak_clients.value, law.peak_clients.low, law.peak_clients.high)
            at, low, high = (f"{end:.0f}" if isfinite(end) else "∞" for end in ends)
            cells[2:] = _ends(law.contention, ".3f"), _ends(law.coherency, ".4f"), f"{at} [{low}, {high}]", peak
        misfits = [f"lines {per_cent(each.kink.misfit, 1)}"] if each.kink else []
        misfits += [f"law {per_cent(each.law.misfit, 1)}"] if each.law else []
        rows.append((each.name or response.title, *cells, ", ".join(misfits)))
    notes = [sentence for each in fitted for sentence in fit_sentences(each, processors, response)]
    notes.append(
        "in brackets what the data do not exclude at 95 %, each figure on its own (profile intervals); "
        "docs/statistics.md says how"
    )
    yield Table(head, rows, title, notes)


def fit_sentences(scaling: Scaling, processors: Processors, response: Response) -> Iterator[str]:
    """Where the curve bends and peaks, a sentence each, with the caveats that belong to them."""
    name = scaling.name or response.title
    if scaling.kink is not None:
        yield f"{name}: {_bend(scaling.kink, scaling.upto, processors)}"
    if scaling.law is not None:
        yield f"{name}: {_peak(scaling.law)}"


def _peak(law: Scalability) -> str:
    """An extrapolation only where the number shown lies beyond what was measured; within it a peak may be uncertain.

    At its end nothing was seen to fall.
    """
    at = law.peak_clients
    if not describes(law):
        off = per_cent(law.misfit)
        return f"the Universal Scalability Law fits badly (points lie {off} off it), so its peak says nothing"
    if law.peak_seen and round(at.value) < law.measured:
        return f"throughput peaks at about {at.value:.0f} clients and falls beyond"
    if law.peak_seen:
        return f"throughput grows up to the {law.measured:g} clients that were measured, where the fit has its peak"
    if not isfinite(at.value):
        return f"no sign of a peak up to {law.measured:g} clients"
    if round(at.value) > law.measured:
        return (
            f"by the fit throughput peaks at about {at.value:.0f} clients, which is an extrapolation: no more than "
            f"{law.measured:g} were measured"
        )
    none = "" if isfinite(at.high) else ", or none at all,"
    return (
        f"throughput peaks at about {at.value:.0f} clients by the fit, but a peak beyond the {law.measured:g} that "
        f"were measured{none} is not excluded"
    )


def _bend(found: Kink, upto: float, processors: Processors) -> str:
    at, gain, cores = found.at, found.gain, processors.cores
    if not describes(found):
        return f"two lines fit badly (points lie {per_cent(found.misfit)} off them), so they locate no kink"
    if not found.seen:
        return f"no kink up to {upto:g} clients, one straight line is not excluded"
    if not found.located:
        text = (
            f"the curve bends, but the points do not show where: at {at.value:.1f} clients by the best fit, anywhere "
            f"from {at.low:.1f} to {at.high:.1f} by what is not excluded"
        )
    else:
        text = f"the curve bends at {at.value:.1f} clients [{at.low:.1f}, {at.high:.1f}]"
    if cores is not None and found.located:
        text += (
            f", which {'holds' if at.low <= cores <= at.high else 'leaves out'} the number of physical cores, {cores}"
        )
    adds = f"{per_cent(gain.value)} [{per_cent(gain.low)}, {per_cent(gain.high)}]"
    text += f"; beyond, another client adds {adds} of what one adds before"
    if found.located and (processors.threads_per_core or 1.0) > 1.0:
        text += ": what a second hardware thread adds to a core"
    return text


def _ends(found: Estimate, form: str) -> str:
    return f"{found.value:{form}} [{found.low:{form}}, {found.high:{form}}]"


def _fit_values(found: Scaling) -> dict[str, Any]:
    """Estimates with their intervals; what is infinite becomes null with the rest of the JSON."""
    kink, law = found.kink, found.law
    return {
        "treatment": found.treatment,
        "condition": found.condition,
        "kink": kink and {
            "seen": kink.seen, "located": kink.located, "clients": kink.at, "gain": kink.gain, "slope": kink.slope,
            "misfit": kink.misfit, "level": kink.level,
        },
        "universal_scalability_law": law and {
            "rate": law.rate, "contention": law.contention, "coherency": law.coherency,
            "peak_clients": law.peak_clients, "peak": law.peak, "peak_seen": law.peak_seen,
            "measured_clients": law.measured, "misfit": law.misfit, "level": law.level,
        },
    }  # fmt: skip


FITS = Section("fits", "Scaling with clients", _fits, secondary=True)


MEASURED, LINES, LAW, CPU = "measured", "two lines with a kink", "Universal Scalability Law", "sysbench cpu, scaled"
_STEPS = 80
_FIT_HEIGHT = 280
_SHADES: Mapping[str, str] = dict(zip((MEASURED, LINES, LAW, CPU), (INK, *PALETTE[1:4]), strict=True))
_DASHES: Mapping[str, list[int]] = {MEASURED: [1, 0], LINES: [6, 3], LAW: [1, 0], CPU: [2, 3]}


def fit_drawing(findings: "Findings") -> Drawing | None:
    """The curves with their fits, a panel a curve."""
    import altair as alt

    fitted = {(each.treatment, each.condition): each for each in findings.scalings if each.law or each.kink}
    curves = [curve for curve in findings.curves if (curve.treatment, curve.condition) in fitted]
    if not curves:
        return None
    panels = (_panel(findings, curve, fitted[curve.treatment, curve.condition]) for curve in curves)
    return Drawing(
        "Fitted bend and peak",
        "Points: means over blocks with their intervals. Grey: where the kink lies. Shaded: where the data allow the "
        "Universal Scalability Law, point by point. A fit far from the points is not drawn. The yardstick is scaled to "
        "the curve's first point. Secondary.",
        alt.vconcat(*panels),
    )


def _panel(findings: "Findings", curve: Curve, scaling: Scaling) -> Any:
    import altair as alt

    from pgassay.report.charts import NARROW, WIDTH, chart_of, columns_of, tip, wrapped

    rows = list(fit_rows(findings, curve, scaling))
    seen = [row for row in rows if row["series"] == MEASURED]
    name = findings.study.arms[0].covariate.name.partition("=")[0]
    places = sorted({0.0, *(row["clients"] for row in seen)})  # ticks where it was measured: there are no half clients
    ticks = alt.Axis(values=places, format="~g", labelOverlap=True)
    x = alt.X("clients:Q", title=name, scale=alt.Scale(zero=True), axis=ticks)
    y = alt.Y("value:Q", title=wrapped(formatting.titled(findings.primary), _FIT_HEIGHT), scale=alt.Scale(zero=True))
    names = [name for name in _SHADES if any(row["series"] == name for row in rows)]
    scale = alt.Scale(domain=names, range=[_SHADES[name] for name in names])
    dashes = alt.Scale(domain=names, range=[_DASHES[name] for name in names])
    legend = alt.Legend(
        title=None, orient="top", columns=columns_of(names), symbolOpacity=1.0, symbolType="stroke", symbolSize=300
    )
    colours = alt.Color("series:N", scale=scale, legend=legend)
    dashed = alt.StrokeDash("series:N", scale=dashes, legend=legend)
    lined = [row for row in rows if row["series"] != MEASURED]
    lines = (
        chart_of(lined).mark_line(strokeWidth=2).encode(x=x, y=y, color=colours, strokeDash=dashed, detail="series:N")
    )
    bands = chart_of([row for row in lined if "low" in row]).mark_area(opacity=0.15)
    measured = chart_of(seen)
    tooltip = [tip("clients:Q"), tip("value:Q"), tip("low:Q"), tip("high:Q")]
    dots = measured.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colours, tooltip=tooltip)
    bars = measured.mark_rule(strokeWidth=2).encode(x=x, y="low:Q", y2="high:Q", color=colours)
    shown = bands.encode(x=x, y="low:Q", y2="high:Q", color=colours) + lines + bars + dots
    bend = scaling.usable_kink
    if bend is not None and bend.seen:  # its interval as a grey band with a line at its estimate
        row = [{"at": bend.at.value, "low": bend.at.low, "high": bend.at.high}]
        span = chart_of(row).mark_rect(color=GREY, opacity=0.2).encode(x="low:Q", x2="high:Q")
        shown = span + chart_of(row).mark_rule(color=SOFT, strokeDash=[4, 3]).encode(x="at:Q") + shown
    return shown.properties(
        width=WIDTH, height=_FIT_HEIGHT, title=wrapped(scaling.name or findings.primary.title, NARROW)
    )


def fit_rows(findings: "Findings", curve: Curve, scaling: Scaling) -> Iterator[dict[str, Any]]:
    """Measured points with their intervals, and the fitted and scaled lines; no law that describes the points badly."""
    points = [(number_of(point.covariate), point) for point in curve.points if point.value == point.value]
    for clients, point in points:
        row = {"clients": clients, "value": point.value, "series": MEASURED}
        shown = informative(point.low, point.high, findings.primary.scale)
        yield row | ({"low": point.low, "high": point.high} if shown else {})
    last = max((clients for clients, _ in points if clients is not None), default=1.0)
    kink, law = scaling.usable_kink, scaling.usable_law
    if kink is not None:
        at = kink.at.value
        corners = np.asarray(sorted({0.0, at, scaling.upto} if at < scaling.upto else {0.0, scaling.upto}))
        for clients, value in zip(corners[1:], kink.value(corners[1:]), strict=True):
            yield {"clients": float(clients), "value": float(value), "series": LINES}
        yield {"clients": 0.0, "value": 0.0, "series": LINES}
    if law is not None:
        grid = np.linspace(1.0, last, _STEPS)
        low, high = law.band(grid)
        for cells in zip(grid, law.value(grid), low, high, strict=True):
            yield {**dict(zip(("clients", "value", "low", "high"), map(float, cells), strict=True)), "series": LAW}
    yield from _yardstick(findings, curve)


def _yardstick(findings: "Findings", curve: Curve) -> Iterator[dict[str, Any]]:
    if YARDSTICK not in findings.responses:
        return
    rows = [
        (clients, row.avg)
        for row in findings.summaries(findings.responses[YARDSTICK])
        if (row.treatment, row.condition) == (curve.treatment, curve.condition) and row.n
        if (clients := number_of(row.covariate)) is not None
    ]
    first = min(rows, default=None)
    start = next((point.value for point in curve.points if first and number_of(point.covariate) == first[0]), None)
    if first is None or start is None or first[1] <= 0.0:
        return
    for clients, value in sorted(rows):
        yield {"clients": clients, "value": value * start / first[1], "series": CPU}


_HEIGHT = 260


def curves_of(findings: "Findings") -> tuple[Curve, ...]:
    """A curve for each treatment and condition in the study's order, its points in theirs; empty without covariates."""
    study, response = findings.study, findings.primary
    if not study.covariates:
        return ()
    seen, most = findings.observations(response.name), study.design.blocks_max
    found = curves(seen, response, blocks_max=most, looks=findings.looks)
    names = list(dict.fromkeys(arm.covariate.name for arm in study.arms))
    order = {name: place for place, name in enumerate(in_order(names))}  # trials ran in another
    places = list(dict.fromkeys((arm.treatment.name, arm.condition.name) for arm in study.arms))
    return tuple(
        replace(curve, points=tuple(sorted(curve.points, key=lambda point: order.get(point.covariate, len(order)))))
        for curve in sorted(found, key=lambda curve: places.index((curve.treatment, curve.condition)))
    )


def _table(curve: Curve, response: Response) -> Table:
    rows = [
        (
            each.covariate,
            value,
            *(band if informative(each.low, each.high, response.scale) else [formatting.UNKNOWN] * 2),
        )
        for each in curve.points
        for value, *band in [formatting.quantities((each.value, each.low, each.high), response)]
    ]
    name = formatting.place(curve.treatment, curve.condition)
    note = f"{per_cent(curve.level)} band, for all points together and at every look"
    title = f"Curve of {name}" if name else "Curve"
    return Table(("at", response.title, "low", "high"), rows, title, (note,), whole=True)


def _describe(findings: "Findings") -> Iterator[Part]:
    found, response = findings.curves, findings.primary
    plain = []
    for curve in found:
        points = [{**asdict(each), **({} if each.bounded else {"low": None, "high": None})} for each in curve.points]
        plain.append({**asdict(curve), "points": points})
    yield Values({"beside": {"curves": plain}})
    along = ", ".join(findings.study.covariates)
    yield Brief(f"{response.title} along {along}: {formatting.counted(len(found), 'curve')}")
    for curve in found:
        yield _table(curve, response)
    if findings.verdicts:  # else the verdict shows it
        yield Figure("curve", lambda: drawing(findings))


def sentences(findings: "Findings") -> Iterator[str]:
    """Every curve in words, each point against the resolution asked for; first what a disk study found."""
    response = findings.primary
    yield from (f"{where}: {finding}" for where, finding in findings.disk_signs)
    precisions = {
        formatting.place(each.treatment, each.condition): known(each, findings.study.design.resolution)
        for each in findings.curves
    }
    if len(precisions) > 1 and len(set(precisions.values())) == 1:
        precisions = {f"each of {len(precisions)} curves": next(iter(precisions.values()))}
    yield from (f"{name or response.title}: {text}" for name, text in precisions.items())
    for each in findings.scalings:
        yield from fit_sentences(each, findings.processors, response)
    yield from bottleneck.sentences(findings.bottlenecks)


def known(curve: Curve, resolution: float) -> str:
    """How many points are known as well as was asked, and how well the others are."""
    positive = [point for point in curve.points if point.bounded and point.value > 0.0]
    if not positive:
        return "no point has an interval yet"
    reaches = [point.high / point.value - 1.0 for point in positive if informative(point.low, point.high, Scale.RATIO)]
    unknown = len(positive) - len(reaches)
    if not reaches:
        return "the intervals of all points are too wide to say anything"
    asked = f"±{resolution * 100:.3g} %"
    good = sum(reach <= resolution for reach in reaches)
    if good == len(curve.points):
        return f"every point is known to {asked}"
    some = f"{good} of {len(curve.points)} points" if good else "no point"
    verb = "are" if good > 1 else "is"
    text = f"{some} {verb} known to {asked}"
    if max(reaches) > resolution:
        text += f", the least certain one to +{per_cent(max(reaches))}"
    return f"{text}; of {formatting.counted(unknown, 'point')} nothing is known" if unknown else text


def drawing(findings: "Findings") -> Drawing | None:
    """The curves as lines with bands, one panel a condition; None without covariates or without a point.

    A covariate that is a number (clients, scale, rate) gets a number's axis, any other its points in the study's order.
    """
    rows = rows_of(findings.curves, findings.primary)
    if not rows:
        return None
    import altair as alt

    from pgassay.report import charts

    numeric = all(isinstance(row["at"], float) for row in rows)
    title = charts.wrapped(", ".join(findings.study.covariates), charts.NARROW)
    x = alt.X("at:N", title=title, sort=None)
    if numeric:
        ticks = alt.Axis(values=sorted({row["at"] for row in rows}), format="~g", labelOverlap=True)
        x = alt.X("at:Q", title=title, scale=alt.Scale(zero=False), axis=ticks)
    treatments = tuple(treatment.name for treatment in findings.study.treatments)
    places = tuple(dict.fromkeys(str(row["condition"]) for row in rows))
    _, unit = formatting.scale_of(
        [point.value for curve in findings.curves for point in curve.points], findings.primary
    )
    named = f"{findings.primary.title}, {unit}" if unit else findings.primary.title
    free = len(places) > 1
    ends = [row[each] for row in rows for each in ("value", "low", "high") if row[each] is not None]
    domain = charts.domain_of(ends, zero=True)
    scale = alt.Scale(zero=True) if free else alt.Scale(domain=domain, nice=False)
    y = alt.Y("low:Q", title=charts.wrapped(named, _HEIGHT), scale=scale)
    colours = charts.colour(treatments)
    tooltip = [
        charts.tip("treatment:N"),
        charts.tip("at:Q" if numeric else "at:N", ", ".join(findings.study.covariates)),
    ]
    tooltip += [charts.tip(f"{each}:Q") for each in ("value", "low", "high", "blocks")]
    bounded = alt.Chart().transform_filter("isValid(datum.high)")
    band = bounded.mark_area(opacity=0.18) if numeric else bounded.mark_rule()
    lines = alt.Chart().mark_line(point=True)
    layers = [
        band.encode(x=x, color=colours, y=y, y2="high:Q"),
        lines.encode(x=x, color=colours, y=alt.Y("value:Q", scale=scale), tooltip=tooltip),
    ]
    chart = charts.layered(layers, rows, _HEIGHT, "condition", places)
    return Drawing(
        f"{formatting.capital(findings.primary.title)} along {', '.join(findings.study.covariates)}"
        f"{charts.by(treatments)}",
        "Lines: means over blocks; bands: 95 %, for all points of a curve together. Secondary.",
        chart.resolve_scale(y="independent") if free else chart,
    )


def rows_of(found: Sequence[Curve], response: Response) -> list[dict[str, Any]]:
    """A row a point, in the unit of the axis; `low` and `high` are None where there is no band yet."""
    divisor, _ = formatting.scale_of([point.value for curve in found for point in curve.points], response)
    return [
        {
            "treatment": curve.treatment,
            "condition": curve.condition,
            "at": point.covariate if (number := number_of(point.covariate)) is None else number,
            "value": point.value / divisor,
            "low": point.low / divisor if shown else None,
            "high": point.high / divisor if shown else None,
            "blocks": point.blocks,
        }
        for curve in found
        for point in curve.points
        if point.value == point.value
        for shown in [informative(point.low, point.high, response.scale)]
    ]


SECTION = Section("curves", "Curves along the covariates", _describe, secondary=True)
