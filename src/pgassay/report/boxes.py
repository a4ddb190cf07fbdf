"""Box plots (Tukey), computed here and not by Vega, so that thousands of trials make a small page."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from pgassay.report import charts
from pgassay.report.colours import INK

WHISKER = 1.5
OUTLIERS_MAX = 20
"""Of each box: the farthest ones."""
FIVE = ("low", "q1", "median", "q3", "high")
_BOX_PX = 22
"""Height of a box with the air around it."""


def box_of(values: Sequence[float]) -> tuple[dict[str, float], list[float]]:
    """The five numbers of a box (Tukey: whiskers to the last value within 1.5 times the box) and what lies outside."""
    ordered = sorted(values)
    q1, middle, q3 = (_quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach = WHISKER * (q3 - q1)
    inside = [value for value in ordered if q1 - reach <= value <= q3 + reach]
    outside = sorted((v for v in ordered if not q1 - reach <= v <= q3 + reach), key=lambda v: -abs(v - middle))
    # A quartile between two values may lie beyond the last one inside; a whisker never ends within its box.
    five = dict(zip(FIVE, (min(inside[0], q1), q1, middle, q3, max(inside[-1], q3)), strict=True))
    return {**five, "trials": len(ordered)}, outside[:OUTLIERS_MAX]


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def boxes(
    rows: Iterable[Mapping[str, Any]],
    treatments: tuple[str, ...],
    places: Sequence[str],
    x: Mapping[str, Any],
    shown: Mapping[tuple[str, str], str],
) -> Any:
    """A box for each treatment and place, from rows with `treatment`, `condition` and `value`.

    `x` has the axis' `title`, `scale` and `axis`; `shown` each median as text, by treatment and place.
    """
    grouped: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        grouped.setdefault((row["treatment"], row["condition"]), []).append(row["value"])
    lines, height = charts.labelled_rows(charts.longest(treatments, shown), _BOX_PX)
    found = [
        {
            "treatment": name, "condition": place, **box_of(values)[0], "text": shown[name, place],
            "_label": lines[name].label, "_label_y": lines[name].label_y, "_text_y": lines[name].text_y,
            "_y": lines[name].mark_y,
        }
        for (name, place), values in grouped.items()
    ]  # fmt: skip
    y = charts.down("_y", height)
    base = alt.Chart().encode(
        y=y,
        color=charts.colour(treatments, legend=False),
        tooltip=[charts.tip("treatment:N"), *(charts.tip(f"{each}:Q") for each in FIVE), charts.tip("trials:Q")],
    )
    whiskers = base.mark_rule().encode(x=alt.X("low:Q", **x), x2="high:Q")
    halves = base.mark_bar(opacity=0.55, size=14).encode(x=alt.X("q1:Q", **x), x2="q3:Q")
    middles = base.mark_tick(thickness=2, size=18).encode(x=alt.X("median:Q", **x), color=alt.value(INK))
    return charts.layered(
        [whiskers, halves, middles, *charts.row_texts(alt.Chart(), height, places)], found, height, "condition", places
    )
