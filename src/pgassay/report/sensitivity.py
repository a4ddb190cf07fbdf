"""Sensitivity checks: would other methods say the same as the verdicts? They decide nothing.

For each comparison of the primary: robust estimates (Hodges–Lehmann, a bootstrap over blocks), and how much a treatment
spreads against the baseline.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from pgassay.analysis.effects import Effect, informative_change
from pgassay.analysis.numbers import per_cent
from pgassay.analysis.robust import Instability, RobustEstimate, bootstraps, hodges_lehmann, instabilities
from pgassay.analysis.verdicts import Kind
from pgassay.report import formatting
from pgassay.report.section import Brief, Part, Section, Table, Values
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_LEVEL = 0.95
_DECIDED = (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT)
DECIDES = (
    "the verdict decides, not these: its interval holds for all comparisons together and at every look, while each of"
    " these holds for one comparison at one look, so it may be narrower"
)


@dataclass(frozen=True)
class Check:
    """One comparison by other methods. None stands for what takes more blocks."""

    effect: Effect
    hodges_lehmann: RobustEstimate | None
    bootstrap: RobustEstimate | None
    instability: Instability | None


def checks(findings: "Findings") -> tuple[Check, ...]:
    """One for each of the primary's comparisons."""
    seen = findings.observations(findings.primary.name)
    unsteady = {each.place: each for each in instabilities(seen, findings.primary, findings.baseline)}
    bounded = [judged.effect for judged in findings.verdicts if judged.effect.bounded]
    resampled = dict(zip((each.place for each in bounded), bootstraps(bounded), strict=True))
    found = []
    for judged in findings.verdicts:
        effect = judged.effect
        robust = (hodges_lehmann(effect), resampled[effect.place]) if effect.bounded else (None, None)
        found.append(Check(effect, *robust, unsteady.get(effect.place)))
    return tuple(found)


def _describe(findings: "Findings") -> Iterator[Part]:
    found, primary = findings.once(checks), findings.primary
    plain = [
        {
            **each.effect.place._asdict(), "hodges_lehmann": each.hodges_lehmann, "bootstrap": each.bootstrap,
            "instability": each.instability,
        }
        for each in found
    ]  # fmt: skip
    yield Values({"beside": {"comparisons": plain}})
    if not found:
        return
    kinds = {each.effect.place: each.verdict.kind for each in findings.verdicts}
    agreed = []  # do other methods leave out no difference, as the verdict does or does not?
    for check in found:
        robust = [each for each in (check.hodges_lehmann, check.bootstrap) if each is not None]
        kind = kinds[check.effect.place]
        if robust and kind in (*_DECIDED, Kind.UNRESOLVED):
            apart = all(each.low > check.effect.none or each.high < check.effect.none for each in robust)
            agreed.append(apart == (kind in _DECIDED))
    count = formatting.counted(len(agreed), "comparison")
    yield Brief(f"other methods agree with the verdict in {sum(agreed)} of {count}" if agreed else "other estimates")
    head = ("treatment", "Hodges–Lehmann", "bootstrap over blocks", "spread ÷ the baseline's")
    rows = [
        (
            check.effect.place.name,
            _robust(check.hodges_lehmann, check.effect, primary),
            _robust(check.bootstrap, check.effect, primary),
            _spread(check.instability),
        )
        for check in found
    ]
    notes = [DECIDES]
    attained = {check.hodges_lehmann.level for check in found if check.hodges_lehmann is not None}
    if attained and min(attained) < _LEVEL:
        notes.append(
            f"with so few blocks Hodges–Lehmann's interval attains {per_cent(min(attained), 1)} at most, not 95 %"
        )
    yield Table(head, rows, notes=notes)


def _robust(found: RobustEstimate | None, effect: Effect, primary: Response) -> str:
    if found is None:
        return formatting.MISSING
    return formatting.interval(found.estimate, found.low, found.high, effect.scale, primary)


def _spread(found: Instability | None) -> str:
    if found is None or not isfinite(found.ratio):
        return formatting.MISSING
    if not isfinite(found.high):
        return f"×{found.ratio:.2f}"
    if not informative_change(found.low, found.high, Scale.RATIO):
        return f"×{found.ratio:.2f} [{formatting.UNKNOWN}]"
    return f"×{found.ratio:.2f} [×{found.low:.2f}, ×{found.high:.2f}]"


SECTION = Section("sensitivity", "Sensitivity checks", _describe, secondary=True, link="Sensitivity")
