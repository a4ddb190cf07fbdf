"""Figures of `pgassay drive simulate`: each is one Vega-Lite specification, written as HTML, PNG and SVG.

The HTML works offline. A module of its own, since no other action of `pgassay drive` may wait for altair.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from pgassay.flash import Outcome
from pgassay.report.charts import WIDTH, chart_of, legend_of, panels, styled
from pgassay.report.colours import INK, PALETTE
from pgassay.report.vega import drawable

_SCALE = 2
_PARTS = {
    "compressed_bytes_written": "host",
    "gc_bytes_written": "garbage collection",
    "wear_levelling_bytes_written": "wear levelling",
    "padding_bytes_written": "padding",
}
_TITLES = {
    "write-amplification": "Write amplification over drive writes",
    "programmed": "What is programmed and why",
    "wear": "Wear",
    "latency": "Latency",
    "sweep": "Write amplification",
}


def write(outcomes: Sequence[Outcome], folder: Path) -> None:
    """Write every figure that there are data for."""
    made = {
        "write-amplification": _drawn_amplification(outcomes),
        "programmed": _programmed(outcomes),
        "wear": _wear(outcomes),
        "latency": _latency(outcomes),
        "sweep": _sweep(outcomes),
    }
    for name, chart in made.items():
        if chart is None:
            continue
        specification = drawable(styled(chart.properties(title=f"{_TITLES[name]}, simulated")).to_dict())
        (folder / f"{name}.html").write_text(vl_convert.vegalite_to_html(specification, bundle=True), encoding="utf-8")
        (folder / f"{name}.svg").write_text(vl_convert.vegalite_to_svg(specification), encoding="utf-8")
        (folder / f"{name}.png").write_bytes(vl_convert.vegalite_to_png(specification, scale=_SCALE))


def _name(one: Outcome) -> str:
    return ", ".join(f"{key.rpartition('.')[2]} {level}" for key, level in one.levels.items()) or "drive"


def _coloured(chart: alt.Chart, outcomes: Sequence[Outcome]) -> alt.Chart:
    """Colour tells simulations apart, and dashes where lines meet or colours repeat; a single one needs neither."""
    if len(outcomes) == 1:
        return chart.encode(color=alt.value(PALETTE[0]))
    order = [_name(one) for one in outcomes]
    scale = alt.Scale(domain=order, range=[PALETTE[index % len(PALETTE)] for index in range(len(order))])
    return chart.encode(
        color=alt.Color("drive:N", sort=order, scale=scale, title=None, legend=legend_of(order)),
        strokeDash=alt.StrokeDash("drive:N", sort=order, legend=None),
    )


def _drawn_amplification(outcomes: Sequence[Outcome]) -> Any:
    keys = ("phase", "drive_writes", "write_amplification")
    rows = []
    for one in outcomes:
        windows = [
            {"drive": _name(one), **{key: getattr(window, key) for key in keys}} for window in one.simulation.windows
        ]
        # A step ends at its window's end, so the first one needs a beginning.
        rows += [{**windows[0], "drive_writes": 0.0}, *windows] if windows else []
    if not rows:
        return None
    lines = (
        chart_of(rows)
        .mark_line(interpolate="step-before")
        .encode(
            x=alt.X("drive_writes:Q", title="drive writes"),
            y=alt.Y("write_amplification:Q", title="write amplification", scale=alt.Scale(zero=True)),
            tooltip=["drive:N", "phase:N", "drive_writes:Q", "write_amplification:Q"],
        )
    )
    return _coloured(lines, outcomes).properties(width=WIDTH, height=300)


def _programmed(outcomes: Sequence[Outcome]) -> Any:
    rows = []
    for one in outcomes:
        measured = one.simulation.measured
        host = measured["host_bytes_written"]
        rows += [
            {"drive": _name(one), "part": part, "place": place, "share": measured[key] / host}
            for place, (key, part) in enumerate(_PARTS.items())
            if host and measured[key]
        ]
    if not rows:
        return None
    parts = [part for part in _PARTS.values() if any(row["part"] == part for row in rows)]
    scale = alt.Scale(domain=parts, range=list(PALETTE[: len(parts)]))
    bars = (
        chart_of(rows)
        .mark_bar()
        .encode(
            y=alt.Y("drive:N", title=None, sort=[_name(one) for one in outcomes]),
            x=alt.X("sum(share):Q", title="bytes programmed for each byte that the host wrote"),
            color=alt.Color("part:N", title=None, sort=parts, scale=scale, legend=legend_of(parts)),
            order=alt.Order("place:Q"),
            tooltip=["drive:N", "part:N", "share:Q"],
        )
    )
    return bars.properties(width=WIDTH, height=alt.Step(32))


def _wear(outcomes: Sequence[Outcome]) -> Any:
    rows = []
    for one in outcomes:
        bins = one.simulation.wear_histogram
        width = bins[1]["erases"] - bins[0]["erases"] if len(bins) > 1 else 1
        # The last bin ends somewhere too.
        rows += [{"drive": _name(one), **bin_} for bin_ in [*bins, {"erases": bins[-1]["erases"] + width, "blocks": 0}]]
    lines = (
        chart_of(rows)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("erases:Q", title="erases of a block", axis=alt.Axis(tickMinStep=1, format="d")),
            y=alt.Y("blocks:Q", title="blocks"),
            tooltip=["drive:N", "erases:Q", "blocks:Q"],
        )
    )
    return _coloured(lines, outcomes).properties(width=WIDTH, height=240)


def _latency(outcomes: Sequence[Outcome]) -> Any:
    rows = []
    for one in outcomes:
        for kind in ("reads", "writes"):
            latencies: Any = one.simulation.timing[kind] if one.simulation.timing else None
            if latencies is None:
                continue
            slower = latencies["count"]
            for highest_ns, count in latencies["histogram"]:
                share = slower / latencies["count"]
                rows.append({"drive": _name(one), "kind": kind, "latency_us": max(highest_ns, 1) / 1e3, "share": share})
                slower -= count
            # The slowest request by itself: a curve of one latency would be a point, which is no line.
            rows.append({**rows[-1], "share": 1 / latencies["count"]})
    if not rows:
        return None
    lines = (
        chart_of(rows)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("latency_us:Q", title="latency, µs", scale=alt.Scale(type="log")),
            y=alt.Y("share:Q", title="share of requests at least as slow", scale=alt.Scale(type="log")),
        )
    )
    return _coloured(lines, outcomes).properties(width=WIDTH, height=260).facet(row=panels("kind", ["reads", "writes"]))


def _sweep(outcomes: Sequence[Outcome]) -> Any:
    if len(outcomes) == 1:
        return None
    rows: list[dict[str, Any]] = []
    for one in outcomes:
        found = one.simulation
        low, high = found.write_amplification_interval or (None, None)
        known = {"wa": found.write_amplification, "low": low, "high": high, "formula": found.theory}
        rows.append({"drive": _name(one), **known})
    base = chart_of(rows).encode(y=alt.Y("drive:N", title=None, sort=[row["drive"] for row in rows]))
    points = base.mark_point(filled=True, size=90).encode(
        x=alt.X("wa:Q", title="write amplification, 95 % interval (tick: by formula)"),
        tooltip=["drive:N", "wa:Q", "low:Q", "high:Q", "formula:Q"],
    )
    intervals = base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q")
    ticks = base.mark_tick(thickness=2, size=22, color=INK).encode(x="formula:Q")
    return (intervals + points + ticks).properties(width=WIDTH, height=alt.Step(32))
