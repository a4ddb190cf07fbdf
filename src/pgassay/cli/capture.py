"""`pgassay capture CONNINFO`: a server's settings, data and load in a directory; it only reads that server."""

import argparse
import sys
from contextlib import closing
from pathlib import Path
from shutil import disk_usage
from typing import TYPE_CHECKING

from pgassay.cli.parser import excluded
from pgassay.cli.printing import SUCCESS, warn
from pgassay.errors import UsageError
from pgassay.outgoing import control

if TYPE_CHECKING:
    from pgassay.capture.physical import FilesRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("conninfo", metavar="CONNINFO", help="connection string or URI of the server, as for psql")
    add("--for", dest="window", default="10min", metavar="TIME", help="how long the load is watched (default: 10min)")
    add("--out", type=Path, metavar="DIR", help="the directory to make (default: DATABASE.capture)")
    kinds = "dump: by pg_dump (default); basebackup or backup:DIR: the server's files; none"
    add("--data", metavar="KIND", help=kinds)
    add(
        "--checkpoint",
        choices=("spread", "fast"),
        default="spread",
        help="with which pg_basebackup begins on the server (default: spread, which takes minutes and disturbs least)",
    )
    literals = parser.add_mutually_exclusive_group()
    kept = "keep literals in the texts of statements, and values of columns"
    literals.add_argument("--with-literals", action="store_true", help=kept)
    literals.add_argument("--no-literals", action="store_true", help="keep none (default)")
    add("--without-load", action="store_true", help="settings and data alone: pg_stat_statements is not needed")
    add("--log", metavar="FILE[,FILE]", help="the server's log: its transactions and, with literals, values")
    add(
        "--log-line-prefix",
        action="append",
        default=[],
        metavar="PREFIX",
        help="with which the log was written (default: the server's setting); again for another",
    )
    add("--log-format", metavar="NAME", help="what the log is wrapped in (default: its first lines tell it)")
    add(
        "--pg-bindir", type=Path, metavar="DIR", help="where pg_dump or pg_basebackup is (default: the first that fits)"
    )
    add(
        "-n",
        "--dry-run",
        action="store_true",
        help="say what would be read, and check what would fail; nothing is written",
    )


def run(arguments: argparse.Namespace) -> int:
    from pgassay.capture import dump, files, physical, taking, texts
    from pgassay.capture.logs import LogFiles
    from pgassay.capture.physical import Estimate
    from pgassay.capture.source import Session
    from pgassay.capture.taking import Request, Tools, capture, estimate, identify
    from pgassay.host import accounts
    from pgassay.host.keeper import Keeper
    from pgassay.host.runner import LocalRunner, SystemClock
    from pgassay.lab import cleanup
    from pgassay.lab.places import local_finder
    from pgassay.study.units import parse_time_s

    window_s = parse_time_s(arguments.window)
    named = None
    if arguments.log is not None:
        if arguments.without_load:
            raise excluded("--log", "--without-load")
        paths = tuple(map(Path, arguments.log.split(",")))
        named = LogFiles(paths, tuple(arguments.log_line_prefix), arguments.log_format)
        named.check()
    data, server_files = _data(arguments)
    request = Request(window_s, data, not arguments.without_load, arguments.with_literals, named, server_files)
    if arguments.out is not None:
        files.require_absent(arguments.out)
    account, clock = accounts.choose(), SystemClock()
    runner = LocalRunner(account)
    with closing(Keeper(cleanup.COMMAND)), Session(arguments.conninfo) as session:
        identity = identify(session, request)
        path = (arguments.out or Path(f"{identity.source.database}.capture")).absolute()
        finder = local_finder(runner, clock, account)
        program = serving = cost = None
        if server_files is not None:
            serving = physical.installation_for(identity.source.major, finder, arguments.pg_bindir)
            physical.check(server_files, serving)
            cost = estimate(session, server_files, path)
        elif request.data != "none":
            program = dump.program_for(identity.source.major, finder, arguments.pg_bindir)
        # A capture itself costs the server no more than it must.
        dumped = None
        if arguments.dry_run and request.data == "dump":
            dumped = Estimate(identity.database_bytes, disk_usage(physical.existing(path)).free)
        print(texts.announcement(identity, request, cost or dumped), end="")
        for warning in taking.require_possible(session, identity, request, path, cost):
            warn(warning)
        if arguments.dry_run:
            return SUCCESS
        taken = capture(session, identity, request, path, Tools(runner, clock, program, serving), _tick)
    for warning in taken.warnings:
        warn(warning)
    for note in taken.notes:
        print(note)
    print(texts.summary(taken.capture, path), end="")
    return SUCCESS


def _data(arguments: argparse.Namespace) -> "tuple[str, FilesRequest | None]":
    """The kind of data, and where files of the server come from; raises `UsageError`."""
    from pgassay.capture import physical

    text = arguments.data
    if text is not None and text.startswith(f"{physical.BACKUP}:"):
        server_files = physical.FilesRequest(physical.BACKUP, Path(text.partition(":")[2]).expanduser().absolute())
    elif text == physical.BASEBACKUP:
        server_files = physical.FilesRequest(physical.BASEBACKUP, checkpoint=arguments.checkpoint)
    elif text in (None, "dump", "none"):
        return text or "dump", None
    else:
        raise UsageError(
            f'--data cannot be "{text}"',
            "it takes dump, none, basebackup, or backup:DIR, into which your own program restores",
        )
    if arguments.no_literals:
        raise UsageError(
            f"--no-literals and --data {text} exclude each other: the server's files hold every value, of all"
            " databases",
            "--data none captures no value of yours",
        )
    return server_files.kind, server_files


def _tick(left_s: float) -> None:
    if sys.stderr.isatty():
        control(sys.stderr, f"\rwatching the load: {left_s:.0f} s left \r")
