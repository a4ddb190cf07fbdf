"""Which factors there are, by interface: the study layer checks names and levels without knowing who applies them.

The lab's catalogue implements it from the factors that the rooms of the bench declare.
"""

from collections.abc import Sequence
from typing import Protocol

from pgassay.study.levels import Level


class LevelParser(Protocol):
    """The one thing of a factor that parsing a study needs."""

    def parse(self, name: str, typed: str) -> Level:
        """The level in canonical form; raises `UsageError` with what would be accepted."""


class FactorNames(Protocol):
    """All factors by name, as the lab's catalogue offers them."""

    def find(self, name: str) -> LevelParser | None:
        """The factor that covers this name, or None."""

    def names(self) -> Sequence[str]:
        """Every name or pattern, for suggestions and for `pgassay studies --factors`."""
