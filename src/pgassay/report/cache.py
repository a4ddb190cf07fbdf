"""What the cache study adds to a report: where idx2 recovers, a recommended shared_buffers, and both caches' contents.

Only for runs of the load cacheprobe that vary `server.shared_buffers` as a factor; every other run has none of it. Box
plots are computed here and not by Vega, so that a run of 13 554 trials makes a small page.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from math import fsum, log
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from pgassay.analysis.compare import compare
from pgassay.analysis.curves import BEARABLE, Recommendation, Recovery, recommend, recovery
from pgassay.analysis.observations import places
from pgassay.report import formatting
from pgassay.report.section import Brief, Drawing, Figure, Part, Section, Sentences, Surface, Table, Values
from pgassay.report.vega import INK, PALETTE
from pgassay.study.levels import label
from pgassay.study.responses import Status
from pgassay.study.units import format_bytes, parse_memory, split_quantity

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

BUFFERS = "server.shared_buffers"
SLOWDOWN = "idx2_slowdown"
PATTERN = "probes_ms"
SHARES = {
    "index_page_cache": "index in the page cache",
    "index_buffers": "index in shared_buffers",
    "heap_page_cache": "heap in the page cache",
    "heap_buffers": "heap in shared_buffers",
}
MOMENTS = ("warm", "scan")
"""Before the probes, and after the scan."""
WHISKER, OUTLIERS_MAX = 1.5, 20
"""Of a box: how many times its length a whisker reaches, and how many values beyond are drawn, the farthest ones."""
FLAT_SIZES = 5
"""Names of sizes lie flat while there is room for them."""
FIVE = ("low", "q1", "median", "q3", "high")
_TIMES = {
    "idx1": "Index probes before the scan (idx1)",
    "seq": "Sequential scan (seq)",
    "idx2": "Index probes after the scan (idx2)",
}
BOX_FROM = 5
"""Trials of a place from which a figure shows boxes; fewer are dots."""
_DOTS = "Each dot is a trial."
_BOXES = "Bar: the middle half of the trials; line: median; whiskers: to 1.5 times the bar; dots beyond."


@dataclass(frozen=True)
class Spot:
    """A treatment on the axis of sizes: shared_buffers in bytes, and what else it varies (huge pages)."""

    size: int
    series: str


@dataclass(frozen=True)
class Advice:
    """A series with its recommendation and the time that it comes with."""

    series: str
    recommendation: Recommendation
    value_ms: float


@dataclass(eq=False)
class CacheFindings:
    """A cacheprobe run, analysed along shared_buffers."""

    findings: "Findings"

    @cached_property
    def spots(self) -> Mapping[str, Spot]:
        """Treatment to its place; empty when this is no such run."""
        study = self.findings.study
        declared = self.findings.responses
        if BUFFERS not in study.factors or SLOWDOWN not in declared or PATTERN not in declared:
            return {}
        found = {}
        for treatment in study.treatments:
            level = treatment.levels.get(BUFFERS)
            quantity = split_quantity(level.typed) if level else None
            if level is None or quantity is None or not quantity[1]:
                return {}
            rest = {name: each for name, each in treatment.levels.items() if name != BUFFERS}
            found[treatment.name] = Spot(parse_memory(level.typed), label(rest))
        return found

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """All sizes of shared_buffers in bytes, smallest first."""
        return tuple(sorted({spot.size for spot in self.spots.values()}))

    @cached_property
    def series(self) -> tuple[str, ...]:
        """What varies apart from the size, in the study's order."""
        return tuple(dict.fromkeys(spot.series for spot in self.spots.values()))

    def values(self, response: str) -> Mapping[Spot, list[float]]:
        """Every valid trial's value of a response, by its spot."""
        of = self.findings.observations(response).of_treatments()
        return {spot: of[name] for name, spot in self.spots.items() if of.get(name)}

    @cached_property
    def recoveries(self) -> Mapping[str, Recovery]:
        """For each series, the slowdown of idx2 along the sizes."""
        values = self.values(SLOWDOWN)
        blocks_max = self.findings.study.design.blocks_max
        return {
            series: recovery(
                {spot.size: each for spot, each in values.items() if spot.series == series}, blocks_max=blocks_max
            )
            for series in self.series
        }

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """For each series, the size to take for the probed pattern."""
        return tuple(each for series in self.series if (each := self._advice(series)) is not None)

    def _advice(self, series: str) -> Advice | None:
        response = self.findings.responses[PATTERN]
        names = {name: spot.size for name, spot in self.spots.items() if spot.series == series}
        seen, by_spot = self.findings.observations(PATTERN), self.values(PATTERN)
        values = {name: by_spot[self.spots[name]] for name in names if self.spots[name] in by_spot}
        logs = {name: [log(value) for value in mine] for name, mine in values.items() if min(mine) > 0}
        if len(logs) < 2:
            return None
        best = min(logs, key=lambda name: fsum(logs[name]) / len(logs[name]))
        most, own = self.findings.study.design.blocks_max, [arm for arm in places(seen) if arm[0] in names]
        effects = compare(seen, response, best, blocks_max=most, primary=True, arms=own)
        found = recommend(
            names[best], {names[each.treatment]: each for each in effects}, self.findings.study.design.resolution
        )
        if found is None:
            return None
        chosen = next(name for name, size in names.items() if size == found.size)
        return Advice(series, found, median(values[chosen]))

    @cached_property
    def shares(self) -> tuple[tuple[Spot, str, str, float], ...]:
        """Spot, what lies where, when, and the median share."""
        found = []
        for name in SHARES:
            for moment in MOMENTS:
                values = self.values(f"{name}_{moment}_share")
                found += [(spot, name, moment, median(each)) for spot, each in values.items()]
        return tuple(found)


def _describe(findings: "Findings") -> Iterator[Part]:
    cache = findings.once(CacheFindings)
    if not cache.spots:
        yield Values({"cache": None})
        return
    residents = [
        {"shared_buffers_bytes": spot.size, "with": spot.series, "what": what, "moment": moment, "share": value}
        for spot, what, moment, value in cache.shares
    ]
    recovered = {series: asdict(found) for series, found in cache.recoveries.items()}
    recommended = [asdict(each) for each in cache.advice]
    yield Values({"cache": {"recovery": recovered, "recommended": recommended, "residency": residents}})
    yield Brief(
        "index probes before and after a scan by size of shared_buffers, what both caches hold, what is recommended"
    )
    if not any(trial.status is Status.VALID for trial in findings.trials):
        return
    yield Sentences(("how each number is computed: docs/published-studies.md",), small=True, on=Surface.PAGE)
    for time in _TIMES:
        yield Figure(f"cache-{time}", partial(times, cache, time), key=1)
    if any(each.points for each in cache.recoveries.values()):
        yield _recovery(cache)
    yield _advice(cache)
    if cache.shares:
        yield _shares(cache)


def _recovery(cache: CacheFindings) -> Table:
    head = ("shared_buffers", *(each or "index probes after ÷ before the scan" for each in cache.series))
    points = {(name, point.size): point for name, each in cache.recoveries.items() for point in each.points}
    rows = []
    for size in cache.sizes:
        cells = []
        for series in cache.series:
            point = points.get((series, size))
            if point is None:
                cells.append(formatting.MISSING)
            elif point.low <= 0:
                cells.append(f"{point.ratio:.2f} (no interval yet)")
            else:
                cells.append(f"{point.ratio:.2f} [{point.low:.2f}, {point.high:.2f}]")
        rows.append((format_bytes(size), *cells))
    notes = []
    for series, found in cache.recoveries.items():
        slow = f"slow up to {format_bytes(found.slow_to)}" if found.slow_to else "not shown to be slow at any size"
        recovered = f"not shown to recover (below {BEARABLE:g}) at any size"
        if found.recovered_from is not None:
            recovered = f"recovered (below {BEARABLE:g}) from {format_bytes(found.recovered_from)} on"
        notes.append(f"{series}: {slow}; {recovered}" if series else f"{slow}; {recovered}")
    return Table(head, rows, "Index probes after the scan ÷ before it", notes)


def _advice(cache: CacheFindings) -> Table:
    head = (
        "other factors",
        "recommended shared_buffers",
        "sizes not distinguishable from the best",
        "its probes, median",
        "its probes ÷ the best size's",
    )
    rows = []
    response = cache.findings.responses[PATTERN]
    for each in cache.advice:
        found = each.recommendation
        alike = [format_bytes(size) for size in found.alike]
        against = (
            "is the best"
            if found.size == found.best
            else f"[{found.low:.3f}, {found.high:.3f}], best: {format_bytes(found.best)}"
        )
        rows.append(
            (
                each.series or "every treatment",
                format_bytes(found.size),
                alike[0] if len(alike) == 1 else f"{alike[0]} … {alike[-1]}",
                f"{formatting.quantity(each.value_ms, response)} ms",
                against,
            )
        )
    share = f"{cache.findings.study.design.resolution * 100:.3g} %"
    notes = (
        f"the smallest size whose probes, before and after the scan, are shown to take at most {share} more than those"
        " of the best size; intervals at 95 %, for all sizes together",
        "for the probed pattern only: single index probes and one large scan, nothing written",
    )
    if not rows:
        notes = ("nothing is recommended before five blocks", *notes[1:])
    return Table(head, rows, "Recommended shared_buffers for this pattern", notes)


def _shares(cache: CacheFindings) -> Table:
    found = {(spot, name, moment): value for spot, name, moment, value in cache.shares}
    head = ("shared_buffers", "other factors", *SHARES.values())
    rows = []
    for size in cache.sizes:
        for series in cache.series:
            spot = Spot(size, series)
            known = [[found.get((spot, name, moment)) for moment in MOMENTS] for name in SHARES]
            cells = [" → ".join(formatting.share(one, 0) for one in each) for each in known]
            rows.append((format_bytes(size), series, *cells))
    notes = (
        "medians, before the first probes → right after the scan; shares of the relation, so that what lies in both"
        " caches counts twice",
    )
    return Table(head, rows, "Contents of both caches", notes)


def times(cache: CacheFindings, time: str) -> Drawing | None:
    """Box plots of one time (ms), sizes along the axis, a colour for each series; None where there is nothing."""
    name = next((each for each in (f"{time}_trimmed_ms", f"{time}_ms") if cache.spots and cache.values(each)), None)
    if name is None:
        return None
    import altair as alt

    from pgassay.report.charts import WIDTH, chart_of, legend_of, tip

    few = max(map(len, cache.values(name).values())) < BOX_FROM
    rows: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    for spot, values in cache.values(name).items():
        box, outside = box_of(values)
        place = {"size": format_bytes(spot.size), "series": spot.series or "all"}
        rows.append({**place, **box})
        points += [{**place, "value": value} for value in (values if few else outside)]
    order = [format_bytes(size) for size in cache.sizes]
    series = [each or "all" for each in cache.series]
    least, most = min(row["low"] for row in rows), max(row["high"] for row in rows)
    wide = least > 0 and most / least > 10
    scale = alt.Scale(type="log", nice=False, padding=8) if wide else alt.Scale(zero=False, nice=True)
    title = f"{time}, ms"
    angle = 0 if len(order) <= FLAT_SIZES else -60
    shades = alt.Scale(domain=series, range=[PALETTE[place % len(PALETTE)] for place in range(len(series))])
    shared: dict[str, Any] = {
        "x": alt.X("size:N", sort=order, title="shared_buffers", axis=alt.Axis(labelAngle=angle)),
        "xOffset": alt.XOffset("series:N", sort=series),
        "color": alt.Color("series:N", scale=shades, sort=series, title=None, legend=legend_of(series)),
    }
    tooltip = [tip(each) for each in ("size:N", "series:N", "trials:Q")] + [tip(f"{each}:Q") for each in FIVE]
    base = chart_of(rows).encode(**shared, tooltip=tooltip)
    boxes = [
        base.mark_rule().encode(y=alt.Y("low:Q", scale=scale, title=title), y2="high:Q"),
        base.mark_bar(opacity=0.55).encode(y=alt.Y("q1:Q", scale=scale, title=title), y2="q3:Q"),
        base.mark_tick(thickness=2).encode(y=alt.Y("median:Q", scale=scale), color=alt.value(INK)),
    ]
    dots = chart_of(points).mark_point(filled=few, size=90 if few else 14, opacity=0.9 if few else 0.6)
    dots = dots.encode(**shared, y=alt.Y("value:Q", scale=scale, title=title))
    layers = [dots] if few else [*boxes, *([dots] if points else [])]
    chart = alt.layer(*layers).properties(width=WIDTH, height=260)
    return Drawing(f"{_TIMES[time]} over shared_buffers", _DOTS if few else _BOXES, chart)


def box_of(values: Sequence[float]) -> tuple[dict[str, float], list[float]]:
    """The five numbers of a box (Tukey: whiskers to the last value within 1.5 times the box) and what lies outside."""
    q1, middle, q3 = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    reach = WHISKER * (q3 - q1)
    inside = [value for value in values if q1 - reach <= value <= q3 + reach]
    outside = sorted((v for v in values if not q1 - reach <= v <= q3 + reach), key=lambda v: -abs(v - middle))
    # A quartile between two values may lie beyond the last one inside; a whisker never ends within its box.
    five = dict(zip(FIVE, (min([*inside, q1]), q1, middle, q3, max([*inside, q3])), strict=True))
    return {**five, "trials": len(values)}, outside[:OUTLIERS_MAX]


SECTION = Section("caches", "PostgreSQL's cache and the page cache", _describe, secondary=True)
