"""`pgassay rerun CAPSULE|RUN`: run a study again as it is recorded, here, and compare it with the original.

The study is the recorded one, scripts and all; order and random data are drawn again, so that what they did to the
original is not repeated. `--with RUN` compares a run that was made already.
"""

import argparse
import sys
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pgassay.cli import messages
from pgassay.cli._runs import open_run
from pgassay.cli.parser import FOUND, whole
from pgassay.cli.run import add_bench_options, add_study_options, run_document, run_path

if TYPE_CHECKING:
    from pgassay.record.reading import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.set_defaults(**_unchanged())
    parser.add_argument("source", metavar="FILE|RUN", type=Path, help="a capsule, or a run directory")
    parser.add_argument(
        "--with", dest="made", metavar="RUN", type=Path, help="compare this run, made already; run nothing"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 if a contrast or a claim differs")
    parser.add_argument("--blocks", metavar="MIN..MAX", help="other repetitions than the original's")
    parser.add_argument("--budget", metavar="TIME", help="another budget than the original's")
    parser.add_argument("--seed", type=whole(0), metavar="N", help="seed of the order and the load (default: random)")
    add_bench_options(parser)


def _unchanged() -> dict[str, Any]:
    """What the options of `run` that change a study are where none was given: a repetition has none of them."""
    parser = argparse.ArgumentParser(add_help=False)
    add_study_options(parser)
    return vars(parser.parse_args([]))


def run(arguments: argparse.Namespace) -> int:
    """Run the study again and print how it compares; returns the exit status. Raises `PgassayError`."""
    from pgassay.record.capsule import unpack

    with ExitStack() as stack:
        path, study, name = arguments.source, None, arguments.source.absolute().name
        if path.is_file():
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="pgassay-capsule-")))
            folder.chmod(0o755)  # the servers' account reads the scripts
            unpacked = unpack(path, folder / "capsule")
            path, study, name = unpacked.run, unpacked.study, unpacked.manifest.run
        original = open_run(path)
        made: Path | None = arguments.made
        if made is None:
            document = study(original.study) if study else dict(original.study)
            made = run_path(arguments, original.header.study)
            status = _again(original, document, arguments, made)
            if status != messages.SUCCESS or arguments.dry_run:
                return status
        return _compare(original, name, open_run(made), arguments)


def _again(original: "Run", document: dict[str, Any], arguments: argparse.Namespace, path: Path) -> int:
    """Make the second run at `path`; raises `UsageError` for an original that is none of our own measurements."""
    from pgassay.record.calibrations import STUDY
    from pgassay.record.formats import IMPORTED

    if original.header.study == STUDY or IMPORTED in original.host:
        raise messages.not_repeatable(original.path)
    design = {key: value for key, value in document.get("design", {}).items() if key != "seed"}
    asked = argparse.Namespace(**{**vars(arguments), "out": path})
    if not arguments.json or arguments.dry_run:
        return run_document(original.header.study, {**document, "design": design}, asked)
    with redirect_stdout(sys.stderr):  # one document on standard output: the comparison
        asked.json, asked.quiet = False, True
        return run_document(original.header.study, {**document, "design": design}, asked)


def _compare(original: "Run", name: str, rerun: "Run", arguments: argparse.Namespace) -> int:
    from pgassay.analysis.replication import Outcome
    from pgassay.report import replication
    from pgassay.report.collection import paused
    from pgassay.report.findings import Findings
    from pgassay.report.json_values import to_json

    with paused():
        found = replication.repetition(Findings(original), Findings(rerun), name)
    print(to_json(replication.plain(found)) + "\n" if arguments.json else replication.text(found), end="")
    return FOUND if arguments.strict and found.count(Outcome.DIFFER) else messages.SUCCESS
