"""`--on ADDRESS --hosts N`: the options of what runs a study over a fleet, and the crew that they name."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay.cli.parser import whole
from pgassay.errors import PgassayError, UsageError
from pgassay.extras import install_command

if TYPE_CHECKING:
    from pgassay.fleet.addresses import Address
    from pgassay.fleet.certificates import Credentials
    from pgassay.fleet.crew import Crew
    from pgassay.lab.arms import ResolvedStudy
    from pgassay.lab.run import Remark, WrittenStudy
    from pgassay.lab.runner import Watcher
    from pgassay.record.directory import RunDirectory
SHARED = "several workers on one machine stood for several hosts, so how hosts differ is not known"
MIXED = "hosts of several kinds ran blocks, as was allowed"


@dataclass(frozen=True)
class Fleet:
    """Hosts that were found fit, with what the record keeps of them."""

    crew: "Crew"
    facts: Mapping[str, Any]
    remarks: "tuple[Remark, ...]"
    files: Mapping[str, Any]
    """For the record: as `files` the SHA-256 of each of the user's files that were sent; empty where none was."""

    def conduct(self, resolved: "ResolvedStudy", run: "RunDirectory", watcher: "Watcher") -> None:
        """Run the study to its end on these hosts."""
        from pgassay.fleet.head import conduct

        conduct(resolved, run, watcher, self.crew)


def add_fleet_options(parser: argparse._ActionsContainer) -> None:
    """Where blocks run, when not on this machine."""
    parser.add_argument("--on", metavar="ADDRESS", help="run blocks on the workers of this scheduler: tls://HOST:PORT")
    parser.add_argument("--hosts", type=whole(1), default=1, metavar="N", help="with --on: wait for so many workers")
    add_certificates_option(parser)
    parser.add_argument(
        "--spare", type=whole(0), default=0, metavar="N", help="with --on: so many more, for blocks lost or late"
    )
    parser.add_argument("--mixed-hosts", action="store_true", help="with --on: allow hosts of several kinds")
    parser.add_argument(
        "--shared-machine", action="store_true", help="with --on: allow workers on one machine, to try a fleet out"
    )


def add_certificates_option(parser: argparse._ActionsContainer) -> None:
    """Where the files for TLS are."""
    parser.add_argument("--certs", type=Path, metavar="DIR", help="certificates, as pgassay fleet certs makes them")


def require_extra() -> None:
    """Raise `PgassayError` where the packages of the extra `fleet` are not installed."""
    if find_spec("distributed") is None:
        raise PgassayError("the package distributed is not installed", install_command("fleet"))


def credentials_of(address: "Address", arguments: argparse.Namespace, end: str) -> "Credentials | None":
    """The files of this end; None where nothing is encrypted. Raises `UsageError`."""
    from pgassay.fleet.certificates import find

    return find(arguments.certs or Path("certs"), end) if address.encrypted else None


def asked(arguments: argparse.Namespace) -> bool:
    """Is the study to run on other machines?"""
    return getattr(arguments, "on", None) is not None


def require_own_places(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for a place of prepared data, which workers have of their own."""
    if arguments.snapshots_in is not None:
        raise UsageError(
            "--on and --snapshots-in exclude each other",
            "workers keep prepared data where their clusters live; leave out --snapshots-in",
        )


def widened(written: "WrittenStudy", hosts: int) -> "WrittenStudy":
    """The study for so many hosts: a verdict waits until enough of them have given blocks (`design.hosts`).

    Its budget is in the time of all: `--budget 1h` on six hosts is six hours of trials.
    """
    from pgassay.design.stopping import hosts_wanted

    if hosts == 1:
        return written
    design, table = written.study.design, dict(written.document.get("design", {}))
    if "hosts" not in table:
        design = replace(design, hosts=hosts_wanted(hosts))
        table["hosts"] = design.hosts
    if design.budget_s is not None:
        design = replace(design, budget_s=design.budget_s * hosts)
        table["budget"] = f"{design.budget_s:g}s"
    document = {**written.document, "design": table}
    return replace(written, study=replace(written.study, design=design), document=document)


@contextmanager
def fleet_of(
    arguments: argparse.Namespace, name: str, document: str, begun: Mapping[str, Any] | None = None
) -> "Iterator[Fleet]":
    """The hosts that the options name, for a study of this name and recorded `document`; raises `PgassayError`.

    Of a run that goes on, `begun` are the facts of when it began: the user's files must be what they were.
    """
    require_extra()
    from pgassay.fleet import dask_crew, job, own_files
    from pgassay.fleet.addresses import parse
    from pgassay.lab.run import Remark

    files = own_files.read(name, document, (begun or {}).get(own_files.FACT))
    address = parse(arguments.on)
    own = job.names_its_postgres(document)
    terms = dask_crew.Terms(
        arguments.hosts, arguments.shared_machine, arguments.mixed_hosts, own, spare=arguments.spare
    )
    bench = job.Bench(name, document, arguments.allow_busy, arguments.allow_volatile, files)
    credentials = credentials_of(address, arguments, "head")
    with dask_crew.large_orders(), dask_crew.connect(address, credentials, terms.wait_s) as client:
        if not (arguments.json or arguments.quiet) and (page := dask_crew.dashboard(client)) is not None:
            _tell_dashboard(page)
        crew = dask_crew.DaskCrew(client, terms, job.Jobs(bench).of)
        facts = crew.gather()
        machines = {each["machine"] for each in facts.values()}
        found = (
            (SHARED, len(machines) < len(facts)),
            (MIXED, bool(dask_crew.differences(facts, own_postgres=own))),
        )
        remarks = tuple(Remark("fleet", text, text) for text, holds in found if holds)
        sent = {own_files.FACT: {each.path: each.sha256 for each in files}} if files else {}
        yield Fleet(crew, facts, remarks, sent)


def _tell_dashboard(page: str) -> None:
    """Where Dask shows its tasks; the page asks nobody for anything, so it listens on loopback."""
    print(f"pgassay: what the hosts do, as Dask shows it: {page}", file=sys.stderr)
