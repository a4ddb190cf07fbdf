"""Who runs blocks for the head: the interface, which has a fake beside it (`testing.fakes.crew`)."""

from typing import Protocol

from pgassay.fleet.blocks import BlockOrder
from pgassay.fleet.parcels import Arrived


class Crew(Protocol):
    """Hosts that take orders. A block is run whole by one of them, whichever is free; lost with it, by another."""

    @property
    def hosts(self) -> int:
        """How many blocks run at once."""

    def submit(self, order: BlockOrder) -> None:
        """Have a block run; one that was ordered already is not ordered again."""

    def next_arrived(self) -> Arrived:
        """Wait for any of the ordered blocks; raises `FleetError` where one cannot be run."""

    def cancel(self) -> None:
        """Nothing that is still under way is wanted; calling it twice is harmless."""
