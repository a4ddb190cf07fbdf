"""What makes a trial invalid, and what is its treatment's own outcome.

Only causes *outside* the treatment (steal, a hot CPU, a clock that jumped, other programs' writes, a drive in another
state than was kept) make a trial invalid: it is kept, named, left out and run again. Those that only slow a machine
down are no cause where the verdict counts damage by power cuts: there are fewer cuts then, and each is as true. What a
treatment does to itself (no space, a crash, failed transactions, an abort) is an outcome and is reported. Pure: the
readings come in as values.

Failures of a treatment have codes of their own: a row or a key too large for the page, a drive that is full.
PostgreSQL's own words ("row is too big: size 2424, maximum size 992") are kept as the detail. A page holds at least one
row and three index keys (manual, "Limits"; "B-Tree Implementation").
"""

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pgassay.design import risk
from pgassay.interfaces.drive_counters import DATA, WAL
from pgassay.interfaces.errors import BenchError, ClusterError, HostError, SpaceError
from pgassay.interfaces.store import Clones
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.environment import FOREIGN_SHARE_MAX
from pgassay.lab.settings import MEMORY
from pgassay.lab.trial_state import TrialState
from pgassay.record.values import Reason
from pgassay.study.responses import Status

NO_SPACE = "no_space"
SHARED_MEMORY_FULL = "shared_memory_full"
"""The place of POSIX shared memory, /dev/shm, which containers get with 64 MB, and which is no drive."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
THROTTLED = "drive_throttled"
STORE_FULL = "drive_store_full"
HUGE_PAGES_MISSING = "hugepage_error"
KILLED = "server_killed"
_KILLED = re.compile(r"process \(PID \d+\) was terminated by signal 9")
_NAMED = (
    (re.compile(r"row is too big: size \d+, maximum size \d+"), "row_too_large"),
    (re.compile(r"index row (?:size \d+ exceeds|requires \d+ bytes, maximum size is)"), "key_too_large"),
    (re.compile(r"could not (?:resize|open) shared memory segment .*: No space left on device"), SHARED_MEMORY_FULL),
    (re.compile(r"could not setup io_uring queue: (?!Too many open files)"), "io_uring_refused"),
    (re.compile(r"No space left on device"), NO_SPACE),
)


def code_of(detail: str, otherwise: str) -> str:
    """A code of its own, as `row_too_large` or `no_space`, where PostgreSQL's message has one, else `otherwise`."""
    return next((code for sign, code in _NAMED if sign.search(detail)), otherwise)


def of_drives(counters: Mapping[str, float | None]) -> dict[str, str]:
    """What an emulated drive did in the window when physical space ran short: it slowed writes down, or refused them.

    A store too small for the contents is no property of the drive that is emulated, so it has a name of its own.
    """
    found = {}
    if refused := _sum(counters, "rejected_writes"):
        found[NO_SPACE] = f"the drive had no physical space left and refused {refused:.0f} blocks"
    if slowed := _sum(counters, "throttled_writes"):
        found[THROTTLED] = f"short of physical space, the drive slowed down {slowed:.0f} blocks that were written"
    if full := _sum(counters, "store_full_writes"):
        found[STORE_FULL] = f"the emulated drive's store was full in {full:.0f} writes: raise drive.data.store_bytes"
    return found


def of_error(error: BenchError | OSError, settings: Mapping[str, str]) -> dict[str, str]:
    """The treatment's failure, code to detail, that ended a trial early; `settings` are the server's.

    Raises `BenchError` for an `OSError` that is no lack of space: that is a fault of the bench. What writes to the
    record raises `RecordError`, so an `OSError` is of the place where servers live.
    """
    if isinstance(error, OSError):
        where = f'"{error.filename}": ' if error.filename else ""
        detail = f"{where}{(error.strerror or str(error)).lower()}"
        if error.errno not in _FULL:
            raise BenchError(detail) from error
        return {NO_SPACE: detail}
    if isinstance(error, SpaceError):
        return {NO_SPACE: error.message}
    if isinstance(error, HostError):
        return {error.code: error.message}
    if isinstance(error, ClusterError):
        return {code_of_start(error.message, settings): error.message}
    return {code_of(error.message, "server"): error.message}


def of_window(problems: Mapping[str, str], log: str, counters: Mapping[str, float | None]) -> dict[str, str]:
    """The treatment's failures in a window, code to detail: the load's own problems (by the more precise code where the
    detail has one), then what the server's log says (empty where nothing went wrong), then what the drives counted.
    """
    own = {code_of(detail, code): detail for code, detail in problems.items()}
    return merged({**own, **of_log(log)}, of_drives(counters))


def merged(problems: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    codes = dict.fromkeys([*more, *problems])
    return {code: "; ".join(each[code] for each in (more, problems) if code in each) for code in codes}


def _sum(counters: Mapping[str, float | None], name: str) -> float:
    return sum(counters.get(f"{source}.{name}") or 0.0 for source in (DATA, WAL))


def code_of_start(detail: str, settings: Mapping[str, str]) -> str:
    """The code for a server that did not start: `hugepage_error` where other programs took its huge pages, `no_space`,
    `server_killed` where signal 9 ended it, else `not_started`.
    """
    if settings.get("huge_pages") == "on" and "could not map anonymous shared memory" in detail:
        return HUGE_PAGES_MISSING
    return KILLED if "(signal 9)" in detail else code_of(detail, "not_started")


def of_log(text: str) -> dict[str, str]:
    """The code and the line with which a server's log explains its end; empty if it has no code of its own.

    Its clients only hear that it is gone. A process that was killed is what the kernel does where memory runs out;
    the server begins again after it.
    """
    for line in text.splitlines():
        if _KILLED.search(line):
            return {KILLED: line.strip()}
        if ("PANIC" in line or "FATAL" in line) and (code := code_of(line, "")):
            return {code: line.strip()}
    return {}


@contextmanager
def of_full_drive(drive: Clones, place: Path) -> Iterator[None]:
    """Around work in a workspace or clone: raises `SpaceError` for a failure during which its drive refused writes.

    What a file system says after a refused write of its journal (read-only, I/O error) is not the cause, and whoever
    comes next hears of that alone. The drive counted what it refused, so it is asked.
    """
    before = _refused(drive, place)
    try:
        yield
    except SpaceError:
        raise
    except (OSError, BenchError) as error:
        since = {name: value - before.get(name, 0.0) for name, value in _refused(drive, place).items()}
        refused = of_drives(since)
        if not refused:
            raise
        what = error.message if isinstance(error, BenchError) else str(error.strerror).lower()
        raise SpaceError(f"{'; '.join(refused.values())}: {what}") from error


def _refused(drive: Clones, place: Path) -> dict[str, float]:
    names = ("rejected_writes", "store_full_writes")
    return {
        f"{source}.{name}": value
        for source, read in drive.counters(place).items()
        if source in (DATA, WAL)
        for name, value in read().items()
        if name in names
    }


STEAL_SHARE_MAX = 0.25
CLOCK_DRIFT_NS_MAX = 500_000_000
FOREIGN_WRITE_BYTES_MIN = 64 << 20
"""Fewer bytes than this hardly disturb a drive, whatever their share."""
SHORT_SHARE_MIN = 0.95


@dataclass(frozen=True)
class Evidence:
    """What the checks look at; None where it could not be read.

    Shares are of the machine's CPU time in the window (0 to 1), `foreign_write_share` of the bytes written to the
    drive; lengths are in ns. `problems` (code to detail) are the treatment's own, `mismatches` are levels that do not
    hold, by name. `wanted_ns` is how long the window was to last, None where the work was counted.
    """

    problems: Mapping[str, str]
    server_alive: bool
    window_monotonic_ns: int
    window_wall_ns: int
    steal_share: float | None = None
    foreign_cpu_share: float | None = None
    foreign_write_share: float | None = None
    device_written_bytes: float | None = None
    wanted_ns: int | None = None
    foreign_share_max: float = FOREIGN_SHARE_MAX
    thermal_throttles: float | None = None
    mismatches: Mapping[str, str] | None = None
    other_states: Mapping[str, str] | None = None
    """Of drives that did not start from the state that was kept for the trial: by name, in which respect."""
    untimed: bool = False
    """Is the verdict about what power cuts damaged or what was executed, and not about speed?"""
    visitors: str = ""
    """Who else used a server that is not ours during the window."""
    client_lost: str = ""
    """What became of the load's host, where it has gone."""
    by_rounds: tuple[Reason, ...] | None = None
    """What disturbed too many rounds of an alternating block; None where the window is judged as a whole."""


def from_outside(evidence: Evidence) -> tuple[Reason, ...]:
    """Every cause outside the treatment that makes the trial invalid; empty if there is none."""
    changed = tuple(Reason("drive_state", f"{name}: {said}") for name, said in (evidence.other_states or {}).items())
    visited = (Reason("other_clients", evidence.visitors),) if evidence.visitors else ()
    if evidence.by_rounds is not None:
        return (*changed, *visited, *evidence.by_rounds)
    drift_ns = abs(evidence.window_wall_ns - evidence.window_monotonic_ns)
    jumped = Reason("clock_jump", f"the wall clock jumped by {drift_ns / 1e9:.1f} s during the window")
    slowed = () if evidence.untimed else _slowed(evidence)
    return (*changed, *visited, *slowed, *((jumped,) if drift_ns > CLOCK_DRIFT_NS_MAX else ()))


def _slowed(evidence: Evidence) -> tuple[Reason, ...]:
    found = {}
    if (share := evidence.steal_share) is not None and share > STEAL_SHARE_MAX:
        found["steal"] = f"the hypervisor took {share:.0%} of the CPU time during the window"
    if (share := evidence.foreign_cpu_share) is not None and share > evidence.foreign_share_max:
        found["foreign_cpu"] = f"other programs used {share:.0%} of the CPU during the window"
    written, share = evidence.device_written_bytes, evidence.foreign_write_share
    if written and share and share > evidence.foreign_share_max and share * written > FOREIGN_WRITE_BYTES_MIN:
        wrote = "of what was written to the drive in the window was written by other programs"
        found["foreign_writes"] = f"{share:.0%} {wrote}"
    if times := evidence.thermal_throttles:
        found["throttled"] = f"cores slowed down to cool {times:.0f} times during the window"
    return tuple(Reason(code, detail) for code, detail in found.items())


def judge(evidence: Evidence) -> tuple[Status, tuple[Reason, ...]]:
    """The trial's status with every reason. A treatment's own failure outweighs noise from outside.

    Of a window whose load nobody heard the end of, nothing is known, so nothing of it is the treatment's doing.
    """
    if evidence.client_lost:
        return Status.INVALID, (Reason("client_lost", evidence.client_lost),)
    found = [Reason(code, detail) for code, detail in evidence.problems.items()]
    if not evidence.server_alive:
        found.append(Reason("server_died", "the server had died by the end of the window"))
    for name, detail in (evidence.mismatches or {}).items():
        found.append(Reason("read_back", f"{name}: {detail}"))
    wanted = evidence.wanted_ns
    if wanted and not found and evidence.window_monotonic_ns < SHORT_SHARE_MIN * wanted:
        length = evidence.window_monotonic_ns
        found.append(Reason("short", f"the load ended after {length / 1e9:.1f} s of {wanted / 1e9:.1f} s"))
    own = tuple(found)
    outside = from_outside(evidence)
    if own:
        return Status.OUTCOME, (*own, *outside)
    if outside:
        return Status.INVALID, outside
    return Status.VALID, ()


def evidence_of(arm: ResolvedArm, state: TrialState) -> Evidence:
    wanted_s, window = arm.setup.load.timed_s, state.window
    mismatches = {}
    for bound in arm.bound:
        found = state.read_back.get(bound.name)
        if found is not None and found != bound.level.canonical:
            asked = bound.level.canonical if bound.name == MEMORY else bound.level.typed  # a model's limit is larger
            mismatches[bound.name] = f"asked for {asked}, the running system says {found}"
    other_states = {}
    for name, trait in state.traits.items():
        if not trait.holds and trait.of_state:
            other_states[name] = f"it started with {trait.found}, and what was kept for it had {trait.asked}"
        elif not trait.holds:
            mismatches[name] = f"asked for {trait.asked}, the drive says {trait.found}"
    return Evidence(
        problems=state.problems,
        server_alive=state.alive,
        window_monotonic_ns=window.length_monotonic_ns if window else 0,
        window_wall_ns=window.length_wall_ns if window else 0,
        steal_share=state.responses.get("steal_share"),
        foreign_write_share=state.responses.get("foreign_write_share"),
        device_written_bytes=state.counters.get("diskstats.written_bytes"),
        foreign_cpu_share=state.responses.get("foreign_cpu_share"),
        thermal_throttles=state.counters.get("machine.thermal_throttles"),
        wanted_ns=wanted_s * 10**9 if wanted_s is not None and not state.pairing else None,
        foreign_share_max=arm.environment.foreign_share_max,
        mismatches=mismatches,
        other_states=other_states,
        untimed=arm.study.primary == risk.UNSAFE or arm.setup.load.count,
        visitors=state.visitors,
        client_lost=state.client_lost,
        by_rounds=state.disturbed if state.pairing else None,
    )
