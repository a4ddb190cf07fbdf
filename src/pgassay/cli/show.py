"""`pgassay show RUN`: the answer on one screen, or all of it; as text, JSON or CSV, also while a run goes on."""

import argparse
import sys
from pathlib import Path

from pgassay.cli._runs import add_form_options, last_run, shown
from pgassay.cli._thresholds import add_check_option, add_weigh_option, require, status, weighed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("run", metavar="RUN", nargs="?", type=Path, help="a run directory (default: the last of runs)")
    add_form_options(parser, csv=True)
    add_weigh_option(parser)
    add_check_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; returns the exit status. Raises `RecordError`."""
    from pgassay.record.reading import Run
    from pgassay.report.collection import paused
    from pgassay.report.findings import Findings
    from pgassay.report.forms import document, write_csv
    from pgassay.report.json_values import to_json

    with paused():
        findings = Findings(Run.open(arguments.run or last_run(), leave_out=True), weigh=weighed(arguments))
        require(arguments, findings.limits)
        if arguments.csv:
            write_csv(findings, sys.stdout)
        else:
            print(to_json(document(findings)) + "\n" if arguments.json else shown(findings, arguments), end="")
    return status(findings, check=arguments.check)
