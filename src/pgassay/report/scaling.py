"""How the primary grows with clients: the kink, what lies beyond it, and the Universal Scalability Law.

Only for a study whose covariate is a number of clients or threads. The two lines are fitted to the points that ask for
no more than the usable processors, as published, where there are enough of them: beyond, everything is flat.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from pgassay.analysis.numbers import per_cent
from pgassay.analysis.observations import Observation
from pgassay.analysis.scaling import LEAST, Estimate, Kink, Scalability, kink, points_of, scalability
from pgassay.report import words
from pgassay.report.covariates import number_of
from pgassay.report.section import Block, Section, Sentences, Table
from pgassay.study.model import Study
from pgassay.study.responses import Better, Response

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_RECORDED = ("load.clients", "load.threads")
"""Covariates of that kind in records of earlier versions, which do not say it."""
YARDSTICK = "cpu_yardstick_per_s"
BAD_FIT = 0.25
"""The spread of the points around a law, as a share, from which it describes them too badly to read figures off."""

EVENTS = Response(YARDSTICK, "events of sysbench cpu per second", "1/s", Better.HIGHER)
_YARDSTICK_TITLE = "CPU yardstick: sysbench cpu with as many threads as clients"
_NO_YARDSTICK = Sentences((f"{_YARDSTICK_TITLE}: not measured: too few points, or sysbench is not installed here",))


@dataclass(frozen=True)
class Processors:
    """The machine's processors by the record; None where it does not say."""

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
    """Do the points lie near enough to a fit? One rule for sentences, claims and figures."""
    return fit.misfit <= BAD_FIT


def processors_of(host: Mapping[str, Any]) -> Processors:
    """Usable processors and physical cores, from the facts of `host.json`."""
    cpu = host.get("cpu")
    facts = cpu if isinstance(cpu, Mapping) else {}
    usable, cores = facts.get("usable_processors"), facts.get("cores")
    return Processors(usable if isinstance(usable, int) else None, cores if isinstance(cores, int) else None)


def is_scaled(study: Study, scales: Collection[str] | None) -> bool:
    """Is the study's one covariate an amount of clients, threads or processors?

    `scales` are those that its factors said are, None where the record does not tell.
    """
    names = _RECORDED if scales is None else scales
    return len(study.covariates) == 1 and not set(study.covariates) - set(names)


def scalings(study: Study, seen: Sequence[Observation], processors: Processors) -> tuple[Scaling, ...]:
    """Fits for each treatment in each condition, in the study's order."""
    places = dict.fromkeys((arm.treatment.name, arm.condition.name) for arm in study.arms)
    return tuple(scaling(seen, *place, processors.usable) for place in places)


def scaling(seen: Sequence[Observation], treatment: str, condition: str, usable: int | None) -> Scaling:
    """The fits of one curve over clients; `usable` processors bound the two lines, None where not known."""
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


def _blocks(findings: "Findings") -> Iterator[Block]:
    yield from _table("", findings.scalings, findings.processors, findings.primary)
    if findings.yardsticks:
        yardstick = tuple(_table(_YARDSTICK_TITLE, findings.yardsticks, findings.processors, EVENTS))
        yield from yardstick or (_NO_YARDSTICK,)
    if findings.verdicts:  # else the verdict shows it
        from pgassay.report import scaling_figure

        yield scaling_figure.figure(findings)


def _table(title: str, found: Sequence[Scaling], processors: Processors, response: Response) -> Iterator[Table]:
    """All fits of one response; nothing without a single fit."""
    fitted = [each for each in found if each.kink is not None or each.law is not None]
    if not fitted:
        return
    head = (
        "curve",
        "kink at, clients",
        "slope beyond ÷ before",
        "contention",
        "coherency",
        "peak at, clients",
        f"peak, {words.unit(response)}",
        "misfit",
    )
    rows = [(place(each, response), *_kink(each), *_law(each), _misfit(each)) for each in fitted]
    notes = [sentence for each in fitted for sentence in sentences(each, processors, response)]
    notes.append(
        "in brackets what the data do not exclude at 95 %, each figure on its own (profile intervals); "
        "docs/statistics.md says how"
    )
    yield Table(head, rows, title, notes)


def place(scaling: Scaling, response: Response) -> str:
    """The curve's name; its response where it has no other."""
    return words.place(scaling.treatment, scaling.condition) or response.title


def sentences(scaling: Scaling, processors: Processors, response: Response) -> Iterator[str]:
    """Where the curve bends and peaks, a sentence each, with the caveats that belong to them."""
    name = place(scaling, response)
    found = scaling.kink
    if found is not None:
        yield f"{name}: {_bend(found, scaling.upto, processors)}"
    if scaling.law is not None:
        yield f"{name}: {_peak(scaling.law)}"


def _peak(law: Scalability) -> str:
    """An extrapolation only where the number shown lies beyond what was measured; within it a peak may be uncertain.

    At its end nothing was seen to fall.
    """
    at = law.peak_clients
    if not describes(law):
        off = per_cent(law.misfit)
        return f"the Universal Scalability Law fits badly (points lie {off} off it), so its peak says nothing"
    if law.peak_seen and round(at.value) < law.measured:
        return f"throughput peaks at about {at.value:.0f} clients and falls beyond"
    if law.peak_seen:
        return f"throughput grows up to the {law.measured:g} clients that were measured, where the fit has its peak"
    if not isfinite(at.value):
        return f"no sign of a peak up to {law.measured:g} clients"
    if round(at.value) > law.measured:
        return (
            f"by the fit throughput peaks at about {at.value:.0f} clients, which is an extrapolation: no more than "
            f"{law.measured:g} were measured"
        )
    none = "" if isfinite(at.high) else ", or none at all,"
    return (
        f"throughput peaks at about {at.value:.0f} clients by the fit, but a peak beyond the {law.measured:g} that "
        f"were measured{none} is not excluded"
    )


def _bend(found: Kink, upto: float, processors: Processors) -> str:
    at, gain, cores = found.at, found.gain, processors.cores
    if not describes(found):
        return f"two lines fit badly (points lie {per_cent(found.misfit)} off them), so they locate no kink"
    if not found.seen:
        return f"no kink up to {upto:g} clients, one straight line is not excluded"
    if not found.located:
        text = (
            f"the curve bends, but the points do not show where: at {at.value:.1f} clients by the best fit, anywhere "
            f"from {at.low:.1f} to {at.high:.1f} by what is not excluded"
        )
    else:
        text = f"the curve bends at {at.value:.1f} clients [{at.low:.1f}, {at.high:.1f}]"
    if cores is not None and found.located:
        text += (
            f", which {'holds' if at.low <= cores <= at.high else 'leaves out'} the number of physical cores, {cores}"
        )
    adds = f"{per_cent(gain.value)} [{per_cent(gain.low)}, {per_cent(gain.high)}]"
    text += f"; beyond, another client adds {adds} of what one adds before"
    if found.located and (processors.threads_per_core or 1.0) > 1.0:
        text += ": what a second hardware thread adds to a core"
    return text


def _kink(scaling: Scaling) -> tuple[str, str]:
    found = scaling.usable_kink
    if found is None:
        return words.MISSING, words.MISSING
    return (_range(found.at, ".1f") if found.seen else "none seen"), _range(found.gain, ".2f")


def _law(scaling: Scaling) -> tuple[str, str, str, str]:
    law = scaling.usable_law
    if law is None:
        return (words.MISSING,) * 4
    peak = f"{words.number(law.peak.value)} [{words.number(law.peak.low)}, {_open(law.peak.high)}]"
    place = law.peak_clients
    where = f"{_clients(place.value)} [{_clients(place.low)}, {_clients(place.high)}]"
    return _range(law.contention, ".3f"), _range(law.coherency, ".4f"), where, peak if isfinite(law.peak.value) else "∞"


def _clients(value: float) -> str:
    return f"{value:.0f}" if isfinite(value) else "∞"


def _open(value: float) -> str:
    return words.number(value) if isfinite(value) else "∞"


def _misfit(scaling: Scaling) -> str:
    lines = f"lines {per_cent(scaling.kink.misfit, 1)}" if scaling.kink else ""
    law = f"law {per_cent(scaling.law.misfit, 1)}" if scaling.law else ""
    return ", ".join(each for each in (lines, law) if each)


def _range(found: Estimate, form: str) -> str:
    return f"{found.value:{form}} [{found.low:{form}}, {found.high:{form}}]"


def _plain(findings: "Findings") -> Mapping[str, object]:
    fits = {"scalings": findings.scalings, "yardsticks": findings.yardsticks}
    return {"beside": {name: [_values(each) for each in found] for name, found in fits.items()}}


def _values(found: Scaling) -> dict[str, Any]:
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


def _brief(findings: "Findings") -> str:
    return f"where {words.counted(len(findings.scalings), 'curve')} bend and peak, by two lines and by the USL"


SECTION = Section("fits", "Scaling with clients", _blocks, _plain, secondary=True, brief=_brief)
