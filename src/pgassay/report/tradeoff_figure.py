"""The figure of space against speed: each treatment's change of both, and what the blocks allow as an ellipse.

The shadow of an ellipse on an axis is the interval that the report prints for that response, so that figure and table
say one thing; its tilt is the correlation of the two log ratios over the blocks (Friendly, Monette and Fox 2013,
"Elliptical Insights"). Treatments whose speeds may not be compared are drawn in panels of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import cos, exp, isfinite, log, pi, sin, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from pgassay.analysis.effects import Effect, informative
from pgassay.report import words
from pgassay.report.colours import INK, SOFT
from pgassay.report.section import Drawing
from pgassay.report.tradeoff import SPACE, Point, Tradeoff, apart, tradeoffs
from pgassay.study.levels import Place
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_HEIGHT = 300
_CORNERS = 48
_TICKS = 7
"""About so many along an axis, so that each has its label and 0 is among them."""
_REACH_PERCENT = 100.0
_AIR = 0.08
_ALIKE = 0.3
"""Labels of points that are nearer than this share of the axis are kept from hiding each other."""
_REFERENCE, _TREATMENT, _BLOCK, _ELLIPSE = "reference", "treatment", "block", "ellipse"


@dataclass(frozen=True)
class Ellipse:
    """In logarithms of ratios: centre, half the interval of each axis, and the correlation over the blocks."""

    x: float
    y: float
    half_x: float
    half_y: float
    correlation: float

    def outline(self, corners: int = _CORNERS) -> list[tuple[float, float]]:
        """Its corners in order, as ratios; the first is the last again."""
        rest = sqrt(1.0 - self.correlation**2)
        angles = (2.0 * pi * corner / corners for corner in range(corners + 1))
        return [
            (
                exp(self.x + self.half_x * cos(angle)),
                exp(self.y + self.half_y * (self.correlation * cos(angle) + rest * sin(angle))),
            )
            for angle in angles
        ]


def ellipse(space: Effect, speed: Effect) -> Ellipse | None:
    """Of two effects in ratios; None where the interval of either says nothing of its size."""
    both = (space, speed)
    if not all(each.scale is Scale.RATIO and informative(each.low, each.high, each.scale) for each in both):
        return None
    half_x, half_y = (log(each.high / each.low) / 2.0 for each in both)
    return Ellipse(log(space.estimate), log(speed.estimate), half_x, half_y, correlation(space, speed))


def correlation(one: Effect, other: Effect) -> float:
    """Of the two log ratios over the blocks that have both; 0 where one of them does not vary."""
    mine, theirs = dict(one.contrasts), dict(other.contrasts)
    shared = [block for block in mine if block in theirs]
    if len(shared) < 3:
        return 0.0
    logs = np.log([[mine[block] for block in shared], [theirs[block] for block in shared]])
    if np.any(np.ptp(logs, axis=1) <= 1e-12):
        return 0.0
    return float(np.clip(np.corrcoef(logs)[0, 1], -1.0, 1.0))


def drawing(findings: "Findings") -> Drawing | None:
    """A panel for each place and each set of comparable drives; None where no treatment can be set against another."""
    rows = [row for found in findings.once(tradeoffs) for row in rows_of(findings, found)]
    if not any(row["kind"] == _TREATMENT for row in rows):
        return None
    import altair as alt

    from pgassay.report import charts

    found = findings.once(tradeoffs)[0]
    panels = tuple(dict.fromkeys(str(row["panel"]) for row in rows))
    domains = {axis: _domain(rows, axis) for axis in ("space", "speed")}
    x = _axis(alt.X, "space", f"{SPACE[found.space]}, % (left is smaller)", domains["space"])
    y = _axis(alt.Y, "speed", f"{findings.responses[found.speed].title}, % (up is faster)", domains["speed"])
    shades = charts.colour(tuple(treatment.name for treatment in findings.study.treatments), legend=False)
    tips = [charts.tip("treatment:N"), charts.tip("against:N"), charts.tip("space:Q"), charts.tip("speed:Q")]
    rows = [{**row, **_label(row, rows, domains)} if "name" in row else row for row in rows]
    ways: dict[Any, tuple[int, int, Any]] = {
        "center": (0, -6, "bottom"), "left": (9, 0, "middle"), "right": (-9, 0, "middle"),
    }  # fmt: skip
    points = charts.of_kind(_TREATMENT).mark_point(size=90, strokeWidth=2, opacity=1)
    layers = [
        alt.Chart().mark_rule(color=INK, strokeWidth=1).encode(x=alt.XDatum(0)),
        alt.Chart().mark_rule(color=INK, strokeWidth=1).encode(y=alt.YDatum(0)),
        charts.of_kind(_ELLIPSE)
        .mark_line(clip=True, strokeWidth=1.5, interpolate="linear")
        .encode(x=x, y=y, color=shades, detail="treatment:N", order="corner:Q"),
        charts.of_kind(_BLOCK).mark_circle(size=22, opacity=0.5, clip=True).encode(x=x, y=y, color=shades),
        points.transform_filter("datum.on_front")
        .mark_point(filled=True, size=90, opacity=1)
        .encode(x=x, y=y, color=shades, tooltip=tips),
        points.transform_filter("!datum.on_front").encode(x=x, y=y, color=shades, tooltip=tips),
        charts.of_kind(_REFERENCE).mark_point(shape="diamond", filled=True, size=90, color=INK).encode(x=x, y=y),
        *(
            charts.of_kind(_TREATMENT)
            .transform_filter(f"datum._align == '{align}'")
            .mark_text(align=align, dx=right, dy=down, baseline=base, color=INK)
            .encode(x=x, y=_at(domains), text="name:N")
            for align, (right, down, base) in ways.items()
        ),
        charts.of_kind(_REFERENCE)
        .mark_text(align="left", dx=9, dy=13, color=SOFT)  # below the line of no difference
        .encode(x=x, y=_at(domains), text="name:N"),
    ]
    chart = charts.layered(layers, rows, _HEIGHT, "panel", panels)
    return Drawing(
        f"Space against speed{charts.by([each.name for each in found.points])}",
        "Against the diamond; lines at 0: no difference. Small: a block; large: the estimate, "
        "hollow where another treatment beats it on both sides. The shadow of an ellipse on an axis is that response's "
        "interval; one that reaches the edge goes beyond it, and without one it is not known yet. Secondary.",
        chart,
    )


def rows_of(findings: "Findings", found: Tradeoff) -> Iterator[dict[str, Any]]:
    """What is drawn of a place, in per cent against the reference of its panel."""
    for reference, others in groups(found.points, findings.baseline):
        panel = words.place(found.place, _drives(reference) if len(others) + 1 < len(found.points) else "")
        common = {"panel": panel, "against": reference.name}
        yield {**common, "kind": _REFERENCE, "treatment": reference.name, "space": 0.0, "speed": 0.0,
               "name": words.headed(reference.name)}  # fmt: skip
        for each in others:
            both = _effects(findings, found, each.name, reference.name)
            if both is None:
                continue
            mine = {**common, "treatment": each.name}
            space, speed = both
            yield {**mine, "kind": _TREATMENT, "space": _percent(space.estimate), "speed": _percent(speed.estimate),
                   "on_front": found.on_front[each.name] is not False, "name": each.name}  # fmt: skip
            speeds = dict(speed.contrasts)
            for block, ratio in space.contrasts:
                if block in speeds:
                    yield {**mine, "kind": _BLOCK, "block": block, "space": _percent(ratio),
                           "speed": _percent(speeds[block])}  # fmt: skip
            outline = ellipse(space, speed)
            for corner, (wide, high) in enumerate(outline.outline() if outline else ()):
                yield {**mine, "kind": _ELLIPSE, "corner": corner, "space": _percent(wide), "speed": _percent(high)}


def groups(points: Sequence[Point], baseline: str) -> list[tuple[Point, list[Point]]]:
    """Treatments whose speeds may be compared: the one that the others are set against (the baseline), and these."""
    found: list[list[Point]] = []
    for point in sorted(points, key=lambda each: each.name != baseline):
        group = next((group for group in found if not apart(group[0], point)), None)
        if group is None:
            found.append([point])
        else:
            group.append(point)
    return [(group[0], group[1:]) for group in found if len(group) > 1]


def _effects(findings: "Findings", found: Tradeoff, treatment: str, reference: str) -> tuple[Effect, Effect] | None:
    """Of space and of speed at this place; None where no block has both treatments."""
    place = Place(treatment, found.condition, found.covariate)
    both = []
    for response in (findings.responses[found.space], findings.responses[found.speed]):
        effect = next(
            (each for each in _against(findings, response, treatment, reference) if each.place == place), None
        )
        if effect is None or not isfinite(effect.estimate) or effect.scale is not Scale.RATIO:
            return None
        both.append(effect)
    return both[0], both[1]


def _against(findings: "Findings", response: Response, treatment: str, reference: str) -> Sequence[Effect]:
    against = None if reference == findings.baseline else reference
    return findings.effects(response, against, {treatment})


def _drives(point: Point) -> str:
    """What of a treatment's name is its drives."""
    return ", ".join(part for part in point.name.split(", ") if part.startswith("drive."))


def _percent(ratio: float) -> float:
    return (ratio - 1.0) * 100.0


def _domain(rows: Sequence[Mapping[str, Any]], axis: str) -> tuple[float, float]:
    """All that is drawn, with 0; an ellipse that would hide everything else is cut at `_REACH_PERCENT`."""
    known = [row[axis] for row in rows if row["kind"] != _ELLIPSE]
    reach = max(_REACH_PERCENT, *(1.5 * abs(value) for value in known))
    known += [row[axis] for row in rows if row["kind"] == _ELLIPSE and abs(row[axis]) < reach]
    least, most = min(0.0, *known), max(0.0, *known)
    air = _AIR * (most - least) or 1.0
    return max(least - air, -_REACH_PERCENT), most + air


def _axis(channel: Any, field: str, title: str, domain: tuple[float, float]) -> Any:
    import altair as alt

    from pgassay.report.charts import NARROW, wrapped

    scale = alt.Scale(domain=domain, nice=False, zero=False)
    axis = alt.Axis(labelExpr="datum.value == 0 ? '0' : format(datum.value, '+,.3~r')", tickCount=_TICKS)
    return channel(f"{field}:Q", title=wrapped(title, min(NARROW, _HEIGHT)), scale=scale, axis=axis)


def _at(domains: Mapping[str, tuple[float, float]]) -> Any:
    import altair as alt

    return alt.Y("_at:Q", scale=alt.Scale(domain=domains["speed"], nice=False, zero=False))


def _label(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], domains: Mapping[str, tuple[float, float]]
) -> dict[str, Any]:
    """Where a point's name stands: above its ellipse, apart from those of its neighbours; where there is no room above,
    beside the point, and left of it at the right."""
    from pgassay.report.charts import LINE, short_labels, spread

    (left, right), (low, high) = domains["space"], domains["speed"]
    line = LINE * (high - low) / _HEIGHT
    near = [
        each
        for each in rows
        if "name" in each
        and each["panel"] == row["panel"]
        and abs(each["space"] - row["space"]) < _ALIKE * (right - left)
    ]
    tops = [_top(each, rows) for each in near]
    wanted = [top if top <= high - line else each["speed"] for each, top in zip(near, tops, strict=True)]
    places = spread(wanted, line, low, high)
    at, top = next((at, top) for each, at, top in zip(near, places, tops, strict=True) if each is row)
    names = [each["treatment"] for each in rows if "name" in each and each["panel"] == row["panel"]]
    name = short_labels(list(dict.fromkeys(names)))[1][row["treatment"]] if row["treatment"] else row["name"]
    beside = "right" if row["space"] > left + 0.6 * (right - left) else "left"
    return {"_at": at, "_align": "center" if top <= high - line else beside, "name": name}


def _top(point: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> float:
    """The highest that is drawn of a point: of its ellipse, or the point itself; the diamond's name is below it."""
    if point["kind"] == _REFERENCE:
        return float(point["speed"])
    mine = [row["speed"] for row in rows if row["panel"] == point["panel"] and row["treatment"] == point["treatment"]]
    return float(max(mine))
