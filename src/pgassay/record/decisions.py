"""A decision of the design as the journal keeps it, so that replaying the journal gives the same schedule again.

The inputs themselves are in the record (study, seed, committed trials); their hash shows whether a replay saw the same.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from pgassay.record.errors import DamagedError, RecordError
from pgassay.record.journal import FILE, Entry, Kind
from pgassay.record.values import Count, Seconds
from pgassay.study.quantities import BLOCKS_MAX

Blocks = Annotated[int, msgspec.Meta(ge=0, le=2 * BLOCKS_MAX)]
"""A run may be extended to twice the blocks of its study."""


class Step(StrEnum):
    """The kinds of decision that a design can make."""

    NEXT = "next"
    """Run a trial of an arm."""
    BLOCK = "block"
    """Run a block whose servers take turns."""
    DROP = "drop"
    """Leave an arm out from now on."""
    STOP = "stop"
    """End the run."""


@dataclass(frozen=True)
class Decision:
    """One decision. `clock_s` and `budget_used_s` count from the run's start, pauses between resumes left out.

    `arm` is the arm's label; `trial`, `block` and `attempt` are 0 where the step names none. `arms` are the labels of
    a block whose servers take turns, in the order of their trials; `trial` is the first of these.
    """

    step: Step
    inputs_sha256: str
    clock_s: Seconds
    budget_used_s: Seconds
    arm: str = ""
    trial: Count = 0
    block: Count = 0
    attempt: Count = 0
    reason: str = ""
    stage: Blocks = 0
    horizon: Blocks = 0
    """Blocks of the first stage of looks and of both, at the decision that fixes them; 0 at all others."""
    arms: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """As the data of a `decision` line of the journal."""
        told = asdict(self)
        if not self.arms:
            del told["arms"]
        return told


def decision_of(entry: Entry) -> Decision:
    """The decision in a journal line; raises `DamagedError` where there is none."""
    try:
        return msgspec.convert(dict(entry.data), Decision)
    except msgspec.ValidationError as failure:
        what = f"is no decision: {failure}"
        raise DamagedError(f"line {entry.seq} of {FILE} {what}", what=what) from failure


def decisions_in(entries: tuple[Entry, ...]) -> tuple[Decision, ...]:
    """Every decision of a journal, in order."""
    return tuple(decision_of(entry) for entry in entries if entry.kind == Kind.DECISION)


def horizon_in(entries: Iterable[Entry]) -> tuple[int, int] | None:
    """The blocks that looks are planned for, of the first stage and of both; None where no decision fixed them."""
    fixed = (each for each in entries if each.kind == Kind.DECISION and each.data.get("horizon"))
    return next(((each.stage, each.horizon) for each in map(decision_of, fixed)), None)


@dataclass(frozen=True)
class Extended:
    """The data of an `extended` line: a run goes on to this number of blocks, or until this budget is used, whichever
    comes first. `budget_s` counts from the run's start as `Decision.budget_used_s` does, with what was prepared."""

    blocks_min: Blocks
    blocks_max: Blocks
    budget_s: Seconds | None


def extended_in(entries: Iterable[Entry]) -> Extended | None:
    """The last extension of a run; None where there is none. Raises `RecordError` for what is none."""
    found = [each for each in entries if each.kind == Kind.EXTENDED]
    if not found:
        return None
    try:
        return msgspec.convert(dict(found[-1].data), Extended)
    except msgspec.ValidationError as failure:
        raise RecordError(f"journal line {found[-1].seq} does not say how far the run goes on: {failure}") from failure


def inputs_sha256(*inputs: Any) -> str:
    """A hash of plain values, dataclasses and mappings that does not depend on the order of keys."""
    return hashlib.sha256(msgspec.json.encode(inputs, order="deterministic")).hexdigest()
