"""A block on one host: all its trials, those that others disturbed once more, packed to be sent home.

What runs, in which order and with which seed is asked of the design, as a run on one machine asks it. A host looks at
no budget and at no verdict: it may run a repetition or an arm that the head, which decides, will not use.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.design.history import FinishedTrial, History
from pgassay.design.schedule import RunBlock, next_in_block
from pgassay.fleet.parcels import Arrived, Parcel, pack
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.runner import play, trial_seed, try_to_prepare
from pgassay.lab.trial_state import Assignment
from pgassay.study.levels import Arm


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
            in_turns = isinstance(decision, RunBlock)
            arms = decision.arms if isinstance(decision, RunBlock) else (decision.arm,)
            assignments = [self._assign(arm, decision.attempt, len(parcels) + place) for place, arm in enumerate(arms)]
            prepared = [try_to_prepare(self.resolved.of(arm)) for arm in arms]
            played = play(self.resolved, assignments, prepared, self.order.seed, in_turns=in_turns)
            for assignment, (record, series) in zip(assignments, played, strict=True):
                site = self.resolved.site
                parcels.append(pack(site.disk, assignment.staging, record, series, site.files))
                finished.append(FinishedTrial(record.block, record.arm, record.attempt, record.status))

    def _assign(self, arm: Arm, attempt: int, place: int) -> Assignment:
        staging = self.place / f"{place + 1:06d}"
        self.resolved.site.disk.mkdir(staging)
        seed = trial_seed(self.order.seed, self.order.block, attempt)
        return Assignment(place + 1, self.order.block, attempt, arm, seed, staging)
