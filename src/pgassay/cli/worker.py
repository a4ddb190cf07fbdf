"""`pgassay worker ADDRESS`: lend this machine to a fleet, until its scheduler is gone."""

import argparse
import os
from pathlib import Path

from pgassay.cli._fleet import add_certificates_option, credentials_of, require_extra
from pgassay.cli.printing import SUCCESS
from pgassay.host.facts import host_id


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options on `parser`."""
    parser.add_argument("address", metavar="ADDRESS", help="the fleet's scheduler: tls://HOST:PORT")
    add_certificates_option(parser)
    parser.add_argument("--name", metavar="NAME", help="what the record calls this host (default: host- and a hash)")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="where the clusters live")
    parser.add_argument(
        "--pg-bindir", type=Path, metavar="DIR", help="the PostgreSQL to use (default: the first found)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Work until the end; raises `PgassayError` for what cannot be."""
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
