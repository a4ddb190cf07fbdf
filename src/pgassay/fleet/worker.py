"""A worker: one Dask worker with one thread, so one block at a time, until its scheduler is gone or a signal comes.

Its own port asks for a certificate as the scheduler's does, and listens on loopback alone where nothing is encrypted.
Dask's page of a worker, which asks nobody for anything, listens on loopback in any case.
"""

import asyncio
import signal
from pathlib import Path
from typing import Any

from distributed import Worker

from pgassay import scratch
from pgassay.fleet.addresses import Address
from pgassay.fleet.certificates import Credentials
from pgassay.fleet.dask_crew import security
from pgassay.host.facts import host_id

LOOPBACK = "127.0.0.1"


def usual_name() -> str:
    """A name that stays the same and says nothing about the machine: records are sent to others."""
    return f"host-{host_id()[:6]}"


def serve(address: Address, credentials: Credentials | None, name: str) -> None:
    """Work until the scheduler is gone, or until SIGINT or SIGTERM."""
    with scratch.folder("worker") as folder:
        asyncio.run(_serve(address, credentials, name, folder))


async def _serve(address: Address, credentials: Credentials | None, name: str, folder: Path) -> None:
    how: dict[str, Any] = {} if credentials is None else {"security": security(credentials), "protocol": "tls"}
    if not address.encrypted:
        how["host"] = LOOPBACK
    page = f"{LOOPBACK}:0"
    worker = Worker(
        address.text, name=name, nthreads=1, memory_limit=0, local_directory=str(folder), dashboard_address=page, **how
    )
    loop = asyncio.get_running_loop()
    closing: list[asyncio.Task[object]] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: closing.append(loop.create_task(worker.close())))
    async with worker:
        await worker.finished()
