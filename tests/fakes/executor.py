"""An executor in one process: hosts are whole benches of fakes, a seed draws the order of arrival; hosts may die."""

import random
from collections.abc import Callable, Mapping

from pgassay.fleet import FleetError
from pgassay.fleet.blocks import BlockOrder, Report
from pgassay.fleet.parcels import Arrived
from pgassay.lab.trial_state import HostState

Host = Callable[[BlockOrder, str], Arrived]
"""Runs a block on the host of this name."""


class FakeExecutor:
    """Runs blocks when somebody waits for one. `dies`: the n-th start (from 1) of any block, at which its host dies.

    `idle`: hosts that are there and never take a block. `message` is told of every message before it passes.
    """

    def __init__(
        self,
        hosts: Mapping[str, Host],
        seed: int = 0,
        dies: frozenset[int] = frozenset(),
        idle: frozenset[str] = frozenset(),
        message: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._alive = dict(hosts)
        self._random = random.Random(seed)
        self._dies = dies
        self._idle = idle
        self._message = message
        self._waiting: dict[int, BlockOrder] = {}
        self.started: list[tuple[int, str]] = []
        """Block and host of each start."""
        self.cancelled = False

    @property
    def hosts(self) -> int:
        return len(self._alive)

    def within_reach(self) -> frozenset[str]:
        return frozenset(self._alive)

    def submit(self, order: BlockOrder) -> None:
        self._message(f"order {order.block}")
        self._waiting.setdefault(order.block, order)

    def next_arrived(self, report: Report) -> Arrived:
        while True:
            if not self._alive:
                raise FleetError("no host has answered for 0 s", "start the workers again, and resume the run")
            block = self._random.choice(sorted(self._waiting))
            host = self._random.choice(sorted(self._alive.keys() - self._idle))
            self.started.append((block, host))
            self._message(f"start of {block}")
            report([HostState(each, block if each == host else None) for each in sorted(self._alive)])
            arrived = self._alive[host](self._waiting[block], host)
            if len(self.started) in self._dies:  # with all that it had done: somebody else runs the block
                del self._alive[host]
                continue
            self._message(f"arrival of {block}")
            del self._waiting[block]
            return arrived

    def cancel(self) -> None:
        self.cancelled = True
        self._waiting.clear()
