"""From records to verdicts: medians of the arms' own trials, the server's cores, and capacities of a disk study."""

import json
import re
from pathlib import Path

import pytest

from pgassay.analysis.capacities import Cause, Resource
from pgassay.cli import main
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.known import DISK_FACT
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.report import text
from pgassay.report.drives import measured_by
from pgassay.report.findings import Findings
from pgassay.study.document import write
from pgassay.study.responses import Better, Response, Status
from pgassay.testing.planted import make_run
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
    written = Response(
        "disk_written_bytes_per_transaction", "written to the device, per transaction", "bytes", Better.LOWER, cost=True
    )
    header = RunHeader("disk", "2026-01-02T03:04:05Z", 1, (iops, written), ("pgassay",), "0.1.0")
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
                    responses={
                        "iops": 1000.0,
                        written.name: 8192.0,
                        **{name: scale * value for name, value in responses.items()},
                    },
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
    found = {(each.condition, each.covariate): each.diagnosis.cause for each in _open(folder / "scaled").bottlenecks}
    assert {cause for (condition, _), cause in found.items() if condition == WRITE} == {Cause.WAL_FLUSH}
    assert found[READ, "load.clients=8"] is Cause.CPU
    assert found[READ, "load.clients=1"] is Cause.UNDECIDED


def test_each_capacity_is_the_best_that_the_disk_study_saw(folder: Path) -> None:
    found = {each.resource: each for each in measured_by(Run.open(folder / "disk"))}
    assert found[Resource.READS].per_s == 9000.0
    assert found[Resource.WRITTEN_BYTES].per_s == 400e6
    assert "load.threads=4" in found[Resource.READS].source
    flushes = found[Resource.FLUSHES]
    assert (flushes.per_s, "load.threads=1" in flushes.source) == (1000.0, True), "WAL is flushed one at a time"
    assert _open(folder / "disk").bottlenecks == (), "a drive by itself is stopped by itself"


def test_what_a_run_took_along_of_a_disk_study_speaks_in_its_own_diagnosis(folder: Path) -> None:
    run = Run.open(folder / "scaled")
    plain = Findings(run)
    assert plain.disk == ()
    fact = {"measured_utc": "2026-01-02T03:04:05Z", "per_s": {"flushes": 10.0, "reads": "many"}, "at": {"flushes": "x"}}
    run.host[DISK_FACT] = fact
    known = Findings(run)
    assert [(each.resource, each.per_s, each.source) for each in known.disk] == [
        (Resource.FLUSHES, 10.0, "a disk study of 2026-01-02 at x")
    ]
    assert known.bottlenecks[0].diagnosis.missing == ()
    assert "what the disk can do was not measured" in plain.bottlenecks[0].diagnosis.missing[0]
    assert Findings(run, disk=()).disk == (), "what the user names comes first"


def test_costs_of_a_disk_study_are_those_of_an_io(folder: Path) -> None:
    findings = _open(folder / "disk")
    cost = findings.responses["disk_written_bytes_per_transaction"]
    assert cost.title == "written to the device, per I/O"
    assert "per transaction" not in text.render(findings)


def test_show_has_every_candidate_in_its_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--json", str(folder / "scaled")]) == 0
    found = json.loads(capsys.readouterr().out)["beside"]["stops"]
    assert len(found) == 16
    assert found[0]["diagnosis"]["cause"] == "WAL flush"
    assert all(each["diagnosis"]["candidates"] for each in found)
    assert main(["show", "--verbose", str(folder / "scaled")]) == 0
    said = capsys.readouterr().out
    assert re.search("load.script=tpcb-like, load.clients=1 +WAL flush +backends wait", said)
    assert "what the disk can do was not measured" in said


@pytest.mark.parametrize("disk", ["scaled", "none"])
def test_what_measured_no_drive_is_refused(folder: Path, disk: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder / "scaled"), "--disk", str(folder / disk)]) == 2
    assert "error:" in capsys.readouterr().err


def test_a_disk_study_says_first_what_it_found_and_shows_what_was_measured(folder: Path) -> None:
    said = text.render(_open(folder / "disk"))
    head, _, _ = said.partition("Measurements")
    assert "the drive: no sign of a cache beneath the guest" in head
    assert "no cost of a transaction explains space" not in said


def _open(path: Path) -> Findings:
    return Findings(Run.open(path))
