"""Failures of a treatment under codes of their own: a row or a key too large for the page, a drive that is full.

PostgreSQL's own words ("row is too big: size 2424, maximum size 992") are kept as the detail. A page holds at least one
row and three index keys (manual, "Limits"; "B-Tree Implementation").
"""

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pgassay.bench.drive_counters import DATA, WAL
from pgassay.bench.errors import BenchError, ClusterError, HostError, SpaceError
from pgassay.bench.store import Clones

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
    (re.compile(r"No space left on device"), NO_SPACE),
)


def code_of(detail: str, otherwise: str) -> str:
    """A code of its own, as `row_too_large` or `no_space`, where PostgreSQL's message has one, else `otherwise`."""
    return next((code for sign, code in _NAMED if sign.search(detail)), otherwise)


def of_load(problems: Mapping[str, str]) -> dict[str, str]:
    """A load's problems (code to detail) with the more precise code where the detail has one."""
    return {code_of(detail, code): detail for code, detail in problems.items()}


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
        if error.errno not in _FULL:
            raise _operating_system(error) from error
        return {NO_SPACE: _operating_system(error).message}
    if isinstance(error, SpaceError):
        return {NO_SPACE: error.message}
    if isinstance(error, HostError):
        return {error.code: error.message}
    if isinstance(error, ClusterError):
        return {code_of_start(error.message, settings): error.message}
    return {code_of(error.message, "server"): error.message}


def of_window(problems: Mapping[str, str], log: str, counters: Mapping[str, float | None]) -> dict[str, str]:
    """The treatment's failures in a window, code to detail: the load's own problems, then what the server's log says
    (empty where nothing went wrong), then what the drives counted.
    """
    return merged({**of_load(problems), **of_log(log)}, of_drives(counters))


def merged(problems: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """All problems of both, `more` first; a code that both have keeps both details."""
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


def _operating_system(error: OSError) -> BenchError:
    """For a system call that failed for pgassay itself."""
    where = f'"{error.filename}": ' if error.filename else ""
    return BenchError(f"{where}{(error.strerror or str(error)).lower()}")
