"""Blocks on hosts: the head decides and records as a run on one machine does, and each host runs a block ahead of it.

The design is asked trial by trial and in the order of blocks; instead of running a trial, the head takes it out of the
block that came home, gives it its number and its host's name, and commits it. So the journal alone decides, what is
replayed is what was decided, and a block that arrives sooner is looked at no sooner. What was run ahead and is not
wanted any more (the run ended, an arm left) is discarded unread. A host that has brought a block home gets the next one
at once, before the head writes anything: no host waits for the head's disk, nor for a slower host.

A host runs all trials of a block, those that others disturbed once more, in the order and with the seed that the design
gives. It looks at no budget and at no verdict: it may run a repetition or an arm that the head will not use.

Files of the user's that a study names (`Factor.map_paths` says which) the head reads once, and they travel with every
order. On a host each lies in a private folder for as long as its bench lives, under a number of ours and its own name;
no path of the head is a path there. The study keeps the paths that the user wrote, so snapshots, treatments and the
record are named as on one machine.
"""

import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Protocol

import msgspec

from pgassay import scratch
from pgassay.design.schedule import DRIVES, Decision, FinishedTrial, History, RunBlock, next_in_block
from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.fleet import FleetError
from pgassay.fleet.parcels import Arrived, Inbox, Parcel, pack, unpack
from pgassay.host import accounts
from pgassay.interfaces.places import UserFiles
from pgassay.interfaces.probe import Sample
from pgassay.lab.arms import Bound, ResolvedStudy
from pgassay.lab.decisions import hosts_within_reach
from pgassay.lab.run import committed, journalled
from pgassay.lab.runner import RunLoop, Watcher, Work, play, trial_seed, try_to_prepare
from pgassay.lab.trial_state import Assignment, HostState
from pgassay.load.pgbench.data import reads_files
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import Kind, Step, decisions_in
from pgassay.record.values import TrialRecord
from pgassay.study import document as documents
from pgassay.study.levels import Arm

FILES_BYTES_MAX = 16 << 20
"""Of all files of a study together: the scheduler holds them once for each block under way."""
FILES_FACT = "files"
"""In host.json: the SHA-256 of each file that was sent when the run began, by its path."""
_INIT = "load.init"
_NAME_BYTES_MAX = 255


class UserFile(msgspec.Struct, frozen=True):
    """A file as it travels: its path where the study was written, its SHA-256, its packed content."""

    path: str
    sha256: str
    packed: bytes


def read_files(document: str, bounds: Iterable[Bound], known: Mapping[str, str] | None = None) -> tuple[UserFile, ...]:
    """The files that a recorded study names; raises `UsageError`, with their names, for those that cannot travel.

    `bounds` are the levels of its arms, `document` is its text. `known` has the SHA-256 of each file when the run
    began: what has changed since is refused.
    """
    refused: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    for bound in {(each.name, each.level): each for each in bounds}.values():
        for path in () if bound.name.startswith(DRIVES) else bound.paths:
            text = str(path)
            if text in contents or text in refused:
                continue
            left = FILES_BYTES_MAX - sum(map(len, contents.values()))
            found = (
                _content(path, left)
                if text in bound.level.typed
                else "is named by a path that does not begin at the root"
            )
            if isinstance(found, bytes):
                contents[text] = found
                line = reads_files(found) if bound.name == _INIT else None
                found = found if line is None else f"has psql read another file: {line}"
            if isinstance(found, str):
                refused[text] = found
    for text in documents.texts(documents.read("study", document)):
        if "/" in text and text not in contents and text not in refused:
            with suppress(OSError):  # a long text with a slash in it, as SQL is
                if Path(text).is_file():
                    refused[text] = "is named for something that only a file of the host itself can be"
    if refused:
        listed = "; ".join(f'"{name}" {why}' for name, why in refused.items())
        raise UsageError(
            f"the study names files that cannot be sent to the hosts: {listed}",
            "run the study on one machine, without --on",
        )
    files = tuple(
        UserFile(path, hashlib.sha256(content).hexdigest(), zlib.compress(content, 1))
        for path, content in contents.items()
    )
    changed = [each.path for each in files if known and known.get(each.path, each.sha256) != each.sha256]
    if changed:
        listed = ", ".join(f'"{name}"' for name in changed)
        raise UsageError(
            f"files of the study have changed since the run began: {listed}",
            "put back what they held then, or start a new run",
        )
    return files


def _content(path: Path, left: int) -> bytes | str:
    if any(letter in '"\\' or not letter.isprintable() for letter in str(path)):
        return "has a quote, a backslash or a control character in its path"
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return "is a directory"
        if not stat.S_ISREG(found.st_mode):
            return "is not a plain file"
        if found.st_size > left:
            return _too_large(found.st_size)
        with path.open("rb") as file:
            content = file.read(left + 1)
    except OSError as error:
        return f"cannot be read: {(error.strerror or str(error)).lower()}"
    return content if len(content) <= left else _too_large(len(content))


@contextmanager
def files_laid_out(files: Sequence[UserFile]) -> Iterator[UserFiles]:
    """On a host: the files in a private folder until the `with` ends; raises `FleetError` for what is damaged.

    Nobody but the account of the servers, which plays scripts, can read them, and where we are root not even it can
    write to them.
    """
    if not files:
        yield UserFiles()
        return
    contents: dict[str, bytes] = {}
    for file in files:
        contents[file.path] = _content_of(file)
        if sum(map(len, contents.values())) > FILES_BYTES_MAX:
            raise _damaged_file(file.path)
    with scratch.folder("files") as place, Directory.open(place) as folder:
        account = accounts.choose(os.environ)
        owner = None
        if os.geteuid() == 0:
            owner = (0, account.gid)
            folder.give_self(None, 0o711)
            accounts.require_reach(place, account)
        places: dict[Path, Path] = {}
        for number, (path, content) in enumerate(contents.items(), start=1):
            name = PurePosixPath(path).name
            folder.mkdir(str(number), 0o750 if owner else 0o700, owner)
            with folder.inner(str(number)) as own:
                own.replace(name, content, owner, 0o440 if owner else 0o400)
            places[Path(path)] = place / str(number) / name
        yield UserFiles(places)


def _content_of(file: UserFile) -> bytes:
    """Its content, when name, size and hash have been looked at: what a head sends is not believed."""
    path = PurePosixPath(file.path)
    if not path.is_absolute() or path.name in ("", "..") or not file.path.isprintable():
        raise _damaged_file(file.path)
    if len(path.name.encode()) > _NAME_BYTES_MAX:
        raise _damaged_file(file.path)
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(file.packed, FILES_BYTES_MAX + 1)
    except zlib.error:
        raise _damaged_file(file.path) from None
    if len(content) > FILES_BYTES_MAX or hashlib.sha256(content).hexdigest() != file.sha256:
        raise _damaged_file(file.path)
    return content


def _too_large(size: int) -> str:
    mib = 1 << 20
    return f"is too large: it has {size / mib:.1f} MiB, and all files together may have {FILES_BYTES_MAX / mib:.0f} MiB"


class DamagedError(FleetError):
    """What came is not what was sent; sent again it may be."""


def _damaged_file(path: str) -> DamagedError:
    return DamagedError(f'the file "{path}" arrived damaged, or its name cannot be used')


@dataclass(frozen=True)
class BlockOrder:
    """What the head asks of a host: a block of a run with this seed, without the arms that have left."""

    block: int
    seed: int
    dropped: tuple[str, ...] = ()


Report = Callable[[Sequence[HostState]], None]


class BlockExecutor(Protocol):
    """Hosts that take orders. A block is run whole by one of them, whichever is free; lost with it, by another."""

    @property
    def hosts(self) -> int:
        """How many blocks run at once."""

    def within_reach(self) -> frozenset[str]:
        """Names of the hosts that are there, or have been missing for a short while only."""

    def submit(self, order: BlockOrder) -> None:
        """Have a block run; one that was ordered already is not ordered again."""

    def next_arrived(self, report: Report) -> Arrived:
        """Wait for any of the ordered blocks, and report meanwhile what the hosts do.

        A block that is late is begun on a free host as well, and the first that comes home counts. Raises `FleetError`
        where a block cannot be run, and where none can come any more: all hosts are gone, or hang.
        """

    def cancel(self) -> None:
        """Nothing that is still under way is wanted; calling it twice is harmless."""


class Bench(msgspec.Struct, frozen=True):
    """What a host must know of a run. `document` is its study.toml, `files` are those of the user's that this names."""

    study: str
    document: str
    allow_busy: bool = False
    allow_volatile: bool = False
    files: tuple[UserFile, ...] = ()

    def job(self, order: BlockOrder) -> bytes:
        """A block's order as bytes, with all of this: a worker keeps nothing of a run, and a lost one takes nothing."""
        return msgspec.json.encode(Job(order, self))


class Job(msgspec.Struct, frozen=True):
    order: BlockOrder
    bench: Bench


def names_its_postgres(names: Iterable[str]) -> bool:
    """Does a study say which PostgreSQL serves, by version or by build? Then what else a host has does not matter."""
    return any(name.partition(".")[0] in ("build", "postgres") for name in names)


@dataclass
class HostedBlock:
    """Runs one block; raw outputs go below `place`, an empty directory of the environment's disk."""

    resolved: ResolvedStudy
    order: BlockOrder
    host: str
    place: Path

    def run(self) -> Arrived:
        study = self.resolved.study
        study = replace(study, design=replace(study.design, budget_s=None))
        finished: list[FinishedTrial] = []
        parcels: list[Parcel] = []
        drops = dict.fromkeys(self.order.dropped, "")
        while True:
            history = History(tuple(finished), drops)
            decision = next_in_block(study, self.order.seed, self.order.block, history)
            if decision is None:
                return Arrived(self.order.block, self.host, tuple(parcels))
            in_turns = isinstance(decision, RunBlock)
            arms = decision.arms if isinstance(decision, RunBlock) else (decision.arm,)
            assignments = []
            for number, arm in enumerate(arms, start=len(parcels) + 1):
                staging = self.place / f"{number:06d}"
                self.resolved.environment.disk.mkdir(staging)
                seed = trial_seed(self.order.seed, self.order.block, decision.attempt)
                assignments.append(Assignment(number, self.order.block, decision.attempt, arm, seed, staging))
            prepared = [try_to_prepare(self.resolved.of(arm)) for arm in arms]
            played = play(self.resolved, assignments, prepared, self.order.seed, in_turns=in_turns)
            for assignment, (record, series) in zip(assignments, played, strict=True):
                environment = self.resolved.environment
                parcels.append(pack(environment.disk, assignment.staging, record, series, environment.files))
                finished.append(FinishedTrial(record.block, record.arm, record.attempt, record.status))


AHEAD = 2
"""Blocks at home or under way beyond those that are committed, by the number of hosts: how long hosts go on while one
of them is slow. What a run that ends has run in vain is at most this."""


@dataclass
class FleetRunLoop(RunLoop):
    executor: BlockExecutor = field(kw_only=True)
    inbox: Inbox = field(init=False)
    _taken: Arrived | None = field(init=False, default=None)
    _under_way: set[int] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        """Blocks that came home to a head that was killed are here already."""
        self.inbox = Inbox(self.resolved.environment.disk, self.run.path)

    def conduct(self) -> str:
        try:
            reason = super().conduct()
        finally:
            self.executor.cancel()
        with self.resolved.environment.held():
            self.inbox.close()
        return reason

    def _decide(self) -> Decision:
        """As on one machine, when the journal says how many hosts can be heard, where that is fewer than shall be."""
        heard = {trial.host for trial in self.trials if trial.host}
        within_reach = len(heard | self.executor.within_reach())
        before = hosts_within_reach(self.run.journal.entries)
        if within_reach != before and (before is not None or within_reach < self.resolved.study.design.hosts):
            with self.resolved.environment.held():
                self.run.journal.append(Kind.HOSTS, {"within_reach": within_reach})
        return super()._decide()

    def _work(self, block: int, arms: Sequence[Arm], *, in_turns: bool) -> Work:
        arrived = self._arrived(block)
        return lambda assignments: [self._unpacked(arrived, each) for each in assignments]

    def _arrived(self, block: int) -> Arrived:
        """The block in hand; the next ones are ordered meanwhile, so that no host waits for the design."""
        if self._taken is not None and self._taken.block == block:
            return self._taken
        self.inbox.forget_before(block)
        self._order(block, self.inbox.blocks())
        while block not in self.inbox.blocks():
            arrived = self.executor.next_arrived(self.watcher.hosts)
            self._under_way.discard(arrived.block)
            self._order(block, self.inbox.blocks() | {arrived.block})
            if arrived.block >= block:
                with self.resolved.environment.held():
                    self.inbox.keep(arrived)
        self._taken = self.inbox.take(block)
        return self._taken

    def _order(self, first: int, here: AbstractSet[int]) -> None:
        """Give every host that is free a block from `first` on, the block in hand; `here` are those that are home."""
        gone = tuple(each.arm for each in decisions_in(self.run.journal.entries) if each.step is Step.DROP)
        end = min(first + AHEAD * self.executor.hosts, self.resolved.study.design.blocks_max + 1)
        for block in range(first, end):
            if len(self._under_way) >= self.executor.hosts and block != first:
                return
            if block not in here and block not in self._under_way:
                self._under_way.add(block)
                self.executor.submit(BlockOrder(block, self.run.header.seed, gone))

    def _unpacked(self, arrived: Arrived, assignment: Assignment) -> tuple[TrialRecord, tuple[Sample, ...]]:
        """The trial that is asked for, its raw outputs in its staging directory, with its number and host."""
        found = unpack(arrived.block, arrived.find(assignment.arm.name, assignment.attempt))
        disk = self.resolved.environment.disk
        for name, data in found.files.items():
            path = assignment.staging / name
            with assignment.keeping(name):
                for folder in reversed(path.relative_to(assignment.staging).parents[:-1]):
                    if not disk.exists(assignment.staging / folder):
                        disk.mkdir(assignment.staging / folder)
                disk.write_file(path, data)
        return replace(found.record, number=assignment.number, host=arrived.host), found.series


def conduct(resolved: ResolvedStudy, run: RunDirectory, watcher: Watcher, executor: BlockExecutor) -> None:
    """Run to the end over an executor. What stops it early is journalled and raised, as `lab.run.conduct` does."""
    with journalled(run):
        FleetRunLoop(resolved, run, watcher, committed(run), executor=executor).conduct()
