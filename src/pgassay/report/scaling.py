"""How the primary grows with clients: the kink, what lies beyond it, and the Universal Scalability Law, from a record.

Only for a study whose covariate is a number of clients or threads. The two lines are fitted to the points that ask for
no more than the usable processors, as published, where there are enough of them: beyond, everything is flat.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgassay.analysis.curve_fit import LEAST, points_of
from pgassay.analysis.observations import Observation
from pgassay.analysis.scaling import Kink, Scalability, kink, scalability
from pgassay.report.covariates import number_of

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

COVARIATES = ("load.clients", "load.threads")
YARDSTICK = "cpu_yardstick_per_s"
BAD_FIT = 0.25
"""The spread of the points around a law, as a share, from which it describes them too badly to read figures off."""


@dataclass(frozen=True)
class Processors:
    """What the record tells of the machine; None where it does not."""

    usable: int | None
    cores: int | None

    @property
    def threads_per_core(self) -> float | None:
        """Hardware threads of a core; None where it is not known."""
        return self.usable / self.cores if self.usable and self.cores else None


@dataclass(frozen=True)
class Scaling:
    """The fits of one curve; None where there are too few points. `upto` is the last point of the two lines."""

    treatment: str
    condition: str
    kink: Kink | None
    law: Scalability | None
    upto: float

    @property
    def usable_kink(self) -> Kink | None:
        """The two lines, unless they describe the points too badly."""
        return self.kink if self.kink is not None and describes(self.kink) else None

    @property
    def usable_law(self) -> Scalability | None:
        """The law, unless it describes the points too badly."""
        return self.law if self.law is not None and describes(self.law) else None


def describes(fit: Kink | Scalability) -> bool:
    """Do the points lie near enough to a fit? One rule for what is told of it, judged by it and drawn of it."""
    return fit.misfit <= BAD_FIT


def processors_of(host: Mapping[str, Any]) -> Processors:
    """From `host.json`."""
    cpu = host.get("cpu")
    facts = cpu if isinstance(cpu, Mapping) else {}
    usable, cores = facts.get("usable_processors"), facts.get("cores")
    return Processors(usable if isinstance(usable, int) else None, cores if isinstance(cores, int) else None)


def scalings(findings: "Findings", response: str) -> tuple[Scaling, ...]:
    """Fits for each treatment in each condition, in the study's order; empty without a covariate of clients."""
    study = findings.study
    if tuple(study.covariates) not in {(name,) for name in COVARIATES}:
        return ()
    places = dict.fromkeys((arm.treatment.name, arm.condition.name) for arm in study.arms)
    usable = processors_of(findings.run.host).usable
    return tuple(scaling(findings.observations(response), *place, usable) for place in places)


def scaling(seen: Sequence[Observation], treatment: str, condition: str, usable: int | None) -> Scaling:
    """The fits of one curve."""
    values: dict[float, dict[int, float]] = {}
    for each in seen:
        place = number_of(each.covariate)
        if (each.treatment, each.condition) == (treatment, condition) and place is not None and each.value is not None:
            values.setdefault(place, {})[each.block] = each.value
    points = points_of(values)
    within = {place: column for place, column in values.items() if usable is not None and place <= usable}
    lines = points_of(within) if len(within) >= LEAST else points
    upto = float(lines.places[-1]) if len(lines.places) else 0.0
    return Scaling(treatment, condition, kink(lines), scalability(points), upto)
