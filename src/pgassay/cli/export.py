"""`pgassay export RUN`: every trial with its levels, responses and status, as CSV, JSON or Prometheus text."""

import argparse
import sys
from pathlib import Path

from pgassay.cli import messages
from pgassay.cli._runs import open_run

FORMS = ("trials", "cache-csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("run", metavar="RUN", type=Path, help="a run directory")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="a row a trial, with a header (the default); COPY takes it")
    form.add_argument("--json", action="store_true", help="an array with an object a trial")
    form.add_argument(
        "--prometheus", action="store_true", help="Prometheus' text format: a metric a response, a sample a trial"
    )
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
    """Write all trials; returns the exit status. Raises `RecordError`, and `UsageError` for two forms at once."""
    from pgassay.record.export import write_cacheprobe_csv, write_csv, write_json, write_prometheus

    write = write_json if arguments.json else write_prometheus if arguments.prometheus else write_csv
    if arguments.form == "cache-csv":
        if arguments.json or arguments.prometheus:
            raise messages.excluded("--as cache-csv", "--json" if arguments.json else "--prometheus")
        write = write_cacheprobe_csv
    found = open_run(arguments.run)
    if arguments.out is None:
        write(found, sys.stdout)
        return messages.SUCCESS
    with arguments.out.open("w", encoding="utf-8", newline="") as file:
        write(found, file)
    return messages.SUCCESS
