"""A run: ask the design, act, commit, ask again, until it says stop.

Everything that decides is in the record, so the loop holds no state that a crash could lose: killed at any step and
resumed, it goes on with the same schedule (tests/lab/test_crashes.py kills it at every write, fsync and rename).
Call it from the main thread: programs die with the thread that started them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import observe
from pgassay.analysis.verdicts import Verdict
from pgassay.bench.counters import Sample
from pgassay.bench.errors import BenchError, ClusterError, LoadError, QueryError, SpaceError
from pgassay.design.schedule import Decision, Drop, RunTrial, Stop, between_blocks, is_baseline, next_decision
from pgassay.design.stopping import effects_of, verdicts_of
from pgassay.lab.memory import PREPARED, history_of, preparation_s
from pgassay.lab.notes import Assignment
from pgassay.lab.preparation import Prepared, key_of, prepare
from pgassay.lab.site import Site
from pgassay.lab.trial import run_trial, unprepared
from pgassay.lab.watching import Watcher
from pgassay.record.decisions import Decision as Written
from pgassay.record.decisions import Step, decisions_in, inputs_sha256
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import Kind
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.responses import Response


@dataclass
class Conductor:
    """Runs a study into a run directory. `trials` are those committed so far (empty for a new run)."""

    study: Study
    run: RunDirectory
    site: Site
    watcher: Watcher
    trials: list[TrialRecord]

    def conduct(self) -> str:
        """Until the design says stop; returns its reason. Raises what stops the run early; committed trials stay."""
        while True:
            decision = self._decide()
            match decision:
                case Stop(reason):
                    with self.site.held():
                        self.run.finish(reason)
                    return reason
                case Drop(arm, reason, _):
                    self.watcher.dropped(arm.name, reason)
                case RunTrial(block, arm, attempt):
                    self._run(block, arm, attempt)

    def _decide(self) -> Decision:
        study, seed = self.study, self.run.header.seed
        entries = self.run.journal.entries
        history = history_of(study, self.trials, entries)
        verdicts: dict[str, Verdict] = {}
        if history.trials and between_blocks(study, seed, history):
            block_s = history.block_s(tuple(arm.name for arm in study.arms))
            verdicts = verdicts_of(study, self._primary, observe(self.trials, study.primary), block_s=block_s)
            self.watcher.estimated(self._effects(), history.elapsed_s)
        decision = next_decision(study, seed, history, verdicts)
        written = self._written(decision, inputs_sha256(history), history.elapsed_s)
        if decisions_in(entries)[-1:] != (written,):  # a run that was killed after deciding has it already
            with self.site.held():
                self.run.decide(written.as_data())
        return decision

    def _written(self, decision: Decision, inputs: str, elapsed_s: float) -> Written:
        used_s = elapsed_s - preparation_s(self.run.journal.entries)
        line = Written(Step.STOP, inputs, clock_s=round(elapsed_s, 3), budget_used_s=round(used_s, 3))
        match decision:
            case Stop(reason):
                return replace(line, reason=reason)
            case Drop(arm, reason, _):
                return replace(line, step=Step.DROP, arm=arm.name, reason=reason)
            case RunTrial(block, arm, attempt):
                number = self.run.next_number
                return replace(line, step=Step.NEXT, arm=arm.name, block=block, attempt=attempt, trial=number)

    def _run(self, block: int, arm: Arm, attempt: int) -> None:
        failure, seconds = self._prepare(arm)
        with self.site.held():
            staging = self.run.begin_trial(self.run.next_number, {"block": block, "attempt": attempt, "arm": arm.name})
        seed = trial_seed(self.run.header.seed, block, attempt)
        assignment = Assignment(staging.number, block, attempt, arm, seed, staging.path)
        self.watcher.trial_started(assignment)
        series: tuple[Sample, ...] = ()
        try:
            if failure is None:
                record, series = run_trial(self.study, assignment, self.site)
            else:
                record = unprepared(self.study, assignment, self.site, failure, seconds)
        except BaseException:
            with self.site.held():
                self.run.abandon_trial(staging)
            raise
        with self.site.held():
            self.run.commit_trial(staging, record, series)
            self.trials.append(record)
        self.watcher.trial_finished(record)

    def _prepare(self, arm: Arm) -> tuple[BenchError | None, float]:
        """Make the snapshot outside the trial, so that the trial's length is its own.

        A treatment that cannot be prepared (initdb or its server refuses it, it does not fit) has failed by its own
        doing: the failure is returned with the seconds spent. The baseline's ends the run, for nothing could be told.
        """
        key = key_of(self.study, arm, self.site)
        known = any(entry.kind == PREPARED and entry.data["key"] == key for entry in self.run.journal.entries)

        def tell(made: Prepared) -> None:
            if not known:  # made again after a pause, it costs no budget
                data = {"key": key, "seconds": round(made.seconds, 3), "made": made.made}
                with self.site.held():
                    self.run.journal.append(Kind.PREPARED, data)

        started_ns = self.site.clock.monotonic_ns()
        if not known:
            self.watcher.preparing(arm)
        try:
            prepare(self.study, arm, self.site, tell)
        except (ClusterError, QueryError, LoadError, SpaceError) as failure:
            if is_baseline(self.study, arm):
                raise
            return failure, (self.site.clock.monotonic_ns() - started_ns) / 1e9
        seconds = (self.site.clock.monotonic_ns() - started_ns) / 1e9
        if not known:
            self.watcher.prepared(arm, seconds)
        return None, seconds

    def _effects(self) -> Sequence[Effect]:
        return tuple(effects_of(self.study, self._primary, observe(self.trials, self.study.primary)).values())

    @property
    def _primary(self) -> Response:
        return next(each for each in self.run.header.responses if each.name == self.study.primary)


def trial_seed(seed: int, block: int, attempt: int) -> int:
    """The load's seed: one for all arms of a block, so that they see the same random keys."""
    digest = hashlib.sha256(f"load/{seed}/{block}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4]) >> 1
