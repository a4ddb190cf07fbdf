"""The head of a fleet: it decides and records as a run on one machine does, and hosts run blocks ahead of it.

The design is asked trial by trial and in the order of blocks; instead of running a trial, the head takes it out of the
block that came home, gives it its number and its host's name, and commits it. So the journal alone decides, what is
replayed is what was decided, and a block that arrives sooner is looked at no sooner. What was run ahead and is not
wanted any more (the run ended, an arm left) is discarded unread. A host that has brought a block home gets the next one
at once, before the head writes anything: no host waits for the head's disk, nor for a slower host.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from pgassay.design.schedule import Decision
from pgassay.fleet.blocks import BlockExecutor, BlockOrder
from pgassay.fleet.parcels import Arrived, Inbox, unpack
from pgassay.interfaces.counters import Sample
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.decisions import hosts_within_reach
from pgassay.lab.run import committed, journalled
from pgassay.lab.runner import RunLoop, Watcher, Work
from pgassay.lab.trial_state import Assignment
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import Kind, Step, decisions_in
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm

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
