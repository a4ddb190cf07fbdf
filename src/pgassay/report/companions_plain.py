"""What stands beside the verdicts, as plain values for `--json`; all of it is secondary."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pgassay.analysis.curves import Curve
from pgassay.analysis.effects import Effect
from pgassay.report.companions import Companions


def as_plain(companions: Companions) -> Mapping[str, Any]:
    """Robust companions, chances, instability, factors, curves and bounds."""
    factors = companions.factorial
    return {
        "comparisons": [
            {
                **_place(row.effect),
                "hodges_lehmann": None if row.hodges_lehmann is None else asdict(row.hodges_lehmann),
                "bootstrap": None if row.bootstrap is None else asdict(row.bootstrap),
                "best_chance": row.best_chance,
                "instability": None if row.instability is None else asdict(row.instability),
            }
            for row in companions.rows
        ],
        "best_chances": [
            {"condition": cell.condition, "covariate": cell.covariate, "chances": dict(chances)}
            for cell, chances in companions.chances.items()
        ],
        "factors": None
        if factors is None
        else {
            "main": [_effect(each) for each in factors.main],
            "interactions": [_effect(each) for each in factors.interactions],
            "confounded": list(factors.confounded),
        },
        "curves": [_curve(curve) for curve in companions.curves],
        "bounds": [asdict(each) for each in companions.bounds],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    """Its points with null for both ends of a band that is not known."""
    points = [{**asdict(each), **({} if each.bounded else {"low": None, "high": None})} for each in curve.points]
    return {**asdict(curve), "points": points}


def _place(effect: Effect) -> dict[str, str]:
    return {"treatment": effect.treatment, "condition": effect.condition, "covariate": effect.covariate}


def _effect(effect: Effect) -> dict[str, Any]:
    low, high = (effect.low, effect.high) if effect.bounded else (None, None)
    numbers = {"blocks": effect.blocks, "estimate": effect.estimate, "low": low, "high": high}
    return {**_place(effect), **numbers, "level": effect.level, "method": effect.method}
