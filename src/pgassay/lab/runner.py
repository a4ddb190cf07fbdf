"""A run: ask the design, act, commit, ask again, until it says stop.

Everything that decides is in the record, so the loop holds no state that a crash could lose: killed at any step and
resumed, it goes on with the same schedule (tests/lab/test_crashes.py kills it at every write, fsync and rename).
Call it from the main thread: programs die with the thread that started them.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.effects import Effect
from pgassay.design.schedule import Decision, Drop, RunBlock, RunTrial, Stop, is_reference
from pgassay.interfaces.errors import BenchError, ClusterError, LoadError, QueryError, SpaceError
from pgassay.interfaces.load import SEEDS_OF_BLOCK
from pgassay.interfaces.probe import Sample
from pgassay.lab.alternation import AlternatingBlock
from pgassay.lab.arms import ResolvedArm, ResolvedStudy
from pgassay.lab.counted import INSTRUCTIONS
from pgassay.lab.decisions import decide, undone
from pgassay.lab.environment import Environment
from pgassay.lab.interruption import StopAsked
from pgassay.lab.preparation import Notify, PreparedSnapshot, notify_nobody, prepare_snapshot
from pgassay.lab.trial import Trial
from pgassay.lab.trial_state import Assignment, HostState
from pgassay.record import counts
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import Kind
from pgassay.record.trials import Staging
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.responses import Status
from pgassay.study.work import COUNTED, COUNTED_ALONG


class Watcher:
    """Hears of every step, and does nothing: a progress bar overrides what it shows. Watching changes no run."""

    def preparing(self, arm: Arm) -> None:
        """A golden snapshot is being made."""

    def prepared(self, arm: Arm, seconds: float) -> None:
        """The arm's golden snapshot is there; making it took so many seconds."""

    def trial_started(self, assignment: Assignment) -> None:
        """The journal has the trial's beginning; its first step comes next."""

    def trial_finished(self, record: TrialRecord) -> None:
        """The trial is committed, with this record."""

    def ruled(self, study: Study) -> None:
        """The study as the run's rule judges it from here on; before each decision."""

    def estimated(self, effects: Sequence[Effect], used_s: float) -> None:
        """The estimates so far, before the next decision."""

    def dropped(self, arm_name: str, reason: str) -> None:
        """An arm is taken out of play."""

    def hosts(self, states: Sequence[HostState]) -> None:
        """What each host of a fleet does, every few seconds while the head waits for a block."""


Done = tuple[TrialRecord, tuple[Sample, ...]]
"""A trial's record and its series."""
Attempt = tuple[BenchError | None, float]
"""Why a snapshot could not be made (None: it is there), and the seconds spent."""
Work = Callable[[Sequence[Assignment]], Sequence[Done]]
COUNTED_BLOCKS = FIRST_LOOK + 2
"""In so many blocks counted trials follow the timed ones. A count has so little noise that more add next to nothing;
two are there for trials that yield none, for instructions are judged from `FIRST_LOOK` blocks on."""
_PLAYS_MAX = 4


@dataclass
class RunLoop:
    """Runs a study into a run directory. `trials` are those committed so far (empty for a new run)."""

    resolved: ResolvedStudy
    run: RunDirectory
    watcher: Watcher
    trials: list[TrialRecord]

    def conduct(self) -> str:
        """Do as the design says until it says stop; returns its reason.

        Raises what stops the run early, `UsageError` for SQL of the user's that no data could make right; committed
        trials stay. The next trial is decided and journalled by then, so that whoever goes on begins with it.
        `StopAsked` if the user asked for the end of a block.
        """
        if not self.trials:
            # A typo in the user's own SQL, and data that differ between servers, are found before anything is measured.
            for each in (arm for on_set in self.resolved.on_sets for arm in on_set.arms):
                if self.resolved.environment.sets or any(bound.factor.own_sql for bound in each.bound):
                    self._prepare(each)
        last: int | None = None
        while True:
            decision = undone(self.resolved.study, self.trials, self.run.journal.entries) or self._decide()
            match decision:
                case Stop(reason):
                    with self.resolved.environment.held():
                        self.run.finish(reason)
                    return reason
                case Drop(arm, reason, _):
                    self.watcher.dropped(arm.name, reason)
                case RunTrial() | RunBlock():
                    if last not in (None, decision.block) and self.run.stop_asked:
                        raise StopAsked
                    last = decision.block
                    self._run(decision)

    def _decide(self) -> Decision:
        decided = decide(self.resolved.study, self.run.header, self.trials, self.run.journal.entries)
        self.watcher.ruled(decided.study)
        if decided.effects:
            self.watcher.estimated(decided.effects, decided.written.clock_s)
        with self.resolved.environment.held():
            self.run.decide(decided.written.as_data())
        return decided.decision

    def _run(self, decision: RunTrial | RunBlock) -> None:
        in_turns = isinstance(decision, RunBlock)
        arms = decision.arms if isinstance(decision, RunBlock) else (decision.arm,)
        block, attempt = decision.block, decision.attempt
        work = self._work(block, arms, in_turns=in_turns)
        seed = trial_seed(self.run.header.seed, block, attempt)
        environment, watcher = self.resolved.environment, self.watcher
        self.trials += keep_trials(self.run, environment, watcher, arms, block, attempt, seed, work, as_block=in_turns)

    def _work(self, block: int, arms: Sequence[Arm], *, in_turns: bool) -> Work:
        """What makes the records of these arms' trials; their snapshots are made outside the trials' own time. Blocks
        over hosts have one of their own."""
        here = self.resolved.in_block(block)
        prepared = [self._prepare(here.of(arm)) for arm in arms]
        return lambda assignments: play(here, assignments, prepared, self.run.header.seed, in_turns=in_turns)

    def _prepare(self, resolved: ResolvedArm) -> Attempt:
        arm, environment = resolved.arm, self.resolved.environment
        known = is_prepared(self.run, resolved.snapshot_key)
        if not known:
            self.watcher.preparing(arm)
        failure, seconds = try_to_prepare(resolved, journal_preparation(self.run, environment))
        if not known and failure is None:
            self.watcher.prepared(arm, seconds)
        return failure, seconds


def try_to_prepare(arm: ResolvedArm, notify: Notify = notify_nobody) -> Attempt:
    """Make the snapshot of an arm's trials.

    A treatment that cannot be prepared (initdb or its server refuses it, it does not fit) has failed because of its
    settings. The baseline's failure is raised and ends the run, for nothing could be compared.
    """
    clock, failed = arm.environment.clock, None
    started_ns = clock.monotonic_ns()
    try:
        prepare_snapshot(arm, notify)
    except (ClusterError, QueryError, LoadError, SpaceError) as failure:
        if is_reference(arm.study, arm.arm):
            raise
        failed = failure
    return failed, (clock.monotonic_ns() - started_ns) / 1e9


def play(
    resolved: ResolvedStudy,
    assignments: Sequence[Assignment],
    prepared: Sequence[Attempt],
    seed: int,
    *,
    in_turns: bool,
) -> list[Done]:
    """The trials of a block whose servers take turns, or one that has the machine to itself; `seed` is the run's.

    An arm that could not be prepared has failed, and the others go on without it.
    """
    trials = [Trial(resolved.of(each.arm), each) for each in assignments]
    able = [trial for trial, (failure, _) in zip(trials, prepared, strict=True) if failure is None]
    alone = (trial.run() for trial in able)
    done = iter(AlternatingBlock(able, seed, assignments[0].block).run()) if in_turns else alone
    found = [
        next(done) if failure is None else (trial.not_prepared(failure, seconds), ())
        for trial, (failure, seconds) in zip(trials, prepared, strict=True)
    ]
    if resolved.counted is None or assignments[0].block > COUNTED_BLOCKS:
        return found
    return [count_along(resolved.counted, *each) for each in zip(assignments, found, strict=True)]


def count_along(resolved: ResolvedStudy, assignment: Assignment, timed: Done) -> Done:
    """A valid timed trial with what a trial of its own counts on the same data; it stands if that yields no count."""
    record, samples = timed
    if record.status is not Status.VALID:
        return timed
    folder = assignment.staging / counts.FOLDER
    with assignment.keeping("the counts"):
        resolved.environment.disk.mkdir(folder)
    found, _ = Trial(resolved.of(assignment.arm), replace(assignment, staging=folder)).run()
    count = found.responses.get(INSTRUCTIONS.name) if found.status is Status.VALID else None
    said = found.regime.get(COUNTED) if count is not None else "; ".join(each.detail for each in found.reasons)
    counted = replace(
        record,
        responses={**record.responses, INSTRUCTIONS.name: count},
        regime={**record.regime, COUNTED_ALONG: said or "no count"},
        timings_s={**record.timings_s, COUNTED_ALONG: found.length_s},
    )
    return counted, samples


def trial_seed(seed: int, block: int, attempt: int) -> int:
    """The load's seed: one for all arms of a block, so that they see the same random keys, and another for an attempt.

    A trial may play its load again with the seeds behind it.
    """
    turn, number = divmod(attempt - 1, SEEDS_OF_BLOCK // _PLAYS_MAX)
    digest = hashlib.sha256(f"load/{seed}/{block}/{turn}".encode()).digest()
    first = (int.from_bytes(digest[:4]) >> 1) // SEEDS_OF_BLOCK * SEEDS_OF_BLOCK
    return first + number * _PLAYS_MAX


def keep_trials(
    run: RunDirectory,
    environment: Environment,
    watcher: Watcher,
    arms: Sequence[Arm],
    block: int,
    attempt: int,
    seed: int,
    work: Work,
    *,
    as_block: bool = False,
) -> list[TrialRecord]:
    """Do `work` as the run's next trials, one for each arm, and commit what it yields, `as_block` all of it or nothing.

    All are abandoned if the work does not come to its end.
    """
    stagings: list[Staging] = []
    try:
        for number, arm in enumerate(arms, start=run.next_number):
            with environment.held():
                stagings.append(run.begin_trial(number, {"block": block, "attempt": attempt, "arm": arm.name}))
        assignments = [
            Assignment(staging.number, block, attempt, arm, seed, staging.path)
            for staging, arm in zip(stagings, arms, strict=True)
        ]
        for assignment in assignments:
            watcher.trial_started(assignment)
        done = work(assignments)
    except BaseException:
        with environment.held():
            for staging in stagings:
                run.abandon_trial(staging)
        raise
    finished = [(staging, *each) for staging, each in zip(stagings, done, strict=True)]
    with environment.held():
        if as_block:
            run.commit_block(finished)
        else:
            for each in finished:
                run.commit_trial(*each)
    for record, _ in done:
        watcher.trial_finished(record)
    return [record for record, _ in done]


def is_prepared(run: RunDirectory, key: str) -> bool:
    """Does the journal know the snapshot of this key? It may be gone since."""
    return any(entry.kind == Kind.PREPARED and entry.data["key"] == key for entry in run.journal.entries)


def journal_preparation(run: RunDirectory, environment: Environment) -> Notify:
    """Writes into the journal how long a snapshot took, the first time only: made again after a pause, it costs no
    budget."""

    def notify(made: PreparedSnapshot) -> None:
        if not is_prepared(run, made.key):
            with environment.held():
                run.journal.append(
                    Kind.PREPARED, {"key": made.key, "seconds": round(made.seconds, 3), "made": made.made}
                )

    return notify
