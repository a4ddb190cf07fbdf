"""Figures of a fit that claims may name beside responses, and published rows: the kink of a curve, the gain beyond.

A machine without a second hardware thread to a core cannot speak to hyper-threading, whatever its curve looks like.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgassay.analysis.claims import needed_parts, parts_of
from pgassay.analysis.numbers import per_cent
from pgassay.report import words
from pgassay.report.scaling import Processors, Scaling, describes

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

KINK, YARDSTICK_KINK = "kink_per_core", "kink_per_core_of_yardstick"
GAIN, YARDSTICK_GAIN = "smt_gain", "smt_gain_of_yardstick"
FITTED = (KINK, GAIN, YARDSTICK_GAIN, YARDSTICK_KINK)
"""Their names."""
_OF_YARDSTICK = (YARDSTICK_KINK, YARDSTICK_GAIN)


@dataclass(frozen=True)
class Fitted:
    """A figure of a fit with its interval."""

    value: float
    low: float
    high: float


def fitted(findings: "Findings", name: str, treatment: Mapping[str, str]) -> Fitted | str:
    """The figure of this name, of the first curve that has these levels; or why there is none."""
    curves = findings.yardsticks if name in _OF_YARDSTICK else findings.scalings
    wanted = needed_parts(treatment, findings.study)
    curve = next((each for each in curves if wanted <= _names(each)), None)
    if curve is not None and curve.kink is not None and not describes(curve.kink):
        return f"two lines fit that curve badly, points lie {per_cent(curve.kink.misfit)} off them"
    if curve is None or curve.kink is None:
        return "this run has too few points of that curve"
    if name in (KINK, YARDSTICK_KINK):
        return _kink(curve, findings.processors)
    return _gain(curve, findings.processors)


def text_of(name: str, found: Fitted) -> str:
    """The figure as a reader sees it."""
    if name in (KINK, YARDSTICK_KINK):
        shown = [words.number(each) for each in (found.value, found.low, found.high)]
        return f"{shown[0]} [{shown[1]}, {shown[2]}] of the physical cores"
    shown = [f"{100 * each:.0f}" for each in (found.value, found.low, found.high)]
    return f"{shown[0]} % [{shown[1]}, {shown[2]}]"


def _kink(curve: Scaling, processors: Processors) -> Fitted | str:
    found, cores = curve.kink, processors.cores
    if cores is None:
        return "the record does not tell the physical cores"
    if found is None or not found.located:
        return f"no kink is located up to {curve.upto:g} clients"
    return Fitted(found.at.value / cores, found.at.low / cores, found.at.high / cores)


def _gain(curve: Scaling, processors: Processors) -> Fitted | str:
    threads = processors.threads_per_core
    if threads is None or threads <= 1.0:
        return "this machine shows one hardware thread a core"
    if curve.kink is None or not curve.kink.located:
        return f"no kink is located up to {curve.upto:g} clients"
    gain = curve.kink.gain
    return Fitted(gain.value, gain.low, gain.high)


def _names(curve: Scaling) -> frozenset[str]:
    return parts_of(curve.treatment) | parts_of(curve.condition)
