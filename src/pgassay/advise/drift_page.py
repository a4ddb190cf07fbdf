"""What is told of the drift of a machine: a sentence for each objective, a picture, values for scripts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pgassay.advise.drift import Drift, drift_of
from pgassay.report.colours import INK, PALETTE
from pgassay.report.section import Drawing, Figure, Folded
from pgassay.report.words import ratio_interval

_HEIGHT = 140


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
    """Dots: the trial of the start beside each batch; the line is the straight one through all of them."""
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
        "Dots: the trial of the start beside each batch of the screening and the search, in per cent of where the line "
        "begins. Every effect is in relation to the start of its own batch, so what moved all of them is in none.",
        panels[0] if len(panels) == 1 else alt.vconcat(*panels),
    )


def values(starts: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """For scripts, by objective; null where the start was measured too seldom."""
    return {name: _values(drift_of(each), each) for name, each in starts.items()}


def _values(found: Drift | None, starts: Sequence[float]) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"starts": list(starts), "change": found.change, "low": found.low, "high": found.high, "shown": found.shown}
