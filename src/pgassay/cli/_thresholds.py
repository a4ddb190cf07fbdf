"""`--weigh` and `--check`: what counts for a user, and an exit status for scripts that tells whether it holds."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pgassay.cli.printing import SUCCESS
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.report.findings import Findings
    from pgassay.study.thresholds import Threshold

NOT_HELD = 1
"""Exit status where a threshold fails, or is not shown to hold."""


def add_weigh_option(parser: argparse._ActionsContainer) -> None:
    """Add `--weigh`: thresholds of the user's, for commands that judge by them."""
    parser.add_argument(
        "--weigh",
        action="append",
        default=[],
        metavar="THRESHOLD",
        help='what counts: "latency_p99_ms < 5 ms", or a change against the baseline: "space < +30 %%"',
    )


def add_check_option(parser: argparse._ActionsContainer) -> None:
    """Add `--check`: an exit status that says whether the thresholds hold."""
    parser.add_argument(
        "--check", action="store_true", help="exit 1 unless every threshold is shown to hold ([decide], --weigh)"
    )


def weighed(arguments: argparse.Namespace) -> "Sequence[Threshold]":
    """The thresholds of `--weigh`; raises `UsageError`."""
    from pgassay.study.thresholds import parse, split

    return [parse(*split(text)) for text in arguments.weigh]


def require(arguments: argparse.Namespace, thresholds: Sequence[object]) -> None:
    """Raise `UsageError` for `--check` without a single threshold, before anything runs."""
    if arguments.check and not thresholds:
        raise nothing_to_check("--check")


def status(findings: "Findings", *, check: bool) -> int:
    """The exit status: `NOT_HELD` where it is asked for and a threshold is not shown to hold, else success."""
    from pgassay.report.decide import holds

    if not check:
        return SUCCESS
    return SUCCESS if holds(findings) else NOT_HELD


def nothing_to_check(option: str) -> UsageError:
    """`--check` or `--junit` of a study that says nothing of what counts."""
    return UsageError(
        f"{option} has no threshold to check",
        'give --weigh "latency_p99_ms < 5 ms" or, in the study file, [decide]',
    )
