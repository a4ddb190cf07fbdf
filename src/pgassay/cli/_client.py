"""`--client NAME --scheduler ADDRESS`: the host that the load's program runs on, where it is not this one."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pgassay.cli import _fleet
from pgassay.cli.parser import whole
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.bench.client import ClientHost

HOST = "load.host"


def add_client_options(parser: argparse._ActionsContainer) -> None:
    """Which host, and how it is reached."""
    parser.add_argument(
        "--client",
        metavar="NAME",
        help="run the load's program on this worker, or over TCP here: loopback (= load.host)",
    )
    add_way_options(parser)


def add_way_options(parser: argparse._ActionsContainer) -> None:
    """How a worker that is known by name is reached."""
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="the scheduler that the client's worker is connected to: tls://HOST:PORT"
    )
    parser.add_argument(
        "--client-port", type=whole(1), metavar="N", help="the server's port for the client (default: 54320)"
    )


def settings_of(arguments: argparse.Namespace) -> list[str]:
    """What `--set` says, and what `--client` says as it would."""
    client = getattr(arguments, "client", None)
    return [*arguments.set, *([f"{HOST}={client}"] if client else [])]


@contextmanager
def clients_of(arguments: argparse.Namespace) -> "Iterator[Callable[[str], ClientHost] | None]":
    """Finds workers by name; None where no scheduler is named. A plan asks no scheduler: any name will do for it.

    Raises `PgassayError`.
    """
    address_text = getattr(arguments, "scheduler", None)
    if address_text is None:
        yield None
        return
    _fleet.require_extra()
    from pgassay.fleet import dask_crew
    from pgassay.fleet.addresses import parse
    from pgassay.fleet.client import PORT, WorkerClient
    from pgassay.host import accounts
    from pgassay.host.runner import LocalRunner
    from pgassay.load.references import Loopback

    if _fleet.asked(arguments):
        raise UsageError("--on and --client exclude each other", "run the blocks here and the load on the worker")
    address = parse(address_text)
    if arguments.dry_run:
        yield lambda name: Loopback(LocalRunner(accounts.choose()))
        return
    with dask_crew.connect(address, _fleet.credentials_of(address, arguments, "head")) as client:
        local = LocalRunner(accounts.choose())
        found: dict[str, WorkerClient] = {}

        def worker(name: str) -> WorkerClient:
            if name not in found:
                found[name] = WorkerClient(name, client, local, arguments.client_port or PORT)
            return found[name]

        yield worker
