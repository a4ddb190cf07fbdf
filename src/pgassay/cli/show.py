"""`pgassay show RUN`: verdicts, tables and why, as text, JSON or CSV; also of a run that is still going on."""

import argparse
import sys
from pathlib import Path

from pgassay.cli import messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON, numbers unrounded")
    form.add_argument("--csv", action="store_true", help="the report's tables as CSV, a line a cell")


def run(arguments: argparse.Namespace) -> int:
    """Print the run's verdicts and tables; returns the exit status. Raises `RecordError`."""
    from pgassay.record.reading import Run
    from pgassay.report import text
    from pgassay.report.collection import paused
    from pgassay.report.findings import Findings
    from pgassay.report.forms import document, write_csv
    from pgassay.report.json_values import to_json

    with paused():
        findings = Findings(Run.open(arguments.run, leave_out=True))
        if arguments.csv:
            write_csv(findings, sys.stdout)
        else:
            print(to_json(document(findings)) + "\n" if arguments.json else text.render(findings), end="")
    return messages.SUCCESS
