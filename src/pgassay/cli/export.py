"""`pgassay export RUN`: every trial with its levels, responses and status, as CSV or JSON.

With `--capsule` all of the run in one file, which `pgassay rerun` repeats elsewhere.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay import scratch
from pgassay.cli import _trust
from pgassay.cli._runs import open_run
from pgassay.cli.parser import FOUND, excluded
from pgassay.cli.printing import SUCCESS
from pgassay.errors import UsageError
from pgassay.study.findings import Severity

if TYPE_CHECKING:
    from pgassay.record.capsule import Contents, NamedFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, help="a run directory")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="a row a trial, with a header (the default); COPY takes it")
    form.add_argument("--json", action="store_true", help="an array with an object a trial")
    form.add_argument(
        "--capsule", type=Path, metavar="FILE", help="write the whole run there: record, study, scripts, report"
    )
    add(
        "--with-data",
        action="store_true",
        help="pack files with your rows into the capsule, too: dumps, logs, the measured servers' logs",
    )
    add("-n", "--dry-run", action="store_true", help="list what the capsule would have; write nothing")
    add("--out", type=Path, metavar="FILE", help="write to a file instead of standard output")


def run(arguments: argparse.Namespace) -> int:
    from pgassay.record.export import write_csv, write_json

    write = write_json if arguments.json else write_csv
    if arguments.capsule is not None:
        if arguments.out is not None:
            raise excluded("--capsule", "--out")
        return _write_capsule(arguments)
    if arguments.with_data or arguments.dry_run:
        raise UsageError(f"{'--with-data' if arguments.with_data else '--dry-run'} needs --capsule")
    found = open_run(arguments.run)
    if arguments.out is None:
        write(found, sys.stdout)
        return SUCCESS
    with arguments.out.open("w", encoding="utf-8", newline="") as file:
        write(found, file)
    return SUCCESS


def _write_capsule(arguments: argparse.Namespace) -> int:
    """One file with the record as it was committed, and a page made from it; what is in it is listed before and after.

    A record that was changed or damaged is named, and nothing is written.
    """
    from pgassay.capture.asking import FOLDER
    from pgassay.lab.decisions import replay
    from pgassay.lab.named_files import files_of
    from pgassay.record import capsule
    from pgassay.record.check import check
    from pgassay.record.reading import Run
    from pgassay.report import page
    from pgassay.report.findings import Findings, garbage_collection_paused
    from pgassay.report.formatting import size

    path, file = arguments.run, arguments.capsule
    run = Run.open(path)
    wrong = [each for each in (*check(path), *replay(path)) if each.severity is Severity.ERROR]
    if wrong:
        for finding in wrong:
            print(f"{finding.severity}: {finding.where}: {finding.text}", file=sys.stderr)
        print(f"no capsule was written: the record in {path} is not what was committed", file=sys.stderr)
        return FOUND
    with garbage_collection_paused(), scratch.folder("report") as folder:
        page.write(Findings(run), folder, pictures=False)
        # Scripts that `pgassay ask` wrote into a capture have values of the server's rows, too.
        named = [
            replace(each, holds_rows=each.holds_rows or each.path.parent.parent.name == FOLDER)
            for each in files_of(run)
        ]
        strange = [each for each in named if _is_strange(each, run.path)]
        ours = [each for each in named if each not in strange]
        contents = capsule.contents_of(run, folder, ours, with_data=arguments.with_data)
        contents = replace(contents, left_out=(*contents.left_out, *strange))
        print(_listed(contents, file), end="")
        if arguments.dry_run:
            return SUCCESS
        capsule.write(contents, file)
    print(f"{file}: {size(file.stat().st_size)}, readable by you alone (mode 0600)")
    return SUCCESS


def _is_strange(named: "NamedFile", run: Path) -> bool:
    """Is it a file of this machine that somebody else's record names?"""
    return not named.sources[0].is_relative_to(run) and _trust.foreign(run)


def _listed(contents: "Contents", file: Path) -> str:
    from pgassay.record.capsule import RECORD, REPORT
    from pgassay.report.formatting import size

    trials = len(contents.run.trials)
    lines = [
        f"{file} will have",
        f"  the record of {trials} trials with the outputs of all programs, {size(contents.bytes_of(RECORD))}",
        *(f"  {each.path} ({each.factor}), {size(each.sources[0].stat().st_size)}" for each in contents.packed),
        f"  a report, {size(contents.bytes_of(REPORT))}",
    ]
    if contents.left_out or contents.logs_left_out:
        lines.append("left out")
        lines += [
            f"  {each.path} ({each.factor}), {_why_left_out(each, contents.run.path)}" for each in contents.left_out
        ]
    if logs := contents.logs_left_out:
        names, total = ", ".join(sorted({each.name for each in logs})), sum(each.stat().st_size for each in logs)
        lines.append(f"  {names} of the trials, {size(total)} that may quote your rows: --with-data packs them")
    return "".join(f"{line}\n" for line in lines)


def _why_left_out(named: "NamedFile", run: Path) -> str:
    from pgassay.report.formatting import size

    source = named.sources[0]
    if _is_strange(named, run):
        return "a file of this machine, which the record of another account names"
    if source.is_dir():
        return "a directory"
    if not source.is_file():
        return "which is not there any more"
    return f"{size(source.stat().st_size)} with values of your rows: --with-data packs it"
