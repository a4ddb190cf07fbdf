"""`pgassay report RUN…`: the HTML report and its figures, written again from the record.

An advice is a folder of runs, of which one has the page with its answer.
"""

import argparse
from pathlib import Path

from pgassay.cli._runs import REPORT, open_run, require_thresholds, threshold_status, weighed
from pgassay.cli.parser import add_options
from pgassay.cli.printing import SUCCESS
from pgassay.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", type=Path, help="a run directory, or one that pgassay advise has made")
    add("--out", type=Path, metavar="DIR", help="where to write (default: RUN/report); of several runs DIR/NAME")
    add(
        "--disk",
        type=Path,
        metavar="RUN",
        help="a disk study of this drive (default: the one that the run has kept)",
    )
    add("--no-figures", action="store_true", help="the page alone, without PNG and SVG files")
    add_options(parser, "--weigh", "--check")


def run(arguments: argparse.Namespace) -> int:
    from pgassay.report import page
    from pgassay.report.drives import measured_by
    from pgassay.report.findings import Findings, garbage_collection_paused

    folders = _folders(arguments)
    disk = measured_by(open_run(arguments.disk)) if arguments.disk else None
    worst = SUCCESS
    for path, folder in folders.items():
        with garbage_collection_paused():
            findings = Findings(open_run(path), disk, weighed(arguments))
            require_thresholds(arguments, findings.limits)
            print(page.write(findings, folder, pictures=not arguments.no_figures), flush=True)
            worst = max(worst, threshold_status(findings, check=arguments.check))
    return worst


def _folders(arguments: argparse.Namespace) -> dict[Path, Path]:
    """Where the page of each run goes; raises `UsageError` where several would be one.

    Of an advice it is the run whose page has the answer; several are distinguished by the names that were given.
    """
    given = list(dict.fromkeys(path.absolute() for path in arguments.runs))
    runs = [_with_answer(path) for path in given]
    if arguments.out is None:
        return {path: path / REPORT for path in runs}
    if len(runs) == 1:
        return {runs[0]: arguments.out.resolve() if arguments.out.is_symlink() else arguments.out}
    if len({path.name for path in given}) < len(given):
        raise UsageError(f'runs of the same name would have the same folder in "{arguments.out}"', "leave out --out")
    return {run: arguments.out / path.name for run, path in zip(runs, given, strict=True)}


def _with_answer(path: Path) -> Path:
    """The run itself, or of an advice's folder the one whose page has its answer."""
    from pgassay.record.directory import HEADER_FILE

    if (path / HEADER_FILE).exists():
        return path
    from pgassay.advise import folder

    return folder.answered(path) if (path / folder.TASK_FILE).is_file() else path
