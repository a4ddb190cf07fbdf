"""`pgassay advise`: search a configuration for a load and prove it: which lines help, by how much, what does nothing.

pgbench's short options mean what they mean there. `--resume` walks the way again over what was measured, and goes on.
"""

import argparse
import secrets
import sys
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli import _trust
from pgassay.cli._runs import add_form_options
from pgassay.cli.compare import add_load_options, load_of
from pgassay.cli.parser import timed, whole
from pgassay.cli.postgres import add_build_options
from pgassay.cli.printing import INTERRUPTED, SUCCESS
from pgassay.cli.run import add_owned_option, bench_options, run_path, silent
from pgassay.study.document import set_needs_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgassay.advise.asking import Request
    from pgassay.advise.folder import SavedTask
    from pgassay.advise.laboratory import RealLaboratory
    from pgassay.advise.task import Tell
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
    """Declare the command's options on `parser`."""
    parser.add_argument(
        "capture", nargs="?", type=Path, metavar="CAPTURE", help="the load, data and settings of a server, by capture"
    )
    add_load_options(parser)
    parser.add_argument(
        "--for",
        dest="objective",
        default="tps",
        metavar="RESPONSES",
        help="what is to become better (default: tps); two or three give points to choose from",
    )
    parser.add_argument(
        "--keep", action="append", default=[], metavar="COND", help='must hold: "latency_p99_ms < 10 ms"'
    )
    parser.add_argument(
        "--budget", type=timed, metavar="TIME", help=f"for all of it (default: {BUDGET}; quick: {QUICK_BUDGET})"
    )
    parser.add_argument(
        "--quick", action="store_true", help="short trials, the settings that act in seconds: 20 minutes"
    )
    parser.add_argument("--from", dest="start", type=Path, metavar="FILE", help="start from this postgresql.conf")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="start with this setting; a factor such as drive.data is held in every trial",
    )
    parser.add_argument("--space", type=Path, metavar="FILE", help="the settings to try, with their levels (TOML)")
    parser.add_argument("--only", default="", metavar="NAMES", help="try only these settings")
    parser.add_argument("--allow", default="", metavar="NAMES", help="try these although they trade durability")
    parser.add_argument(
        "--margin", metavar="SHARE", help="within it a setting does not matter (default: 5%%; quick: 10%%)"
    )
    parser.add_argument(
        "--robust",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="try the advice at half and double the load and at twice the data (default: where the budget holds it; "
        "quick: not)",
    )
    parser.add_argument(
        "--resolution", metavar="SHARE", default="2%", help="the smallest effect of interest (default: 2%%)"
    )
    parser.add_argument(
        "--seed", type=whole(0), metavar="N", help="seed of the search and the trials (default: random)"
    )
    parser.add_argument(
        "--resume", type=Path, metavar="RUN", help="go on with an advice that was cut short, or show it"
    )
    parser.add_argument(
        "--explain", metavar="NAME", help="say what is known of a setting; with --resume what was found"
    )
    parser.add_argument(
        "--pg-bindir", type=Path, metavar="DIR", help="the PostgreSQL to use (default: the first found)"
    )
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where the clusters live")
    add_owned_option(parser)
    parser.add_argument("--out", type=Path, metavar="RUN", help="the folder to make (default: runs/advise-UTC)")
    parser.add_argument("--allow-busy", action="store_true", help="run although other programs are busy")
    parser.add_argument("--allow-volatile", action="store_true", help="allow clusters on tmpfs or overlay")
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would be tried; create and run nothing")
    parser.set_defaults(discard_snapshots=False, snapshots_in=None)
    add_build_options(parser)
    _trust.add_trust_option(parser)
    add_form_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search and prove, go on with it, or explain a setting; returns the exit status. Raises `PgassayError`."""
    from pgassay.advise.search import require_optimiser

    if arguments.explain and not arguments.resume:
        return _explain(arguments)
    require_optimiser()
    if arguments.resume:
        from pgassay.advise import folder
        from pgassay.advise.explain import require_known

        kept = folder.read(arguments.resume)
        if arguments.explain:
            require_known(arguments.explain, kept.task)
        return _walk(arguments, arguments.resume.absolute(), kept)
    return _begin(arguments)


def _explain(arguments: argparse.Namespace) -> int:
    from pgassay.advise.explain import explain, known_values, require_known
    from pgassay.report.json_values import to_json

    name = arguments.explain
    require_known(name, None)
    print(to_json(known_values(name)) + "\n" if arguments.json else explain(name, None, None), end="")
    return SUCCESS


def _begin(arguments: argparse.Namespace) -> int:
    from pgassay.advise import asking, folder, laboratory
    from pgassay.advise.text import plan
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
    """What is asked for, and what of a configuration or a capture is left out."""
    from pgassay.advise.asking import Request, objectives_of, read_configuration, read_space
    from pgassay.advise.task import Question
    from pgassay.study import quantities

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
    load, start, remarks = _load(arguments, bench)
    question = Question(
        {**load, **{name[len(LOAD) :]: value for name, value in held.items() if name.startswith(LOAD)}},
        objective,
        tuple(arguments.keep),
        quantities.share("--resolution", arguments.resolution),
        tuple(others),
        {name: value for name, value in held.items() if not name.startswith(LOAD)},
    )
    request = Request(
        question,
        {**start, **own},
        read_space(arguments.space) if arguments.space else {},
        _names(arguments.only),
        _names(arguments.allow),
        quick,
        quantities.seconds("--budget", arguments.budget or (QUICK_BUDGET if quick else BUDGET)),
        quantities.share("--margin", arguments.margin or (QUICK_MARGIN if quick else MARGIN)),
        arguments.seed if arguments.seed is not None else secrets.randbelow(2**31),
        tuple(own),
        arguments.robust,
    )
    return request, (*left_out, *remarks)


def _load(
    arguments: argparse.Namespace, bench: "Workbench"
) -> "tuple[Mapping[str, Any], Mapping[str, str], tuple[str, ...]]":
    """The load, the settings that come with it, and what is to be said of it."""
    if arguments.capture is None:
        return load_of(arguments, QUICK if arguments.quick else {}), {}, ()
    from pgassay.cli._captured import captured

    usual = {name: value for name, value in QUICK.items() if name != "scale"} if arguments.quick else {}
    found = captured(arguments.capture, arguments, usual, bench)
    return found.load, found.start, found.remarks


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip().removeprefix("server.") for each in text.split(",") if each.strip())


def _watching(arguments: argparse.Namespace, study: "Study") -> "AbstractContextManager[Watcher]":
    from pgassay.cli.progress import watcher_for

    return watcher_for(study, sys.stderr, quiet=silent(arguments))


def _walk(arguments: argparse.Namespace, path: Path, kept: "SavedTask") -> int:
    from pgassay.advise import explain, text
    from pgassay.advise.laboratory import RealLaboratory
    from pgassay.advise.proof import references
    from pgassay.report.json_values import to_json

    def tell(said: str) -> None:
        if not silent(arguments):
            print(f"pgassay: {said}", file=sys.stderr, flush=True)

    task = kept.task
    command = ("pgassay", *sys.argv[1:])
    options = kept.options(bench_options(arguments))
    named = {each: name for name, each in reversed(references(task).items())}
    laboratory = RealLaboratory(
        path, kept.question, task.space, options, partial(_watching, arguments), command, tell, named,
        budget_s=task.budget_s,
    )  # fmt: skip
    try:
        advice, values = _finished(kept, laboratory, tell, path)
    except KeyboardInterrupt:
        print(f"pgassay: interrupted; continue with: pgassay advise --resume {path}", file=sys.stderr)
        return INTERRUPTED
    objectives, name = kept.question.objectives, arguments.explain
    if name and arguments.json:
        print(to_json(explain.values(name, task, advice, objectives)))
    elif name:
        print(explain.explain(name, task, advice, objectives), end="")
    elif arguments.json:
        print(to_json(values))
    elif arguments.quiet:
        print(text.headline(advice, objectives))
    else:
        print(text.render(task, advice, objectives, str(path)), end="")
    return SUCCESS


def _finished(
    kept: "SavedTask", laboratory: "RealLaboratory", tell: "Tell", path: Path
) -> "tuple[Advice, dict[str, Any]]":
    """The advice at the end of its way, and what it says for scripts: its page and files are written."""
    from pgassay.advise import explain, folder, page, text
    from pgassay.advise.walk import walk
    from pgassay.report.json_values import to_json

    task, objectives = kept.task, kept.question.objectives
    advice = walk(task, laboratory, tell)
    advice = replace(advice, refused=(*advice.refused, *laboratory.refused()))
    if advice.proof or advice.points:
        laboratory.report(advice.study, page.sections(task, advice, objectives))
    for file, lines in text.auto_confs(task, advice, objectives).items():
        (path / file).write_text(lines, encoding="utf-8")
    values = text.values(task, advice, objectives, str(path))
    if task.others:
        names = [each.name for each in task.space.dimensions]
        values["by_setting"] = {each: explain.values(each, task, advice, objectives) for each in names}
    (path / folder.RESULT_FILE).write_text(to_json(values) + "\n", encoding="utf-8")
    return advice, values
