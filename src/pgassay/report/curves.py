"""The primary along the covariates: a curve for each treatment and condition, as tables, figure and sentences.

A study of covariates alone has these for a verdict: how well its points are known, where each curve bends and peaks.
Growth beyond a straight line is named by itself: no law that is fitted here knows it, and all of them then fit badly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from pgassay.analysis.compare import Looks
from pgassay.analysis.curves import Curve, Point, curves
from pgassay.analysis.effects import informative
from pgassay.analysis.numbers import per_cent
from pgassay.analysis.observations import ResponseColumn
from pgassay.report import bottleneck, scaling, words
from pgassay.report.covariates import in_order, number_of
from pgassay.report.section import Block, Drawing, Figure, Section, Table
from pgassay.study.model import Study
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_HEIGHT = 260


def curves_of(study: Study, seen: ResponseColumn, response: Response, looks: Looks) -> tuple[Curve, ...]:
    """A curve for each treatment and condition in the study's order, its points in theirs; empty without covariates."""
    if not study.covariates:
        return ()
    found = curves(seen, response, blocks_max=study.design.blocks_max, looks=looks)
    names = list(dict.fromkeys(arm.covariate.name for arm in study.arms))
    order = {name: place for place, name in enumerate(in_order(names))}  # trials ran in another
    places = list(dict.fromkeys((arm.treatment.name, arm.condition.name) for arm in study.arms))
    return tuple(
        replace(curve, points=tuple(sorted(curve.points, key=lambda point: order.get(point.covariate, len(order)))))
        for curve in sorted(found, key=lambda curve: places.index((curve.treatment, curve.condition)))
    )


def _blocks(findings: "Findings") -> Iterator[Block]:
    for curve in findings.curves:
        yield _table(curve, findings.primary)
    if findings.verdicts:  # else the verdict shows it
        yield figure(findings)


def _table(curve: Curve, response: Response) -> Table:
    rows = [
        (
            each.covariate,
            value,
            *(band if has_band(each, response.scale) else (words.UNKNOWN, words.UNKNOWN)),
        )
        for each in curve.points
        for value, *band in [words.quantities((each.value, each.low, each.high), response)]
    ]
    name = words.place(curve.treatment, curve.condition)
    note = f"{per_cent(curve.level)} band, for all points together and at every look"
    return Table(
        ("at", response.title, "low", "high"), rows, f"Curve of {name}" if name else "Curve", (note,), whole=True
    )


def sentences(findings: "Findings") -> Iterator[str]:
    """Every curve in words, each point against the resolution asked for; first what a disk study found."""
    response = findings.primary
    yield from (f"{where}: {finding}" for where, finding in findings.disk_signs)
    precisions = {
        words.place(each.treatment, each.condition): known(each, findings.study.design.resolution)
        for each in findings.curves
    }
    if len(precisions) > 1 and len(set(precisions.values())) == 1:
        precisions = {f"each of {len(precisions)} curves": next(iter(precisions.values()))}
    yield from (f"{name or response.title}: {text}" for name, text in precisions.items())
    for each in findings.scalings:
        yield from scaling.sentences(each, findings.processors, response)
        same = (each.treatment, each.condition)
        mine = next((one for one in findings.curves if (one.treatment, one.condition) == same), None)
        more = beyond_linear(mine) if mine is not None else ""
        if more:
            yield f"{words.place(*same) or response.title}: {more}"
    yield from bottleneck.sentences(findings.bottlenecks)


def known(curve: Curve, resolution: float) -> str:
    """How many points are known as well as was asked, and how well the others are."""
    positive = [point for point in curve.points if point.bounded and point.value > 0.0]
    if not positive:
        return "no point has an interval yet"
    reaches = [point.high / point.value - 1.0 for point in positive if has_band(point, Scale.RATIO)]
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
    return f"{text}; of {words.counted(unknown, 'point')} nothing is known" if unknown else text


def has_band(point: Point, scale: Scale) -> bool:
    """Is a point's interval worth showing? One that leaves anything possible is neither printed nor drawn."""
    return informative(point.low, point.high, scale)


def beyond_linear(curve: Curve) -> str:
    """Of a curve over clients whose points surely do more for each client than the first one; empty for others."""
    placed = [(number, point) for point in curve.points if (number := number_of(point.covariate)) is not None]
    if len(placed) < 2 or not all(point.bounded and number > 0.0 for number, point in placed):
        return ""
    (fewest, first), *others = sorted(placed, key=lambda each: each[0])
    clients, most = max(others, key=lambda each: each[1].value / each[0])
    if not _surely_more(most, clients, first, fewest):
        return ""
    times = most.value / clients / (first.value / fewest)
    alone = "one alone" if fewest == 1 else f"each of {fewest:g}"
    return (
        f"each of {clients:g} clients does {times:.1f} times what {alone} does, which no law fitted here describes; "
        "the reason may be a processor that has to wake up for each request (power saving, a hypervisor)"
    )


def _surely_more(most: Point, clients: float, first: Point, fewest: float) -> bool:
    return most.low / clients > first.high / fewest


def figure(findings: "Findings") -> Figure:
    """The curves as lines with bands, one panel a condition."""
    return Figure("curve", lambda: _drawing(findings))


def _drawing(findings: "Findings") -> Drawing | None:
    """None without covariates or without a point.

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
        x = alt.X("at:Q", title=title, scale=alt.Scale(zero=False), axis=charts.at_points(row["at"] for row in rows))
    treatments = tuple(treatment.name for treatment in findings.study.treatments)
    places = tuple(dict.fromkeys(str(row["condition"]) for row in rows))
    _, unit = _scale(findings.curves, findings.primary)
    named = f"{findings.primary.title}, {unit}" if unit else findings.primary.title
    free = len(places) > 1
    ends = [row[each] for row in rows for each in ("value", "low", "high") if row[each] is not None]
    domain = charts.domain_of(ends, zero=True)
    beside = not free and len(treatments) > 1 and charts.beside_lines(treatments)
    scale = alt.Scale(zero=True) if free else alt.Scale(domain=domain, nice=False)
    y = alt.Y("low:Q", title=charts.wrapped(named, _HEIGHT), scale=scale)
    drawn = [{**row, "kind": "point"} for row in rows]
    if beside:
        drawn += charts.end_labels({row["treatment"]: row["value"] for row in rows}, domain, _HEIGHT)
    colours = charts.colour(treatments, legend=not beside)
    tooltip = [
        charts.tip("treatment:N"),
        charts.tip("at:Q" if numeric else "at:N", ", ".join(findings.study.covariates)),
    ]
    tooltip += [charts.tip(f"{each}:Q") for each in ("value", "low", "high", "blocks")]
    bounded = charts.of_kind("point").transform_filter("isValid(datum.high)")
    band = bounded.mark_area(opacity=0.18) if numeric else bounded.mark_rule()
    lines = charts.of_kind("point").mark_line(point=True)
    layers = [
        band.encode(x=x, color=colours, y=y, y2="high:Q"),
        lines.encode(x=x, color=colours, y=alt.Y("value:Q", scale=scale), tooltip=tooltip),
    ]
    if beside:
        layers.append(charts.end_texts(alt.Y("_at:Q", scale=scale)))
    chart = charts.layered(layers, drawn, _HEIGHT, "condition", places)
    return Drawing(
        f"{words.capital(findings.primary.title)} along {', '.join(findings.study.covariates)}{charts.by(treatments)}",
        "Lines: means over blocks; bands: 95 %, for all points of a curve together. Secondary.",
        chart.resolve_scale(y="independent") if free else chart,
    )


def _scale(found: Sequence[Curve], response: Response) -> tuple[float, str]:
    return words.scale_of([point.value for curve in found for point in curve.points], response)


def rows_of(found: Sequence[Curve], response: Response) -> list[dict[str, Any]]:
    """A row a point, in the unit of the axis; `low` and `high` are None where there is no band yet."""
    divisor, _ = _scale(found, response)
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
        for shown in [has_band(point, response.scale)]
    ]


def _plain(findings: "Findings") -> Mapping[str, object]:
    return {"beside": {"curves": [_values(curve) for curve in findings.curves]}}


def _values(curve: Curve) -> dict[str, Any]:
    """Its points with null for both ends of a band that is not known."""
    points = [{**asdict(each), **({} if each.bounded else {"low": None, "high": None})} for each in curve.points]
    return {**asdict(curve), "points": points}


def _brief(findings: "Findings") -> str:
    along = ", ".join(findings.study.covariates)
    return f"{findings.primary.title} along {along}: {words.counted(len(findings.curves), 'curve')}"


SECTION = Section("curves", "Curves along the covariates", _blocks, _plain, secondary=True, brief=_brief)
