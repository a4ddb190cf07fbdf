"""What is told of refusals and failures: sentences, a table for the page, values for scripts; where there are any.

Short: what, why, how often. The runs of an advice have each trial with its server's own words.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pgassay.advise.failures import Cause, Failure
from pgassay.report.section import Folded, Table
from pgassay.report.words import counted

_CHANGES_SHOWN, _WHY_SHOWN = 3, 240


def sentences(failures: Sequence[Failure]) -> Iterator[str]:
    """What was refused or failed, a line each; nothing where nothing was."""
    if failures:
        yield "refused or failed:"
    for each in failures:
        yield f"  {_what(each)}: {each.cause}, {often(each)}: {_short(each.why)}"


def table(failures: Sequence[Failure]) -> tuple[Folded, ...]:
    """The same for a page, folded; none where nothing was."""
    rows = [[_what(each), each.cause.value, _short(each.why), often(each)] for each in failures]
    shown = Table(["what", "what became of it", "why", "how often"], rows, texts=True)
    title = f"Refused or failed: {counted(len(rows), 'reason')}"
    return (Folded(title, (shown,)),) if rows else ()


def values(failures: Sequence[Failure]) -> list[dict[str, Any]]:
    """The same for scripts."""
    return [
        {
            "changes": dict(each.changes), "configurations": each.configurations, "cause": each.cause.value,
            "why": each.why, "times": each.times,
        }
        for each in failures
    ]  # fmt: skip


def often(failure: Failure) -> str:
    """How often: in trials, or of how many configurations."""
    if failure.cause in (Cause.FAILED, Cause.LIMIT):
        return counted(failure.times, "trial")
    return counted(failure.configurations, "configuration")


def _what(failure: Failure) -> str:
    """What the configurations have in common, or how many they are."""
    told = [f"{name} = {value}" for name, value in failure.changes.items()]
    more = [f"and {len(told) - _CHANGES_SHOWN} more"] if len(told) > _CHANGES_SHOWN else []
    if not told:
        return "the start" if failure.configurations == 1 else f"{failure.configurations} different configurations"
    return ", ".join([*told[:_CHANGES_SHOWN], *more])


def _short(why: str) -> str:
    line = " ".join(why.split())
    return line if len(line) <= _WHY_SHOWN else f"{line[: _WHY_SHOWN - 1]}…"
