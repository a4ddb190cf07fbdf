"""Other sessions on a user's server, and which of them may stay during a study, by declaration.

Standbys, poolers, exporters and backup agents are on every server that people have; `watch` measures what they do.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pgassay.errors import UsageError

STANDBY = "walsender"
"""The kind of client that streams WAL; who takes a base backup by the same protocol is a "backup"."""


@dataclass(frozen=True)
class Client:
    """Somebody's session on the server; empty where it is hidden."""

    pid: int
    application: str
    database: str
    role: str
    kind: str
    state: str = ""

    @property
    def words(self) -> str:
        parts = [f"pid {self.pid}", self.application and f"application_name {self.application}"]
        parts.append(f"database {self.database}" if self.database else self.kind or "replication")
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Companions:
    """Whom the user has declared."""

    roles: frozenset[str] = frozenset()
    applications: frozenset[str] = frozenset()
    standbys: bool = False

    @classmethod
    def of(cls, words: Sequence[str]) -> "Companions":
        """From `role=NAME`, `application_name=NAME` and `standby`; raises `UsageError` for any other word."""
        found: dict[str, set[str]] = {"role": set(), "application_name": set(), "standby": set()}
        for word in words:
            kind, equals, name = word.partition("=")
            if kind not in found or (kind == "standby") == bool(equals) or bool(equals) != bool(name):
                raise UsageError(
                    f'--companion cannot be "{word}"', "give role=NAME, application_name=NAME, or standby; repeat it"
                )
            found[kind].add(name)
        return cls(frozenset(found["role"]), frozenset(found["application_name"]), bool(found["standby"]))

    def __contains__(self, client: Client) -> bool:
        streams = client.kind == STANDBY and not client.database  # a subscriber of logical replication has a database
        return client.role in self.roles or client.application in self.applications or (self.standbys and streams)

    @property
    def sessions(self) -> bool:
        """May ordinary sessions begin in a window, so that their number says nothing of strangers?"""
        return bool(self.roles or self.applications)

    @property
    def words(self) -> str:
        found = [f"role={each}" for each in sorted(self.roles)]
        found += [f"application_name={each}" for each in sorted(self.applications)]
        return ", ".join([*found, *(["standby"] if self.standbys else [])])


NOBODY = Companions()


def proposed(found: Sequence[Client], ours: str) -> str:
    """The options that would declare these clients, for the command line; `ours` is our own role, never proposed."""
    words = []
    for each in found:
        if each.kind == STANDBY and not each.database:
            words.append("standby")
        elif each.role and each.role != ours:
            words.append(f"role={each.role}")
        elif each.application:
            words.append(f"application_name={each.application}")
    return " ".join(f"--companion {shlex.quote(word)}" for word in dict.fromkeys(words))
