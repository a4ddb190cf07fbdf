"""`pgassay advise`: search a configuration for a load and prove it: which lines help, by how much, what does nothing.

pgbench's short options mean what they mean there. `--resume` walks the way again over what was measured, and goes on.
"""

import argparse
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli import _trust
from pgassay.cli._runs import add_form_options
from pgassay.cli.ask import tried
from pgassay.cli.compare import PGBENCH, add_load_options, load_of
from pgassay.cli.parser import add_options, excluded, timed, whole
from pgassay.cli.postgres import add_build_options
from pgassay.cli.printing import INTERRUPTED, SUCCESS, warn
from pgassay.cli.run import add_owned_option, bench_options, run_path, silent
from pgassay.errors import UsageError
from pgassay.study.document import set_needs_value

if TYPE_CHECKING:
    from pgassay.advise.asking import Request
    from pgassay.advise.folder import SavedTask
    from pgassay.advise.laboratory import RealLaboratory
    from pgassay.advise.task import Notify
    from pgassay.advise.walk import Advice
    from pgassay.lab.runner import Watcher
    from pgassay.lab.workbench import Workbench
    from pgassay.study.model import Study

NAME = "advise"
QUICK = {"scale": "20", "duration": "3s", "warmup": "1s"}
"""The load of the quick form, where no option says otherwise."""
QUICK_BUDGET, BUDGET = "20min", "2h"
LOAD = "load."
HELD = (LOAD, "drive.", "host.", "init.", "build.")
"""How the names of factors begin that `--set` holds in every trial, apart from the settings that one starts with."""
QUICK_MARGIN, MARGIN = "10%", "5%"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("capture", nargs="?", type=Path, metavar="CAPTURE", help="the load, data and settings of a server, by capture")
    add_load_options(parser)
    add(
        "--for",
        dest="objective",
        default="tps",
        metavar="RESPONSES",
        help="what is to become better (default: tps); two or three give points to choose from",
    )
    add("--keep", action="append", default=[], metavar="COND", help='must hold: "latency_p99_ms < 10 ms"')
    add("--budget", type=timed, metavar="TIME", help=f"for all of it (default: {BUDGET}; quick: {QUICK_BUDGET})")
    add("--quick", action="store_true", help="short trials, the settings that act in seconds: 20 minutes")
    add("--from", dest="start", type=Path, metavar="FILE", help="start from this postgresql.conf")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="start with this setting; a factor such as drive.data is held in every trial",
    )
    add("--space", type=Path, metavar="FILE", help="the settings to try, with their levels (TOML)")
    add("--only", default="", metavar="NAMES", help="try only these settings")
    add("--allow", default="", metavar="NAMES", help="try these although they trade durability")
    add("--margin", metavar="SHARE", help="within it a setting does not matter (default: 5%%; quick: 10%%)")
    add("--resolution", metavar="SHARE", default="2%", help="the smallest effect of interest (default: 2%%)")
    add("--seed", type=whole(0), metavar="N", help="seed of the search and the trials (default: random)")
    add("--resume", type=Path, metavar="RUN", help="continue a search that was interrupted, or show its result")
    add_options(parser, "--pg-bindir", "--data-dir")
    add_owned_option(parser)
    add("--out", type=Path, metavar="RUN", help="the folder to make (default: runs/advise-UTC)")
    add_options(parser, "--allow-busy", "--allow-volatile")
    add("-n", "--dry-run", action="store_true", help="say what would be tried; create and run nothing")
    parser.set_defaults(discard_snapshots=False, snapshots_in=None)
    add_build_options(parser)
    add_options(parser, "--trust")
    add_form_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from pgassay.advise import folder
    from pgassay.plugins import install_command

    if find_spec("optuna") is None:
        raise UsageError("pgassay advise needs Optuna, which is not installed", install_command("advise"))
    if not arguments.resume:
        return _begin(arguments)
    return _walk(arguments, arguments.resume.absolute(), folder.read(arguments.resume))


def _begin(arguments: argparse.Namespace) -> int:
    from pgassay.advise import asking, folder, laboratory
    from pgassay.advise.report import plan
    from pgassay.lab.workbench import Workbench

    path = run_path(arguments, NAME)
    options = bench_options(arguments)
    with Workbench(options) as bench:
        request, remarks = _request(arguments, bench)
        if arguments.dry_run:
            task = replace(asking.task_of(request, bench), remarks=remarks)
            print(plan(task, request.question.objectives), end="")
            return SUCCESS
        task = asking.task_of(request, bench, latest=0)
        asking.require_start(request.question, task.space, bench)
    spent_s = laboratory.play_once(task, request.question, options, partial(_watching, arguments))
    with Workbench(options) as bench:
        task = replace(asking.task_of(request, bench, latest=1, spent_s=spent_s), remarks=remarks)
    if not silent(arguments):
        print(plan(task, request.question.objectives), end="", file=sys.stderr)
    kept = folder.SavedTask(
        task,
        request.question,
        str(options.bindir.absolute()) if options.bindir else None,
        str(options.data_directory.absolute()) if options.data_directory else None,
    )
    folder.begin(path, kept)
    return _walk(arguments, path, kept)


def _request(arguments: argparse.Namespace, bench: "Workbench") -> "tuple[Request, tuple[str, ...]]":
    from pgassay.advise.asking import Request, objectives_of, read_configuration, read_space
    from pgassay.advise.task import Question
    from pgassay.study import units

    quick = arguments.quick
    own: dict[str, str] = {}
    left_out: tuple[str, ...] = ()
    if arguments.start:
        own, left_out = read_configuration(arguments.start, bench.installation().check_settings)
    held: dict[str, str] = {}
    for text in arguments.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise set_needs_value(text, "--set")
        if name.strip().startswith(HELD):
            held[name.strip()] = value.strip()
        else:
            own[name.strip().removeprefix("server.").lower()] = value.strip()
    objective, *others = objectives_of(arguments.objective)
    load: Mapping[str, Any] = {}
    start: Mapping[str, str] = {}
    remarks: Sequence[str] = ()
    if arguments.capture is None:
        load = load_of(arguments, QUICK if quick else {})
    else:
        usual = {name: value for name, value in QUICK.items() if name != "scale"} if quick else {}
        load, start, remarks = _captured(arguments.capture, arguments, usual, bench)
    question = Question(
        {**load, **{name[len(LOAD) :]: value for name, value in held.items() if name.startswith(LOAD)}},
        objective,
        tuple(arguments.keep),
        units.share("--resolution", arguments.resolution),
        tuple(others),
        {name: value for name, value in held.items() if not name.startswith(LOAD)},
    )
    only, allow = (
        tuple(each.strip().removeprefix("server.") for each in text.split(",") if each.strip())
        for text in (arguments.only, arguments.allow)
    )
    request = Request(
        question,
        {**start, **own},
        read_space(arguments.space) if arguments.space else {},
        only,
        allow,
        quick,
        units.seconds("--budget", arguments.budget or (QUICK_BUDGET if quick else BUDGET)),
        units.share("--margin", arguments.margin or (QUICK_MARGIN if quick else MARGIN)),
        arguments.seed if arguments.seed is not None else secrets.randbelow(2**31),
        tuple(own),
    )
    return request, (*left_out, *remarks)


def _watching(arguments: argparse.Namespace, study: "Study") -> "AbstractContextManager[Watcher]":
    from pgassay.cli.progress import watcher_for

    return watcher_for(study, sys.stderr, quiet=silent(arguments))


def _walk(arguments: argparse.Namespace, path: Path, kept: "SavedTask") -> int:
    from pgassay.advise import report
    from pgassay.advise.laboratory import RealLaboratory
    from pgassay.advise.proof import references
    from pgassay.report.json_values import to_json

    def notify(said: str) -> None:
        if not silent(arguments):
            print(f"pgassay: {said}", file=sys.stderr, flush=True)

    task = kept.task
    command = ("pgassay", *sys.argv[1:])
    options = kept.options(bench_options(arguments))
    named = {each: name for name, each in reversed(references(task).items())}
    laboratory = RealLaboratory(
        path, kept.question, task.space, options, partial(_watching, arguments), command, notify, named,
        budget_s=task.budget_s,
    )  # fmt: skip
    try:
        advice, values = _finished(kept, laboratory, notify, path)
    except KeyboardInterrupt:
        print(f"pgassay: interrupted; continue with: pgassay advise --resume {path}", file=sys.stderr)
        return INTERRUPTED
    objectives = kept.question.objectives
    if arguments.json:
        print(to_json(values))
    elif arguments.quiet:
        print(report.headline(advice, objectives))
    else:
        print(report.render(task, advice, objectives, str(path)), end="")
    return SUCCESS


def _finished(
    kept: "SavedTask", laboratory: "RealLaboratory", notify: "Notify", path: Path
) -> "tuple[Advice, dict[str, Any]]":
    """The advice at the end of its way, and what it says for scripts: its page and files are written."""
    from pgassay.advise import folder, report
    from pgassay.advise.walk import walk
    from pgassay.report.json_values import to_json

    task, objectives = kept.task, kept.question.objectives
    advice = walk(task, laboratory, notify)
    advice = replace(advice, refused=(*advice.refused, *laboratory.refused()))
    if advice.proof or advice.points:
        laboratory.report(advice.study, report.sections(task, advice, objectives))
    for file, lines in report.auto_confs(task, advice, objectives).items():
        (path / file).write_text(lines, encoding="utf-8")
    values = report.values(task, advice, objectives, str(path))
    (path / folder.RESULT_FILE).write_text(to_json(values) + "\n", encoding="utf-8")
    return advice, values


_VARIED = {"server.jit": ("on", "off")}
"""A study varies something; what an advice varies is found later, and no statement's answer hangs on either."""
_OWN = ("scale", "script", "variables")
"""Options of a load that a capture has of its own."""


def _captured(
    path: Path, arguments: argparse.Namespace, usual: Mapping[str, str], bench: "Workbench"
) -> tuple[Mapping[str, Any], Mapping[str, str], Sequence[str]]:
    """A capture's load and its server's settings, and what is to be said with every answer.

    Its scripts are written, and tried once on its data, as `pgassay ask` does, so that what cannot be played is known
    beforehand, and how like the source's load it is. Options of the load on the command line go first, then `usual`,
    then what is usual for a capture. Raises `UsageError` and `CaptureError`.
    """
    from pgassay.capture import asking, files, likeness, texts
    from pgassay.capture.question import Question
    from pgassay.lab.run import write_study

    given = {option: getattr(arguments, f"load_{option}") for _, _, option in PGBENCH}
    refused = [short for short, _, option in PGBENCH if given[option] is not None and option in _OWN]
    refused += ["--init"] if arguments.load_init is not None else []
    refused += ["-S" if arguments.select_only else "-N"] if arguments.select_only or arguments.skip_some_updates else []
    if refused:
        raise excluded(refused[0], "a capture")
    capture = files.read(path)
    _trust.require(path, _trust.of_capture(path, capture.source.settings), arguments)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    question = Question(_VARIED)
    written = asking.write(path, capture, question, [bench.installation()], bench.runner, stamp)
    remarks = list(written.warnings.values())
    if not silent(arguments):
        print(texts.played(written.load), end="")
    if not arguments.dry_run:
        found = tried(write_study("advise", written.document()).study, written, bench)
        written = found.written
        if found.load is not None and capture.load is not None:
            alike = likeness.compare(capture.load, found.load)
            print("" if silent(arguments) else texts.likeness(alike), end="")
            remarks += [texts.unlike(alike)] if alike.unlike else []
        remarks += [texts.fail_with(found.failures.values())] if found.failures else []
    for each in remarks:
        warn(each)
    document = written.document()
    load = {**document["load"], **usual, **{name: value for name, value in given.items() if value is not None}}
    if "transactions" in usual or given["transactions"] is not None:
        load.pop("duration", None)
    fixed: Mapping[str, str] = document["fixed"]
    start = {name.removeprefix("server."): value for name, value in fixed.items() if name.startswith("server.")}
    return load, start, remarks
