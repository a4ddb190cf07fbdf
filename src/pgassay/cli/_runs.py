"""Runs that commands read, and the end of those that they ran: page, text, thresholds, what a disk study found.

A run's text is one screen with the answer; `--verbose` prints all of the report, `--quiet` its headline alone.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli.printing import SUCCESS, warn
from pgassay.errors import PgassayError, UsageError

if TYPE_CHECKING:
    from pgassay.record.reading import Run
    from pgassay.report.findings import Findings
    from pgassay.study.thresholds import Threshold


REPORT = "report"
"""The folder of a run in which its page is written."""


def open_run(path: Path) -> "Run":
    """The run without what is damaged, each with a warning; raises `RecordError` for what is no run at all."""
    from pgassay.record.reading import Run
    from pgassay.report.seconds import unread_trial

    run = Run.open(path, leave_out=True)
    for each in run.left_out:
        warn(unread_trial(*each))
    return run


def last_run() -> Path:
    """The run below `runs/` that was written to last; raises `UsageError` where there is none."""
    from pgassay.record.directory import HEADER_FILE
    from pgassay.record.journal import FILE

    written = [(journal.stat().st_mtime_ns, journal.parent) for journal in Path("runs").glob(f"*/{FILE}")]
    known = [each for each in written if (each[1] / HEADER_FILE).is_file()]
    if not known:
        raise UsageError('there is no run in "runs" here', "name one: pgassay show RUN")
    return max(known)[1]


def add_form_options(parser: argparse._ActionsContainer, *, csv: bool = False) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("-v", "--verbose", action="store_true", help="print the whole report, not one screen of it")
    form.add_argument("-q", "--quiet", action="store_true", help="print the headline alone")
    form.add_argument("--json", action="store_true", help="print the result as JSON, numbers unrounded")
    if csv:
        form.add_argument("--csv", action="store_true", help="print the report's tables as CSV, a line a cell")


def shown(findings: "Findings", arguments: argparse.Namespace) -> str:
    """The report on a terminal, as long as the options ask for; its last lines say where the rest is."""
    from pgassay.report import page, text

    if arguments.quiet:
        return text.headline(findings)
    path = findings.run.path
    written = path / REPORT / page.PAGE
    there = str(written) if written.is_file() else f"pgassay report {path} writes it"
    if arguments.verbose:
        return f"{text.render(findings)}\nreport: {there}\nrecord: {path}\n"
    return text.brief(findings, (f"report: {there}", f"record: {path}", f"more: pgassay show {path} --verbose"))


def show_result(path: Path, arguments: argparse.Namespace) -> "Findings":
    """Write the page of the run at `path`, and print the text or the JSON; raises `PgassayError` if it cannot.

    Returns what was found.
    """
    from pgassay.record.reading import Run
    from pgassay.report import page
    from pgassay.report.contents import document
    from pgassay.report.findings import Findings
    from pgassay.report.json_values import to_json

    findings = Findings(Run.open(path, leave_out=True))
    remember(findings)
    try:
        written = page.write(findings, path / REPORT)
    except OSError as error:
        raise PgassayError(
            f'could not write the report of run "{path}": {(error.strerror or str(error)).lower()}',
            f"the run is finished and its record is whole; remove the cause, then: pgassay report {path}",
        ) from error
    if arguments.json:
        print(to_json({**document(findings), "report": str(written)}))
    else:
        print(shown(findings, arguments), end="")
    return findings


def remember(findings: "Findings") -> None:
    """Keep what a finished disk study found, unless it chose other drives than the data directory's."""
    from pgassay.lab.machine import user_file
    from pgassay.record import known
    from pgassay.record.calibrations import Setting
    from pgassay.record.disk import RealDisk
    from pgassay.report.drives import CHOOSING, best

    study, place = findings.study, findings.run.host.get("place", {})
    names = {*study.factors, *study.conditions, *study.covariates, *study.fixed}
    if not findings.finished or "device" not in place or any(name.startswith(CHOOSING) for name in names):
        return
    found = best(findings.trials)
    if not found:
        return
    new = known.DiskCapacities(
        measured_utc=findings.run.header.started_utc,
        place=Setting(place["host"], place["filesystem"], place["device"], "", {}),
        run=str(findings.run.path),
        per_s={resource.value: value for resource, (value, _) in found.items()},
        at={resource.value: where for resource, (_, where) in found.items()},
        remarks=tuple(findings.remarks),
    )
    known.remember_disk(RealDisk(), user_file(known.DISK_FILE), new)


NOT_HELD = 1
"""Exit status where a threshold fails, or is not shown to hold."""


def weighed(arguments: argparse.Namespace) -> "Sequence[Threshold]":
    from pgassay.study.thresholds import parse, split

    return [parse(*split(text)) for text in arguments.weigh]


def require_thresholds(arguments: argparse.Namespace, thresholds: Sequence[object]) -> None:
    """Raise `UsageError` for `--check` without a single threshold, before anything runs."""
    if arguments.check and not thresholds:
        raise UsageError(
            "--check has no threshold to check",
            'give --weigh "latency_p99_ms < 5 ms" or, in the study file, [decide]',
        )


def threshold_status(findings: "Findings", *, check: bool) -> int:
    """The exit status: `NOT_HELD` where it is asked for and a threshold is not shown to hold, else success."""
    from pgassay.report.decide import holds

    return SUCCESS if not check or holds(findings) else NOT_HELD
