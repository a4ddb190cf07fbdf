"""Who runs blocks for the head: the interface, which has a fake beside it (`testing.fakes.crew`)."""

from collections.abc import Callable, Sequence
from typing import Protocol

from pgassay.fleet.blocks import BlockOrder
from pgassay.fleet.parcels import Arrived
from pgassay.lab.trial_state import HostState

Tell = Callable[[Sequence[HostState]], None]


class Crew(Protocol):
    """Hosts that take orders. A block is run whole by one of them, whichever is free; lost with it, by another."""

    @property
    def hosts(self) -> int:
        """How many blocks run at once."""

    def within_reach(self) -> frozenset[str]:
        """Names of the hosts that are there, or have been missing for a short while only."""

    def submit(self, order: BlockOrder) -> None:
        """Have a block run; one that was ordered already is not ordered again."""

    def next_arrived(self, tell: Tell) -> Arrived:
        """Wait for any of the ordered blocks, and tell meanwhile what the hosts do.

        A block that is late is begun on a free host as well, and the first that comes home counts. Raises `FleetError`
        where a block cannot be run, and where none can come any more: all hosts are gone, or hang.
        """

    def cancel(self) -> None:
        """Nothing that is still under way is wanted; calling it twice is harmless."""
