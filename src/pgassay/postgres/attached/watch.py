"""What companions do on a user's server while a study runs there, once a second, and how much WAL slots hold back.

The numbers are kept with each trial (source `companions`). A slot whose standby does not keep up holds WAL back, and
the load must end before the disk is full. See the manual, "pg_stat_replication", "pg_replication_slots". Conflicts are
counted on a standby, where we are not connected.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pgassay.interfaces.errors import BenchError, QueryError
from pgassay.interfaces.probe import Meter, Reading
from pgassay.interfaces.running import Clock
from pgassay.postgres.attached import facts
from pgassay.postgres.attached.facts import STANDBY, Client, Companions, Sql
from pgassay.postgres.server import Session
from pgassay.study.units import format_size

SOURCE = "companions"
SLOT_BYTES = 8 << 30
_KEEP_SHARE = 0.8
"""Of max_slot_wal_keep_size: beyond it the server removes WAL that a standby still needs."""

_SLOTS = """
SELECT slot_name::text, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint, coalesce(wal_status, ''),
       safe_wal_size::bigint
  FROM pg_replication_slots WHERE restart_lsn IS NOT NULL ORDER BY 2 DESC
"""
_SENT = """
SELECT coalesce(sum(pg_wal_lsn_diff(sent_lsn, '0/0')), 0)::bigint,
       coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 0)::bigint
  FROM pg_stat_replication
"""
_END_LOAD = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ANY(%s) AND application_name = 'pgbench'
"""


@dataclass(frozen=True)
class Slot:
    """A replication slot, and the bytes of WAL that the server keeps for it; `safe_bytes` until it may lose some."""

    name: str
    retained_bytes: int
    status: str = "reserved"
    safe_bytes: int | None = None


def slots(sql: Sql) -> tuple[Slot, ...]:
    return tuple(Slot(*row) for row in sql.query(_SLOTS))


def require_slots(found: Sequence[Slot], limit_bytes: int, called: str = facts.ONLY) -> None:
    """Raise `BenchError` for a slot that holds back more WAL than the limit, or soon more than the server keeps."""
    for slot in found:
        bound, whose = float(limit_bytes), "--slot-limit"
        if slot.safe_bytes is not None and (kept := _KEEP_SHARE * (slot.retained_bytes + slot.safe_bytes)) < bound:
            bound, whose = kept, f"{_KEEP_SHARE:.0%} of max_slot_wal_keep_size"
        if slot.status in ("unreserved", "lost"):
            raise BenchError(
                facts.of_several(
                    called, f'replication slot "{slot.name}" is {slot.status}: its standby has lost WAL or is about to'
                ),
                "let the standby catch up, then: pgassay resume",
            )
        if slot.retained_bytes > bound:
            raise BenchError(
                facts.of_several(
                    called,
                    f'replication slot "{slot.name}" holds back {format_size(slot.retained_bytes)} of WAL, more than'
                    f" {format_size(round(bound))} ({whose}): the disk could fill",
                ),
                "let its standby catch up or drop it, then: pgassay resume; or run again with a larger --slot-limit",
            )


_SYNCED = """
SELECT current_setting('synchronous_standby_names'),
       (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'), count(r.pid)
  FROM (VALUES (1)) one LEFT JOIN pg_stat_replication r ON coalesce(r.sync_state, 'sync') IN ('sync', 'quorum')
"""
_ASYNCHRONOUS = ("off", "local")
_UNSYNCED_LOOKS = 30


def unsynced(sql: Sql, called: str = facts.ONLY) -> BenchError | None:
    """What is wrong where commits wait for ever, since fewer synchronous standbys stream than the server asks for."""
    ((names, commit, streaming),) = sql.query(_SYNCED)
    number = re.match(r"\s*(?:(?:first|any)\s+)?(\d+)\s*\(", names, re.IGNORECASE)
    needed = int(number[1]) if number else bool(names.strip())
    if commit in _ASYNCHRONOUS or streaming >= needed:
        return None
    return BenchError(
        facts.of_several(
            called, f"commits wait for synchronous_standby_names = '{names}', and {streaming} of {needed:d} stream WAL"
        ),
        "let the standbys come back, or change that setting yourself",
    )


_LOOKS = ("looks", "session_looks", "active_looks")
"""How often we looked, and how many sessions of companions there were in all looks together."""


@dataclass
class Watch:
    """Looks once a second at companions, strangers and slots; implements `interfaces.probe.Reader`."""

    sql: Session
    """Of its own, in a database of ours: for the first session it would be another client."""
    clock: Clock
    companions: Companions
    ours: Callable[[], Sequence[str]]
    """The databases that are ours now."""
    limit_bytes: int
    pid: int = 0
    """Of our first session's backend, which is in a database of the user's."""
    called: str = facts.ONLY
    meters: Mapping[str, tuple[Meter, ...]] = field(
        default_factory=lambda: {
            SOURCE: (
                *(Meter(name, "count") for name in _LOOKS),
                Meter("wal_sent_bytes", "bytes"),
                Meter("lag_bytes", "bytes", cumulative=False),
                Meter("slot_bytes", "bytes", cumulative=False),
            )
        }
    )
    per_second: bool = True
    strangers: dict[int, Client] = field(default_factory=dict)
    """Undeclared clients seen so far, by process id."""
    broken: BenchError | None = None
    """What is wrong with a slot, or for too long with a synchronous standby."""
    _counted: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_LOOKS, 0.0))
    _lag: float = 0.0
    _unsynced_looks: int = 0

    def read(self) -> tuple[Reading, ...]:
        """See `interfaces.probe.Reader`. Where a slot or standby is wrong the load's sessions are ended."""
        values: dict[str, float | None] = dict.fromkeys(meter.name for meter in self.meters[SOURCE])
        try:
            there = facts.others(self.sql, self.ours(), patience_s=0.0)
            everyone = [each for each in there if each.pid != self.pid]
            mine = [each for each in everyone if each in self.companions]
            self.strangers |= {each.pid: each for each in everyone if each not in self.companions}
            self._counted["looks"] += 1
            self._counted["session_looks"] += len(mine)
            self._counted["active_looks"] += sum(each.state == "active" for each in mine if each.kind != STANDBY)
            values |= self._counted
            ((sent, lag),) = self.sql.query(_SENT)
            self._lag = max(self._lag, float(lag))
            held = slots(self.sql)
            values |= {
                "wal_sent_bytes": float(sent),
                "lag_bytes": self._lag,
                "slot_bytes": float(max((each.retained_bytes for each in held), default=0)),
            }
            require_slots(held, self.limit_bytes, self.called)
            waiting = unsynced(self.sql, self.called)
            self._unsynced_looks = self._unsynced_looks + 1 if waiting else 0
            if waiting and self._unsynced_looks >= _UNSYNCED_LOOKS:
                raise waiting
        except QueryError:
            pass  # the server is gone, or does not say: None
        except BenchError as error:
            self.broken = error
            self.sql.query(_END_LOAD, [list(self.ours())])
        return (Reading(SOURCE, self.clock.monotonic_ns(), self.clock.wall_ns(), values),)

    def settle(self) -> None:
        """Nothing to wait for: these views show the present."""

    def rest(self) -> None:
        """Nothing: a server of the user's goes on."""

    def wake(self) -> None:
        """Nothing, as for `rest`."""

    def close(self) -> None:
        self.sql.close()
