"""A simulated server that knows which step of an advice asks it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.advise import Server
from pgassay.advise.space import Configuration


@dataclass
class Stepped(Server):
    """It notes the batch that is measured, so that what is true may depend on it."""

    step: str = field(default="", init=False)
    """The batch that is measured; none in a study."""

    def batch(
        self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int
    ) -> Mapping[Configuration, float | None]:
        """One trial of each."""
        self.step = name
        found = super().batch(name, start, configurations, seed)
        self.step = ""
        return found
