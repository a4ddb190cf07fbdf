"""How the start itself moved over an advice: each batch of the screening and the search has a trial of it.

A straight line through the logarithms, batch by batch, with Student's interval at 95 %. It tells what the machine did
meanwhile; effects are in relation to the start of their own batch, so none of it is in them. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, isfinite, log, sqrt
from typing import Any

from pgassay.analysis.boundaries import fixed_critical
from pgassay.report.colours import INK, PALETTE
from pgassay.report.section import Drawing, Figure, Folded
from pgassay.report.words import ratio_interval

FEWEST = 4
"""Batches with fewer starts tell nothing of a line."""
_HEIGHT = 140


@dataclass(frozen=True)
class Drift:
    """One objective of the start, in the order of the batches, and its change from the first to the last, a ratio."""

    starts: tuple[float, ...]
    change: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """Does the interval leave out that nothing moved?"""
        return self.low > 1 or self.high < 1

    @property
    def line(self) -> tuple[float, ...]:
        """What the straight line says of each batch."""
        count = len(self.starts)
        middle = sum(map(log, self.starts)) / count
        return tuple(exp(middle + log(self.change) * (at / (count - 1) - 0.5)) for at in range(count))


def drift_of(starts: Sequence[float]) -> Drift | None:
    """The drift of these trials of the start; None where they are too few, or have no ratios."""
    count = len(starts)
    if count < FEWEST or not all(isfinite(each) and each > 0 for each in starts):
        return None
    logs = [log(each) for each in starts]
    middle, mean = (count - 1) / 2, sum(logs) / count
    spread = sum((at - middle) ** 2 for at in range(count))
    slope = sum((at - middle) * (each - mean) for at, each in enumerate(logs)) / spread
    rest = sum((each - mean - slope * (at - middle)) ** 2 for at, each in enumerate(logs))
    half = fixed_critical(count - 1, 0.05) * sqrt(rest / (count - 2) / spread)
    change, low, high = (exp((count - 1) * each) for each in (slope, slope - half, slope + half))
    return Drift(tuple(starts), change, low, high)


def sentences(starts: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """How the start moved by each objective; nothing where it was measured too seldom."""
    for objective, values in starts.items():
        found = drift_of(values)
        if found:
            shown = "" if found.shown else ", so no drift is shown"
            yield (
                f"drift: {objective} of the start moved by {ratio_interval(found.change, found.low, found.high)} over "
                f"{len(values)} batches of screening and search{shown}; effects are relative to the start of their "
                "own batch"
            )


def picture(starts: Mapping[str, Sequence[float]], titles: Mapping[str, str]) -> tuple[Folded, ...]:
    """The start batch by batch, a panel for each objective, folded; none where it was measured too seldom."""
    found = {titles[name]: drift for name, values in starts.items() if (drift := drift_of(values))}
    figure = Figure("starts", lambda: drawing(found))
    return (Folded("The start over time", (figure,)),) if found else ()


def drawing(found: Mapping[str, Drift]) -> Drawing:
    """Dots: the trial of the start in each batch; the line is the straight one through all of them."""
    import altair as alt

    from pgassay.report import charts

    panels = []
    for title, drift in found.items():
        rows = [
            {"batch": at, "seen": 100 * (seen / drift.line[0] - 1), "line": 100 * (line / drift.line[0] - 1)}
            for at, (seen, line) in enumerate(zip(drift.starts, drift.line, strict=True), start=1)
        ]
        x = alt.X("batch:Q", title="batch", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=False))
        y = alt.Y("seen:Q", title=charts.wrapped(f"{title}, %", _HEIGHT))
        layers = [
            alt.Chart().mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(y=alt.YDatum(0)),
            alt.Chart().mark_line(color=INK, strokeWidth=1.5).encode(x=x, y=alt.Y("line:Q")),
            alt.Chart().mark_point(filled=True, size=40, opacity=1, color=PALETTE[0]).encode(x=x, y=y),
        ]
        panels.append(charts.layered(layers, rows, _HEIGHT))
    return Drawing(
        "The start over time",
        "Dots: the trial of the start in each batch of the screening and the search, in per cent of where the line "
        "begins. Every effect is in relation to the start of its own batch, so what moved all of them is in none.",
        panels[0] if len(panels) == 1 else alt.vconcat(*panels),
    )


def values(starts: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """For scripts, by objective; null where the start was measured too seldom."""
    found = {name: drift_of(values) for name, values in starts.items()}
    return {
        name: {**asdict(drift), "starts": list(drift.starts), "shown": drift.shown} if drift else None
        for name, drift in found.items()
    }
