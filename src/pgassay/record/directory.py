"""The run directory, for the one runner that writes it: created whole, locked, recovered, appended to.

`runs/<study>-<UTC>/` holds run.json, study.toml, host.json, journal.jsonl, trials/ and, rebuildable, index.parquet and
series-NNN.parquet. Reading needs none of this: see `reading`. The format is explained in docs/record.md.

What a killed runner may have left is put in order before the next one writes (see the steps in `trials`): a torn last
journal line is cut off; a staged trial is set aside with its raw output; a trial that was renamed into place but not
journalled yet is adopted. A journalled trial without its directory cannot be explained by any crash and is an error.
Every step can itself be interrupted and done again.

A run is asked to end by a file in its directory that its runner looks for between blocks. Anybody who may write there
may ask, also with touch(1); the runner takes the file away when it has ended, and when it begins. It ends as by Ctrl-C,
but with the block whole: `pgassay resume` goes on with the next one.
"""

import hashlib
import os
import re
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay import untrusted
from pgassay.files import UntrustedError, accounts_of_ours
from pgassay.record import formats, trials
from pgassay.record.disk import Disk, HeldError, Lock, RealDisk
from pgassay.record.errors import InUseError, RecordError, already_there, as_record_error, damaged, not_a_run
from pgassay.record.formats import RunHeader
from pgassay.record.journal import FILE as JOURNAL_FILE
from pgassay.record.journal import Entry, Extended, Journal, Kind, Parsed, committed_in, encode, parse, require_all
from pgassay.record.trials import Staging
from pgassay.record.values import CHUNK_TRIALS, FORMAT, TrialRecord

if TYPE_CHECKING:
    from pgassay.record.series import Sampled

STOP_FILE = "stop"
STOPPED = "asked to stop after a block"
"""What the journal then says."""
ASKED = frozenset((STOPPED, SIGNAL := "signal", REBOOT := "reboot between blocks"))
"""What it says of a run that somebody ended early; any other reason is a fault."""


def ask_to_stop(run: Path) -> None:
    """Ask the runner of this run to end with the block in hand; asked twice is asked once."""
    with as_record_error(run, "ask for a stop"):
        os.close(
            os.open(run / STOP_FILE, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
        )


def stop_is_asked(disk: Disk, run: Path) -> bool:
    """Was it asked? A directory of that name is none of ours, and asks nothing."""
    return disk.exists(run / STOP_FILE) and not disk.is_directory(run / STOP_FILE)


def forget_stop(disk: Disk, run: Path) -> None:
    if stop_is_asked(disk, run):
        disk.remove(run / STOP_FILE)


@dataclass(frozen=True)
class Recovery:
    """What was put in order; all empty after a clean end. `former_owner` is who held a stale lock."""

    torn_bytes: int = 0
    adopted: tuple[int, ...] = ()
    abandoned: tuple[str, ...] = ()
    former_owner: str = ""


def recover(disk: Disk, run: Path, journal: Journal, torn_bytes: int, former_owner: str) -> Recovery:
    """Put the run in order; the journal's torn end is cut off already."""
    journalled = committed_in(journal.entries, run)
    # The trials of the last block that was to be committed as a whole: all of them are complete.
    sealed = [entry.data["trials"] for entry in journal.entries if entry.kind == Kind.BLOCK_SEALED]
    for number in sealed[-1] if sealed else ():
        if number not in journalled:
            trials.place(disk, run, number)
    found = trials.scan(disk, run)
    require_all(run, journalled, found.committed)
    adopted = tuple(number for number in found.committed if number not in journalled)
    for number in adopted:
        wrong = trials.mismatches(disk, run, number)
        if wrong:
            raise damaged(run, f"trial {number}: {wrong[0]}")
        data = disk.read(trials.trial_path(run, number) / trials.TRIAL_FILE)
        record = formats.decode_trial(data, run, f"{trials.DIRECTORY}/{number:06d}/{trials.TRIAL_FILE}")
        if record.number != number:
            raise damaged(run, f"the directory of trial {number} holds trial {record.number}")
        disk.sync_directory(run / trials.DIRECTORY)
        line = {"number": number, **trials.hashes(disk, run, number), "adopted": True}
        journal.append(Kind.TRIAL_COMMITTED, line)
    abandoned = tuple(trials.set_aside(disk, run, name) for name in found.staging)
    return Recovery(torn_bytes, adopted, abandoned, former_owner)


HEADER_FILE = "run.json"
STUDY_FILE = "study.toml"
HOST_FILE = "host.json"
LOCK_FILE = "lock"
OWN_FILES = frozenset({HEADER_FILE, STUDY_FILE, HOST_FILE, LOCK_FILE, JOURNAL_FILE, trials.DIRECTORY})


def unused_path(name: str, now: datetime) -> Path:
    """Where a run is kept unless the user says: `runs/NAME-UTC`, with a number behind it if that second has one.

    Raises `UntrustedError` where `runs` is a stranger's, who put it into a directory that anybody may write, as /tmp.
    """
    first = Path("runs", f"{name}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}").absolute()
    with suppress(FileNotFoundError):
        found = first.parent.lstat().st_uid
        if found not in {*accounts_of_ours(), first.parent.parent.stat().st_uid}:
            raise UntrustedError(
                f'"{first.parent}" belongs to user {found}: no run is kept there',
                "name the run directory to make with --out, or work in a directory of your own",
            )
    numbered = (first.with_name(f"{first.name}-{number}") for number in count(2))
    return next(path for path in chain((first,), numbered) if not os.path.lexists(path))


class RunDirectory:
    """The writing end of a run; `create` or `open` it, `close` it (or use it in a `with`)."""

    def __init__(
        self, path: Path, disk: Disk, journal: Journal, header: RunHeader, lock: Lock, found: Recovery
    ) -> None:
        self.path = path
        self.header = header
        self.journal = journal
        self.recovery = found
        self._disk = disk
        self._lock = lock
        self.committed = committed_in(journal.entries, path)

    @classmethod
    def create(
        cls,
        path: Path,
        header: RunHeader,
        study_toml: str,
        host: Mapping[str, Any],
        disk: Disk | None = None,
        wall_ns: Callable[[], int] = time.time_ns,
        more_files: Mapping[str, bytes] | None = None,
    ) -> "RunDirectory":
        """Make the run directory at `path`, which must not exist, all or nothing; raises `RecordError`.

        It is put together next to its final place and renamed, so that a crash leaves no half-made run. `more_files`
        are files that say more about the study; readers that do not know them ignore them.
        """
        disk = disk or RealDisk()
        path = path.absolute()
        with as_record_error(path, "make the run directory"):
            if disk.exists(path):
                raise already_there(path)
            if not disk.is_directory(path.parent):
                raise RecordError(
                    f'directory "{path.parent}" does not exist', "make it, or name another place with --out"
                )
            fresh = path.with_name(f".{path.name}.creating")
            if disk.exists(fresh):
                if not {*OWN_FILES, *(more_files or {})}.issuperset(disk.list(fresh)):
                    raise already_there(fresh)
                disk.remove_tree(fresh)
            disk.mkdir(fresh)
            disk.mkdir(fresh / trials.DIRECTORY)
            files = {
                HEADER_FILE: formats.encode(header),
                STUDY_FILE: study_toml.encode(),
                HOST_FILE: formats.encode({"format": FORMAT, "facts": dict(host)}),
                **(more_files or {}),
            }
            for name, content in files.items():
                disk.write_file(fresh / name, content)
            sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
            said = {"format": FORMAT, "seed": header.seed, "sha256": sums}
            first = Entry(1, wall_ns(), Kind.RUN_STARTED.value, said)
            line = encode(first)
            disk.write_file(fresh / JOURNAL_FILE, line)
            lock = _lock(disk, fresh)
            try:
                disk.sync_tree(fresh)
                disk.rename(fresh, path)
            except BaseException:
                lock.release()
                raise
        journal = Journal(disk, path / JOURNAL_FILE, (first,), len(line), wall_ns)
        return cls(path, disk, journal, header, lock, Recovery())

    @classmethod
    def open(cls, path: Path, disk: Disk | None = None, wall_ns: Callable[[], int] = time.time_ns) -> "RunDirectory":
        """Open a run to go on with it: lock it, and put in order what a killed runner left (see `recover`).

        Raises `NotARunError`, `NewerFormatError`, `DamagedError` or `InUseError`.
        """
        disk = disk or RealDisk()
        path = path.absolute()
        with as_record_error(path, "open the run directory"):
            if disk.is_link(path / trials.DIRECTORY):
                raise not_a_run(path, f"its {trials.DIRECTORY} is a symbolic link")
            header = read_header(disk, path)
            written = formats.written_format(disk.read(path / HEADER_FILE), path, HEADER_FILE)
            if written != FORMAT:
                raise RecordError(
                    f'"{path}" has format {written} and cannot be continued in format {FORMAT}',
                    "read it, or start a new run",
                )
            lock = _lock(disk, path)
            try:
                parsed = read_journal(disk, path)
                if parsed.torn_bytes:
                    disk.truncate(path / JOURNAL_FILE, parsed.good_bytes)
                journal = Journal(disk, path / JOURNAL_FILE, parsed.entries, parsed.good_bytes, wall_ns)
                found = recover(disk, path, journal, parsed.torn_bytes, lock.former)
                forget_stop(disk, path)
            except BaseException:
                lock.release()
                raise
        return cls(path, disk, journal, header, lock, found)

    def __enter__(self) -> "RunDirectory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def next_number(self) -> int:
        return max(self.committed, default=0) + 1

    @property
    def finished(self) -> bool:
        return self.journal.entries[-1].kind == Kind.FINISHED

    @property
    def stop_asked(self) -> bool:
        return stop_is_asked(self._disk, self.path)

    def decide(self, data: Mapping[str, Any]) -> None:
        self.journal.append(Kind.DECISION, data)

    def begin_trial(self, number: int, data: Mapping[str, Any] | None = None) -> Staging:
        """Journal the start and make the staging directory; the raw output of every tool goes below its `path`."""
        with as_record_error(self.path, f"begin trial {number}"):
            staging = trials.begin(self._disk, self.path, number)
        self.journal.append(Kind.TRIAL_STARTED, {"number": number, **(data or {})})
        return staging

    def commit_trial(self, staging: Staging, record: TrialRecord, series: "Iterable[Sampled]") -> Path:
        """Seal the trial, rename it into place, journal it; returns its directory. All durable when it returns.

        Raises `RecordError`; if the rename was done but not journalled, the trial is adopted when the run is resumed.
        """
        from pgassay.record.series import frame, parquet

        rows = parquet(frame(record.number, series))
        with as_record_error(self.path, f"commit trial {record.number}"):
            hashes = trials.seal(self._disk, self.path, staging, record, rows)
        self._place(record.number, hashes)
        return trials.trial_path(self.path, record.number)

    def commit_block(self, finished: "Sequence[tuple[Staging, TrialRecord, Iterable[Sampled]]]") -> None:
        """Commit all trials of a block, or none: they are compared slice by slice. All durable when it returns.

        All are sealed, then one line of the journal says so, then each is renamed and journalled. A crash before that
        line leaves none of them, and one after it leaves the rest to the next opening of the run. Raises `RecordError`.
        """
        from pgassay.record.series import frame, parquet

        hashes = {}
        for staging, record, series in finished:
            rows = parquet(frame(record.number, series))
            with as_record_error(self.path, f"seal trial {record.number}"):
                hashes[record.number] = trials.seal(self._disk, self.path, staging, record, rows)
        with as_record_error(self.path, "seal a block"):
            self._disk.sync_directory(self.path / trials.DIRECTORY)  # else their names may be lost with the power
        self.journal.append(Kind.BLOCK_SEALED, {"trials": list(hashes)})
        for number, each in hashes.items():
            self._place(number, each)

    def _place(self, number: int, hashes: Mapping[str, str]) -> None:
        """Rename a sealed trial into place, and journal that."""
        with as_record_error(self.path, f"commit trial {number}"):
            trials.place(self._disk, self.path, number)
        self.journal.append(Kind.TRIAL_COMMITTED, {"number": number, **hashes})
        self.committed[number] = hashes["sha256"]
        if number % CHUNK_TRIALS == CHUNK_TRIALS - 1:
            self.compact()

    def abandon_trial(self, staging: Staging) -> None:
        """Set a trial aside that will not be committed (Ctrl-C); its raw output stays under `trials/.abandoned-…`."""
        with as_record_error(self.path, f"set trial {staging.number} aside"):
            trials.set_aside(self._disk, self.path, staging.path.name)

    def interrupted(self, reason: str) -> None:
        """Journal that the run ended early and in order (Ctrl-C), with the reason."""
        self.journal.append(Kind.INTERRUPTED, {"reason": reason})
        with as_record_error(self.path, "forget a stop"):
            forget_stop(self._disk, self.path)

    def resumed(self, data: Mapping[str, Any] | None = None) -> None:
        """Journal that the run goes on, with what recovery found."""
        self.journal.append(Kind.RESUMED, {**asdict(self.recovery), **(data or {})})

    def extend(self, extended: Extended) -> None:
        """Journal that the run goes on beyond its end, before anything is decided by it."""
        self.journal.append(Kind.EXTENDED, asdict(extended))

    def finish(self, reason: str) -> None:
        self.journal.append(Kind.FINISHED, {"reason": reason})
        with as_record_error(self.path, "forget a stop"):
            forget_stop(self._disk, self.path)
        self.compact()

    def compact(self) -> None:
        """Bring `index.parquet` and `series-NNN.parquet` up to date; they can be rebuilt at any time."""
        from pgassay.record.series import compact

        with as_record_error(self.path, "compact the trials"):
            compact(self._disk, self.path, self.committed)

    def close(self) -> None:
        self._lock.release()


def read_header(disk: Disk, path: Path) -> RunHeader:
    """The run's header; raises `NotARunError` where there is none."""
    if not disk.exists(path):
        raise not_a_run(path, "it does not exist")
    if not disk.is_directory(path):
        raise not_a_run(path, "it is a file")
    if not disk.exists(path / HEADER_FILE):
        raise not_a_run(path, f"it has no {HEADER_FILE}")
    return formats.decode_header(disk.read(path / HEADER_FILE), path)


def read_journal(disk: Disk, path: Path) -> Parsed:
    """The journal as it is on disk; a torn last line is counted apart from the whole ones."""
    return parse(disk.read(path / JOURNAL_FILE), path)


def _lock(disk: Disk, path: Path) -> Lock:
    owner = f"process {os.getpid()} on {socket.gethostname()}"
    try:
        return disk.lock(path / LOCK_FILE, owner)
    except HeldError as held:
        raise InUseError(
            f'run directory "{path}" is in use by {held.owner or "another process"}', "wait for it or stop it"
        ) from None


_OWNER = re.compile(r"process (\d+) on (.+)")
_LOCK_BYTES_MAX = 4096


def holder(run: Path, proc: Path = Path("/proc")) -> int | None:
    """The process that writes a run just now; None where nobody writes, or somebody on another machine or in another
    container.

    A reader that tried the lock would hold it for a moment, and a runner that starts in that moment would be refused.
    The kernel lists who holds what in /proc/locks (proc(5)); the lock file names the process that should.

    The lock file of another account names a process of that account, or none: it may have the number (inode) of a file
    that some other process holds on another file system.
    """
    try:
        with untrusted.open_file(run / LOCK_FILE, links=False) as file:
            facts = os.fstat(file.fileno())
            owner = _OWNER.fullmatch(file.read(_LOCK_BYTES_MAX).decode(errors="replace").strip())
        if owner is None or owner[2] != socket.gethostname():
            return None
        accounts = {facts.st_uid, (proc / owner[1]).stat().st_uid}
        listed = (proc / "locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    if len(accounts) > 1 and facts.st_uid not in accounts_of_ours():
        return None
    held = re.compile(rf"^\d+: FLOCK +ADVISORY +WRITE {owner[1]} [0-9a-f]+:[0-9a-f]+:{facts.st_ino} ", re.MULTILINE)
    return int(owner[1]) if held.search(listed) else None
