"""What trades durability for speed: reports never say "take" of it without what may be lost, and advice does not try it
unless it is asked for.

From PostgreSQL's manual, "Reliability and the Write-Ahead Log", "Asynchronous Commit", "Synchronous Replication" and
"CREATE TABLE" (UNLOGGED). What is not crash-safe may damage what was committed long ago: it is measured, and never
recommended. A drive that writes 16 kB atomically does not make full_page_writes = off safe: PostgreSQL writes through
the page cache, which splits writes as it likes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_OFF = ("off", "false", "no", "0")
_UNLOGGED = re.compile(r"\bunlogged\b", re.IGNORECASE)
_SYNC = "commits are durable only where the drive honours the call: try it with pgassay drive cut"


@dataclass(frozen=True)
class Loss:
    """What may be lost, and whether the cluster survives a power failure as a whole."""

    text: str
    crash_safe: bool = True


SETTINGS: Mapping[str, Mapping[str, Loss]] = {
    "fsync": dict.fromkeys(_OFF, Loss("a power failure can destroy the whole cluster", crash_safe=False)),
    "full_page_writes": dict.fromkeys(
        _OFF, Loss("a power failure can leave torn pages, and nothing repairs them", crash_safe=False)
    ),
    "synchronous_commit": {
        **dict.fromkeys(_OFF, Loss("a crash loses commits of the last moments, up to three times wal_writer_delay")),
        "local": Loss("commits that no standby has yet are lost with the primary"),
        "remote_write": Loss("commits that no standby has flushed are lost if both servers crash"),
    },
    "wal_sync_method": dict.fromkeys(("open_datasync", "open_sync"), Loss(_SYNC)),
}
"""By setting the levels that give something up."""


def loss(factor: str, level: str) -> Loss | None:
    """What a level of a factor gives up; None for what is as durable as PostgreSQL's defaults."""
    if factor == "schema.change":
        emptied = Loss("after a crash an unlogged table is empty, and no standby has it")
        return emptied if _UNLOGGED.search(level) else None
    return SETTINGS.get(factor.removeprefix("server."), {}).get(level.strip().lower())
