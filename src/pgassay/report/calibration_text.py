"""A calibration on a terminal and as JSON: about a screen."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any

from pgassay.analysis.calibration import Change, Noise, shares
from pgassay.analysis.capacities import Resource
from pgassay.report import words
from pgassay.report.calibration import PRIMARY, CalibrationFindings
from pgassay.report.plain import finite

SHOWN_OTHERS = 8
_ROUNDING = 1e-12
"""The logarithms of equal numbers and their mean may differ by as much."""


def render(found: CalibrationFindings) -> str:
    """The whole text, ending with a newline."""
    return "\n".join(_lines(found)) + "\n"


def _drive(capacities: Mapping[str, float]) -> str:
    units = {
        Resource.FLUSHES: (1.0, "flushes"),
        Resource.WRITTEN_BYTES: (1e6, "MB written in sequence"),
        Resource.READS: (1.0, "random reads"),
    }
    known = ((capacities[name] / unit, word) for name, (unit, word) in units.items() if name in capacities)
    return ", ".join(f"{value:.0f} {word}" for value, word in known)


def _lines(found: CalibrationFindings) -> Iterator[str]:
    lengths, noise = found.lengths, found.primary
    yield "Calibration: the same treatment again and again"
    for trial in found.spoilt():
        yield f"  left out     trial {trial.number}: " + "; ".join(each.detail for each in trial.reasons)
    if isinstance(noise, str):
        yield f"  noise        cannot be told: {noise}"
        return
    parts = noise.components
    yield f"  plan         {parts.clusters} clusters × {parts.restarts} restarts × {parts.runs} runs"
    yield (
        f"  lengths      a new cluster {words.duration(lengths.cluster_s)}, a restart {lengths.restart_s:.1f} s,"
        f" a run {lengths.run_s:.1f} s"
    )
    yield f"  noise        {_noise(noise)} of tps from trial to trial within a block"
    of = shares(parts)
    yield (
        f"  from         clusters {of['cluster']:.0%}, restarts {of['restart']:.0%}, runs {of['run']:.0%}"
        " of a run's variance"
    )
    if found.capacities:
        yield f"  drive        {_drive(found.capacities)} a second, one stream each"
    session = words.duration(noise.hours * 3600)
    yield f"  drift        {_change(noise.drift)} over the session of {session}, which blocks take out"
    yield f"  first run    {_change(noise.first_run)} against the later ones of a restart"
    yield from (f"  left out     {reason}" for reason in noise.left_out)
    yield ""
    yield "What two treatments from one snapshot can be told apart by (95 % interval, looked at after every block)"
    for row in found.resolutions(noise):
        width = "too few blocks" if row.width is None else f"±{row.width * 100:.2g} %"
        yield f"  {row.minutes:>4} min  {row.blocks:>5} blocks  {width}"
    yield f"  Treatments that need clusters of their own: clusters alone differ by {_percent(parts.cluster**0.5)} (CV)."
    yield ""
    yield "The cheapest repetition of one treatment, new clusters included (Kalibera and Jones)"
    for wanted, plan in found.plans(noise).items():
        if plan is None:
            yield f"  ±{wanted:.0%}  out of reach"
        else:
            yield (
                f"  ±{wanted:.0%}  {plan.clusters} clusters × {plan.restarts} restarts × {plan.runs} runs:"
                f" {words.duration(plan.seconds)}"
            )
    others = [each for name, each in found.noises.items() if name != PRIMARY]
    if others:
        yield ""
        yield "Noise of other responses"
        for each in sorted(others, key=lambda each: each.noise)[:SHOWN_OTHERS]:
            yield f"  {_noise(each)}  {found.responses[each.response].title}"


def as_plain(found: CalibrationFindings) -> Mapping[str, Any]:
    """The same for scripts."""
    noise = found.primary
    plain: dict[str, Any] = {
        "format": 1,
        "run": str(found.run.path),
        "lengths": asdict(found.lengths),
        "noise": {name: asdict(each) for name, each in found.noises.items()},
    }
    if isinstance(noise, str):
        return {**plain, "cannot_tell": noise}
    plans = found.plans(noise)
    plain |= {
        "shares": shares(noise.components),
        "resolution": [asdict(row) for row in found.resolutions(noise)],
        "plans": [{"width": width, "plan": None if each is None else asdict(each)} for width, each in plans.items()],
    }
    made: Mapping[str, Any] = finite(plain)
    return made


def _noise(noise: Noise) -> str:
    return f"{_percent(noise.noise)} [{_percent(noise.noise_low)}, {_percent(noise.noise_high)}]"


def _percent(share: float) -> str:
    if abs(share) < _ROUNDING:
        return "0 %"
    return f"{share * 100:.2g} %" if isfinite(share) else words.MISSING


def _change(change: Change) -> str:
    if not isfinite(change.high):
        return words.MISSING
    if change.high >= 3.0:
        return f"×{1 + change.estimate:.2f} [×{1 + change.low:.2f}, ×{1 + change.high:.3g}]"
    return f"{change.estimate * 100:+.1f} % [{change.low * 100:+.1f}, {change.high * 100:+.1f}]"
