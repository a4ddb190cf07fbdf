"""From records to verdicts: medians of the arms' own trials, the server's cores, and capacities of a disk study."""

import json
from pathlib import Path

import pytest

from pgassay.analysis.diagnosis import Cause
from pgassay.cli import main
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, Status, TrialRecord
from pgassay.report.diagnosing import capacities_of_disk, diagnosed
from pgassay.report.findings import Findings
from pgassay.study.document import write
from pgassay.study.responses import Better, Response
from tests.report.made import make_run
from tests.report.scaled import READ, WRITE, make_scaled

DISK = {
    "study": {"format": 1, "title": "Disk", "question": "?"},
    "conditions": {"load.pattern": ["random:100%", "write", "wal"]},
    "covariates": {"load.threads": [1, 4]},
    "responses": {"primary": "iops"},
    "load": {"driver": "fio", "io_size": "8kB"},
}
MEASURED = {
    "random:100%": {"read_iops": 9000.0}, "write": {"bytes_per_s": 400e6}, "wal": {"flushes_per_s": 2000.0},
}  # fmt: skip


def make_disk(path: Path) -> Run:
    iops = Response("iops", "reads and writes per second", "1/s", Better.HIGHER)
    header = RunHeader("disk", "2026-01-02T03:04:05Z", 1, (iops,), ("pgassay",), "0.1.0")
    with RunDirectory.create(path, header, write(DISK), {}) as run:
        for pattern, responses in MEASURED.items():
            for threads in ("1", "4"):
                staging = run.begin_trial(run.next_number)
                levels = {"load.driver": "fio", "load.pattern": pattern, "load.threads": threads, "load.io_size": "8kB"}
                scale = 1.0 if threads == "4" else 0.5
                record = TrialRecord(
                    number=staging.number,
                    block=1,
                    attempt=1,
                    treatment="",
                    condition=f"load.pattern={pattern}",
                    covariate=f"load.threads={threads}",
                    levels={name: LevelRecord(typed, typed, None) for name, typed in levels.items()},
                    status=Status.VALID,
                    started_wall_ns=0,
                    finished_wall_ns=10**9,
                    responses={"iops": 1000.0, **{name: scale * value for name, value in responses.items()}},
                    regime={},
                )
                run.commit_trial(staging, record, ())
        run.finish("done")
    return Run.open(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("diagnosing")
    make_scaled(made / "scaled")
    make_disk(made / "disk")
    make_run(made / "plain")
    return made


def test_each_arm_has_its_cause(folder: Path) -> None:
    found = {(each.condition, each.covariate): each.diagnosis.cause for each in diagnosed(_open(folder / "scaled"))}
    assert {cause for (condition, _), cause in found.items() if condition == WRITE} == {Cause.WAL_FLUSH}
    assert found[READ, "load.clients=8"] is Cause.CPU
    assert found[READ, "load.clients=1"] is Cause.UNDECIDED


def test_capacities_are_the_best_that_the_disk_study_saw(folder: Path) -> None:
    found = {each.response: each for each in capacities_of_disk(_open(folder / "disk"))}
    assert found["disk_reads_per_transaction"].per_s == 9000.0
    assert found["disk_written_bytes_per_transaction"].per_s == 400e6
    assert "load.threads=4" in found["disk_reads_per_transaction"].source
    flushes = found["disk_flushes_per_transaction"]
    assert (flushes.per_s, "load.threads=1" in flushes.source) == (1000.0, True), "WAL is flushed one at a time"
    assert diagnosed(_open(folder / "disk")) == (), "a drive by itself is stopped by itself"


def test_the_command_prints_and_gives_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(folder / "scaled"), "--disk", str(folder / "disk"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["capacities"]) == 3
    assert len(found["arms"]) == 16
    assert found["arms"][0]["diagnosis"]["cause"] == "WAL flush"
    assert main(["diagnose", str(folder / "scaled")]) == 0
    said = capsys.readouterr().out
    assert "load.script=tpcb-like, load.clients=1: WAL flush: backends wait" in said
    assert "note: what the disk can do was not measured" in said


@pytest.mark.parametrize("words", [["plain"], ["scaled", "--disk", "scaled"], ["none"]])
def test_what_cannot_be_diagnosed_is_refused(
    folder: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [word if word.startswith("--") else str(folder / word) for word in words]
    assert main(["diagnose", *arguments]) == 2
    assert "error:" in capsys.readouterr().err


def _open(path: Path) -> Findings:
    return Findings(Run.open(path))
