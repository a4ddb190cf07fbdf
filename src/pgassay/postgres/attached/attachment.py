"""Attaching to a server that the user names, and leaving it; what a killed lab owes is put back first.

Nobody else may work there: we look who is connected, and hold an advisory lock besides. Such a lock is one of its
database only, so it is the look that keeps two labs apart: each is connected before it looks.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.errors import BenchError, ClusterError, QueryError
from pgassay.bench.lacking import Lacking
from pgassay.bench.places import Endpoint
from pgassay.errors import PgassayError
from pgassay.postgres.attached import address, facts
from pgassay.postgres.attached.changes import ServerChanges, still_owed
from pgassay.postgres.attached.facts import Facts, other_clients
from pgassay.postgres.attached.ledger import AttachedLedger, ledgers
from pgassay.postgres.server import Session
from pgassay.study.findings import Finding, Severity

LOCK_KEY = int.from_bytes(b"pgassay!")
"""Of the advisory lock."""


@dataclass(frozen=True)
class Attachment:
    """A server to which we are attached."""

    endpoint: Endpoint
    sql: Session
    facts: Facts
    ledger: AttachedLedger
    changes: ServerChanges

    def close(self) -> None:
        """Put everything back, unlock; raises `BenchError` for what stays owed. Calling it twice is harmless."""
        try:
            if self.ledger.path.exists():
                self.changes.give_back()
        finally:
            self.sql.close()
            self.ledger.release()


def attach(
    dsn: str, directory: Path, lacking: Lacking, environment: Mapping[str, str] = os.environ, *, planned: bool = False
) -> Attachment:
    """Connect, put back what a killed lab owes, and refuse a server that is not ours alone; lists are in `directory`.

    For a plan (`planned`) nothing is changed, and what is in the way goes to `lacking`. Raises `PgassayError`.
    """
    endpoint = address.resolve(dsn, environment)
    sql = Session(endpoint)
    ledger: AttachedLedger | None = None
    try:
        found = facts.ask(sql)
        if found.standby:
            raise ClusterError(
                "the server of --server is a standby in recovery, where nothing can be made", "name a primary"
            )
        ledger = AttachedLedger.of(directory, endpoint, found.system)
        made = Attachment(endpoint, sql, found, ledger, ServerChanges(sql, ledger, found))
        if not planned:
            _take(made)
        if not found.creates_databases:
            lacking.name(
                "CREATEDB",
                ClusterError(
                    f'role "{found.role}" may not create databases, and the load works in databases of our own',
                    f'ALTER ROLE "{found.role}" CREATEDB',
                ),
            )
        others = facts.others(sql)
        if others:
            lacking.name("other clients", other_clients(others))
    except BaseException:
        sql.close()
        if ledger is not None:
            ledger.release()
        raise
    return made


def _take(made: Attachment) -> None:
    if not made.ledger.take():
        raise _attached_already(made.ledger.place)
    try:
        if made.sql.query("SELECT pg_try_advisory_lock(%s)", [LOCK_KEY]) != [(True,)]:
            raise _attached_already(made.ledger.place)
        if made.ledger.path.exists():
            _settle(made)
    except BaseException:
        made.ledger.release()
        raise


def _settle(made: Attachment) -> tuple[str, ...]:
    """What a killed lab owes to this very server."""
    known = AttachedLedger.read(made.ledger.path)
    if known is not None and known.system != made.facts.system:
        raise BenchError(
            f"the server at {made.ledger.place} is not the one that is owed something there",
            "start that one again at its address, then: pgassay doctor --repair",
        )
    return made.changes.give_back()


def repair(directory: Path) -> tuple[tuple[str, ...], tuple[PgassayError, ...]]:
    """Put back what killed labs owe to any server, unless a living one does; what was done, and what could not be."""
    done: list[str] = []
    failed: list[PgassayError] = []
    for ledger in ledgers(directory):
        if not ledger.take():
            continue
        sql = Session(ledger.endpoint)
        try:
            found = facts.ask(sql)
            mine = Attachment(ledger.endpoint, sql, found, ledger, ServerChanges(sql, ledger, found))
            done += _settle(mine)
        except QueryError as error:
            failed.append(still_owed(ledger.place, error.message))
        except BenchError as error:
            failed.append(error)
        finally:
            sql.close()
            ledger.release()
    return tuple(done), tuple(failed)


def owed(directory: Path) -> list[Finding]:
    """`attached_servers`: one finding for each server to which something is owed; none where nothing is."""
    found = []
    for ledger in ledgers(directory):
        names = ", ".join(dict.fromkeys(debt.name for debt in ledger.owed()))
        if not ledger.take():
            text = f"a running pgassay has changed on the server at {ledger.place}: {names}"
            found.append(Finding("attached_servers", Severity.NOTE, text))
            continue
        ledger.release()
        text = f"a killed pgassay left on the server at {ledger.place}: {names}"
        found.append(Finding("attached_servers", Severity.WARNING, text, "pgassay doctor --repair"))
    return found


def _attached_already(place: str) -> BenchError:
    """Another lab has it."""
    return BenchError(f"another pgassay is attached to the server at {place}", "wait for its end")
