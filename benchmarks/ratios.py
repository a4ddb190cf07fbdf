"""The mean ratio of two sides measured in pairs, with its 95 % interval (Student's t over the pairs' logarithms)."""

from collections.abc import Sequence
from math import exp, inf, sqrt
from statistics import fmean, stdev

from pgassay.analysis.boundaries import fixed_critical


def bounds(logs: Sequence[float]) -> tuple[float, float, float]:
    """Low end, mean and high end of the ratio; of one pair nothing is known but its mean."""
    mean, half = fmean(logs), inf
    if len(logs) > 1:
        half = fixed_critical(len(logs), 0.05) * stdev(logs) / sqrt(len(logs))
    return exp(mean - half), exp(mean), exp(mean + half)


def interval(logs: Sequence[float]) -> str:
    """For people: `0.951 [0.856, 1.056]`."""
    if not logs:
        return "not measured"
    low, mean, high = bounds(logs)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"
