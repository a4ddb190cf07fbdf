"""A finding: something that a user should know about a machine, a record or a published benchmark.

`pgassay doctor`, `check` and `lint` look at different things and say what they found in the same form.
"""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters, from the least to the most."""

    OK = "ok"
    """Looked at, nothing wrong."""
    NOTE = "note"
    """Worth knowing: a sign of trouble that may be harmless, or that chance alone could have given."""
    WARNING = "warning"
    """The numbers are results, but carry less than is claimed of them."""
    ERROR = "error"
    """Numbers may be wrong, or are no results at all."""


@dataclass(frozen=True)
class Finding:
    """One finding. `code` is for scripts; `text` is a sentence without a full stop: what was found.

    `remedy` says what helps, `evidence` has the numbers that show it, `where` names the file, trial or line; each is
    empty where there is nothing to say.
    """

    code: str
    severity: Severity
    text: str
    remedy: str = ""
    evidence: str = ""
    where: str = ""
