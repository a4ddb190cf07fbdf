"""What the cache study adds to a report: where idx2 recovers, a recommended shared_buffers, and both caches' contents.

Only for runs of the load cacheprobe that vary `server.shared_buffers` as a factor; every other run has none of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum, log
from statistics import median
from typing import TYPE_CHECKING

from pgassay.analysis.compare import compare
from pgassay.analysis.observations import places
from pgassay.analysis.recovery import BEARABLE, Recommendation, Recovery, recommend, recovery
from pgassay.report import words
from pgassay.report.part import Part
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
MOMENTS = {"warm": "before the probes", "scan": "after the scan"}


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


class CacheFindings:
    """A cacheprobe run, analysed along shared_buffers."""

    def __init__(self, findings: "Findings") -> None:
        self.findings = findings

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
        """All sizes, smallest first."""
        return tuple(sorted({spot.size for spot in self.spots.values()}))

    @cached_property
    def series(self) -> tuple[str, ...]:
        """What varies beside the size, in the study's order."""
        return tuple(dict.fromkeys(spot.series for spot in self.spots.values()))

    def values(self, response: str) -> Mapping[Spot, list[float]]:
        """Every valid trial's value of a response, by its spot."""
        told = self.findings.observations(response).of_treatments()
        return {spot: told[name] for name, spot in self.spots.items() if told.get(name)}

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
        seen, told = self.findings.observations(PATTERN), self.values(PATTERN)
        values = {name: told[self.spots[name]] for name in names if self.spots[name] in told}
        logs = {name: [log(value) for value in mine] for name, mine in values.items()}
        if len(logs) < 2:
            return None
        best = min(logs, key=lambda name: fsum(logs[name]) / len(logs[name]))
        most, own = self.findings.study.design.blocks_max, [arm for arm in places(seen) if arm[0] in names]
        effects = compare(seen, response, best, blocks_max=most, primary=True, arms=own, equivalence=False)
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


def parts(findings: "Findings") -> Iterator[Part]:
    """The tables; none for other runs."""
    cache = findings.caches
    if not cache.spots or not any(trial.status is Status.VALID for trial in findings.trials):
        return
    if any(each.points for each in cache.recoveries.values()):
        yield _recovery_part(cache)
    yield _advice_part(cache)
    if cache.shares:
        yield _shares_part(cache)


def _recovery_part(cache: CacheFindings) -> Part:
    head = ("shared_buffers", *(each or "index probes after ÷ before the scan" for each in cache.series))
    points = {(name, point.size): point for name, each in cache.recoveries.items() for point in each.points}
    rows = []
    for size in cache.sizes:
        cells = []
        for series in cache.series:
            point = points.get((series, size))
            if point is None:
                cells.append(words.MISSING)
            elif point.low <= 0:
                cells.append(f"{point.ratio:.2f} (no interval yet)")
            else:
                cells.append(f"{point.ratio:.2f} [{point.low:.2f}, {point.high:.2f}]")
        rows.append((format_bytes(size), *cells))
    notes = [_recovery_note(series, each) for series, each in cache.recoveries.items()]
    return Part("Index probes after the scan ÷ before it", (head, *rows), tuple(notes))


def _recovery_note(series: str, found: Recovery) -> str:
    where = f"{series}: " if series else ""
    slow = f"slow up to {format_bytes(found.slow_to)}" if found.slow_to else "not shown to be slow at any size"
    if found.recovered_from is None:
        return f"{where}{slow}; not shown to recover (below {BEARABLE:g}) at any size"
    return f"{where}{slow}; recovered (below {BEARABLE:g}) from {format_bytes(found.recovered_from)} on"


def _advice_part(cache: CacheFindings) -> Part:
    head = (
        "with",
        "recommended shared_buffers",
        "sizes not told from the best",
        "its probes, median",
        "its probes ÷ the best size's",
    )
    rows = []
    response = cache.findings.responses[PATTERN]
    for each in cache.advice:
        found = each.recommendation
        alike = [format_bytes(size) for size in found.alike]
        against = (
            "it is the best"
            if found.size == found.best
            else f"[{found.low:.3f}, {found.high:.3f}], best: {format_bytes(found.best)}"
        )
        rows.append(
            (
                each.series or "every treatment",
                format_bytes(found.size),
                alike[0] if len(alike) == 1 else f"{alike[0]} … {alike[-1]}",
                f"{words.quantity(each.value_ms, response)} ms",
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
    return Part("Recommended shared_buffers for this pattern", (head, *rows), notes)


def _shares_part(cache: CacheFindings) -> Part:
    found = {(spot, name, moment): value for spot, name, moment, value in cache.shares}
    head = ("shared_buffers", "with", *SHARES.values())
    rows = []
    for size in cache.sizes:
        for series in cache.series:
            spot = Spot(size, series)
            cells = [" → ".join(_share(found.get((spot, name, moment))) for moment in MOMENTS) for name in SHARES]
            rows.append((format_bytes(size), series, *cells))
    notes = (
        "medians, before the first probes → right after the scan; shares of the relation, so that what lies in both"
        " caches counts twice",
    )
    return Part("What lies in which cache", (head, *rows), notes)


def _share(value: float | None) -> str:
    return words.MISSING if value is None else f"{value:.0%}"
