"""Power cuts during a window (`load.cuts`): crash states of the drive, each recovered by a real server and checked.

The server under load goes on: a crash state is a clone inside the emulated drive, mounted next to it (the kernel
replays the file system's journal), and a second server recovers from its WAL on it (`crash_recovery`). Two cuts are
under way at a time. Which crash states are drawn depends on the trial's seed alone, so a trial that is begun again
draws the same ones. The verdict on lost commits is made when the load has ended, by its own log.

Most cuts are recovered with settings that are quick and change nothing of what recovery reads or checks, and looked at
where something was written lately. One in eleven is recovered as the treatment has it, alone, so that its time counts,
and checked whole. What every step assumes is in docs/power-cuts.md.

What the server under load had done is asked just before each cut and just after it, by functions that every version has
(manual, "System Administration Functions"), so that neither its settings nor its log matter. Whatever is not certain
counts as not met: a checkpoint that no look saw in pg_control, and a second write within the same second.
"""

import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from pgassay.analysis.power_cuts import ServerAtCut, compare_ledger, coverage_of
from pgassay.design import risk
from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.interfaces.errors import ClusterError, DamagedError, QueryError, StartTimeoutError
from pgassay.interfaces.load import LedgerLoad, LedgerState, LoadOptions
from pgassay.interfaces.server import Server
from pgassay.interfaces.store import ALL, INDEPENDENT, NOTHING, PREFIX, CrashingDrive, CrashReport, CrashRequest
from pgassay.lab import measurements
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.trial_state import Laps
from pgassay.load.pgbench.data import sums_differ
from pgassay.record.power_cuts import (
    DAMAGED_FILESYSTEM,
    DAMAGED_PAGE,
    DRIVE_FULL,
    ENDLESS_RECOVERY,
    HALF_TRANSACTION,
    LOST_COMMITS,
    NEVER_SENT,
    NO_RECOVERY,
    SOUND,
    CutRecord,
    epoch_of,
)
from pgassay.study.model import Study
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.units import parse_time_ms

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
_REDO = re.compile(r"redo (starts|done) at ([0-9A-F]+)/([0-9A-F]+)")


_CHANGED = "(SELECT extract(epoch FROM max((pg_stat_file({path}, true)).modification))::bigint{of})"
_MODIFIED: Mapping[str, str] = {
    "heap": _CHANGED.format(path="path", of=" FROM relation WHERE relkind IN ('r', 't', 'm')"),
    "index": _CHANGED.format(path="path", of=" FROM relation WHERE relkind = 'i'"),
    "pg_xact": _CHANGED.format(path="'pg_xact/' || name", of=" FROM pg_ls_dir('pg_xact') name"),
    "control": _CHANGED.format(path="'global/pg_control'", of=""),
    "wal": _CHANGED.format(path="'pg_wal/' || name", of=" FROM pg_ls_waldir()"),
    "maps": _CHANGED.format(path="path || fork", of=" FROM relation, unnest(ARRAY['_vm', '_fsm']) fork"),
}
"""Of each of `analysis.power_cuts.KINDS` when one of its files was last written to, in whole seconds."""
_PAGE_HEADER_BYTES, _PAGE_ADDRESS = 16, slice(8, 16)
"""Of a page of WAL: its address is the third thing in it (XLogPageHeaderData)."""
_LOOK = f"""
WITH wal AS (SELECT pg_current_wal_insert_lsn() AS at,
                    pg_size_bytes(current_setting('wal_segment_size')) AS segment,
                    current_setting('wal_block_size')::bigint AS page),
     relation AS (SELECT relkind, pg_relation_filepath(oid) AS path FROM pg_class
                  WHERE oid >= 16384 AND relkind IN ('r', 't', 'm', 'i') AND relpersistence = 'p')
SELECT (redo_lsn - '0/0')::bigint, (checkpoint_lsn - '0/0')::bigint, (at - '0/0')::bigint, segment,
       pg_read_binary_file('pg_wal/' || pg_walfile_name(at), segment - page, {_PAGE_HEADER_BYTES}, true),
       {", ".join(_MODIFIED.values())}
FROM pg_control_checkpoint(), wal
"""


@dataclass(frozen=True)
class Look:
    """One look at the server; LSNs as numbers. `redo` and `record` are of its last whole checkpoint: where recovery
    begins, and the completion record. WAL is inserted `at`. `modified` in whole seconds, None without such a file."""

    redo: int
    record: int
    at: int
    recycled_wal: bool
    modified: Mapping[str, int | None]


class Surroundings:
    """Looks at one server, from its cuts' threads."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._looks: list[Look] = []

    def look(self) -> Look | None:
        """What it has done by now; None where it could not be asked, because it died."""
        with self._lock:
            try:
                ((redo, record, at, segment, header, *modified),) = self._server.query(_LOOK)
            except QueryError:
                return None
            # A segment that was used for older WAL has that WAL's address in its last page, which is written last.
            address = int.from_bytes((header or b"")[_PAGE_ADDRESS], sys.byteorder)
            recycled = 0 < address < at - at % segment
            found = Look(redo, record, at, recycled, dict(zip(_MODIFIED, modified, strict=True)))
            self._looks.append(found)
            return found

    def redo_before(self, look: Look) -> int | None:
        """Where the whole checkpoint before the last one began; None where none was whole since the first look.

        Where only one was, its place is taken by the first look's.
        """
        with self._lock:
            redos = sorted({each.redo for each in self._looks if each.redo <= look.redo})
        return redos[-2] if len(redos) > 1 else None

    def met(self, around: Sequence[tuple[Look | None, Look | None]]) -> Sequence[ServerAtCut | None]:
        """What each cut met, by the looks before and after it; call it once the last look was made."""
        with self._lock:
            return met_by(self._looks, around)


def met_by(looks: Sequence[Look], around: Sequence[tuple[Look | None, Look | None]]) -> Sequence[ServerAtCut | None]:
    """What each cut met. `looks` are all that were made, in their order; the load began after the first one."""
    if not looks:
        return [None for _ in around]
    first = looks[0]
    whole = {(look.redo, look.record) for look in looks if look.record > first.record}
    found: dict[int, ServerAtCut] = {}
    known = [(before, after, place) for place, (before, after) in enumerate(around) if before and after]
    known.sort(key=lambda each: looks.index(each[0]))
    for earlier, (before, after, place) in pairwise([(first, first, -1), *known]):
        found[place] = ServerAtCut(
            checkpoints=sum(record <= before.record for _, record in whole),
            in_checkpoint=any(redo <= before.at and after.at <= record for redo, record in whole),
            recycled_wal=before.recycled_wal,
            written=tuple(
                kind for kind, when in before.modified.items() if when is not None and when != earlier[0].modified[kind]
            ),
        )
    return [found.get(place) for place in range(len(around))]


@dataclass
class Cut:
    """One cut before the load's own log is known."""

    record: CutRecord
    laps: Laps
    state: LedgerState | None = None
    looks: tuple[Look | None, Look | None] = (None, None)
    """At the server under load, just before the cut and just after it."""

    def found(self, verdict: str, detail: str, evidence: str = "") -> None:
        if self.record.verdict == SOUND:
            self.record = replace(self.record, verdict=verdict, detail=detail, evidence=evidence)


def start(cut: Cut, arm: ResolvedArm, clone: Path, directory: Path, sockets: Path, *, as_set: bool) -> Server | None:
    """Let a server recover on what is left of a clone; None where it does not, which is noted as the verdict."""
    # After a reboot its process would not be there either; here the server under load still has that number.
    with suppress(FileNotFoundError), Directory.open(directory) as cluster:
        cluster.unlink("postmaster.pid")
    clock = arm.environment.clock
    began_ns = clock.monotonic_ns()
    limit_s = arm.setup.load.recovery_limit_s
    try:
        with cut.laps("start"):
            settings = {**arm.settings, **(_BESIDE if as_set else _QUICK)}
            server = arm.installation.start(directory, settings, sockets, ready_s=limit_s, crashed=clone)
    except ClusterError as error:
        if isinstance(error, StartTimeoutError):
            kind = ENDLESS_RECOVERY
        elif _FULL in error.message:
            kind = DRIVE_FULL
        else:
            kind = DAMAGED_PAGE if any(word in error.message for word in _PAGE_WORDS) else NO_RECOVERY
        cut.found(kind, error.message, error.hint or "")
        return None
    took_ms = (clock.monotonic_ns() - began_ns) / 1e6
    cut.record = replace(
        cut.record,
        recovery_ms=took_ms if as_set else None,
        own_settings=as_set,
        redo_bytes=replayed_bytes(server.log_text()),
    )
    return server


def look(cut: Cut, arm: ResolvedArm, server: Server, seed: int, since: LedgerState | None, *, whole: bool) -> None:
    """Look into a recovered server's tables: all of them, or what was written later than `since` and small tables."""
    try:
        load = arm.load
        with cut.laps("look"):
            if isinstance(load, LedgerLoad) and arm.setup.load.keeps_ledger:
                state = cut.state = load.ledger_state(server, seed, None if whole else since)
                if len(set(state.sums.values())) > 1:
                    cut.found(HALF_TRANSACTION, sums_differ(state.sums))
                if state.differing:
                    cut.found(
                        HALF_TRANSACTION,
                        f"a transaction is there in part: {state.differing} balances are not what the last row of the"
                        " ledger for them says",
                    )
            for detail in arm.load.broken(server).values() if whole else ():
                cut.found(HALF_TRANSACTION, detail)
        with cut.laps("amcheck"):
            damage = measurements.check_relations(server, None if whole else _SMALL_BYTES)
        for code, detail in damage.items():
            if code != measurements.NOT_CHECKED:
                cut.found(DAMAGED_PAGE, detail)
        cut.record = replace(cut.record, amcheck=whole and measurements.NOT_CHECKED not in damage)
    except QueryError as error:
        kind = DRIVE_FULL if _FULL in error.message else DAMAGED_PAGE
        cut.found(kind, error.message, "\n".join(server.log_text().splitlines()[-5:]))


def replayed_bytes(log: str) -> float | None:
    """WAL that recovery replayed, from the last `redo starts at` and `redo done at`; 0 where it says neither.

    None where redo began and its end is not in the log.
    """
    found = {word: int(high, 16) << 32 | int(low, 16) for word, high, low in _REDO.findall(log)}
    if "starts" not in found:
        return 0.0
    return float(found["done"] - found["starts"]) if "done" in found else None


RESPONSES = (
    Response("power_cuts", "power cuts", "count", Better.NEITHER, Scale.DIFFERENCE),
    Response(risk.UNSAFE, "power cuts that lost or damaged something", "count", Better.LOWER, Scale.DIFFERENCE),
    Response(risk.EPOCHS, "epochs (times between two flushes) in which power was cut", "count", Better.NEITHER,
             Scale.DIFFERENCE),
    Response(risk.DAMAGED, "epochs with a power cut that lost or damaged something", "count", Better.LOWER,
             Scale.DIFFERENCE),
    Response(risk.UNTRIED, "what a verdict of safe needs and no power cut met", "count", Better.LOWER,
             Scale.DIFFERENCE),
    Response(risk.AFTER, "epochs with a power cut after a whole checkpoint", "count", Better.NEITHER, Scale.DIFFERENCE),
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
WHOLE_EVERY = 11
"""One in so many is checked whole, and recovered with the treatment's own settings; the last one, too.

It has no divisor in common with the length of the plan, so that each way of drawing is checked whole in turn."""
WORKERS = 2
"""So many at a time: while one waits for a page in flight or for its mount, the other one recovers."""
_AFTER_S = 2.0
"""The load has begun by then."""
_WAL_WRITER_DELAYS = 3
"""With synchronous_commit = off so many of wal_writer_delay may be lost (manual, "Asynchronous Commit")."""
_WAL_WRITER_DELAY = "200ms"


def responses(options: Sequence[LoadOptions]) -> tuple[Response, ...]:
    return RESPONSES if any(each.cuts for each in options) else ()


def require(arm: ResolvedArm) -> None:
    """Raise `UsageError` where cuts are asked of a drive that cannot be cut."""
    drive = arm.setup.drive
    if not arm.setup.load.cuts:
        return
    if not drive.data.kind.emulated:
        raise UsageError(
            f'"load.cuts" needs an emulated drive for data and WAL together, not {drive.data.label}',
            'add --set drive.data=ssd (root and FUSE are needed; "pgassay doctor" checks both)',
        )
    if drive.wal is not None:
        raise UsageError(
            f'"load.cuts" needs data and WAL on one emulated drive, and "drive.wal" is {drive.wal.label}',
            "add --set drive.wal=beside, or leave drive.wal and its options out: the WAL then lies with the data",
        )


def require_risk(study: Study, options: Sequence[LoadOptions]) -> None:
    """Raise `UsageError` where a bound is asked for that nothing brings: no cuts, or verdicts on something else."""
    if study.design.risk_below is None:
        return
    if study.primary != risk.UNSAFE or study.design.settle:
        raise UsageError(
            f'"design.risk_below" is about power cuts, and the study settles "{study.primary}"',
            f'set responses.primary = "{risk.UNSAFE}", and leave design.settle out',
        )
    if not all(each.cuts for each in options):
        raise UsageError(
            '"design.risk_below" needs power cuts in every treatment',
            "add --set load.cuts=100, or run pgassay drive cut",
        )


def spread_s(window_s: float | None, count: int) -> float:
    """How much later each cut begins than the one before, so that they lie all over a window; 0 where it has no length.

    What takes longer than that follows at once.
    """
    return 0.0 if window_s is None else max(0.0, window_s - _AFTER_S) / count


def crash_request(seed: int, position: int) -> CrashRequest:
    """Which crash state a trial of this seed draws at this position, from 0."""
    draw, patience_s = PLAN[position % len(PLAN)]
    return CrashRequest(draw, (seed * 1_000_003 + position) % 2**63, patience_s)


class PowerCuts:
    """The cuts of one window, made by threads of its own."""

    def __init__(self, arm: ResolvedArm, clone: Path, seed: int) -> None:
        assert isinstance(arm.drive, CrashingDrive)
        self._arm = arm
        self._drive = arm.drive
        self._clone = clone
        self._seed = seed
        self._count = arm.setup.load.cuts
        self._lock = threading.Lock()
        self._begun = 0
        self._made: dict[int, Cut] = {}
        self._surroundings: Surroundings | None = None
        self._known: list[tuple[int, LedgerState]] = []
        """The states of the ledger that were found sound, each with the end of WAL when its cut was made; in order."""
        self._entry = threading.Lock()
        self._free = threading.Semaphore(WORKERS)
        self._aiming = threading.Lock()
        """A drive waits for one page at a time."""
        self._began_s = 0.0
        self._spread_s = spread_s(arm.setup.load.timed_s, self._count)
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._run, name=f"power-cuts-{number}", args=(number,))
            for number in range(min(WORKERS, self._count))
        ]

    def start(self, server: Server) -> None:
        """Begin, a moment after the load; `server` is the one that works on the drive."""
        measurements.install(server)  # Once, and not by each server that recovers.
        self._surroundings = Surroundings(server)
        self._surroundings.look()
        self._began_s = time.monotonic() + _AFTER_S
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Begin no other cut, and return when the present ones are given back; raises what a thread raised."""
        self._ended.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """After `stop`: where the window ended before the last cut, one more is made and checked whole."""
        left = sorted(set(range(self._count)) - set(self._made))
        if left:
            self._made[left[0]] = self._cut(left[0], 0, whole=True)
        self._look()

    def judged(self, output: Path) -> tuple[CutRecord, ...]:
        """After `close`: every cut in its order, with what it met and what the load's log says of its commits."""
        made = [self._made[position] for position in sorted(self._made)]
        if self._surroundings is not None:
            for each, met in zip(made, self._surroundings.met([each.looks for each in made]), strict=True):
                each.record = replace(each.record, met=met)
        load = self._arm.load
        if not (isinstance(load, LedgerLoad) and self._arm.setup.load.keeps_ledger):
            return tuple(each.record for each in made)
        answered, allowed_ms, settings = load.acknowledged(output), 0.0, self._arm.settings
        if settings.get("synchronous_commit") == "off":
            delay = settings.get("wal_writer_delay", _WAL_WRITER_DELAY)
            allowed_ms = _WAL_WRITER_DELAYS * (float(delay) if delay.isdecimal() else parse_time_ms(delay))
        return tuple(judge(each.record, each.state, answered, allowed_ms) for each in made)

    def _run(self, worker: int) -> None:
        try:
            while True:
                with self._lock:
                    if self._ended.is_set() or self._begun == self._count:
                        return
                    position, self._begun = self._begun, self._begun + 1
                due_s = self._began_s + position * self._spread_s
                if self._ended.wait(max(0.0, due_s - time.monotonic())):
                    return
                whole = position % WHOLE_EVERY == 0 or position == self._count - 1
                made = self._cut(position, worker, whole=whole)
                with self._lock:
                    self._made[position] = made
        except BaseException as failure:
            with self._lock:
                self._failure = self._failure or failure
            self._ended.set()

    @contextmanager
    def _at_work(self, *, alone: bool) -> Iterator[None]:
        """Along with other cuts, or where the time counts alone: all others are done, and nobody begins meanwhile."""
        workers = WORKERS if alone else 1
        with self._entry:
            for _ in range(workers):
                self._free.acquire()
        try:
            yield
        finally:
            self._free.release(workers)

    def _cut(self, position: int, worker: int, *, whole: bool) -> Cut:
        request = crash_request(self._seed, position)
        clock = self._arm.environment.clock
        nothing_yet = CutRecord(0, 0, 0, request.draw, request.seed, 0, 0, 0, 0, 0.0, 0.0, SOUND)
        made = Cut(nothing_yet, Laps(clock))
        as_set = whole or self._arm.setup.load.recovers_as_set
        with self._at_work(alone=as_set):
            began_ns = clock.monotonic_ns()
            # Two servers that start in one directory at the same moment would take the same port.
            sockets = self._arm.environment.socket_directory / f"cut-{worker}"
            self._recovered(made, request, sockets, as_set=as_set, whole=whole)
        taken_ms = {name: seconds * 1e3 for name, seconds in made.laps.timings_s.items()}
        made.record = replace(
            made.record,
            total_ms=(clock.monotonic_ns() - began_ns) / 1e6,
            steps_ms={**(made.record.steps_ms or {}), **taken_ms},
        )
        return made

    def _recovered(self, made: Cut, request: CrashRequest, sockets: Path, *, as_set: bool, whole: bool) -> None:
        try:
            with self._aiming if request.page_within_s is not None else nullcontext():
                before = self._look()
                known = self._since(before)  # before the cut, so that it is no later state than the one to come
                try:
                    state = self._drive.cut(self._clone, request)
                finally:
                    made.looks = (before, self._look())
        except DamagedError as error:
            made.found(DAMAGED_FILESYSTEM, error.message)
            return
        try:
            made.record = replace(_cut_record(state.report, request), steps_ms=dict(state.steps_ms))
            server = start(made, self._arm, self._clone, state.directory, sockets, as_set=as_set)
            if server is not None:
                try:
                    look(made, self._arm, server, self._seed, known, whole=whole)
                finally:
                    with made.laps("stop"):
                        server.stop(immediately=True)
                _, after = made.looks
                with self._lock:
                    if made.record.verdict == SOUND and made.state is not None and made.state.sums:
                        self._known.append((0 if after is None else after.at, made.state))
                        self._known.sort(key=lambda each: each[0])
        finally:
            with made.laps("discard"):
                self._drive.discard_cut(state)

    def _look(self) -> Look | None:
        return None if self._surroundings is None else self._surroundings.look()

    def _since(self, look: Look | None) -> LedgerState | None:
        """A sound state; what came later a quick cut reads. None where there is none yet.

        WAL brings back all since the last whole checkpoint began. What was changed before rests on the files of tables,
        so the rows of one more checkpoint are read.
        """
        with self._lock:
            if not self._known:
                return None
            redo = None if look is None or self._surroundings is None else self._surroundings.redo_before(look)
            if redo is None:
                return self._known[-1][1]
            return next((state for at, state in reversed(self._known) if at <= redo), self._known[0][1])


def judge(
    record: CutRecord,
    state: LedgerState | None,
    answered: Mapping[int, Sequence[tuple[int, bool]]],
    allowed_ms: float,
) -> CutRecord:
    """The record with what the load's own log says; `allowed_ms` of commits may be lost by the settings."""
    if state is None:
        return record
    found = compare_ledger(state.rows, answered, record.wall_ns)
    record = replace(record, ledger=True, lost_commits=found.lost, loss_ms=found.loss_ms if found.lost else 0.0)
    if record.verdict != SOUND:
        return record
    if found.holes or (found.lost and found.loss_ms > allowed_ms):
        missing = f"{found.lost + found.holes} acknowledged commits are missing"
        which = f"the first from {found.loss_ms:.0f} ms before the cut"
        if found.holes:
            which = f"{found.holes} of them before one that is there"
        return replace(record, verdict=LOST_COMMITS, detail=f"{missing}, {which}")
    if found.invented:
        return replace(
            record, verdict=NEVER_SENT, detail=f"{found.invented} transactions are there that no client had sent"
        )
    return record


@contextmanager
def during(arm: ResolvedArm, server: Server, clone: Path, seed: int) -> Iterator[PowerCuts | None]:
    """Around the load of a window; None where no cuts are asked for."""
    if not arm.setup.load.cuts:
        yield None
        return
    cuts = PowerCuts(arm, clone, seed)
    try:
        cuts.start(server)
        yield cuts
    finally:
        with arm.environment.held():
            cuts.stop()
    cuts.close()


def summed(cuts: Sequence[CutRecord], flush: str) -> dict[str, float | None]:
    """The responses of a window's cuts on a drive with this `drive.flush`."""
    unsafe = [cut for cut in cuts if cut.verdict != SOUND]
    recoveries = sorted(cut.recovery_ms for cut in cuts if cut.recovery_ms is not None)
    middle = median(recoveries) if recoveries else None
    met = [cut.met for cut in cuts]
    return {
        "power_cuts": float(len(cuts)),
        risk.UNSAFE: float(len(unsafe)),
        risk.EPOCHS: float(len({epoch_of(cut, flush) for cut in cuts})),
        risk.DAMAGED: float(len({epoch_of(cut, flush) for cut in unsafe})),
        risk.UNTRIED: float(len(coverage_of([met]).untried)) if any(met) else None,
        risk.AFTER: float(len({epoch_of(cut, flush) for cut in cuts if cut.met and cut.met.after})),
        "crash_recovery_ms": middle,
        "crash_recovery_max_ms": recoveries[-1] if recoveries else None,
        "lost_commit_ms": max((cut.loss_ms for cut in cuts), default=0.0),
    }


def _cut_record(report: CrashReport, request: CrashRequest) -> CutRecord:
    page = None if report.page is None else {**asdict(report.page), "torn": report.page.torn}
    return CutRecord(
        number=report.number,
        wall_ns=report.wall_ns,
        epoch=report.flushes,
        draw=request.draw,
        seed=request.seed,
        requests=report.requests,
        pieces=report.pieces,
        lost_pieces=report.lost_pieces,
        torn_requests=report.torn_requests,
        cut_ms=report.took_ms,
        total_ms=0.0,
        verdict=SOUND,
        page=page,
        strip=[list(each) for each in report.strip],
        memory_bytes=report.memory_bytes,
    )
