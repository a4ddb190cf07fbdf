"""The report's figures, each a Vega-Lite specification: one source for the page, the PNG and the SVG.

Altair is slow to import, so this module is imported only when a report is written. Every figure works without colour.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from pgassay.record.values import Status
from pgassay.report import boxes, cache_figures, curve_figures, scaling_figures, series_figures, tradeoff_figures, words
from pgassay.report.findings import Findings
from pgassay.report.forest import forest, row_of
from pgassay.report.style import LEVELS_BELOW_EACH_OTHER, WIDTH, chart_of, colour, panels, styled
from pgassay.study.responses import Response, Scale

CHECKED_TRIALS = 1000
_PANELS_MAX = 12
"""Of costs, a panel an arm: more are for the tables."""


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


def _values(findings: Findings, response: Response) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for trial in findings.trials:
        value = trial.responses.get(response.name)
        if trial.status is Status.VALID and value is not None:
            rows.append(
                {
                    "treatment": trial.treatment,
                    "condition": words.place(trial.condition, trial.covariate),
                    "block": trial.block,
                    "trial": trial.number,
                    "value": value,
                }
            )
    divisor, _ = words.scale_of((row["value"] for row in rows), response)
    return [{**row, "value": row["value"] / divisor} for row in rows]


def _treatments(findings: Findings) -> tuple[str, ...]:
    return tuple(treatment.name for treatment in findings.study.treatments)


def _axis(findings: Findings, response: Response) -> str:
    values = (trial.responses.get(response.name) for trial in findings.trials if trial.status is Status.VALID)
    _, unit = words.scale_of((value for value in values if value is not None), response)
    return f"{response.title}, {unit}" if unit else response.title


def _format(response: Response) -> str:
    """How an axis writes its numbers: shares in per cent."""
    return "%" if response.unit == "share" else ",.10~r"


def distribution(findings: Findings, response: Response) -> Figure | None:
    """Every valid trial's value, a panel for each condition and covariate point; None without any."""
    rows = _values(findings, response)
    if not rows:
        return None
    treatments = _treatments(findings)
    if len(rows) > boxes.DOTS_MAX:
        chart = boxes.boxed(rows, treatments, _axis(findings, response), _format(response))
        return _distribution(findings, response, chart, boxes.CAPTION)
    base = chart_of(rows).encode(
        y=alt.Y("treatment:N", sort=list(treatments), title=None, axis=LEVELS_BELOW_EACH_OTHER),
        x=alt.X(
            "value:Q",
            scale=alt.Scale(zero=False, nice=True, padding=12),
            title=_axis(findings, response),
            axis=alt.Axis(format=_format(response)),
        ),
    )
    dots = base.mark_circle(size=55, opacity=0.75).encode(
        color=colour(treatments).legend(None),
        yOffset=alt.YOffset("block:O"),
        tooltip=["treatment:N", "block:Q", "trial:Q", alt.Tooltip("value:Q", format=",.4~g")],
    )
    medians = base.mark_tick(thickness=3, size=34, color="black").encode(x=alt.X("median(value):Q"))
    layered = (dots + medians).properties(width=WIDTH, height=58 * len(treatments))
    return _distribution(
        findings, response, layered, "Each dot is one trial, shifted by its block; the bar is the median."
    )


def _distribution(findings: Findings, response: Response, chart: Any, caption: str) -> Figure:
    return Figure(
        f"distribution-{response.name}".replace("_", "-"),
        f"{_capital(response.title)} of every trial",
        caption,
        styled(_by_place(chart, findings)).to_dict(),
    )


def _by_place(chart: Any, findings: Findings) -> Any:
    places = dict.fromkeys(words.place(arm.condition.name, arm.covariate.name) for arm in findings.study.arms)
    return chart.facet(row=panels("condition", tuple(places))) if len(places) > 1 else chart


def _effects(findings: Findings) -> Figure | None:
    rows = []
    for judged in findings.verdicts:
        effect = judged.effect
        row = row_of(
            effect, " · ".join(part for part in (effect.treatment, effect.condition, effect.covariate) if part)
        )
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
        styled(chart).to_dict(),
    )


def _costs(findings: Findings) -> Figure | None:
    rows = []
    for effect in findings.costs:
        response = findings.responses[effect.response]
        row = row_of(effect, response.title) if response.scale is Scale.RATIO or response.unit == "share" else None
        if row:
            rows.append({**row, "panel": words.place(effect.treatment, effect.condition, effect.covariate)})
    names = list(dict.fromkeys(row["label"] for row in rows))
    arms = [(arm.treatment.name, arm.condition.name, arm.covariate.name) for arm in findings.study.arms]
    told = {row["panel"] for row in rows}
    shown = tuple(name for arm in arms if (name := words.place(*arm)) in told)
    if not 0 < len(shown) <= _PANELS_MAX:
        return None
    base = forest(
        rows, names, "change against the baseline, % (shares: points)", colour(_treatments(findings)).legend(None)
    )
    chart = base.facet(row=panels("panel", shown)) if len(shown) > 1 else base
    return Figure(
        "costs",
        f"Costs of {findings.work.article} against the baseline",
        "Costs repeat better than speed on a shared machine, and explain it. Secondary; valid for all costs together;"
        " a bar that reaches the edge goes beyond it.",
        styled(chart).to_dict(),
    )


def _over_blocks(findings: Findings) -> Figure | None:
    rows = _values(findings, findings.primary)
    if not rows:
        return None
    treatments = _treatments(findings)
    if len(rows) > boxes.DOTS_MAX:
        rows, treatments = boxes.together(rows), (boxes.TOGETHER,)
    lines = (
        chart_of(rows)
        .mark_line(point=True)
        .encode(
            x=alt.X("block:O", title="block (repetition)", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", scale=alt.Scale(zero=False), title=_axis(findings, findings.primary)),
            color=colour(treatments),
            shape=alt.Shape("treatment:N", sort=list(treatments), legend=None),
            tooltip=["treatment:N", "block:Q", "trial:Q", alt.Tooltip("value:Q", format=",.4~g")],
        )
        .properties(width=WIDTH, height=220)
    )
    return Figure(
        "over-blocks",
        f"{_capital(findings.primary.title)} over the blocks",
        "What moves all lines together is the machine; effects are taken inside each block, where it cancels.",
        styled(_by_place(lines, findings)).to_dict(),
    )


def _seconds(findings: Findings) -> Figure | None:
    found = series_figures.per_second(findings)
    if found is None:
        return None
    return Figure(
        "per-second",
        "Transactions per second, second by second",
        "Every trial is a line; grey: the warm-up, kept and marked. Dips that recur are checkpoints.",
        styled(found).to_dict(),
    )


def _curve(findings: Findings) -> Figure | None:
    found = curve_figures.along_covariates(findings)
    if found is None:
        return None
    return Figure(
        "curve",
        f"{_capital(findings.primary.title)} along {', '.join(findings.study.covariates)}",
        "Lines: means over blocks; bands: 95 %, for all points of a curve together. Secondary.",
        styled(found).to_dict(),
    )


def _scaling(findings: Findings) -> Figure | None:
    found = scaling_figures.with_fits(findings)
    if found is None:
        return None
    return Figure(
        "scaling",
        "Fits: where it bends, and where it peaks",
        "Points: means over blocks with their intervals. Grey: where the kink lies. Shaded: what the data leave to the "
        "Universal Scalability Law, point by point. The yardstick is scaled to the curve's first point. Secondary.",
        styled(found).to_dict(),
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
        styled(found).to_dict(),
    )


def _caches(findings: Findings) -> list[Figure]:
    """Of the cache study; nothing for others."""
    return [
        Figure(name, title, caption, styled(chart).to_dict())
        for name, title, caption, chart in cache_figures.charts(findings)
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
