"""`pgassay fleet certs | worker`: certificates for the machines of a fleet, and this machine as one of them.

The certificates are an authority's, one for the head and one for the workers. A worker works until its scheduler is
gone.
"""

import argparse
import os
from pathlib import Path

from pgassay.cli._fleet import add_certificates_option, credentials_of, require_extra
from pgassay.cli.parser import Action, whole
from pgassay.cli.printing import SUCCESS
from pgassay.host.facts import host_id

DAYS = 365


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Action)
    certs = actions.add_parser("certs", help="make certificates for a fleet: its head and its workers")
    certs.add_argument("directory", metavar="DIR", type=Path, help="a new directory")
    certs.add_argument("--days", type=whole(1), default=DAYS, metavar="N", help=f"valid so long (default: {DAYS})")
    worker = actions.add_parser("worker", help="lend this machine to a fleet that runs a study's blocks")
    worker.add_argument("address", metavar="ADDRESS", help="the fleet's scheduler: tls://HOST:PORT")
    add_certificates_option(worker)
    worker.add_argument("--name", metavar="NAME", help="what the record calls this host (default: host- and a hash)")
    worker.add_argument("--data-dir", type=Path, metavar="DIR", help="where the clusters live")
    worker.add_argument(
        "--pg-bindir", type=Path, metavar="DIR", help="the PostgreSQL to use (default: the first found)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do the action that the command line names; returns the exit status. Raises `PgassayError`."""
    return {"certs": _make_certificates, "worker": _work}[arguments.action](arguments)


def _make_certificates(arguments: argparse.Namespace) -> int:
    from pgassay.fleet.certificates import make

    for path in make(arguments.directory, arguments.days):
        print(path)
    return SUCCESS


def _work(arguments: argparse.Namespace) -> int:
    require_extra()
    from pgassay.fleet.addresses import parse
    from pgassay.fleet.task import BINDIR_VARIABLE
    from pgassay.fleet.worker import serve
    from pgassay.lab.places import DATA_VARIABLE

    address = parse(arguments.address)
    credentials = credentials_of(address, arguments, "worker")
    for variable, value in ((DATA_VARIABLE, arguments.data_dir), (BINDIR_VARIABLE, arguments.pg_bindir)):
        if value is not None:
            os.environ[variable] = str(value.absolute())  # benches are processes of their own
    serve(address, credentials, arguments.name or f"host-{host_id()[:6]}")
    return SUCCESS
