"""A run: ask the design, act, commit, ask again, until it says stop.

Everything that decides is in the record, so the loop holds no state that a crash could lose: killed at any step and
resumed, it goes on with the same schedule (tests/lab/test_crashes.py kills it at every write, fsync and rename).
Call it from the main thread: programs die with the thread that started them.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pgassay.analysis.effects import Effect
from pgassay.bench.counters import Sample
from pgassay.bench.errors import BenchError, ClusterError, LoadError, QueryError, SpaceError
from pgassay.design.schedule import Decision, Drop, RunBlock, RunTrial, Stop, is_reference
from pgassay.lab.alternation import AlternatingBlock
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.decisions import decide, undone
from pgassay.lab.interruption import StopAsked
from pgassay.lab.live_trial import LiveTrial
from pgassay.lab.notes import Assignment, HostState
from pgassay.lab.preparation import Prepared, Tell, prepare
from pgassay.lab.site import Site
from pgassay.lab.trial import Trial
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import Kind
from pgassay.record.trials import Staging
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm
from pgassay.study.model import Study


class Watcher:
    """Told of every step, and does nothing: a progress bar overrides what it shows. Watching changes no run."""

    def preparing(self, arm: Arm) -> None:
        """A golden snapshot is being made."""

    def prepared(self, arm: Arm, seconds: float) -> None:
        """The arm's golden snapshot is there; making it took so many seconds."""

    def trial_started(self, assignment: Assignment) -> None:
        """The journal has the trial's beginning; its first step comes next."""

    def trial_finished(self, record: TrialRecord) -> None:
        """The trial is committed, with this record."""

    def ruled(self, study: Study) -> None:
        """The pace of the first blocks fixed how many there may be: the study with that number."""

    def estimated(self, effects: Sequence[Effect], used_s: float) -> None:
        """The estimates so far, before the next decision."""

    def dropped(self, arm_name: str, reason: str) -> None:
        """An arm is taken out of play."""

    def hosts(self, states: Sequence[HostState]) -> None:
        """What each host of a fleet does, every few seconds while the head waits for a block."""


Work = Callable[[Assignment], tuple[TrialRecord, tuple[Sample, ...]]]


@dataclass
class Conductor:
    """Runs a study into a run directory. `trials` are those committed so far (empty for a new run)."""

    resolved: ResolvedStudy
    run: RunDirectory
    watcher: Watcher
    trials: list[TrialRecord]
    one_block: bool = False
    """End with the block in hand, so that the machine can be rebooted before the next one."""

    def conduct(self) -> str | None:
        """Until the design says stop; returns its reason, or None at the end of a block if it is to end there.

        Raises what stops the run early, `UsageError` for SQL of the user's that no data could make right; committed
        trials stay. The next trial is decided and journalled by then, so
        that whoever goes on begins with it. `StopAsked` if the user asked for the end of a block.
        """
        if not self.trials:
            self._try_own_sql()
        first: int | None = None
        last: int | None = None
        while True:
            decision = undone(self.resolved.study, self.trials, self.run.journal.entries) or self._decide()
            match decision:
                case Stop(reason):
                    with self.resolved.site.held():
                        self.run.finish(reason)
                    return reason
                case Drop(arm, reason, _):
                    self.watcher.dropped(arm.name, reason)
                case RunTrial() | RunBlock():
                    first = decision.block if first is None else first
                    if last not in (None, decision.block) and self.run.stop_asked:
                        raise StopAsked
                    if self.one_block and decision.block != first:
                        return None
                    last = decision.block
                    self._run(decision)

    def _try_own_sql(self) -> None:
        """Make the snapshots first that SQL of the user's changes, to find a typo in it before anything is measured."""
        for arm in self.resolved.study.arms:
            if any(each.factor.own_sql for each in self.resolved.of(arm).bound):
                self._prepare(arm)

    def _decide(self) -> Decision:
        decided = decide(self.resolved.study, self.run.header, self.trials, self.run.journal.entries)
        if decided.written.horizon:
            self.watcher.ruled(decided.study)
        if decided.effects:
            self.watcher.estimated(decided.effects, decided.written.clock_s)
        with self.resolved.site.held():
            self.run.decide(decided.written.as_data())
        return decided.decision

    def _run(self, decision: RunTrial | RunBlock) -> None:
        match decision:
            case RunTrial(block, arm, attempt):
                self._run_trial(block, arm, attempt)
            case RunBlock(block, arms, attempt):
                self._run_block(block, arms, attempt)

    def _run_trial(self, block: int, arm: Arm, attempt: int) -> None:
        failure, seconds = self._prepare(arm)

        def work(assignment: Assignment) -> tuple[TrialRecord, tuple[Sample, ...]]:
            trial = Trial(self.resolved.of(arm), assignment)
            if failure is not None:
                return trial.not_prepared(failure, seconds), ()
            return trial.run()

        seed = trial_seed(self.run.header.seed, block, attempt)
        self.trials.append(keep_trial(self.run, self.resolved.site, self.watcher, arm, block, attempt, seed, work))

    def _run_block(self, block: int, arms: Sequence[Arm], attempt: int) -> None:
        """All arms at once; an arm that cannot be prepared has failed, and the others go on without it."""
        prepared = {arm.name: self._prepare(arm) for arm in arms}
        seed = trial_seed(self.run.header.seed, block, attempt)

        def work(assignments: Sequence[Assignment]) -> list[tuple[TrialRecord, tuple[Sample, ...]]]:
            trials = [LiveTrial(self.resolved.of(each.arm), each) for each in assignments]
            able = [trial for trial in trials if prepared[trial.name][0] is None]
            played = dict(zip(able, AlternatingBlock(able, self.run.header.seed, block).run(), strict=True))
            done = []
            for trial in trials:
                failure, seconds = prepared[trial.name]
                done.append(played[trial] if failure is None else (trial.not_prepared(failure, seconds), ()))
            return done

        self.trials += keep_block(self.run, self.resolved.site, self.watcher, arms, block, attempt, seed, work)

    def _prepare(self, arm: Arm) -> tuple[BenchError | None, float]:
        """Make the snapshot outside the trial, so that the trial's length is its own.

        A treatment that cannot be prepared (initdb or its server refuses it, it does not fit) has failed by its own
        doing: the failure is returned with the seconds spent. The baseline's ends the run, for nothing could be told.
        """
        resolved = self.resolved.of(arm)
        known = is_prepared(self.run, resolved.snapshot_key)
        started_ns = self.resolved.site.clock.monotonic_ns()
        if not known:
            self.watcher.preparing(arm)
        try:
            prepare(resolved, journal_preparation(self.run, resolved.site))
        except (ClusterError, QueryError, LoadError, SpaceError) as failure:
            if is_reference(self.resolved.study, arm):
                raise
            return failure, (self.resolved.site.clock.monotonic_ns() - started_ns) / 1e9
        seconds = (self.resolved.site.clock.monotonic_ns() - started_ns) / 1e9
        if not known:
            self.watcher.prepared(arm, seconds)
        return None, seconds


def trial_seed(seed: int, block: int, attempt: int) -> int:
    """The load's seed: one for all arms of a block, so that they see the same random keys."""
    digest = hashlib.sha256(f"load/{seed}/{block}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4]) >> 1


@contextmanager
def _begun(
    run: RunDirectory, site: Site, watcher: Watcher, arms: Sequence[Arm], block: int, attempt: int, seed: int
) -> Iterator[tuple[list[Staging], list[Assignment]]]:
    """The run's next trials, one for each arm; all are abandoned if what is done with them does not come to its end."""
    stagings: list[Staging] = []
    try:
        for number, arm in enumerate(arms, start=run.next_number):
            with site.held():
                stagings.append(run.begin_trial(number, {"block": block, "attempt": attempt, "arm": arm.name}))
        assignments = [
            Assignment(staging.number, block, attempt, arm, seed, staging.path)
            for staging, arm in zip(stagings, arms, strict=True)
        ]
        for assignment in assignments:
            watcher.trial_started(assignment)
        yield stagings, assignments
    except BaseException:
        with site.held():
            for staging in stagings:
                run.abandon_trial(staging)
        raise


def keep_trial(
    run: RunDirectory, site: Site, watcher: Watcher, arm: Arm, block: int, attempt: int, seed: int, work: Work
) -> TrialRecord:
    """Do `work` as the run's next trial and commit what it yields."""
    with _begun(run, site, watcher, [arm], block, attempt, seed) as ([staging], [assignment]):
        record, series = work(assignment)
    with site.held():
        run.commit_trial(staging, record, series)
    watcher.trial_finished(record)
    return record


def keep_block(
    run: RunDirectory,
    site: Site,
    watcher: Watcher,
    arms: Sequence[Arm],
    block: int,
    attempt: int,
    seed: int,
    work: Callable[[Sequence[Assignment]], Sequence[tuple[TrialRecord, tuple[Sample, ...]]]],
) -> list[TrialRecord]:
    """Do `work` as the run's next trials, one for each arm, and commit all of what it yields, or nothing."""
    with _begun(run, site, watcher, arms, block, attempt, seed) as (stagings, assignments):
        done = work(assignments)
    with site.held():
        run.commit_block([(staging, *each) for staging, each in zip(stagings, done, strict=True)])
    for record, _ in done:
        watcher.trial_finished(record)
    return [record for record, _ in done]


def is_prepared(run: RunDirectory, key: str) -> bool:
    """Does the journal know the snapshot of this key? It may be gone since."""
    return any(entry.kind == Kind.PREPARED and entry.data["key"] == key for entry in run.journal.entries)


def journal_preparation(run: RunDirectory, site: Site) -> Tell:
    """Tells the journal how long a snapshot took, the first time only: made again after a pause, it costs no budget."""

    def tell(made: Prepared) -> None:
        if not is_prepared(run, made.key):
            with site.held():
                run.journal.append(
                    Kind.PREPARED, {"key": made.key, "seconds": round(made.seconds, 3), "made": made.made}
                )

    return tell
