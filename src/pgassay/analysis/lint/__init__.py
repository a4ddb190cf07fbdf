"""Reasons why a benchmark cannot support its claim: its runs in, findings with evidence and remedy out.

For other people's results as for one's own; pure, like all of the analysis. `lint` runs every check.
"""

from pgassay.analysis.lint.checks import lint
from pgassay.analysis.lint.values import Benchmark, Run

__all__ = ["Benchmark", "Run", "lint"]
