"""A run's findings as plain values for `--json`: stable names, numbers unrounded, null for what is not known."""

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any

from pgassay.analysis.effects import Effect
from pgassay.report import cache_plain, companions_plain, comparing, crash_safety
from pgassay.report.findings import Findings
from pgassay.report.ladder import ladders_of
from pgassay.report.trials_table import rows_of

FORMAT = 1


def as_plain(findings: Findings) -> Mapping[str, Any]:
    """Everything that the text says, for scripts."""
    header = findings.run.header
    plain = {
        "format": FORMAT,
        "run": str(findings.run.path),
        "study": header.study,
        "started_utc": header.started_utc,
        "seed": header.seed,
        "ended": findings.end,
        "finished": findings.finished,
        "primary": findings.study.primary,
        "baseline": findings.baseline,
        "blocks": findings.blocks,
        "trials": {
            "all": len(findings.trials),
            "invalid": len(findings.spoilt),
            "outcome": len(findings.outcomes),
        },
        "verdicts": [
            {
                **_effect(judged.effect),
                "unit": findings.primary.unit,
                "verdict": judged.verdict.kind,
                "text": judged.verdict.text,
                "more_blocks": judged.verdict.more_blocks,
                "more_s": judged.verdict.more_s,
            }
            for judged in findings.verdicts
        ],
        "summaries": {
            response.name: [asdict(row) for row in findings.summaries(response)]
            for response in (findings.primary, *findings.secondary)
        },
        "costs": [_effect(effect) for effect in findings.costs],
        "explanations": [explanation.text for explanation in findings.explanations],
        "ladders": [asdict(ladder) for ladder in ladders_of(findings)],
        "claims": [
            {"text": judged.claim.text, "source": judged.claim.source, "mark": judged.mark, "found": judged.text}
            for judged in findings.claims
        ],
        "cache": cache_plain.as_plain(findings),
        "beside": companions_plain.as_plain(findings.companions),
        "courses": [dict(vars(row)) for row in rows_of(findings)],
        "remarks": list(findings.remarks),
        "not_crash_safe": list(crash_safety.warnings(findings.study)),
        "overloads": list(findings.overloads),
        "overhead": findings.overhead,
        "dropped": dict(findings.dropped),
        "regimes": list(findings.regimes),
        "layout": comparing.layout(findings.study),
        "equality": comparing.equality(findings.study),
    }
    found: Mapping[str, Any] = finite(plain)
    return found


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "treatment": effect.treatment,
        "condition": effect.condition,
        "covariate": effect.covariate,
        "response": effect.response,
        "scale": effect.scale,
        "blocks": effect.blocks,
        "estimate": effect.estimate,
        "low": effect.low if effect.bounded else None,
        "high": effect.high if effect.bounded else None,
        "level": effect.level,
        "method": effect.method,
    }


def finite(value: Any) -> Any:
    """JSON knows no NaN and no infinity: null stands for them."""
    kind = type(value)
    if kind is str or kind is int or value is None:  # most of them, and quicker told than by asking what they are not
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if kind is dict:
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, Mapping):
        return {str(key): finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return value
