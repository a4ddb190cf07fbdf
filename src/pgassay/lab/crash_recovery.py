"""What becomes of one crash state: a real server recovers on it, and its tables are looked into.

Most cuts are recovered with settings that are quick and change nothing of what recovery reads or checks, and looked at
where something was written lately. One in eleven is recovered as the treatment has it, alone, so that its time counts,
and checked whole. What every step assumes is in docs/power-cuts.md.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.bench.errors import ClusterError, QueryError, StartTimeoutError
from pgassay.bench.ledger import LedgerLoad, LedgerState
from pgassay.bench.server import Server
from pgassay.files import Directory
from pgassay.lab import amcheck
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.cut_surroundings import Look
from pgassay.lab.notes import Laps
from pgassay.load.pgbench.ledger import sums_differ
from pgassay.record.power_cuts import (
    DAMAGED_PAGE,
    DRIVE_FULL,
    ENDLESS_RECOVERY,
    HALF_TRANSACTION,
    NO_RECOVERY,
    SOUND,
    CutRecord,
)

_PAGE_WORDS = ("invalid page", "page verification failed", "could not read block", "invalid lp", "checksum")
_FULL = "No space left on device"
_SMALL_BYTES = 4 << 20
"""Tables of this size are checked by amcheck at each cut."""
_BESIDE: Mapping[str, str] = {"huge_pages": "off"}
"""They are reserved for the server under load."""
_QUICK: Mapping[str, str] = {**_BESIDE, "shared_buffers": "128MB", "autovacuum": "off", "archive_mode": "off",
                             "fsync": "off"}  # fmt: skip
"""Of a server whose data are thrown away when they have been looked at.

fsync = off hides nothing: what recovery reads is on the drive already, and what it writes it reads back from the page
cache, with the same checksums; fsync would only matter for a second loss of power. A drive that refuses what the kernel
writes back later counts that (`drive_store_full`).
"""
_RELATION_FILE = re.compile(r"(?:base/(?P<database>\d+)|global)/(?P<number>\d+)(?:_\w+)?(?:\.(?P<segment>\d+))?")
"""See the manual, "Database File Layout"."""
_SEGMENT_BYTES = 1 << 30
_RELATION = (
    "SELECT pg_filenode_relation(0, %s::oid)::regclass::text FROM pg_database"
    " WHERE datname = current_database() AND oid = %s::oid"
)
_REDO = re.compile(r"redo (starts|done) at ([0-9A-F]+)/([0-9A-F]+)")


@dataclass
class Cut:
    """One cut before the load's own log is known."""

    record: CutRecord
    laps: Laps
    state: LedgerState | None = None
    looks: tuple[Look | None, Look | None] = (None, None)
    """At the server under load, just before the cut and just after it."""

    def found(self, verdict: str, detail: str, evidence: str = "") -> None:
        """The first thing that is found is the verdict."""
        if self.record.verdict == SOUND:
            self.record = replace(self.record, verdict=verdict, detail=detail, evidence=evidence)


def place_page(cut: Cut, page_file: tuple[str, int] | None) -> None:
    """Write down in which file a torn page lies, and which block of its relation it is."""
    if cut.record.page is None or page_file is None:
        return
    name, place = page_file
    found = _RELATION_FILE.fullmatch(name)
    segment = int(found["segment"] or 0) if found is not None else 0
    block = (segment * _SEGMENT_BYTES + place) // cut.record.page["bytes"]
    cut.record = replace(cut.record, page={**cut.record.page, "file": name, "relation_block": block})


def name_page(cut: Cut, server: Server) -> None:
    """Write down the name of the relation that a torn page belongs to, where the server knows it."""
    page = cut.record.page or {}
    found = _RELATION_FILE.fullmatch(str(page.get("file", "")))
    if found is not None and found["database"]:
        rows = server.query(_RELATION, (found["number"], found["database"]))
        if rows and rows[0][0] is not None:
            cut.record = replace(cut.record, page={**page, "relation": str(rows[0][0])})


def settings_of(arm: ResolvedArm, *, as_set: bool) -> Mapping[str, str]:
    """Of the server that recovers."""
    return {**arm.settings, **(_BESIDE if as_set else _QUICK)}


def start(cut: Cut, arm: ResolvedArm, clone: Path, directory: Path, sockets: Path, *, as_set: bool) -> Server | None:
    """Let a server recover on what is left of a clone; None where it does not, which is noted as the verdict."""
    # After a reboot its process would not be there either; here the server under load still has that number.
    with suppress(FileNotFoundError), Directory.open(directory) as cluster:
        cluster.unlink("postmaster.pid")
    clock = arm.site.clock
    began_ns = clock.monotonic_ns()
    limit_s = arm.setup.load.recovery_limit_s
    try:
        with cut.laps("start"):
            settings = settings_of(arm, as_set=as_set)
            server = arm.installation.start(directory, settings, sockets, ready_s=limit_s, crashed=clone)
    except ClusterError as error:
        cut.found(_kind_of(error), error.message, error.hint or "")
        return None
    took_ms = (clock.monotonic_ns() - began_ns) / 1e6
    cut.record = replace(
        cut.record,
        recovery_ms=took_ms if as_set else None,
        own_settings=as_set,
        redo_bytes=replayed_bytes(server.log_text()),
    )
    return server


def _kind_of(error: ClusterError) -> str:
    if isinstance(error, StartTimeoutError):
        return ENDLESS_RECOVERY
    if _FULL in error.message:
        return DRIVE_FULL
    return DAMAGED_PAGE if any(word in error.message for word in _PAGE_WORDS) else NO_RECOVERY


def look(cut: Cut, arm: ResolvedArm, server: Server, seed: int, since: LedgerState | None, *, whole: bool) -> None:
    """Look into a recovered server's tables: all of them, or what was written later than `since` and small tables."""
    try:
        load = arm.load
        name_page(cut, server)
        with cut.laps("look"):
            if isinstance(load, LedgerLoad) and arm.setup.load.keeps_ledger:
                cut.state = load.ledger_state(server, seed, None if whole else since)
                _weigh(cut, cut.state)
            for detail in arm.load.broken(server).values() if whole else ():
                cut.found(HALF_TRANSACTION, detail)
        with cut.laps("amcheck"):
            damage = amcheck.check_relations(server, None if whole else _SMALL_BYTES)
        for code, detail in damage.items():
            if code != amcheck.NOT_CHECKED:
                cut.found(DAMAGED_PAGE, detail)
        cut.record = replace(cut.record, amcheck=whole and amcheck.NOT_CHECKED not in damage)
    except QueryError as error:
        kind = DRIVE_FULL if _FULL in error.message else DAMAGED_PAGE
        cut.found(kind, error.message, "\n".join(server.log_text().splitlines()[-5:]))


def _weigh(cut: Cut, state: LedgerState) -> None:
    if len(set(state.sums.values())) > 1:
        cut.found(HALF_TRANSACTION, sums_differ(state.sums))
    if state.differing:
        cut.found(
            HALF_TRANSACTION,
            f"a transaction is there in part: {state.differing} balances are not what the "
            "last row of the ledger for them says",
        )


def replayed_bytes(log: str) -> float | None:
    """WAL that recovery replayed, from the last `redo starts at` and `redo done at`; 0 where it says neither.

    None where redo began and its end is not in the log.
    """
    found = {word: int(high, 16) << 32 | int(low, 16) for word, high, low in _REDO.findall(log)}
    if "starts" not in found:
        return 0.0
    return float(found["done"] - found["starts"]) if "done" in found else None
