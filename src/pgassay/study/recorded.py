"""Reading a study back from a record: its names and levels were checked when it ran, so every one is taken as it is.

A report must not need the rooms of the bench, nor fail because a later version renamed a factor.
"""

from collections.abc import Sequence

from pgassay.study.document import Document
from pgassay.study.levels import Level
from pgassay.study.model import Study
from pgassay.study.parsing import parse


class AsRecorded:
    """Knows every name and takes every level as typed."""

    def find(self, name: str) -> "AsRecorded":
        """Itself, whatever the name."""
        return self

    def names(self) -> Sequence[str]:
        """None of its own."""
        return ()

    def parse(self, name: str, typed: str) -> Level:
        """The level as typed."""
        return Level(typed, typed)


def parse_recorded(name: str, document: Document) -> Study:
    """The study of a record's `study.toml`."""
    return parse(name, document, AsRecorded())
