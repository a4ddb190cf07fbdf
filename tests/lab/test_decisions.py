"""What is decided from a record of two drives: space is settled, and speed keeps the trials going that can tell it."""

from dataclasses import replace
from math import exp
from pathlib import Path

import pytest

from pgassay.design.schedule import Drop, RunTrial, Stop
from pgassay.lab.catalogue import every_factor
from pgassay.lab.decisions import decide
from pgassay.record.journal import Entry, Kind
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.model import Study
from pgassay.study.parsing import parse
from tests.report.driven import BLOCKS, make_driven

CSD = "drive.data=csd, "


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_driven(tmp_path_factory.mktemp("driven") / "run")


def study_of(run: Run, settle: tuple[str, ...]) -> Study:
    """The recorded study, with more blocks allowed than were run."""
    study = parse(run.header.study, run.study, every_factor())
    assert study.design.settle == ("qps",)
    return replace(study, design=replace(study.design, blocks_min=5, blocks_max=10, settle=settle))


def wandering(trials: tuple[TrialRecord, ...]) -> tuple[TrialRecord, ...]:
    """At FILLFACTOR 75 on the compressing drive speed wanders by a third from block to block."""
    return tuple(
        replace(
            trial, responses={**trial.responses, "qps": (trial.responses["qps"] or 0.0) * exp((-1) ** trial.block / 3)}
        )
        if trial.treatment == f"{CSD}table.fillfactor=75"
        else trial
        for trial in trials
    )


def decided(run: Run, study: Study) -> tuple[list[str], RunTrial | Stop]:
    """The arms that leave, and what comes then."""
    entries = [entry for entry in run.journal if entry.kind != Kind.FINISHED]
    gone: list[str] = []
    while True:
        found = decide(study, run.header, wandering(run.trials), entries)
        if not isinstance(found.decision, Drop):
            return gone, found.decision
        gone.append(found.decision.arm.name)
        entries.append(Entry(len(entries) + 1, 0, Kind.DECISION, found.written.as_data()))


def test_space_alone_ends_the_run(run: Run, tmp_path: Path) -> None:
    gone, last = decided(run, study_of(run, ()))
    assert (gone, last) == ([], Stop("every verdict is settled"))


def test_open_speeds_keep_their_own_drives_trials_going(run: Run) -> None:
    study = study_of(run, ("qps",))
    gone, last = decided(run, study)
    assert {name.split(", load")[0] for name in gone} == {
        f"drive.data=ssd, table.fillfactor={fill}" for fill in (100, 75)
    }
    assert isinstance(last, RunTrial)
    assert last.block == BLOCKS + 1
    assert last.arm.name.startswith(CSD)
