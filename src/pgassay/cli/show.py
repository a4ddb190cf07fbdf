"""`pgassay show RUN`: verdicts, tables and why, as text or JSON; also of a run that is still going on."""

import argparse
from pathlib import Path

from pgassay.cli import messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print."""
    from pgassay.record.reading import Run
    from pgassay.report import text
    from pgassay.report.collection import paused
    from pgassay.report.findings import Findings
    from pgassay.report.forms import document
    from pgassay.report.json_values import to_json

    with paused():
        findings = Findings(Run.open(arguments.run, leave_out=True))
        print(to_json(document(findings)) + "\n" if arguments.json else text.render(findings), end="")
    return messages.SUCCESS
