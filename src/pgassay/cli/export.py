"""`pgassay export RUN --csv`: a row a trial, with every level, response and its status; COPY takes it as it is."""

import argparse
import sys
from pathlib import Path

from pgassay.cli import messages
from pgassay.cli._runs import open_run

FORMS = ("trials", "cache-csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    parser.add_argument("--csv", action="store_true", help="as CSV with a header (the default)")
    parser.add_argument(
        "--as",
        dest="form",
        choices=FORMS,
        default=FORMS[0],
        help="trials: every level and response (the default);"
        " cache-csv: the published table of the study cache, column for column",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to a file instead of standard output")


def run(arguments: argparse.Namespace) -> int:
    """Write a row for each trial; returns the exit status. Raises `RecordError`."""
    from pgassay.record.export import write_cacheprobe_csv, write_csv

    write = write_cacheprobe_csv if arguments.form == "cache-csv" else write_csv
    found = open_run(arguments.run)
    if arguments.out is None:
        write(found, sys.stdout)
        return messages.SUCCESS
    with arguments.out.open("w", encoding="utf-8", newline="") as file:
        write(found, file)
    return messages.SUCCESS
