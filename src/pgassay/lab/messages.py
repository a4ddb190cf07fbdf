"""Every message of the lab for users, in PostgreSQL's manner."""

from collections.abc import Mapping, Sequence
from math import exp, inf

from pgassay.analysis.effects import BlockMean
from pgassay.errors import UsageError
from pgassay.host.messages import NO_ROOT

_LINES_LISTED = 5
"""As many lines of a journal are named."""


NO_AMCHECK = "drive.check needs the extension amcheck, which is not installed with this server"


def host_factors_unavailable(reasons: Mapping[str, str]) -> UsageError:
    """For host factors that are not available here, by name with the reason; all of them in one message."""
    named = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    hint = "leave them out with --without-host-factors"
    return UsageError(
        f"some of the study's factors are not available on this machine: {named}",
        f"run as root, or {hint}" if NO_ROOT in reasons.values() else hint,
    )


def host_factors_left_out(reasons: Mapping[str, str]) -> str:
    """What --without-host-factors left out, for the record and as a warning."""
    named = "; ".join(f"{name} ({reason})" for name, reason in reasons.items())
    return f"host factors left out, because this machine does not support them: {named}"


def older_decisions(version: str, lines: Sequence[int], *, rule_known: bool) -> str:
    """The design, asked again, decides otherwise, and may have changed since."""
    named = ", ".join(map(str, lines[:_LINES_LISTED])) + (" …" if len(lines) > _LINES_LISTED else "")
    why = "" if rule_known else " before records named the rule of their decisions, which may have changed since"
    return (
        f"{len(lines)} {'decision' if len(lines) == 1 else 'decisions'} (journal line {named}) would be "
        f"different now: pgassay {version} wrote the record{why}"
    )


def round_ended(arm: str) -> str:
    """Why a round of an alternating block is left out: one of its servers did not reach its end."""
    return f"{arm} failed in this round"


NOBODY_TO_TAKE_TURNS = "no two treatments are compared with each other"
CHECKPOINTS_BY_THE_CLOCK = (
    "checkpoints by the clock (load.checkpoint = cycle or default) would start while a server stands still;"
    " wal and none do not"
)
WORK_IS_COUNTED = "slices have a length, and the study counts the work instead (load.transactions)"


def good_against_bad(mean: BlockMean, blocks: int) -> str:
    """Progress of a bisection's first part."""
    if mean.half == inf:
        return f"good against bad: {blocks} blocks, no interval yet"
    estimate, low, high = (
        100.0 * (exp(end) - 1.0) for end in (mean.mean, mean.mean - mean.half, mean.mean + mean.half)
    )
    return f"good against bad: {estimate:+.1f} % [{low:+.1f}, {high:+.1f}] after {blocks} blocks"


def commit_skipped(name: str, why: str) -> str:
    """A commit of a bisection that is left out."""
    return f"skipped: {name}: {why}"


def no_valid_block() -> str:
    """A run of two commits ended without one."""
    return "no block in which both commits have a valid value"
