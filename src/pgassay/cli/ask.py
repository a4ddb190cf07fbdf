"""`pgassay ask CAPTURE NAME=A,B`: a study of a captured server's data and load, written and run like any other."""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli import _trust
from pgassay.cli._rehearsals import replayed as played_once
from pgassay.cli._rehearsals import tried
from pgassay.cli.compare import with_full_names
from pgassay.cli.parser import excluded
from pgassay.cli.printing import warn
from pgassay.cli.run import add_bench_options, add_study_options, bench_options, overrides, run_document, silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pgassay.bench.server import Installation
    from pgassay.capture.format import Capture
    from pgassay.capture.question import Question
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
    parser.add_argument(
        "--version",
        dest="versions",
        action="append",
        default=[],
        metavar="V,V",
        help="versions of PostgreSQL, against the server's own: 17",
    )
    parser.add_argument(
        "--build",
        dest="builds",
        action="append",
        default=[],
        metavar="SOURCE",
        help="builds of PostgreSQL, the baseline first; one alone against the server's version: git:DIR@COMMIT, a"
        " directory, tarball:FILE",
    )
    parser.add_argument(
        "--replay",
        action="store_true",
        help="play the captured log itself, in its own time, in place of scripts (capture --log FILE --with-literals)",
    )
    parser.add_argument(
        "--pace",
        choices=("full", "source", "busiest"),  # capture.pace.PACES, which would import what parsing need not
        default="full",
        help="how fast scripts are played: as fast as they go (default), at the source's mean rate, or at that of its"
        " busiest minute (capture --log FILE)",
    )
    parser.add_argument(
        "--objective",
        metavar="RESPONSE",
        help="what decides (default: tps; latency_ms with --replay, --pace source and --pace busiest)",
    )
    add_study_options(parser)
    add_bench_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write scripts into the capture, try them on its data, say how like the source's the load is, run the study."""
    from pgassay.capture import asking, files, likeness, question, texts
    from pgassay.capture import pace as paces
    from pgassay.lab.run import Remark, write_study
    from pgassay.record import likeness as alike_file
    from pgassay.record import statements as statements_file

    arguments = with_full_names(arguments)
    asked = _asked(arguments)
    capture = files.read(arguments.capture)
    _trust.require(arguments.capture, _trust.of_capture(arguments.capture, capture.source.settings), arguments)
    paces.require(arguments.pace, capture.load)
    own_scripts = bool(_set(arguments, "load.script"))
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    with _workbench(arguments) as bench:
        asked = question.with_programs(asked, capture.source, lambda version: _is_installed(bench, version))
        asking.require_versions(capture, asked)
        replayed = _replayed(arguments, bench) if arguments.replay else None
        serving, connections = _serving(asked, capture, arguments, bench, replayed)
        written = asking.write(
            arguments.capture,
            capture,
            asked,
            serving,
            bench.runner,
            stamp,
            own_scripts=own_scripts,
            replayed=replayed,
            pace=arguments.pace,
            connections=connections,
        )
        for warning in written.warnings.values():
            warn(warning)
        found, said, load, pace = None, "", None, None
        if written.load.played and not arguments.dry_run:
            study = write_study(NAME, written.document(), overrides(arguments, "")).study
            found = tried(study, written, bench)
            written, load = found.written, found.load
            pace = None if written.paced is None else written.paced.multiple
        elif written.replayed is not None and not arguments.dry_run:
            once = played_once(
                write_study(NAME, written.document(), overrides(arguments, "")).study, capture.load, bench
            )
            said, load, pace = once.told, once.load, once.speed
    remarks = [Remark(code, "", text) for code, text in written.warnings.items()]
    if not (silent(arguments) or own_scripts):
        print(texts.played(written.load) if replayed is None else said, end="")
        print("" if written.paced is None else paces.told(written.paced), end="")
    beside = {} if found is None else {statements_file.FILE: statements_file.encode(found.statements)}
    if load is not None and capture.load is not None:
        alike = likeness.compare(capture.load, load, pace)
        if not silent(arguments):
            print(texts.likeness(alike), end="")
        beside[alike_file.FILE] = alike_file.encode(alike)
        if alike.unlike:
            remarks.append(Remark("likeness", texts.unlike(alike), texts.unlike(alike)))
    if found is not None and found.failures:
        said = texts.fail_with(found.failures.values())
        remarks.append(Remark("failing_statements", said, said))
    return run_document(NAME, written.document(), arguments, remarks, beside)


def _workbench(arguments: argparse.Namespace) -> "Workbench":
    from pgassay.lab.workbench import Workbench

    return Workbench(bench_options(arguments))


def _asked(arguments: argparse.Namespace) -> "Question":
    from pgassay.capture import question

    if arguments.replay and _set(arguments, "load.script"):
        raise excluded("--replay", "load.script")
    paced = arguments.pace != "full"
    objective = arguments.objective or (question.AT_OWN_PACE if arguments.replay or paced else None)
    asked = question.parse(
        arguments.levels_given,
        arguments.changes,
        objective,
        arguments.versions,
        arguments.builds,
    )
    if paced and arguments.replay:
        raise excluded("--pace", "--replay")
    for name in ("load.script", question.RATE):
        if paced and (_set(arguments, name) or name in asked.factors):
            raise excluded("--pace", name)
    return asked


def _replayed(arguments: argparse.Namespace, bench: "Workbench") -> "Mapping[str, object]":
    from pgassay.capture import replaying

    given = _set(arguments, "load.log")
    return replaying.load_table(arguments.capture, bench.runner, Path(given[-1]) if given else None)


def _set(arguments: argparse.Namespace, name: str) -> list[str]:
    """The values that `--set` gives a factor, in order."""
    parts = [each.partition("=") for each in arguments.set]
    return [value.strip() for factor, _, value in parts if factor.strip() == name]


def _is_installed(bench: "Workbench", version: str) -> bool:
    from pgassay.errors import UsageError

    try:
        bench.installation(version)
    except UsageError:
        return False
    return True


def _serving(
    asked: "Question",
    capture: "Capture",
    arguments: argparse.Namespace,
    bench: "Workbench",
    replayed: "Mapping[str, object] | None" = None,
) -> "tuple[Sequence[Installation], int]":
    """Every PostgreSQL that the study will use, the baseline's first; one that is missing is built now. And how many
    connections the load and we may need where max_connections is the captured server's own.

    A plan builds nothing: what stands in for a build says nothing of extensions and settings.
    """
    from pgassay.capture.question import document
    from pgassay.lab.arms import resolve
    from pgassay.lab.building import STAND_IN
    from pgassay.lab.run import write_study
    from pgassay.lab.settings import CONNECTIONS_OURS

    data = arguments.capture / capture.data.file
    outline = document(capture.source, capture.load, data, {}, asked, replayed=replayed)
    study = write_study(NAME, outline, overrides(arguments, "")).study
    arms = resolve(study, bench.site()).arms
    if not arguments.dry_run:
        bench.require_room(bench.missing_builds(each.setup.build for each in arms))
    first = sorted(arms, key=lambda each: each.arm.treatment != study.design.baseline)
    found = {each.installation.bindir: each.installation for each in first}
    real = [each for each in found.values() if each.found_by != STAND_IN]
    own = capture.source.settings.get("max_connections")
    needed = [each.setup.load.connections for each in arms if each.setup.settings.get("max_connections") == own]
    return real or list(found.values()), max(needed, default=0) + CONNECTIONS_OURS
