"""What a worker runs: a child process for each block, so that a bench has a main thread and signals of its own.

The child ends with its worker, however that ends, and gives back what it holds; it is asked to end when nobody wants
its block any more (the head is gone, the run has ended). Nothing but bytes and plain values crosses.
"""

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from distributed import get_worker

from pgassay import __version__, children, scratch
from pgassay.errors import PgassayError
from pgassay.fleet import parcels
from pgassay.fleet.blocks import Job
from pgassay.host import accounts
from pgassay.host.clock import SystemClock
from pgassay.host.facts import collect, host_id
from pgassay.host.runner import LocalRunner
from pgassay.lab.places import default_directory, local_finder
from pgassay.record.disk import RealDisk

BINDIR_VARIABLE = "PGASSAY_PG_BINDIR"
"""Which PostgreSQL serves on this host; the first that is found where it is not set."""
_LOOK_S = 0.5
_GRACE_S = 60.0
_WANTED = frozenset({"executing", "long-running"})

Shipped = tuple[str, list[tuple[str, int, str, bytes]]]
"""The host's name, and of each trial its arm, attempt, SHA-256 and content."""


class HostError(RuntimeError):
    """What the bench of a host said at its end."""

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
        with errors.open("wb") as heard:
            child = subprocess.Popen(
                children.interpreter("pgassay.fleet.child", str(os.getpid()), str(worker.name), str(place)),
                stdin=subprocess.PIPE,
                stdout=heard,
                stderr=heard,
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
