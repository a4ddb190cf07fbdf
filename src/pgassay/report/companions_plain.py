"""What stands beside the verdicts, as plain values for `--json`; all of it is secondary."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pgassay.analysis.curves import Curve
from pgassay.analysis.effects import Effect
from pgassay.report.companions import Companions
from pgassay.report.scaling import Scaling


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
        "scalings": [_scaling(each) for each in companions.scalings],
        "yardsticks": [_scaling(each) for each in companions.yardsticks],
        "stops": [asdict(each) for each in companions.stops],
        "bounds": [asdict(each) for each in companions.bounds],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    """Its points with null for both ends of a band that is not known."""
    points = [{**asdict(each), **({} if each.bounded else {"low": None, "high": None})} for each in curve.points]
    return {**asdict(curve), "points": points}


def _scaling(found: Scaling) -> dict[str, Any]:
    """Estimates with their intervals; what is infinite becomes null with the rest of the JSON."""
    kink, law = found.kink, found.law
    return {
        "treatment": found.treatment,
        "condition": found.condition,
        "kink": None
        if kink is None
        else {
            "seen": kink.seen,
            "located": kink.located,
            "clients": asdict(kink.at),
            "gain": asdict(kink.gain),
            "slope": kink.slope,
            "misfit": kink.misfit,
            "level": kink.level,
        },
        "universal_scalability_law": None
        if law is None
        else {
            "rate": asdict(law.rate),
            "contention": asdict(law.contention),
            "coherency": asdict(law.coherency),
            "peak_clients": asdict(law.peak_clients),
            "peak": asdict(law.peak),
            "peak_seen": law.peak_seen,
            "measured_clients": law.measured,
            "misfit": law.misfit,
            "level": law.level,
        },
    }


def _place(effect: Effect) -> dict[str, str]:
    return {"treatment": effect.treatment, "condition": effect.condition, "covariate": effect.covariate}


def _effect(effect: Effect) -> dict[str, Any]:
    low, high = (effect.low, effect.high) if effect.bounded else (None, None)
    numbers = {"blocks": effect.blocks, "estimate": effect.estimate, "low": low, "high": high}
    return {**_place(effect), **numbers, "level": effect.level, "method": effect.method}
