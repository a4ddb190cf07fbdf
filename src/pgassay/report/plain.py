"""A run's findings as plain values for `--json`: stable names, numbers unrounded, null for what is not known."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from pgassay.analysis.effects import Effect
from pgassay.report import cache_plain, companions_plain, comparing, crash_safety, one_factor, stored_kinds, tradeoff
from pgassay.report.findings import Findings
from pgassay.report.ladder import ladders_of
from pgassay.report.trials_table import rows_of

FORMAT = 1


def as_plain(findings: Findings) -> Mapping[str, Any]:
    """Everything that the text says, for scripts."""
    plain: Mapping[str, Any] = finite(everything(findings))
    return plain


def everything(findings: Findings) -> Mapping[str, Any]:
    """The same before it is made plain: for `to_json`."""
    header = findings.run.header
    return {
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
            response.name: findings.summaries(response) for response in (findings.primary, *findings.secondary)
        },
        "costs": [_effect(effect) for effect in findings.costs],
        "explanations": [explanation.text for explanation in findings.explanations],
        "ladders": ladders_of(findings),
        "claims": [
            {
                "text": judged.claim.text,
                "source": judged.claim.source,
                "mark": judged.mark,
                "found": judged.text,
                "why": judged.why,
            }
            for judged in findings.claims
        ],
        "stored_kinds": stored_kinds.as_plain(findings),
        "tradeoff": tradeoff.as_plain(findings),
        "one_factor": one_factor.as_plain(findings),
        "cache": cache_plain.as_plain(findings),
        "beside": companions_plain.as_plain(findings.companions),
        "courses": rows_of(findings),
        "unread": findings.seconds.unread,
        "remarks": list(findings.remarks),
        "not_crash_safe": list(crash_safety.warnings(findings.study)),
        "overloads": list(findings.overloads),
        "overhead": findings.overhead,
        "dropped": dict(findings.dropped),
        "regimes": list(findings.regimes),
        "layout": comparing.layout(findings.study),
        "equality": comparing.equality(findings.study),
        "order": "" if findings.imported else comparing.order(findings.study),
    }


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
        "left_out": effect.left_out,
        "refused": effect.refused or None,
    }


def finite(value: object) -> Any:
    """Plain values as JSON has them; it knows no NaN and no infinity: null stands for them."""
    return msgspec.json.decode(_encoded(value))


def to_json(value: object) -> str:
    """The same as a text, indented; much sooner than the standard library's for the rows of ten thousand trials."""
    return msgspec.json.format(_encoded(value), indent=2).decode()


def _encoded(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=_unknown)


def _unknown(value: object) -> object:
    """What numpy made, and mappings of other kinds than `dict`."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
