"""What stands beside the verdicts and decides nothing: all of it is secondary, and labelled so wherever it is shown.

Robust companions of each effect, the chance of being the best, instability, main effects and interactions, curves
along covariates, bounds. Computed when first asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

from pgassay.analysis.capacities import Bounds, Capacity, bounds
from pgassay.analysis.curves import Curve, curves
from pgassay.analysis.effects import Effect
from pgassay.analysis.factorial import Factorial, factorial
from pgassay.analysis.instability import Instability, instabilities
from pgassay.analysis.observations import tables
from pgassay.analysis.robust import RobustEstimate, bootstraps, chances_of_best, hodges_lehmann
from pgassay.analysis.verdicts import Kind
from pgassay.report import drive_itself
from pgassay.report.capacities import capacities, costs_with_cpu
from pgassay.report.covariates import in_order
from pgassay.report.diagnosing import Diagnosed, diagnosed
from pgassay.report.part import Part
from pgassay.report.scaling import YARDSTICK, Processors, Scaling, processors_of, scalings
from pgassay.report.trials import by_arm
from pgassay.study.levels import Cell, Place

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

RATE = "tps"


@dataclass(frozen=True)
class Beside:
    """A row beside a verdict. None is what too few blocks cannot tell."""

    effect: Effect
    hodges_lehmann: RobustEstimate | None
    bootstrap: RobustEstimate | None
    best_chance: float | None
    instability: Instability | None


@dataclass(frozen=True)
class Bounded:
    """What bounds one treatment in one condition at one covariate point."""

    treatment: str
    condition: str
    covariate: str
    bounds: Bounds


class Companions:
    """Of one run's primary response."""

    def __init__(self, findings: "Findings") -> None:
        self._findings = findings

    @cached_property
    def rows(self) -> tuple[Beside, ...]:
        """One for each of the primary's comparisons."""
        unsteady = {each.place: each for each in self._instabilities}
        bounded = [judged.effect for judged in self._findings.verdicts if judged.effect.bounded]
        resampled = dict(zip((each.place for each in bounded), bootstraps(bounded), strict=True))
        found = []
        for judged in self._findings.verdicts:
            effect = judged.effect
            place = effect.place
            chance = self.chances.get(place.cell, {}).get(effect.treatment)
            robust = (hodges_lehmann(effect), resampled[effect.place]) if effect.bounded else (None, None)
            found.append(Beside(effect, *robust, chance, unsteady.get(place)))
        return tuple(found)

    @cached_property
    def chances(self) -> Mapping[Cell, Mapping[str, float]]:
        """Cell to treatment to its probability of being the best, the baseline included."""
        findings = self._findings
        seen = findings.observations(findings.primary.name)
        refused = {each.effect.place.cell for each in findings.verdicts if each.verdict.kind is Kind.NOT_COMPARED}
        known = {cell: table for cell, table in tables(seen, findings.primary.scale).items() if cell not in refused}
        found = {cell: chances_of_best(table, findings.primary, findings.baseline) for cell, table in known.items()}
        return {cell: chances for cell, chances in found.items() if len(chances) > 1}

    @cached_property
    def factorial(self) -> Factorial | None:
        """Main effects and interactions; None with fewer than two factors."""
        findings, study = self._findings, self._findings.study
        if len(study.factors) < 2 or any(each.verdict.kind is Kind.NOT_COMPARED for each in findings.verdicts):
            return None
        return factorial(
            findings.observations(findings.primary.name),
            {each.name: {name: level.typed for name, level in each.levels.items()} for each in study.treatments},
            {name: level.typed for name, level in study.design.baseline.levels.items()},
            findings.primary,
            blocks_max=study.design.blocks_max,
            looks=findings.looks,
        )

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """Along the covariates, points in their order (trials ran in another); empty without any."""
        findings = self._findings
        if not findings.study.covariates:
            return ()
        seen = findings.observations(findings.primary.name)
        blocks_max = findings.study.design.blocks_max
        found = curves(seen, findings.primary, blocks_max=blocks_max, looks=findings.looks)
        names = list(dict.fromkeys(arm.covariate.name for arm in findings.study.arms))
        order = {name: place for place, name in enumerate(in_order(names))}
        places = list(dict.fromkeys((arm.treatment.name, arm.condition.name) for arm in findings.study.arms))
        return tuple(
            replace(curve, points=tuple(sorted(curve.points, key=lambda point: order.get(point.covariate, len(order)))))
            for curve in sorted(found, key=lambda curve: places.index((curve.treatment, curve.condition)))
        )

    @cached_property
    def scalings(self) -> tuple[Scaling, ...]:
        """Kink and Universal Scalability Law of each curve over clients; empty for other covariates."""
        return scalings(self._findings, self._findings.primary.name)

    @cached_property
    def yardsticks(self) -> tuple[Scaling, ...]:
        """The same of the CPU yardstick that was measured beside the load, where it was."""
        findings = self._findings
        return scalings(findings, YARDSTICK) if YARDSTICK in findings.responses else ()

    @cached_property
    def stops(self) -> tuple[Diagnosed, ...]:
        """What stops each arm."""
        return diagnosed(self._findings)

    @cached_property
    def drive_itself(self) -> Part | None:
        """What a disk study found out about its drive; None for others."""
        return drive_itself.part(self._findings)

    @cached_property
    def processors(self) -> Processors:
        """Of the machine that the record was made on."""
        return processors_of(self._findings.run.host)

    @cached_property
    def bounds(self) -> tuple[Bounded, ...]:
        """From the medians of costs and rate; empty where no rate was measured."""
        findings = self._findings
        if RATE not in findings.responses:
            return ()
        medians: dict[Place, dict[str, float | None]] = {}
        for response in findings.responses.values():
            if response.cost or response.name == RATE:
                for row in findings.summaries(response):
                    place = row.place
                    medians.setdefault(place, {})[response.name] = row.median
        trials = by_arm(findings.trials)

        def known(place: Place) -> tuple[Capacity, ...]:
            return capacities(findings.run.host, findings.study, trials.get(place, ()), findings.disk)

        return tuple(
            Bounded(*place, bounds(costs_with_cpu(costs), known(place), rate))
            for place, costs in medians.items()
            if (rate := costs.get(RATE)) is not None and isfinite(rate)
        )

    @cached_property
    def _instabilities(self) -> tuple[Instability, ...]:
        findings = self._findings
        return instabilities(findings.observations(findings.primary.name), findings.primary, findings.baseline)
