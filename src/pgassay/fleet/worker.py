"""A worker: one Dask worker with one thread, so one block at a time, until its scheduler ends or a signal comes.

A Dask worker that loses its scheduler (a cable, a killed scheduler) closes for good. A host of a fleet gives back what
it holds as well, but comes again when the scheduler does: a minute without a network shall not cost a host.
Its own port asks for a certificate as the scheduler's does, and listens on loopback alone where nothing is encrypted.
Dask's page of a worker, which asks nobody for anything, listens on loopback in any case.

Each block is run by a child process, so that a bench has a main thread and signals of its own. The child ends with its
worker, however that ends, and gives back what it holds; it is asked to end when nobody wants its block any more (the
head is gone, the run has ended). Nothing but bytes and plain values crosses.
"""

import asyncio
import logging
import os
import signal
import socket
import ssl
import subprocess
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from distributed import Worker, get_worker

from pgassay import __version__, children, scratch
from pgassay.errors import PgassayError, UsageError
from pgassay.fleet import parcels
from pgassay.fleet.blocks import Job
from pgassay.fleet.certificates import Address, Credentials, security
from pgassay.host import accounts
from pgassay.host.facts import collect, host_id
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.lab.places import default_directory, local_finder
from pgassay.record.disk import RealDisk

LOST_SCHEDULER = "the scheduler does not answer; looking for it again"

LOOPBACK = "127.0.0.1"
REJOIN_S = 600.0
"""How long a worker looks for a scheduler that it has lost."""
SIGNAL = "signal"
_AGAIN_S = 2.0
_ANSWER_S = 10.0
_TOLD_TO_END = frozenset({"scheduler-close", "scheduler-close-worker", SIGNAL})
"""Reasons of an end that was meant, in Dask's words but for the last."""
_LOG = logging.getLogger(__name__)


def serve(address: Address, credentials: Credentials | None, name: str, rejoin_s: float = REJOIN_S) -> None:
    """Work until the scheduler ends, until it has been gone for `rejoin_s`, or until SIGINT or SIGTERM."""
    asyncio.run(_serve(address, credentials, name, rejoin_s))


async def _serve(address: Address, credentials: Credentials | None, name: str, rejoin_s: float) -> None:
    left = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, left.set)
    until: float | None = None
    while not left.is_set():
        if credentials is not None:
            await asyncio.to_thread(_require_same_fleet, address, credentials)
        joined, reason = await _work(address, credentials, name, left, None if until is None else until - loop.time())
        if reason in _TOLD_TO_END:
            return
        if joined or until is None:
            until = loop.time() + rejoin_s
        if loop.time() > until:
            return
        print(LOST_SCHEDULER, flush=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(left.wait(), _AGAIN_S)


def _require_same_fleet(address: Address, credentials: Credentials) -> None:
    """Raise `UsageError` where the scheduler has a certificate of another authority: Dask would try for ever."""
    parts = urlsplit(address.text)
    context = security(credentials).get_connection_args("worker")["ssl_context"]
    try:
        with (
            socket.create_connection((str(parts.hostname), int(parts.port or 0)), _ANSWER_S) as line,
            context.wrap_socket(line),
        ):
            pass
    except ssl.SSLCertVerificationError as failure:
        raise UsageError(
            f"the scheduler at {address.text} is of another fleet: {failure.verify_message}",
            f"give the certificates that were made with its own, in place of {credentials.authority}",
        ) from failure
    except OSError:
        return  # not there yet, which is waited for


async def _work(
    address: Address, credentials: Credentials | None, name: str, left: asyncio.Event, wait_s: float | None
) -> tuple[bool, str]:
    """Be a worker of the scheduler for as long as it is there: was it joined at all, and why did it end?"""
    how: dict[str, Any] = {} if credentials is None else {"security": security(credentials), "protocol": "tls"}
    if not address.encrypted:
        how["host"] = LOOPBACK
    joined = False
    with scratch.folder("worker") as folder:
        worker = _Worker(
            address.text, name=name, nthreads=1, memory_limit=0, local_directory=str(folder), death_timeout=wait_s,
            dashboard_address=f"{LOOPBACK}:0", **how,
        )  # fmt: skip
        leaving = asyncio.ensure_future(left.wait())
        try:
            await _unless(leaving, worker.start())
            joined = not left.is_set()
            await _unless(leaving, worker.finished())
        except (RuntimeError, TimeoutError) as failure:  # also: it has not noticed yet that our last one is gone
            _LOG.info("%s", failure.__cause__ or failure)
        finally:
            leaving.cancel()
            await worker.close(reason=SIGNAL)
    return joined, SIGNAL if left.is_set() else worker.reason


async def _unless(leaving: "asyncio.Future[Any]", work: Coroutine[Any, Any, Any]) -> None:
    """Do `work`, but not longer than until we are to leave."""
    task = asyncio.ensure_future(work)
    await asyncio.wait((leaving, task), return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return
    task.result()


class _Worker(Worker):  # type: ignore[misc,unused-ignore]
    """Dask's, which keeps why it was closed first."""

    reason = ""

    async def close(self, *arguments: Any, reason: str = "worker-close", **options: Any) -> Any:
        self.reason = self.reason or reason
        return await super().close(*arguments, reason=reason, **options)


BINDIR_VARIABLE = "PGASSAY_PG_BINDIR"
"""Which PostgreSQL serves on this host; the first that is found where it is not set."""
_LOOK_S = 0.5
_GRACE_S = 60.0
_WANTED = frozenset({"executing", "long-running"})

Shipped = tuple[str, list[tuple[str, int, str, bytes]]]
"""The host's name, and of each trial its arm, attempt, SHA-256 and content."""


class HostError(RuntimeError):
    def __init__(self, host: str, reason: str) -> None:
        super().__init__(host, reason)
        self.host = host
        self.reason = reason


def facts() -> Mapping[str, Any]:
    """This host: its machine as a hash, the version of pgassay, and what `host.json` holds of a machine.

    The version of PostgreSQL is that of the one that serves here where a study names none; `none` without any.
    """
    directory = default_directory(os.environ)
    place = next(each for each in (directory, *directory.absolute().parents) if each.exists())
    account = accounts.choose(os.environ)
    bindir = os.environ.get(BINDIR_VARIABLE)
    try:
        finder = local_finder(LocalRunner(account), SystemClock(), account)
        postgres = str(finder.find(bindir=Path(bindir) if bindir else None).version)
    except PgassayError:
        postgres = "none"
    found = {**collect({"data": place}), "postgres": {"version": postgres}}
    return {"machine": host_id(), "pgassay": __version__, "facts": found}


def work(job: bytes) -> Shipped:
    """Run a block in a process of its own while its task is wanted; raises `HostError` with what the bench said."""
    worker = get_worker()
    key = worker.get_current_task()
    with scratch.folder("block") as place:
        errors = place / "errors"
        with errors.open("wb") as log:
            child = subprocess.Popen(
                children.interpreter("pgassay.fleet.child", str(os.getpid()), str(worker.name), str(place)),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=children.interpreter_environment(),
                cwd=place,
            )
        try:
            assert child.stdin is not None
            with suppress(BrokenPipeError), child.stdin:
                child.stdin.write(job)
            while is_wanted(worker, key) and child.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(_LOOK_S)
        finally:
            end(child)
        if child.returncode != 0:
            said = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise HostError(str(worker.name), said[-1] if said else f"the bench ended with {child.returncode}")
        came = parcels.read(RealDisk(), place / "block", msgspec.json.decode(job, type=Job).order.block)
    return came.host, [(each.arm, each.attempt, each.sha256, each.data) for each in came.parcels]


def is_wanted(worker: Any, key: object) -> bool:
    """Does the scheduler still wait for this task? A worker that lost its scheduler forgets its tasks."""
    known = worker.state.tasks.get(key)
    return known is not None and known.state in _WANTED


def end(child: "subprocess.Popen[bytes]") -> None:
    """Ask a child that still runs to give everything back; kill it only if it does not."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
