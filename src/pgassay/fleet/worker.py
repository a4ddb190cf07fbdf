"""A worker: one Dask worker with one thread, so one block at a time, until its scheduler ends or a signal comes.

A Dask worker that loses its scheduler (a cable, a killed scheduler) closes for good. A host of a fleet gives back what
it holds as well, but comes again when the scheduler does: a minute without a network shall not cost a host.
Its own port asks for a certificate as the scheduler's does, and listens on loopback alone where nothing is encrypted.
Dask's page of a worker, which asks nobody for anything, listens on loopback in any case.
"""

import asyncio
import logging
import signal
import socket
import ssl
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from distributed import Worker

from pgassay import scratch
from pgassay.errors import UsageError
from pgassay.fleet.certificates import Address, Credentials
from pgassay.fleet.dask_crew import security

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
