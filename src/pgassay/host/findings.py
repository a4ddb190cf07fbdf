"""A finding of `pgassay doctor`: what was looked at, how grave it is, what was seen, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding may spoil a measurement; `error` wants an explicit word from the user before a run."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Finding:
    """`check` is a code for machines; `remedy` is empty where nothing needs doing."""

    check: str
    severity: Severity
    text: str
    remedy: str = ""


def worst(findings: list[Finding]) -> Severity:
    """The gravest severity; `ok` for no findings."""
    order = list(Severity)
    return max((each.severity for each in findings), key=order.index, default=Severity.OK)
