"""`pgassay certs DIR`: the certificates of a fleet, an authority with one for the head and one for the workers."""

import argparse
from pathlib import Path

from pgassay.cli.parser import whole
from pgassay.cli.printing import SUCCESS

DAYS = 365


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("directory", metavar="DIR", type=Path, help="a new directory")
    parser.add_argument("--days", type=whole(1), default=DAYS, metavar="N", help=f"valid so long (default: {DAYS})")


def run(arguments: argparse.Namespace) -> int:
    """Make them and name them; raises `PgassayError`."""
    from pgassay.fleet.certificates import make

    for path in make(arguments.directory, arguments.days):
        print(path)
    return SUCCESS
