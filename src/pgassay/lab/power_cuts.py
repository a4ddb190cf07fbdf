"""Power cuts during a window (`load.cuts`): crash states of the drive, each recovered by a real server and checked.

The server under load goes on: a crash state is a clone inside the emulated drive, mounted beside it (the kernel replays
the file system's journal), and a second server recovers from its WAL on it. What is then checked, and what every step
assumes, is in docs/power-cut.md. The verdict on lost commits is made when the load has ended, by its own log.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from pgassay.analysis import ledger
from pgassay.bench.crash_states import ALL, INDEPENDENT, NOTHING, PREFIX, CrashingDrive, CrashReport, CrashWish
from pgassay.bench.errors import ClusterError, DamagedError, QueryError
from pgassay.bench.load import LedgerLoad, LedgerState, LoadOptions
from pgassay.bench.server import Server
from pgassay.lab import amcheck, messages
from pgassay.lab.arms import ResolvedArm
from pgassay.record.power_cuts import (
    DAMAGED_FILESYSTEM,
    DAMAGED_PAGE,
    HALF_TRANSACTION,
    LOST_COMMITS,
    NEVER_SENT,
    NO_RECOVERY,
    SOUND,
    CutRecord,
)
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.units import parse_time_ms

RESPONSES = (
    Response("power_cuts", "power cuts", "count", Better.NEITHER, Scale.DIFFERENCE),
    Response("unsafe_cuts", "power cuts that lost or damaged something", "count", Better.LOWER, Scale.DIFFERENCE),
    Response("crash_recovery_ms", "start after a power cut until connections are accepted, median", "ms", Better.LOWER),
    Response("crash_recovery_max_ms", "start after a power cut until connections are accepted, longest", "ms",
             Better.LOWER),
    Response("lost_commit_ms", "how far before a cut the first lost commit was, greatest", "ms", Better.LOWER,
             Scale.DIFFERENCE),
)  # fmt: skip
PLAN: tuple[tuple[str, float | None], ...] = (
    (ALL, 3.0), (PREFIX, None), (ALL, 3.0), (INDEPENDENT, None), (NOTHING, 3.0), (NOTHING, None),
)  # fmt: skip
"""How crash states are drawn in turn, and how long a cut waits for a page in flight: half of them aim at one."""
AMCHECK_EVERY = 5
_AFTER_S = 2.0
"""The load has begun by then."""
_PAUSE_S = 0.1
_WAL_WRITER_DELAYS = 3
"""With synchronous_commit = off so many of wal_writer_delay may be lost (manual, "Asynchronous Commit")."""
_WAL_WRITER_DELAY = "200ms"
_PAGE_WORDS = ("invalid page", "page verification failed", "could not read block", "invalid lp", "checksum")


def responses(options: Sequence[LoadOptions]) -> tuple[Response, ...]:
    """What trials yield in addition where cuts are made."""
    return RESPONSES if any(each.cuts for each in options) else ()


def require(arm: ResolvedArm) -> None:
    """Raise `UsageError` where cuts are asked of a drive that cannot be cut."""
    if arm.setup.load.cuts and (arm.setup.drive.wal is not None or not arm.setup.drive.data.kind.emulated):
        raise messages.no_cuts(arm.setup.drive.data.label)


@dataclass
class _Cut:
    """One cut before the load's own log is known."""

    record: CutRecord
    state: LedgerState | None = None


class PowerCuts:
    """The cuts of one window, made by a thread of its own."""

    def __init__(self, arm: ResolvedArm, clone: Path, seed: int) -> None:
        assert isinstance(arm.drive, CrashingDrive)
        self._arm = arm
        self._drive = arm.drive
        self._clone = clone
        self._seed = seed
        self._made: list[_Cut] = []
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="power-cuts")

    def start(self) -> None:
        """Begin, a moment after the load."""
        self._thread.start()

    def stop(self) -> None:
        """Begin no other cut, and return when the present one is given back; raises what its thread raised."""
        self._ended.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def judged(self, output: Path) -> tuple[CutRecord, ...]:
        """Every cut, with what the load's own log says of its commits."""
        load = self._arm.load
        if not (isinstance(load, LedgerLoad) and self._arm.setup.load.keeps_ledger):
            return tuple(each.record for each in self._made)
        answered = load.acknowledged(output)
        return tuple(judge(each.record, each.state, answered, self._allowed_ms) for each in self._made)

    @property
    def _allowed_ms(self) -> float:
        """How much the settings allow a crash to lose."""
        settings = self._arm.settings
        if settings.get("synchronous_commit") != "off":
            return 0.0
        delay = settings.get("wal_writer_delay", _WAL_WRITER_DELAY)
        return _WAL_WRITER_DELAYS * (float(delay) if delay.isdecimal() else parse_time_ms(delay))

    def _run(self) -> None:
        try:
            self._ended.wait(_AFTER_S)
            while len(self._made) < self._arm.setup.load.cuts and not self._ended.is_set():
                self._made.append(self._cut(len(self._made)))
                self._ended.wait(_PAUSE_S)
        except BaseException as failure:
            self._failure = failure

    def _cut(self, position: int) -> _Cut:
        draw, patience_s = PLAN[position % len(PLAN)]
        wish = CrashWish(draw, (self._seed * 1_000_003 + position) % 2**63, patience_s)
        clock = self._arm.site.clock
        began_ns = clock.monotonic_ns()
        made = _Cut(_nothing_yet(wish))
        try:
            try:
                state = self._drive.cut(self._clone, wish)
                made.record = _cut_record(state.report, wish)
                self._recover(made, state.directory, deep=position % AMCHECK_EVERY == 0)
            finally:
                self._drive.discard_cut()
        except DamagedError as error:
            _found(made, DAMAGED_FILESYSTEM, error.message)
        made.record = replace(made.record, total_ms=(clock.monotonic_ns() - began_ns) / 1e6)
        return made

    def _recover(self, made: _Cut, directory: Path, *, deep: bool) -> None:
        """Start a server on a crash state and look into its tables."""
        site, arm = self._arm.site, self._arm
        # After a reboot its process would not be there either; here the server under load still has that number.
        (directory / "postmaster.pid").unlink(missing_ok=True)
        began_ns = site.clock.monotonic_ns()
        try:
            server = arm.installation.start(directory, arm.settings, site.socket_directory)
        except ClusterError as error:
            kind = DAMAGED_PAGE if any(word in error.message for word in _PAGE_WORDS) else NO_RECOVERY
            _found(made, kind, error.message, error.hint or "")
            return
        try:
            made.record = replace(made.record, recovery_ms=(site.clock.monotonic_ns() - began_ns) / 1e6)
            self._look(made, server, deep=deep)
        except QueryError as error:
            _found(made, DAMAGED_PAGE, error.message, "\n".join(server.log_text().splitlines()[-5:]))
        finally:
            server.stop(immediately=True)

    def _look(self, made: _Cut, server: Server, *, deep: bool) -> None:
        load = self._arm.load
        if isinstance(load, LedgerLoad) and self._arm.setup.load.keeps_ledger:
            made.state = load.ledger_state(server, self._seed)
            if len(set(made.state.sums)) > 1:
                _found(made, HALF_TRANSACTION, messages.sums_differ(made.state.sums))
        if deep:
            made.record = replace(made.record, amcheck=True)
            for code, detail in amcheck.check_relations(server).items():
                if code != amcheck.NOT_CHECKED:
                    _found(made, DAMAGED_PAGE, detail)


def judge(
    record: CutRecord,
    state: LedgerState | None,
    answered: Mapping[int, Sequence[tuple[int, bool]]],
    allowed_ms: float,
) -> CutRecord:
    """The record with what the load's own log says; `allowed_ms` of commits may be lost by the settings."""
    if state is None:
        return record
    found = ledger.compare(state.rows, answered, record.wall_ns)
    record = replace(record, ledger=True, lost_commits=found.lost, loss_ms=found.loss_ms if found.lost else 0.0)
    if record.verdict != SOUND:
        return record
    if found.holes or (found.lost and found.loss_ms > allowed_ms):
        return replace(
            record, verdict=LOST_COMMITS, detail=messages.lost_commits(found.lost, found.holes, found.loss_ms)
        )
    if found.invented:
        return replace(record, verdict=NEVER_SENT, detail=messages.invented_commits(found.invented))
    return record


@contextmanager
def during(arm: ResolvedArm, clone: Path, seed: int) -> Iterator[PowerCuts | None]:
    """Around the load of a window; None where no cuts are asked for."""
    if not arm.setup.load.cuts:
        yield None
        return
    cuts = PowerCuts(arm, clone, seed)
    cuts.start()
    try:
        yield cuts
    finally:
        with arm.site.held():
            cuts.stop()


def summed(cuts: Sequence[CutRecord]) -> dict[str, float | None]:
    """The responses of a window's cuts."""
    recoveries = sorted(cut.recovery_ms for cut in cuts if cut.recovery_ms is not None)
    middle = median(recoveries) if recoveries else None
    return {
        "power_cuts": float(len(cuts)),
        "unsafe_cuts": float(sum(cut.verdict != SOUND for cut in cuts)),
        "crash_recovery_ms": middle,
        "crash_recovery_max_ms": recoveries[-1] if recoveries else None,
        "lost_commit_ms": max((cut.loss_ms for cut in cuts), default=0.0),
    }


def _nothing_yet(wish: CrashWish) -> CutRecord:
    return CutRecord(0, 0, 0, wish.draw, wish.seed, 0, 0, 0, 0, 0.0, 0.0, SOUND)


def _cut_record(report: CrashReport, wish: CrashWish) -> CutRecord:
    page = None
    if report.page is not None:
        page = {
            "block": report.page.block,
            "bytes": report.page.bytes,
            "old_lsn": report.page.old_lsn,
            "new_lsn": report.page.new_lsn,
            "sectors": list(report.page.sectors),
            "changed": list(report.page.changed),
            "torn": report.page.torn,
        }
    return CutRecord(
        number=report.number,
        wall_ns=report.wall_ns,
        epoch=report.flushes,
        draw=wish.draw,
        seed=wish.seed,
        requests=report.requests,
        pieces=report.pieces,
        lost_pieces=report.lost_pieces,
        torn_requests=report.torn_requests,
        cut_ms=report.took_ms,
        total_ms=0.0,
        verdict=SOUND,
        page=page,
        strip=[list(each) for each in report.strip],
    )


def _found(made: _Cut, verdict: str, detail: str, evidence: str = "") -> None:
    """The first thing that is found is the verdict."""
    if made.record.verdict == SOUND:
        made.record = replace(made.record, verdict=verdict, detail=detail, evidence=evidence)
