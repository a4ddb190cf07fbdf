"""A block on one host: what the head asks for, and all its trials, those that others disturbed once more, packed.

What runs, in which order and with which seed is asked of the design, as a run on one machine asks it. A host looks at
no budget and at no verdict: it may run a repetition or an arm that the head, which decides, will not use.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import msgspec

from pgassay.design.schedule import FinishedTrial, History, RunBlock, next_in_block
from pgassay.fleet import FleetError
from pgassay.fleet.parcels import Arrived, Parcel, pack
from pgassay.fleet.user_files import UserFile
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.runner import play, trial_seed, try_to_prepare
from pgassay.lab.trial_state import Assignment, HostState
from pgassay.study.levels import Arm


@dataclass(frozen=True)
class BlockOrder:
    """What the head asks of a host: a block of a run with this seed, without the arms that have left."""

    block: int
    seed: int
    dropped: tuple[str, ...] = ()


Tell = Callable[[Sequence[HostState]], None]


class BlockExecutor(Protocol):
    """Hosts that take orders. A block is run whole by one of them, whichever is free; lost with it, by another."""

    @property
    def hosts(self) -> int:
        """How many blocks run at once."""

    def within_reach(self) -> frozenset[str]:
        """Names of the hosts that are there, or have been missing for a short while only."""

    def submit(self, order: BlockOrder) -> None:
        """Have a block run; one that was ordered already is not ordered again."""

    def next_arrived(self, tell: Tell) -> Arrived:
        """Wait for any of the ordered blocks, and tell meanwhile what the hosts do.

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


def names_its_postgres(document: str) -> bool:
    """Does a study say which PostgreSQL serves, by version or by build? Then what else a host has does not matter."""
    return any(name.startswith(("build.", "postgres.")) for name in _names(tomllib.loads(document)))


def _names(value: object) -> Iterator[str]:
    """Every key, those of nested tables joined by dots, too."""
    if isinstance(value, list):
        for each in value:
            yield from _names(each)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            if isinstance(inner, dict):
                yield from (f"{name}.{each}" for each in _names(inner))
            yield from _names(inner)


def nobody_left(failed: Mapping[str, str], seconds: float) -> FleetError:
    """Blocks that nobody can bring home: every host has been missing, or was left out before."""
    out = "".join(f"; {host} was left out: {reason}" for host, reason in failed.items())
    return FleetError(f"no host was heard for {seconds:.0f} s{out}", "start the workers again, and resume the run")


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
            assignments = [self._assign(arm, decision.attempt, len(parcels) + place) for place, arm in enumerate(arms)]
            prepared = [try_to_prepare(self.resolved.of(arm)) for arm in arms]
            played = play(self.resolved, assignments, prepared, self.order.seed, in_turns=in_turns)
            for assignment, (record, series) in zip(assignments, played, strict=True):
                environment = self.resolved.environment
                parcels.append(pack(environment.disk, assignment.staging, record, series, environment.files))
                finished.append(FinishedTrial(record.block, record.arm, record.attempt, record.status))

    def _assign(self, arm: Arm, attempt: int, place: int) -> Assignment:
        staging = self.place / f"{place + 1:06d}"
        self.resolved.environment.disk.mkdir(staging)
        seed = trial_seed(self.order.seed, self.order.block, attempt)
        return Assignment(place + 1, self.order.block, attempt, arm, seed, staging)
