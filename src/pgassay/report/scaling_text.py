"""What the fits of a curve over clients say, in sentences and a table, with the caveats that belong to them."""

from collections.abc import Iterator, Sequence
from math import isfinite

from pgassay.analysis.curve_fit import Estimate
from pgassay.analysis.scaling import Kink, Scalability
from pgassay.report import words
from pgassay.report.part import Part
from pgassay.report.scaling import Processors, Scaling, describes
from pgassay.study.responses import Better, Response

NO_YARDSTICK = Part(
    "CPU yardstick: sysbench cpu with as many threads as clients",
    (("curve", "finding"), ("the machine", "not measured: too few points, or sysbench is not installed here")),
)
EVENTS = Response("cpu_yardstick_per_s", "events of sysbench cpu per second", "1/s", Better.HIGHER)


def part(scalings: Sequence[Scaling], processors: Processors, response: Response) -> Part | None:
    """The table of all fits of the primary; None without a single fit."""
    return _table("Scaling with clients", scalings, processors, response)


def _table(title: str, scalings: Sequence[Scaling], processors: Processors, response: Response) -> Part | None:
    fitted = [each for each in scalings if each.kink is not None or each.law is not None]
    if not fitted:
        return None
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
        "docs/scaling.md tells how"
    )
    return Part(title, (head, *rows), tuple(notes))


def yardstick(scalings: Sequence[Scaling], processors: Processors) -> Part | None:
    """The same table of the CPU yardstick; None where it was not measured."""
    return _table("CPU yardstick: sysbench cpu with as many threads as clients", scalings, processors, EVENTS)


def place(scaling: Scaling, response: Response) -> str:
    """The curve's name; its response where it has no other."""
    return ", ".join(each for each in (scaling.treatment, scaling.condition) if each) or response.title


def sentences(scaling: Scaling, processors: Processors, response: Response) -> Iterator[str]:
    """The curve in words."""
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
        return (
            f"the Universal Scalability Law fits badly (points lie {law.misfit:.0%} off it), so its peak says nothing"
        )
    if law.peak_seen and round(at.value) < law.measured:
        return f"throughput peaks at about {at.value:.0f} clients and falls beyond"
    if law.peak_seen:
        return f"throughput grows up to the {law.measured:g} clients that were measured, where the fit has its peak"
    if not isfinite(at.value):
        return f"nothing speaks for a peak up to {law.measured:g} clients"
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
        return f"two lines fit badly (points lie {found.misfit:.0%} off them), so they say nothing of a kink"
    if not found.seen:
        return f"no kink up to {upto:g} clients, one straight line is not excluded"
    if not found.located:
        text = (
            f"the curve bends, but the points do not tell where: at {at.value:.1f} clients by the best fit, anywhere "
            f"from {at.low:.1f} to {at.high:.1f} by what is not excluded"
        )
    else:
        text = f"the curve bends at {at.value:.1f} clients [{at.low:.1f}, {at.high:.1f}]"
    if cores is not None and found.located:
        text += (
            f", which {'holds' if at.low <= cores <= at.high else 'leaves out'} the number of physical cores, {cores}"
        )
    text += f"; beyond, another client adds {gain.value:.0%} [{gain.low:.0%}, {gain.high:.0%}] of what one adds before"
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
    lines = f"lines {scaling.kink.misfit:.1%}" if scaling.kink else ""
    law = f"law {scaling.law.misfit:.1%}" if scaling.law else ""
    return ", ".join(each for each in (lines, law) if each)


def _range(found: Estimate, form: str) -> str:
    return f"{found.value:{form}} [{found.low:{form}}, {found.high:{form}}]"
