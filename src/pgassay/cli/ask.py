"""`pgassay ask CAPTURE NAME=A,B`: a study of a captured server's data and load, written and run like any other."""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli import messages
from pgassay.cli.run import add_bench_options, add_study_options, bench_options, overrides, run_document, silent

if TYPE_CHECKING:
    from pgassay.capture.asking import Asked
    from pgassay.capture.playing import Playback
    from pgassay.lab.workbench import Workbench

NAME = "ask"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("capture", type=Path, metavar="CAPTURE", help="a directory that pgassay capture made")
    parser.add_argument(
        "levels_given",
        nargs="*",
        metavar="NAME=A,B",
        help="levels to compare, the baseline first; a setting needs no prefix (work_mem=4MB,64MB)",
    )
    parser.add_argument(
        "--index",
        "--change",
        dest="changes",
        action="append",
        default=[],
        metavar="SQL",
        help="a change of the schema, against none: CREATE INDEX ON orders (customer_id)",
    )
    parser.add_argument("--objective", metavar="RESPONSE", help="what decides (default: tps)")
    add_study_options(parser)
    add_bench_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write scripts into the capture, try them on its data, say how like the source's the load is, run the study."""
    from pgassay.capture import asking, files, likeness, question, texts
    from pgassay.lab.run import Remark

    asked = question.parse(arguments.levels_given, arguments.changes, arguments.objective)
    capture = files.read(arguments.capture)
    own_scripts = any(each.partition("=")[0].strip() == "load.script" for each in arguments.set)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    with _workbench(arguments) as bench:
        written = asking.write(
            arguments.capture, capture, asked, bench.installation(), bench.runner, stamp, own_scripts=own_scripts
        )
        for warning in written.warnings.values():
            messages.warn(warning)
        playback = None
        if written.load.played and not arguments.dry_run:
            playback = _tried(written, arguments, bench)
            written = written.without(playback.failed)
    remarks = [Remark(code, "", text) for code, text in written.warnings.items()]
    if not (silent(arguments) or own_scripts):
        print(texts.played(written.load), end="")
    if playback is not None and playback.load is not None and capture.load is not None:
        found = likeness.compare(capture.load, playback.load)
        if not silent(arguments):
            print(texts.likeness(found), end="")
        if found.score is not None and found.score < likeness.ENOUGH:
            remarks.append(Remark("likeness", texts.unlike(found), texts.unlike(found)))
    return run_document(NAME, written.document(), arguments, remarks)


def _workbench(arguments: argparse.Namespace) -> "Workbench":
    from pgassay.lab.workbench import Workbench

    return Workbench(bench_options(arguments))


def _tried(written: "Asked", arguments: argparse.Namespace, bench: "Workbench") -> "Playback":
    """The scripts played on a clone of the baseline's data, which the study's own trials will start from."""
    from pgassay.capture.playing import SETTINGS, Stage, play
    from pgassay.lab.arms import resolve
    from pgassay.lab.rehearsal import rehearse
    from pgassay.lab.run import write_study
    from pgassay.load.pgbench.options import PgbenchOptions

    study = write_study(NAME, written.document(), overrides(arguments, "")).study
    resolved = resolve(study, bench.site())
    baseline = next(each for each in resolved.arms if each.arm.treatment == study.design.baseline)
    options = baseline.setup.load
    if not isinstance(options, PgbenchOptions):
        raise messages.not_played_by(options.driver)
    clients, protocol = options.clients, options.protocol
    return rehearse(
        baseline,
        SETTINGS,
        lambda server: play(written.load.played, Stage(server, bench.runner, bench.clock, clients, protocol)),
    )
