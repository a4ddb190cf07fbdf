"""`pgassay capture CONNINFO`: a server's settings, data and load in a directory; it only reads that server."""

import argparse
import sys
from contextlib import closing
from pathlib import Path
from shutil import disk_usage

from pgassay.cli.parser import excluded
from pgassay.cli.printing import SUCCESS, warn
from pgassay.outgoing import control


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("conninfo", metavar="CONNINFO", help="connection string or URI of the server, as for psql")
    add("--for", dest="window", default="10min", metavar="TIME", help="how long the load is watched (default: 10min)")
    add("--out", type=Path, metavar="DIR", help="the directory to make (default: DATABASE.capture)")
    add("--data", choices=("dump", "none"), default="dump", help="dump: the data, by pg_dump (default); or none")
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
    add("--pg-bindir", type=Path, metavar="DIR", help="where pg_dump is (default: the first that fits)")
    add(
        "-n",
        "--dry-run",
        action="store_true",
        help="say what would be read, and check what would fail; nothing is written",
    )


def run(arguments: argparse.Namespace) -> int:
    from pgassay.capture import dump, files, taking, texts
    from pgassay.capture.logs import LogFiles
    from pgassay.capture.source import Session
    from pgassay.capture.taking import Request, Tools, capture, identify
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
    with_data = arguments.data == "dump"
    request = Request(window_s, with_data, not arguments.without_load, arguments.with_literals, named)
    if arguments.out is not None:
        files.require_absent(arguments.out)
    account, clock = accounts.choose(), SystemClock()
    runner = LocalRunner(account)
    with closing(Keeper(cleanup.COMMAND)), Session(arguments.conninfo) as session:
        identity = identify(session, request)
        path = (arguments.out or Path(f"{identity.source.database}.capture")).absolute()
        program = free_bytes = None
        if with_data:
            finder = local_finder(runner, clock, account)
            program = dump.program_for(identity.source.major, finder, arguments.pg_bindir)
        if with_data and arguments.dry_run:
            free_bytes = disk_usage(taking.existing(path)).free
        print(texts.announcement(identity, request, free_bytes), end="")
        for warning in taking.require_possible(session, identity, request, path):
            warn(warning)
        if arguments.dry_run:
            return SUCCESS
        taken = capture(session, identity, request, path, Tools(runner, clock, program), _tick)
    for warning in taken.warnings:
        warn(warning)
    for note in taken.notes:
        print(note)
    print(texts.summary(taken.capture, path), end="")
    return SUCCESS


def _tick(left_s: float) -> None:
    if sys.stderr.isatty():
        control(sys.stderr, f"\rwatching the load: {left_s:.0f} s left \r")
