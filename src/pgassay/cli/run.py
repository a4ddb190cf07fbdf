"""`pgassay run`: a study file, or a built-in study, on this machine."""

import argparse
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli import _trust, fleet
from pgassay.cli._runs import NOT_HELD, add_form_options, require_thresholds, show_result, threshold_status
from pgassay.cli.parser import FOUND, add_options, excluded, timed
from pgassay.cli.postgres import add_build_options, building_of
from pgassay.cli.printing import INTERRUPTED, SUCCESS, warn
from pgassay.cli.serve import live_pages, require_live
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.interfaces.places import UserFiles
    from pgassay.lab.arms import ResolvedStudy
    from pgassay.lab.run import Remark
    from pgassay.lab.workbench import BenchOptions
    from pgassay.record.directory import RunDirectory
    from pgassay.study.document import Overrides


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="a built-in study's name, or a study file")
    add_size_options(parser)
    scale = parser.add_argument_group("scale model").add_mutually_exclusive_group()
    scale.add_argument("--scale", metavar="1/N", help="run a scale model: every size N times smaller")
    scale.add_argument("--scale-to", metavar="SIZE", help="run the scale model whose largest data take this: 4GB")
    add_study_options(parser)
    add_bench_options(parser, server=True)
    fleet.add_fleet_options(parser.add_argument_group("blocks on other machines"))
    fleet.add_client_options(parser.add_argument_group("load's program on another machine"))


def add_size_options(parser: argparse.ArgumentParser) -> None:
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="the study's quick size: a few minutes")
    size.add_argument("--as-published", action="store_true", help="the authors' levels, lengths and repetitions")


def add_study_options(parser: argparse.ArgumentParser) -> None:
    """How the study is changed; its size is not, unless it has several (`add_size_options`).

    What most runs give comes first; the rest is under headings of its own.
    """
    add = parser.add_argument
    parser.set_defaults(quick=False, as_published=False, scale=None, scale_to=None)
    add_options(parser, "--set")
    add("--levels", action="append", default=[], metavar="NAME=A,B", help="vary these levels")
    add("--blocks", metavar="MIN..MAX", help="repetitions: minimum and maximum, or the maximum")
    add("--budget", type=timed, metavar="TIME", help="end when the next block would not fit: 20min, 2h")
    add_options(parser, "--live")
    verdicts = parser.add_argument_group("verdicts")
    add_options(verdicts, "--count")
    verdicts.add_argument(
        "--count-also",
        action="append_const",
        dest="set",
        const="load.count=also",
        default=[],
        help="count them along with timing it, in trials of their own, on top of --budget",
    )
    verdicts.add_argument("--primary", metavar="RESPONSE", help="the response that verdicts are about")
    verdicts.add_argument("--resolution", metavar="SHARE", help="the smallest effect of interest: 2%%")
    verdicts.add_argument(
        "--precision", metavar="SHARE", help="go on after a verdict until the interval is as narrow as this: 4%%"
    )
    verdicts.add_argument(
        "--risk-below",
        metavar="SHARE",
        help="cut power until a cut did damage, or until damage is rarer than this with 95 %% certainty: 0.1%%",
    )
    add_options(verdicts, "--weigh", "--check")
    order = parser.add_argument_group("order of trials")
    add_options(order, "--seed")
    order.add_argument(
        "--pairing",
        choices=("auto", "alternate", "sequential"),
        help="servers of a block at once and in turns, or one after the other (default: auto, in turns where valid)",
    )
    order.add_argument(
        "--slice",
        metavar="TIME",
        help="how long a server's turn lasts: 200ms to 10s, or auto: as calibrated here (default: 250ms, longer for"
        " slow transactions)",
    )
    order.add_argument(
        "--placement",
        choices=("auto", "paired", "free"),
        help="in turns: each thread of the load on one CPU with its clients' backends, where that comes out even, or"
        " all where the scheduler puts them (default: auto, paired where no treatment writes)",
    )


def add_bench_options(parser: argparse.ArgumentParser, *, server: bool = False) -> None:
    """Where and on what it runs; with `server` also a staging server of the user's."""
    add_options(parser, "--data-dir")
    parser.add_argument("--out", type=Path, metavar="RUN", help="the run directory to make (default: runs/STUDY-UTC)")
    parser.add_argument("-n", "--dry-run", action="store_true", help="check and print the plan; create and run nothing")
    add_form_options(parser.add_argument_group("what is printed"))
    machine = parser.add_argument_group("server and machine")
    add_options(machine, "--pg-bindir")
    add_build_options(machine)
    if server:
        machine.add_argument(
            "--server",
            action="append",
            default=[],
            metavar="DSN",
            help="run on this staging server, which nobody else uses, instead of clusters of its own (with --i-own);"
            " compare takes two and more: --server A=DSN --server B=DSN",
        )
        machine.add_argument(
            "--companion",
            action="append",
            default=[],
            metavar="WHO",
            help="who may stay on the server of --server, and is measured: role=NAME, application_name=NAME, standby",
        )
        machine.add_argument(
            "--slot-limit",
            default="8GB",
            metavar="SIZE",
            help="end when a replication slot of the server of --server holds back more WAL than this (default: 8GB)",
        )
        machine.add_argument(
            "--restart-command",
            metavar="WORDS",
            help="restart the server of --server by this program before each trial, so that settings that take one can"
            ' be varied: "sudo systemctl restart postgresql@16-main"',
        )
        machine.add_argument(
            "--restart-limit",
            type=timed,
            metavar="TIME",
            help="end the command, and the run, when a restart takes longer (default: 2min)",
        )
        machine.add_argument(
            "--manifest",
            action="store_true",
            help="print a Kubernetes Job that does the same near the server of --server, and run nothing",
        )
    add_owned_option(machine)
    add_options(machine, "--trust", "--allow-busy", "--allow-volatile")
    machine.add_argument(
        "--without-host-factors", action="store_true", help="leave out host.* factors that this machine cannot have"
    )
    machine.add_argument(
        "--plain-defaults",
        action="store_true",
        help="while the page size varies, do not pin settings counted in blocks",
    )
    machine.add_argument(
        "--snapshots-in", type=Path, metavar="DIR", help="keep prepared data here instead of on the measured drive"
    )
    machine.add_argument("--discard-snapshots", action="store_true", help="keep no prepared data for later runs")


def study_defaults() -> dict[str, Any]:
    """What `add_study_options` gives where none was given: for commands that change no study."""
    parser = argparse.ArgumentParser(add_help=False)
    add_study_options(parser)
    return vars(parser.parse_args([]))


def add_owned_option(parser: argparse._ActionsContainer) -> None:
    """Which devices are the user's own, and whether the server of --server is."""
    parser.set_defaults(
        server=[], companion=[], slot_limit="8GB", restart_command=None, restart_limit=None, manifest=False
    )
    parser.add_argument(
        "--i-own",
        action="append",
        nargs="?",
        const="",
        default=[],
        metavar="/dev/NAME",
        help="allow pgassay to overwrite this device; without a device: to change the server of --server",
    )


def run(arguments: argparse.Namespace) -> int:
    return run_document(*read_study(arguments), arguments)


def read_study(arguments: argparse.Namespace) -> tuple[str, dict[str, object]]:
    """Name and document of the study that is named; `STUDY-quick` asks for its quick size.

    Raises `UsageError` where that contradicts --as-published.
    """
    from pgassay.study import builtin, document

    named, size = builtin.sized(arguments.study)
    if size:
        if arguments.as_published:
            raise excluded(arguments.study, "--as-published")
        arguments.quick = True
    name, text = builtin.find(named)
    if Path(named).is_file() and named not in builtin.names():
        arguments.origin = Path(named)
    return name, document.read(name, text)


def run_document(
    name: str,
    document: dict[str, object],
    arguments: argparse.Namespace,
    remarks: "Sequence[Remark]" = (),
    more_files: Mapping[str, bytes] | None = None,
    files: "UserFiles | None" = None,
) -> int:
    """Run a study document under the command line's overrides; `remarks` go into its record with those of the lab.

    `more_files` are files of the record, by name, that say more about the study; `files` says where those are that the
    study names by their paths elsewhere.
    """
    from pgassay.cli.plan import print_plan
    from pgassay.lab.arms import resolve
    from pgassay.lab.attached import bench_of
    from pgassay.lab.host_stage import host_factors_left_out
    from pgassay.lab.plan import plan
    from pgassay.lab.run import begin, prepare, recorded_study, write_study

    without = arguments.without_host_factors
    written = write_study(name, document, overrides(arguments), without_host_factors=without)
    on_fleet = fleet.over_fleet(arguments)
    if arguments.server and on_fleet:
        raise excluded("--server", "--on")
    if on_fleet:
        written = fleet.widened(written, arguments.hosts)
    require_thresholds(arguments, written.study.decide)
    require_live(arguments)
    _trust.require_study(arguments, written.study, files)
    path = run_path(arguments, written.study.name)
    if arguments.manifest:
        from pgassay.cli._manifest import manifest

        print(manifest(written.study, servers_of(arguments.server), arguments, sys.argv[1:]))
        return SUCCESS
    options = bench_options(arguments)
    options = options if files is None else replace(options, files=files)
    with fleet.clients_of(arguments) as clients, bench_of(replace(options, clients=clients)) as bench:
        resolved = resolve(written.study, bench.environment())
        prepared = prepare(resolved, bench)
        prepared = replace(prepared, remarks=(*prepared.remarks, *remarks))
        for text in filter(None, (remark.warning for remark in prepared.remarks)):
            warn(text)
        if written.left_out:
            warn(host_factors_left_out(written.left_out))
        if arguments.dry_run or not silent(arguments):
            planned = plan(prepared, written.seed)
            print_plan(planned, as_json=arguments.json, stream=sys.stdout if arguments.dry_run else sys.stderr)
            if arguments.dry_run:
                return FOUND if planned.missing else SUCCESS
        if written.study.design.reboots:
            warn("its authors rebooted after each block, and this run does not")
        with ExitStack() as stack:
            hosts, recorded = None, None
            if on_fleet:
                text = recorded_study(prepared.resolved.study, written.document)
                hosts = stack.enter_context(fleet.fleet_of(arguments, prepared.resolved, text))
                prepared = replace(prepared, remarks=(*prepared.remarks, *hosts.remarks))
                recorded = {"fleet": dict(hosts.facts), **hosts.files}
            directory = begin(
                prepared, written, path, ("pgassay", *sys.argv[1:]), fleet=recorded, more_files=more_files
            )
            stack.enter_context(live_pages(path, arguments))
            status = conduct(prepared.resolved, directory, quiet=silent(arguments), hosts=hosts)
    return finish(status, path, arguments)


def silent(arguments: argparse.Namespace) -> bool:
    """Is nothing printed before the end? So it is for scripts."""
    return bool(arguments.json or arguments.quiet)


def conduct(
    resolved: "ResolvedStudy",
    run: "RunDirectory",
    *,
    quiet: bool,
    hosts: "fleet.Fleet | None" = None,
) -> int:
    """Conduct to the end, with progress on a terminal; the exit status."""
    from pgassay.cli.progress import watcher_for
    from pgassay.lab.run import conduct as to_the_end

    with watcher_for(resolved.study, sys.stderr, quiet=quiet) as watcher:
        try:
            if hosts is None:
                to_the_end(resolved, run, watcher)
            else:
                from pgassay.fleet.blocks import conduct as over_hosts

                over_hosts(resolved, run, watcher, hosts.executor)
        except KeyboardInterrupt:
            here = run.path.relative_to(Path.cwd()) if run.path.is_relative_to(Path.cwd()) else run.path
            print("pgassay: interrupted; every committed trial is kept; continue with:", file=sys.stderr)
            print(shlex.join(["pgassay", "resume", str(here)]), file=sys.stderr)  # alone, to be copied whole
            return INTERRUPTED
    return SUCCESS


def finish(status: int, path: Path, arguments: argparse.Namespace) -> int:
    """Show the result of a run that has ended; returns the exit status.

    It is 1 where nothing could be measured, and with `--check` where a threshold was not shown to hold.
    """
    if status == SUCCESS:
        findings = show_result(path, arguments)
        return NOT_HELD if findings.unmeasured else threshold_status(findings, check=arguments.check)
    return status


def overrides(arguments: argparse.Namespace) -> "Overrides":
    from pgassay.study.document import Overrides

    given = {**vars(arguments), "defaults": "plain" if arguments.plain_defaults else None}
    design = {
        key: given[key]
        for key in (
            "blocks", "budget", "resolution", "precision", "risk_below", "seed", "defaults", "pairing", "slice",
            "placement",
        )
        if given[key] is not None
    }  # fmt: skip
    client = getattr(arguments, "client", None)
    return Overrides(
        "quick" if arguments.quick else "as-published" if arguments.as_published else "",
        [*arguments.set, *([f"load.host={client}"] if client else [])],
        arguments.levels,
        design,
        arguments.primary,
        arguments.weigh,
        arguments.scale,
        arguments.scale_to,
        arguments.count,
    )


def bench_options(arguments: argparse.Namespace) -> "BenchOptions":
    from pgassay.lab.workbench import BenchOptions
    from pgassay.postgres.attached.restarts import LIMIT_S, RestartCommand
    from pgassay.study.units import parse_memory, parse_time_s

    about = {
        "--companion": arguments.companion,
        "--slot-limit": arguments.slot_limit != "8GB",
        "--restart-command": arguments.restart_command is not None,
        "--restart-limit": arguments.restart_limit,
    }
    if not arguments.server and (given := [name for name, value in about.items() if value]):
        raise UsageError(f"{given[0]} needs --server", "name a server, or leave the option out")
    if arguments.restart_limit and arguments.restart_command is None:
        raise UsageError("--restart-limit needs --restart-command", "name a command, or leave the option out")
    servers = servers_of(arguments.server)
    if len(servers) > 1 and arguments.restart_command is not None:
        raise UsageError("--restart-command restarts one server", "compare servers without it")
    limit_s = parse_time_s(arguments.restart_limit) if arguments.restart_limit else LIMIT_S
    restart = arguments.restart_command
    return BenchOptions(
        arguments.pg_bindir,
        arguments.data_dir,
        allow_volatile=arguments.allow_volatile,
        allow_busy=arguments.allow_busy,
        keep_snapshots=not arguments.discard_snapshots,
        owned=tuple(filter(None, arguments.i_own)),
        dry_run=arguments.dry_run,
        snapshots_in=arguments.snapshots_in,
        building=building_of(arguments, quiet=silent(arguments)),
        servers=servers,
        owns_server="" in arguments.i_own,
        companions=tuple(arguments.companion),
        slot_bytes=parse_memory(arguments.slot_limit),
        restart=None if restart is None else RestartCommand.of(restart, limit_s),
    )


def servers_of(given: Sequence[str]) -> dict[str, list[str]]:
    """The connection strings of `--server` by name: one alone is named "", several are `A=DSN`, or `A=DSN,DSN`."""
    from psycopg import pq

    if not all(given):
        raise UsageError("--server names no server", "give a connection string, such as service=staging")
    if len(given) < 2:
        return {"": [*given]} if given else {}
    found: dict[str, list[str]] = {}
    parameters = {each.keyword.decode() for each in pq.Conninfo.get_defaults()}
    for text in given:
        name, equals, dsns = text.partition("=")
        if not (equals and name.isidentifier()) or name in parameters:
            raise UsageError("several servers need a name each", "give --server A=DSN --server B=DSN")
        if name in found:
            raise UsageError(f'--server names "{name}" twice', "give each another name; of one kind: A=DSN,DSN")
        found[name] = re.split(r",(?=\s*(?:[a-z_]+\s*=|postgres(?:ql)?://))", dsns)
    if len({len(each) for each in found.values()}) > 1:
        raise UsageError("--server gives more servers of one kind than of another", "give as many of each")
    return found


def run_path(arguments: argparse.Namespace, name: str) -> Path:
    """`--out`, or `runs/STUDY-UTC`; raises `RecordError` where something is already, before a plan is printed."""
    from pgassay.record.directory import unused_path
    from pgassay.record.errors import already_there

    if arguments.out is None:
        return unused_path(name, datetime.now(UTC))
    path: Path = arguments.out.absolute()
    if os.path.lexists(path):
        raise already_there(path)
    return path
