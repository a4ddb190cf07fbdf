"""`pgassay export RUN`: every trial with its levels, responses and status, as CSV, JSON or Prometheus text.

With `--capsule` all of the run in one file, which `pgassay rerun` repeats elsewhere.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

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
    form.add_argument(
        "--capsule", type=Path, metavar="FILE", help="write the whole run there: record, study, scripts, report"
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
    if arguments.capsule is not None:
        if arguments.out is not None or arguments.form != FORMS[0]:
            raise messages.excluded("--capsule", "--out" if arguments.out is not None else "--as")
        return _write_capsule(arguments.run, arguments.capsule)
    found = open_run(arguments.run)
    if arguments.out is None:
        write(found, sys.stdout)
        return messages.SUCCESS
    with arguments.out.open("w", encoding="utf-8", newline="") as file:
        write(found, file)
    return messages.SUCCESS


def _write_capsule(path: Path, file: Path) -> int:
    """One file with the record as it was committed, and a page made from it; what is damaged is refused."""
    from pgassay.record import capsule
    from pgassay.record.reading import Run
    from pgassay.report import page
    from pgassay.report.collection import paused
    from pgassay.report.findings import Findings

    run = Run.open(path)
    with paused(), TemporaryDirectory(prefix="pgassay-report-") as folder:
        page.write(Findings(run), Path(folder), pictures=False)
        capsule.write(run, Path(folder), file)
    print(file)
    return messages.SUCCESS
