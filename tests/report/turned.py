"""The planted run as if the servers of its blocks had taken turns, with slices whose noise is known."""

import random
from collections.abc import Callable
from math import exp
from pathlib import Path

from pgassay.record import slices
from pgassay.record.reading import Run
from pgassay.record.slices import SliceRecord
from pgassay.record.values import TrialRecord
from pgassay.study.responses import Status
from pgassay.testing.planted import make_run

ROUNDS = 6
MACHINE, START, OWN = 0.15, 0.01, 0.02
"""Standard deviations of the logarithm: of a block's moment for all its servers, of a server's start, of a slice."""
NS = 10**9


def played(trial: TrialRecord, *, discarded: int = 0) -> list[SliceRecord]:
    """A trial's slices of a second, beside those of the two other servers of its block."""
    place = ("100", "75", "50").index(trial.treatment.partition("=")[2])
    common = random.Random(f"block {trial.block}").gauss(0.0, MACHINE)
    chance = random.Random(f"trial {trial.number}")
    start = chance.gauss(0.0, START)
    found = []
    for round_ in range(1, ROUNDS + 1):
        opened_ns = (trial.block * 1000 + round_ * 4 + place) * NS
        parts = tuple(round(1000 * exp(common + start + chance.gauss(0.0, OWN))) for _ in range(10))
        found.append(
            SliceRecord(
                round=round_, position=place + 1, wall_ns=opened_ns, thawed_ns=opened_ns, opened_ns=opened_ns,
                closed_ns=opened_ns + NS, drained_ns=opened_ns + NS, flush_ns=0, transactions=sum(parts), parts=parts,
                discarded="steal 40 %" if round_ == discarded else "",
            )
        )  # fmt: skip
    return found


def make_turned(path: Path, lines: Callable[[TrialRecord], bytes] = lambda trial: slices.encode(played(trial))) -> Run:
    """The run; `lines` gives the contents of a valid trial's file of slices."""
    run = make_run(path)
    for trial in run.trials:
        if trial.status is Status.VALID:
            (run.trial_directory(trial.number) / slices.FILE).write_bytes(lines(trial))
    return Run.open(path)
