"""What a worker does as the host of the player of slices: it keeps the program while others ask it, slice by slice.

A worker has one thread. The task that keeps the program gives it up (`secede`) once the program is ready, so that each
order can be a task of its own. The program ends when it is told to, or when nobody waits for it any more: the head has
gone, or has called its task off (see `task.is_wanted`).
"""

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import msgspec
from distributed import get_worker, secede

from pgassay import scratch
from pgassay.bench.hosting import Placement
from pgassay.bench.running import Runner
from pgassay.errors import PgassayError
from pgassay.fleet.playing import Order, environment, laid_out
from pgassay.fleet.task import is_wanted
from pgassay.host import accounts
from pgassay.host.clock import SystemClock
from pgassay.host.runner import LocalRunner
from pgassay.load import player
from pgassay.load.player import DESCRIPTION, ControlledProgram

_LOOK_S = 0.2
_END_S = 60.0


@dataclass(frozen=True)
class _Kept:
    program: ControlledProgram
    told_to_end: Event = field(default_factory=Event)
    ended: Event = field(default_factory=Event)


_KEPT: dict[str, _Kept] = {}
"""The programs of this worker that others ask, by what the head calls them."""


def version() -> str:
    """What the player of this worker calls itself; raises `RuntimeError` where there is none."""
    try:
        return version_of(LocalRunner(accounts.choose(os.environ)))
    except PgassayError as error:
        raise RuntimeError(error.message) from None


def version_of(runner: Runner) -> str:
    """Of this machine's player; raises `LoadError` where there is none."""
    return runner.run([str(player.find()), "--version"]).stdout.strip()


def keep(name: str, given: bytes) -> None:
    """Start the player of an order and keep it; raises `RuntimeError` with its words where it cannot play."""
    worker = get_worker()
    key = worker.get_current_task()
    order = msgspec.msgpack.decode(zlib.decompress(given), type=Order)
    with scratch.folder("client") as place:
        paths = laid_out(order, place)
        description = json.loads(order.files[DESCRIPTION])
        try:
            program = ControlledProgram(
                "--control",
                description,
                LocalRunner(accounts.choose(os.environ)),
                SystemClock(),
                Placement(cpus=order.cpus),
                environment(order, paths),
                [place / name for name in order.files if name != DESCRIPTION],
            )
        except PgassayError as error:
            raise RuntimeError(error.message) from None
        kept = _KEPT[name] = _Kept(program)
        try:
            secede()
            while is_wanted(worker, key) and not kept.told_to_end.wait(_LOOK_S):
                pass
        finally:
            del _KEPT[name]
            program.interrupt()
            program.close()
            kept.ended.set()


def ready(name: str) -> Mapping[str, Any] | None:
    """What the player said once it was ready; None where it is not there."""
    kept = _KEPT.get(name)
    return None if kept is None else kept.program.ready


def ask(name: str, order: Mapping[str, Any]) -> Mapping[str, Any]:
    """The player's answer to an order; raises `RuntimeError` where it is gone, with its words."""
    kept = _KEPT.get(name)
    if kept is None:
        raise RuntimeError("the player of slices was ended")
    try:
        return kept.program.ask(order)
    except PgassayError as error:
        raise RuntimeError(error.message) from None


def end(name: str) -> None:
    """End the player, and wait until it has; harmless where it is not there."""
    kept = _KEPT.get(name)
    if kept is not None:
        kept.told_to_end.set()
        kept.ended.wait(_END_S)
