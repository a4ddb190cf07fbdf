"""`pgassay rerun CAPSULE|RUN`: run a study again as it is recorded, here, and compare it with the original.

The study is the recorded one, scripts and all; order and random data are drawn again, so that what they did to the
original is not repeated. `--with RUN` compares a run that was made already.
"""

import argparse
import sys
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay import scratch
from pgassay.cli._runs import open_run
from pgassay.cli.parser import FOUND, add_options, timed
from pgassay.cli.printing import SUCCESS
from pgassay.cli.run import add_bench_options, run_document, run_path, study_defaults
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.interfaces.places import UserFiles
    from pgassay.record.reading import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    parser.set_defaults(**study_defaults())
    add("source", metavar="FILE|RUN", type=Path, help="a capsule, or a run directory")
    add("--with", dest="made", metavar="RUN", type=Path, help="compare this run, made already; run nothing")
    add(
        "--file",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="use this file in the place of one that the capsule lacks: load.init=dump.sql",
    )
    add("--strict", action="store_true", help="exit 1 if a contrast or a claim differs")
    add("--blocks", metavar="MIN..MAX", help="other repetitions than the original's")
    add("--budget", type=timed, metavar="TIME", help="another budget than the original's")
    add_options(parser, "--seed", "--live")
    add_bench_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from pgassay.record.capsule import unpack

    with ExitStack() as stack:
        path, name = arguments.source, arguments.source.absolute().name
        folder = stack.enter_context(scratch.folder("capsule"))
        places = None
        if path.is_file():
            unpacked = unpack(path, folder / "capsule")
            path, name, places = unpacked.run, unpacked.manifest.run, unpacked.places
        original = open_run(path)
        made: Path | None = arguments.made
        if made is None:
            from pgassay.lab.named_files import repeatable
            from pgassay.record.calibrations import STUDY
            from pgassay.record.formats import IMPORTED

            if original.header.study == STUDY or IMPORTED in original.host:
                raise UsageError(
                    f'"{original.path}" cannot be run again: pgassay did not measure a study there',
                    "a calibration is repeated by pgassay calibrate, other tools' results by those tools",
                )
            document = repeatable(original)
            document["design"] = {key: value for key, value in document.get("design", {}).items() if key != "seed"}
            files = _files(original, document, places, folder, arguments)
            made = run_path(arguments, original.header.study)
            status = _again(original.header.study, document, files, arguments, made)
            if status != SUCCESS or arguments.dry_run:
                return status
        return _compare(original, name, open_run(made), arguments)


def _files(
    original: "Run",
    document: dict[str, Any],
    places: Mapping[Path, Path] | None,
    folder: Path,
    arguments: argparse.Namespace,
) -> "UserFiles":
    """Where the files of the study are here: those of a capsule (`places`), else where they were, or the copies that
    trials kept; raises `UsageError` for what is not here.

    A capsule may come from anybody: what it lacks is not looked for on this machine, unless the user says where.
    """
    from pgassay.interfaces.places import UserFiles
    from pgassay.lab.named_files import bounds_of, files_of

    found, given = dict(places or {}), dict(_given(text) for text in arguments.file)
    kept = {} if places is not None else {each.path: each.sources[0] for each in files_of(original)}
    bounds = bounds_of(original.header.study, document)
    named = [(each.name, path) for each in bounds for path in each.paths]
    used = set()
    for number, (factor, path) in enumerate(named, start=1):
        name = next((each for each in (str(path), factor) if each in given), None)
        if name is not None:
            used.add(name)
            found[path] = given[name]
        elif places is None and not path.exists() and path in kept and kept[path].is_file():
            found[path] = folder / "kept" / str(number) / path.name
            found[path].parent.mkdir(parents=True)
            found[path].write_bytes(kept[path].read_bytes())
        elif places is not None and path not in found:
            raise UsageError(
                f"the capsule does not have {path}, which {factor} names",
                f"name your copy of it: --file {factor}=PATH",
            )
    if unknown := given.keys() - used:
        raise UsageError(f"--file {min(unknown)}: the study names no such file")
    return UserFiles(found)


def _given(text: str) -> tuple[str, Path]:
    """`NAME=PATH` of --file; raises `UsageError`."""
    name, equals, path = text.rpartition("=")
    here = Path(path).expanduser().absolute()
    if not equals or not here.exists():
        raise UsageError(
            f'--file "{text}" names no file' if equals else f'--file "{text}" lacks "="',
            "write the factor, or the path in the study, and your copy of the file: --file load.init=dump.sql",
        )
    return name, here


def _again(study: str, document: dict[str, Any], files: "UserFiles", arguments: argparse.Namespace, path: Path) -> int:
    asked = argparse.Namespace(
        **{**vars(arguments), "out": path, "origin": arguments.source, "packed": arguments.source.is_file()}
    )
    if not arguments.json or arguments.dry_run:
        return run_document(study, document, asked, files=files)
    with redirect_stdout(sys.stderr):  # one document on standard output: the comparison
        asked.json, asked.quiet = False, True
        return run_document(study, document, asked, files=files)


def _compare(original: "Run", name: str, rerun: "Run", arguments: argparse.Namespace) -> int:
    from pgassay.analysis.replication import Outcome
    from pgassay.report import environments
    from pgassay.report.findings import Findings, garbage_collection_paused
    from pgassay.report.json_values import to_json

    with garbage_collection_paused():
        found = environments.repetition(Findings(original), Findings(rerun), name)
    print(
        to_json(environments.repetition_values(found)) + "\n"
        if arguments.json
        else environments.repetition_text(found),
        end="",
    )
    return FOUND if arguments.strict and found.count(Outcome.DIFFER) else SUCCESS
