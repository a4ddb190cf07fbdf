"""A block on one host: all its trials, those that others disturbed once more, packed to be sent home.

What runs, in which order and with which seed is asked of the design, as a run on one machine asks it. A host looks at
no budget and at no verdict: it may run a repetition or an arm that the head, which decides, will not use.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.bench.counters import Sample
from pgassay.bench.errors import BenchError, ClusterError, LoadError, QueryError, SpaceError
from pgassay.design.schedule import FinishedTrial, History, RunBlock, is_reference, next_in_block
from pgassay.fleet.parcels import Arrived, Parcel, pack
from pgassay.lab.alternation import AlternatingBlock
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.live_trial import LiveTrial
from pgassay.lab.notes import Assignment
from pgassay.lab.preparation import prepare
from pgassay.lab.runner import trial_seed
from pgassay.lab.trial import Trial
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm

Done = tuple[TrialRecord, tuple[Sample, ...]]


@dataclass(frozen=True)
class BlockOrder:
    """What the head asks of a host: a block of a run with this seed, without the arms that have left."""

    block: int
    seed: int
    dropped: tuple[str, ...] = ()


@dataclass
class HostedBlock:
    """Runs one block; raw outputs go below `place`, an empty directory of the site's disk."""

    resolved: ResolvedStudy
    order: BlockOrder
    host: str
    place: Path

    def run(self) -> Arrived:
        """All trials of the block; raises `PgassayError` where the bench fails."""
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
            arms = decision.arms if isinstance(decision, RunBlock) else (decision.arm,)
            assignments = [self._assign(arm, decision.attempt, len(parcels) + place) for place, arm in enumerate(arms)]
            played = self._in_turns(assignments) if isinstance(decision, RunBlock) else [self._alone(assignments[0])]
            for assignment, (record, series) in zip(assignments, played, strict=True):
                site = self.resolved.site
                parcels.append(pack(site.disk, assignment.staging, record, series, site.files))
                finished.append(FinishedTrial(record.block, record.arm, record.attempt, record.status))

    def _assign(self, arm: Arm, attempt: int, place: int) -> Assignment:
        staging = self.place / f"{place + 1:06d}"
        self.resolved.site.disk.mkdir(staging)
        seed = trial_seed(self.order.seed, self.order.block, attempt)
        return Assignment(place + 1, self.order.block, attempt, arm, seed, staging)

    def _alone(self, assignment: Assignment) -> Done:
        failure, seconds = self._prepare(assignment.arm)
        trial = Trial(self.resolved.of(assignment.arm), assignment)
        return trial.run() if failure is None else (trial.not_prepared(failure, seconds), ())

    def _in_turns(self, assignments: Sequence[Assignment]) -> list[Done]:
        prepared = [self._prepare(each.arm) for each in assignments]
        trials = [LiveTrial(self.resolved.of(each.arm), each) for each in assignments]
        able = [trial for trial, (failure, _) in zip(trials, prepared, strict=True) if failure is None]
        played = dict(zip(able, AlternatingBlock(able, self.order.seed, self.order.block).run(), strict=True))
        return [
            played[trial] if failure is None else (trial.not_prepared(failure, seconds), ())
            for trial, (failure, seconds) in zip(trials, prepared, strict=True)
        ]

    def _prepare(self, arm: Arm) -> tuple[BenchError | None, float]:
        """Snapshots are made once on each host. One that fails is the treatment's outcome, but for the baseline's."""
        clock = self.resolved.site.clock
        started_ns = clock.monotonic_ns()
        try:
            prepare(self.resolved.of(arm))
        except (ClusterError, QueryError, LoadError, SpaceError) as failure:
            if is_reference(self.resolved.study, arm):
                raise
            return failure, (clock.monotonic_ns() - started_ns) / 1e9
        return None, 0.0
