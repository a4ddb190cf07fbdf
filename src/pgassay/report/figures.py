"""The report's figures, each a Vega-Lite specification: one source for the page, the PNG and the SVG.

Altair is slow to import, so this module is imported only when a report is written. Every figure works without colour.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from altair.utils.schemapi import debug_mode

from pgassay.report import (
    cache_figures,
    curve_figures,
    scaling_figures,
    series_figures,
    tradeoff_figures,
    trial_figures,
    words,
)
from pgassay.report.findings import Findings
from pgassay.report.forest import forest, row_of
from pgassay.report.style import colour, panels, specified
from pgassay.study.responses import Response, Scale

CHECKED_TRIALS = 1000
_PANELS_MAX = 12
"""Of costs, a panel an arm: more are for the tables."""
_COSTS_REACH = 300.0
"""Per cent beyond which a cost is drawn at the edge: blocks found in a cache may be fifty times as many."""


@dataclass(frozen=True)
class Figure:
    """A figure with the name of its files and what it shows."""

    name: str
    title: str
    caption: str
    specification: Mapping[str, Any]


def figures(findings: Findings) -> tuple[Figure, ...]:
    """Every figure that this run has data for.

    Altair checks every row of inline data against Vega-Lite's schema; beyond `CHECKED_TRIALS` that takes most of the
    time and tells nothing that a smaller run had not told.
    """
    with debug_mode(len(findings.trials) <= CHECKED_TRIALS):
        return _figures(findings)


def _figures(findings: Findings) -> tuple[Figure, ...]:
    made = [distribution(findings, findings.primary), _effects(findings), _over_blocks(findings)]
    made += [distribution(findings, response) for response in findings.secondary]
    made.append(_tradeoff(findings))
    made.append(_costs(findings))
    made.append(_curve(findings))
    made.append(_scaling(findings))
    made.append(_seconds(findings))
    made += _caches(findings)
    return tuple(figure for figure in made if figure is not None)


def _treatments(findings: Findings) -> tuple[str, ...]:
    return tuple(treatment.name for treatment in findings.study.treatments)


def distribution(findings: Findings, response: Response) -> Figure | None:
    """Every valid trial's value, a panel for each condition and covariate point; None without any."""
    found = trial_figures.by_treatment(findings, response)
    if found is None:
        return None
    name = f"distribution-{response.name}".replace("_", "-")
    return Figure(name, f"{_capital(response.title)} of every trial", found[1], specified(found[0]))


def _effects(findings: Findings) -> Figure | None:
    rows = []
    for judged in findings.verdicts:
        effect = judged.effect
        row = row_of(effect, words.place(*effect.place))
        if row:
            rows.append(row)
    if not rows:
        return None
    names = [row["label"] for row in rows]
    chart = forest(
        rows,
        names,
        f"{findings.primary.title} against {findings.baseline}, %",
        colour(_treatments(findings)).legend(None),
    )
    level = findings.verdicts[0].effect.level
    return Figure(
        "effects",
        f"Effect on {findings.primary.title}",
        f"Point: estimate; bar: {level:.0%} interval, valid for all comparisons together and at every look;"
        " a bar that reaches the edge goes beyond it.",
        specified(chart),
    )


def _costs(findings: Findings) -> Figure | None:
    rows = []
    for effect in findings.costs:
        response = findings.responses[effect.response]
        row = row_of(effect, response.title) if response.scale is Scale.RATIO or response.unit == "share" else None
        if row:
            rows.append({**row, "panel": effect.place.name})
    names = list(dict.fromkeys(row["label"] for row in rows))
    arms = [arm.place for arm in findings.study.arms]
    told = {row["panel"] for row in rows}
    shown = tuple(name for arm in arms if (name := words.place(*arm)) in told)
    if not 0 < len(shown) <= _PANELS_MAX:
        return None
    base = forest(
        rows,
        names,
        "change against the baseline, % (shares: points)",
        colour(_treatments(findings)).legend(None),
        most=_COSTS_REACH,
    )
    chart = base.facet(row=panels("panel", shown)) if len(shown) > 1 else base
    return Figure(
        "costs",
        f"Costs of {findings.work.article} against the baseline",
        "Costs repeat better than speed on a shared machine, and explain it. Secondary; valid for all costs together;"
        " what reaches the edge goes beyond it, as its number tells.",
        specified(chart),
    )


def _over_blocks(findings: Findings) -> Figure | None:
    found = trial_figures.over_blocks(findings)
    if found is None:
        return None
    title = f"{_capital(findings.primary.title)} over the blocks"
    return Figure("over-blocks", title, found[1], specified(found[0]))


def _seconds(findings: Findings) -> Figure | None:
    found = series_figures.per_second(findings)
    if found is None:
        return None
    return Figure(
        "per-second",
        "Transactions per second, second by second",
        "Every trial is a line; grey: the warm-up, kept and marked. Dips that recur are checkpoints.",
        specified(found),
    )


def _curve(findings: Findings) -> Figure | None:
    found = curve_figures.along_covariates(findings)
    if found is None:
        return None
    return Figure(
        "curve",
        f"{_capital(findings.primary.title)} along {', '.join(findings.study.covariates)}",
        "Lines: means over blocks; bands: 95 %, for all points of a curve together. Secondary.",
        specified(found),
    )


def _scaling(findings: Findings) -> Figure | None:
    found = scaling_figures.with_fits(findings)
    if found is None:
        return None
    return Figure(
        "scaling",
        "Fits: where it bends, and where it peaks",
        "Points: means over blocks with their intervals. Grey: where the kink lies. Shaded: what the data leave to the "
        "Universal Scalability Law, point by point. A fit that the points lie too far off is not drawn. The yardstick "
        "is scaled to the curve's first point. Secondary.",
        specified(found),
    )


def _tradeoff(findings: Findings) -> Figure | None:
    found = tradeoff_figures.space_against_speed(findings)
    if found is None:
        return None
    return Figure(
        "space-against-speed",
        "Space against speed",
        "Small: a trial; large: a treatment's medians. Dashed: the Pareto front, the treatments that none with a "
        "comparable speed beats on both sides. Up and to the left is better. Secondary.",
        specified(found),
    )


def _caches(findings: Findings) -> list[Figure]:
    """Of the cache study; nothing for others."""
    return [
        Figure(name, title, caption, specified(chart)) for name, title, caption, chart in cache_figures.charts(findings)
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
