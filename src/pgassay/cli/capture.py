"""`pgassay capture CONNINFO`: a server's settings, data and load in a directory; it only reads that server."""

import argparse
import os
import sys
from pathlib import Path

from pgassay.cli import messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    add = parser.add_argument
    add("conninfo", metavar="CONNINFO", help="connection string or URI of the server, as for psql")
    add("--for", dest="window", default="10min", metavar="TIME", help="how long the load is watched (default: 10min)")
    add("--out", type=Path, metavar="DIR", help="the directory to make (default: DATABASE.capture)")
    data = ("dump", "synthetic", "none")
    add("--data", choices=data, default="dump", help="by pg_dump, made from statistics, or none (default: dump)")
    literals = parser.add_mutually_exclusive_group()
    kept = "keep literals in the texts of statements, and values of columns"
    literals.add_argument("--with-literals", action="store_true", help=kept)
    literals.add_argument("--no-literals", dest="with_literals", action="store_false", help="keep none (default)")
    add("--without-load", action="store_true", help="settings and data alone: pg_stat_statements is not needed")
    add("--log", metavar="FILE[,FILE]", help="the server's log, in order: its transactions and, with literals, values")
    add(
        "--log-line-prefix",
        action="append",
        default=[],
        metavar="PREFIX",
        help="with which the log was written (default: the server's setting); again for another",
    )
    add("--pg-bindir", type=Path, metavar="DIR", help="where pg_dump is (default: the first that fits)")
    add(
        "-n",
        "--dry-run",
        action="store_true",
        help="say what would be read, and read no more than version, size and settings",
    )


def run(arguments: argparse.Namespace) -> int:
    """Say what is read, read it, say what it cost."""
    from pgassay.capture import dump, files, texts
    from pgassay.capture.logs import LogFiles
    from pgassay.capture.server import Tools, capture
    from pgassay.capture.source import Session
    from pgassay.capture.taking import Request, identify
    from pgassay.host import accounts
    from pgassay.host.clock import SystemClock
    from pgassay.host.runner import LocalRunner
    from pgassay.lab.places import embedded_directory
    from pgassay.postgres.find import Finder
    from pgassay.study.units import parse_time_s

    window_s = parse_time_s(arguments.window)
    named = None
    if arguments.log is not None:
        if arguments.without_load:
            raise messages.excluded("--log", "--without-load")
        named = LogFiles(tuple(map(Path, arguments.log.split(","))), tuple(arguments.log_line_prefix))
        named.check()
    request = Request(window_s, arguments.data, not arguments.without_load, arguments.with_literals, named)
    if arguments.out is not None:
        files.require_absent(arguments.out)
    account, clock = accounts.choose(), SystemClock()
    runner = LocalRunner(account)
    with Session(arguments.conninfo) as session:
        identity = identify(session, request)
        path = (arguments.out or Path(f"{identity.source.database}.capture")).absolute()
        program = None
        if request.data != "none":
            finder = Finder(runner, clock, account, os.environ, copies=embedded_directory(os.environ))
            program = dump.program_for(identity.source.major, finder, arguments.pg_bindir)
        print(texts.announcement(identity, request), end="")
        if arguments.dry_run:
            return messages.SUCCESS
        taken = capture(session, identity, request, path, Tools(runner, clock, program), _tick)
    for warning in taken.warnings:
        messages.warn(warning)
    print(texts.summary(taken.capture, path), end="")
    return messages.SUCCESS


def _tick(left_s: float) -> None:
    if sys.stderr.isatty():
        print(f"\rwatching the load: {left_s:.0f} s left ", end="\r", file=sys.stderr)
