"""A simulated server that knows which step of an advice asks it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.advise import Server
from pgassay.advise.space import Configuration
from pgassay.advise.task import Values


@dataclass
class Stepped(Server):
    """It notes the batch that is measured, so that what is true may depend on it."""

    step: str = field(default="", init=False)
    """The batch that is measured; none in a study."""

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each."""
        self.step = name
        found = super().batch(name, start, configurations, seed)
        self.step = ""
        return found
