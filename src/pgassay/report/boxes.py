"""Box plots computed here and not by Vega: a run of thousands of trials then makes a small page, and makes it quickly.

Tukey's: the box holds the middle half, whiskers reach to the last value within 1.5 times its length.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from pgassay.report.legends import WIDTH, Title
from pgassay.report.style import chart_of, colour, levels_below_each_other, step

WHISKER = 1.5
OUTLIERS_MAX = 20
"""Of each box: the farthest ones."""
FIVE = ("low", "q1", "median", "q3", "high")
DOTS_MAX = 2000
"""Trials beyond which a figure shows boxes: more dots than that hide each other and make a page of many megabytes."""
CAPTION = (
    "The middle half of the trials, their median, and whiskers to 1.5 times the box: too many trials for a dot each."
)
TOGETHER = "median of all treatments"
STEP = 26


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


def boxed(rows: Iterable[Mapping[str, Any]], treatments: tuple[str, ...], title: Title, number_format: str) -> Any:
    """A box for each treatment and place, from rows with `treatment`, `condition` and `value`; the caller facets it."""
    grouped: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        grouped.setdefault((row["treatment"], row["condition"]), []).append(row["value"])
    found = [{"treatment": name, "condition": place, **box_of(values)[0]} for (name, place), values in grouped.items()]
    scale = alt.Scale(zero=False, nice=True, padding=12)
    axis = alt.Axis(format=number_format)
    base = chart_of(found).encode(
        y=alt.Y("treatment:N", sort=list(treatments), title=None, axis=levels_below_each_other(treatments)),
        color=colour(treatments).legend(None),
        tooltip=[alt.Tooltip("treatment:N"), *(alt.Tooltip(f"{each}:Q", format=",.4~g") for each in FIVE)],
    )
    whiskers = base.mark_rule().encode(x=alt.X("low:Q", scale=scale, title=title, axis=axis), x2="high:Q")
    halves = base.mark_bar(opacity=0.55).encode(x=alt.X("q1:Q", scale=scale), x2="q3:Q")
    middles = base.mark_tick(thickness=2).encode(x=alt.X("median:Q", scale=scale), color=alt.value("black"))
    return (whiskers + halves + middles).properties(width=WIDTH, height=alt.Step(step(treatments, STEP)))


def together(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each block and place the median over its treatments, as rows of one line: what the machine did to all."""
    grouped: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        grouped.setdefault((row["block"], row["condition"]), []).append(row["value"])
    return [
        {"treatment": TOGETHER, "condition": place, "block": block, "trial": None, "value": median(values)}
        for (block, place), values in grouped.items()
    ]
