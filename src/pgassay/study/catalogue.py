"""Which factors there are, by interface: the study layer checks names and levels without knowing who applies them.

The lab's catalogue implements it from the factors that the rooms of the bench declare.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
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


_SETTINGS = "server"
"""The namespace of PostgreSQL's settings."""
_ALIKE = 0.75
"""How alike two words are, by difflib, when one is taken for a misspelling of the other."""

_LIKE_OURS = frozenset({"postgis"})
"""Extensions whose names look like a namespace of ours (`postgres`), and are no misspelling."""


def full_name(name: str, known: Iterable[str]) -> str:
    """A name as a user types it with its namespace; `known` are the names and patterns of all factors.

    A setting needs no `server.` before it, nor does one of an extension (`pg_trgm.similarity_threshold`). What looks
    like a misspelt namespace stays as it is, so that the name is refused and not measured: PostgreSQL takes any name
    with a dot.
    """
    namespace, dot, _ = name.partition(".")
    if not dot:
        return f"{_SETTINGS}.{name}"
    namespaces = {each.partition(".")[0] for each in known}
    if namespace in namespaces:
        return name
    if namespace not in _LIKE_OURS and get_close_matches(namespace.lower(), namespaces, n=1, cutoff=_ALIKE):
        return name
    return f"{_SETTINGS}.{name}"
