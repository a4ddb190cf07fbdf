"""`pgassay fleet certs | worker`, and the options of what runs over a fleet: `--on ADDRESS`, `--client NAME`.

The certificates are an authority's, one for the head and one for the workers. A worker works until its scheduler is
gone. With `--on` whole blocks run on the workers, with `--client` the load's program alone.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli.parser import Action, add_options, whole
from pgassay.cli.printing import SUCCESS
from pgassay.errors import PgassayError, UsageError
from pgassay.plugins import install_command

if TYPE_CHECKING:
    from pgassay.fleet.blocks import BlockExecutor
    from pgassay.fleet.certificates import Address, Credentials
    from pgassay.interfaces.client import ClientHost
    from pgassay.lab.arms import ResolvedStudy
    from pgassay.lab.run import Remark, WrittenStudy

DAYS = 365


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Action)
    certs = actions.add_parser("certs", help="make certificates for a fleet: its head and its workers")
    certs.add_argument("directory", metavar="DIR", type=Path, help="a new directory")
    certs.add_argument("--days", type=whole(1), default=DAYS, metavar="N", help=f"valid so long (default: {DAYS})")
    worker = actions.add_parser("worker", help="lend this machine to a fleet that runs a study's blocks")
    worker.add_argument("address", metavar="ADDRESS", help="the fleet's scheduler: tls://HOST:PORT")
    add_options(worker, "--certs")
    worker.add_argument("--name", metavar="NAME", help="what the record calls this host (default: host- and a hash)")
    add_options(worker, "--data-dir", "--pg-bindir")


def add_fleet_options(parser: argparse._ActionsContainer) -> None:
    """Where blocks run, when not on this machine."""
    add = parser.add_argument
    add("--on", metavar="ADDRESS", help="run blocks on the workers of this scheduler: tls://HOST:PORT")
    add("--hosts", type=whole(1), default=1, metavar="N", help="with --on: wait for so many workers")
    add_options(parser, "--certs")
    add("--spare", type=whole(0), default=0, metavar="N", help="with --on: so many more, for blocks lost or late")
    add("--mixed-hosts", action="store_true", help="with --on: allow hosts of several kinds")
    add("--shared-machine", action="store_true", help="with --on: allow workers on one machine, to try a fleet out")


def add_client_options(parser: argparse._ActionsContainer, *, named: bool = True) -> None:
    """Which worker runs the load's program, unless a run has it on record (`named`), and how it is reached."""
    add = parser.add_argument
    if named:
        add(
            "--client",
            metavar="NAME",
            help="run the load's program on this worker, or over TCP here: loopback (= load.host)",
        )
    add(
        "--scheduler", metavar="ADDRESS", help="the scheduler that the client's worker is connected to: tls://HOST:PORT"
    )
    add("--client-port", type=whole(1, 65535), metavar="N", help="the server's port for the client (default: 54320)")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "certs":
        from pgassay.fleet.certificates import make

        for path in make(arguments.directory, arguments.days):
            print(path)
        return SUCCESS
    require_extra()
    from pgassay.fleet.certificates import parse_address
    from pgassay.fleet.worker import BINDIR_VARIABLE, serve
    from pgassay.host.facts import host_id
    from pgassay.lab.places import DATA_VARIABLE

    address = parse_address(arguments.address)
    credentials = _credentials_of(address, arguments, "worker")
    for variable, value in ((DATA_VARIABLE, arguments.data_dir), (BINDIR_VARIABLE, arguments.pg_bindir)):
        if value is not None:
            os.environ[variable] = str(value.absolute())  # benches are processes of their own
    serve(address, credentials, arguments.name or f"host-{host_id()[:6]}")
    return SUCCESS


def require_extra() -> None:
    """Raise `PgassayError` where the packages of the extra `fleet` are not installed."""
    if find_spec("distributed") is None:
        raise PgassayError("the package distributed is not installed", install_command("fleet"))


def _credentials_of(address: "Address", arguments: argparse.Namespace, end: str) -> "Credentials | None":
    from pgassay.fleet.certificates import find

    return find(arguments.certs or Path("certs"), end) if address.encrypted else None


def over_fleet(arguments: argparse.Namespace) -> bool:
    """Is it to run on other machines? Raises `UsageError` for a place of prepared data: each worker has one."""
    asked = getattr(arguments, "on", None) is not None
    if asked and arguments.snapshots_in is not None:
        raise UsageError(
            "--on and --snapshots-in cannot be used together",
            "workers keep prepared data where their clusters live; leave out --snapshots-in",
        )
    return asked


def widened(written: "WrittenStudy", hosts: int) -> "WrittenStudy":
    """The study for so many hosts: a verdict waits until enough of them have given blocks (`design.stopping`).

    Its budget is in the time of all: `--budget 1h` on six hosts is six hours of trials.
    """
    from pgassay.design.stopping import ENOUGH

    if hosts == 1:
        return written
    design, table = written.study.design, dict(written.document.get("design", {}))
    if "hosts" not in table:
        design = replace(design, hosts=min(hosts, ENOUGH))
        table["hosts"] = design.hosts
    if design.budget_s is not None:
        design = replace(design, budget_s=design.budget_s * hosts)
        table["budget"] = f"{design.budget_s:g}s"
    document = {**written.document, "design": table}
    return replace(written, study=replace(written.study, design=design), document=document)


@dataclass(frozen=True)
class Fleet:
    executor: "BlockExecutor"
    facts: Mapping[str, Any]
    remarks: "tuple[Remark, ...]"
    files: Mapping[str, Any]
    """For the record: as `files` the SHA-256 of each of the user's files that were sent; empty where none was."""


@contextmanager
def fleet_of(
    arguments: argparse.Namespace, resolved: "ResolvedStudy", document: str, begun: Mapping[str, Any] | None = None
) -> "Iterator[Fleet]":
    """The hosts that the options name, for this study and its recorded `document`; raises `PgassayError`.

    Of a run that goes on, `begun` are the facts of when it began: the user's files must be what they were.
    """
    require_extra()
    from pgassay.fleet import dask_executor
    from pgassay.fleet.blocks import FILES_FACT, Bench, names_its_postgres, read_files
    from pgassay.fleet.certificates import parse_address
    from pgassay.lab.run import Remark

    bounds = [each for arm in resolved.arms for each in arm.bound]
    own = names_its_postgres(each.name for each in bounds)
    files = read_files(document, bounds, (begun or {}).get(FILES_FACT))
    address = parse_address(arguments.on)
    terms = dask_executor.Terms(
        arguments.hosts, arguments.shared_machine, arguments.mixed_hosts, own, spare=arguments.spare
    )
    bench = Bench(resolved.study.name, document, arguments.allow_busy, arguments.allow_volatile, files)
    credentials = _credentials_of(address, arguments, "head")
    with dask_executor.connect(address, credentials, terms.wait_s) as client:
        executor = dask_executor.DaskExecutor(client, terms, bench.job)
        facts = executor.gather()
        shared = len({each["machine"] for each in facts.values()}) < len(facts)
        found = {
            "several workers on one machine stood for several hosts, so how hosts differ is not known": shared,
            "hosts of several kinds ran blocks, as was allowed": dask_executor.differences(facts, own_postgres=own),
        }
        remarks = tuple(Remark("fleet", text, text) for text, holds in found.items() if holds)
        sent = {FILES_FACT: {each.path: each.sha256 for each in files}} if files else {}
        yield Fleet(executor, facts, remarks, sent)


@contextmanager
def clients_of(arguments: argparse.Namespace) -> "Iterator[Callable[[str], ClientHost] | None]":
    """Finds workers by name; None where no scheduler is named. A plan asks no scheduler: any name will do for it.

    Raises `PgassayError`.
    """
    address_text = getattr(arguments, "scheduler", None)
    if address_text is None:
        yield None
        return
    require_extra()
    from pgassay.fleet import dask_executor
    from pgassay.fleet.certificates import parse_address
    from pgassay.fleet.client import PORT, WorkerClient
    from pgassay.host import accounts
    from pgassay.host.runner import LocalRunner
    from pgassay.load.references import Loopback

    if over_fleet(arguments):
        raise UsageError("--on and --client cannot be used together", "run the blocks here and the load on the worker")
    address = parse_address(address_text)
    local = LocalRunner(accounts.choose())
    if arguments.dry_run:
        yield lambda name: Loopback(local)
        return
    with dask_executor.connect(address, _credentials_of(address, arguments, "head")) as client:
        found: dict[str, WorkerClient] = {}

        def worker(name: str) -> WorkerClient:
            if name not in found:
                found[name] = WorkerClient(name, client, local, arguments.client_port or PORT)
            return found[name]

        yield worker
