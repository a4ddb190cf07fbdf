"""`--strict`: an exit status for scripts that tells whether a command found something that matters."""

import argparse
from collections.abc import Iterable

from pgassay.cli import messages
from pgassay.study.findings import Finding, Severity

FOUND = 1
"""Exit status where something was found that is as grave as was asked for."""
_ORDER = tuple(Severity)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--strict` and `--strict-from`."""
    parser.add_argument("--strict", action="store_true", help="exit 1 if there is a warning or an error")
    parser.add_argument("--strict-from", choices=[each.value for each in _ORDER[1:]], metavar="SEVERITY",
        help="exit 1 from this severity on: note, warning or error")  # fmt: skip


def status(arguments: argparse.Namespace, findings: Iterable[Finding]) -> int:
    """The exit status: `FOUND` where an option asks for it and a finding is as grave, else success."""
    least = arguments.strict_from or (Severity.WARNING.value if arguments.strict else None)
    if least is None:
        return messages.SUCCESS
    limit = _ORDER.index(Severity(least))
    return FOUND if any(_ORDER.index(each.severity) >= limit for each in findings) else messages.SUCCESS
