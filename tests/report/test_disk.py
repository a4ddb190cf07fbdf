"""Is it a drive, and does it keep its pace? Planted caches and cliffs are told, their absence and short windows too."""

from collections.abc import Sequence
from pathlib import Path

from pgassay.load.fio import FioOptions
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.report import drives
from pgassay.report.findings import Findings
from pgassay.study.document import write
from pgassay.study.responses import Better, Response, Status
from pgassay.testing.planted import Row

STUDY = {
    "study": {"format": 1, "title": "Disk", "question": "?"},
    "conditions": {"load.pattern": ["random:100%", "write", "reread"]},
    "responses": {"primary": "iops"},
    "covariates": {"load.threads": [1, 4]},
    "load": {"driver": "fio", "io_size": "8kB"},
}
IOPS = Response("iops", "reads and writes per second", "1/s", Better.HIGHER)
STEADY = [50_000.0] * 20
FALLEN = [50_000.0] * 10 + [10_000.0] * 10


def make(path: Path, *, read_ms: float, speedup: float, seconds: Sequence[float]) -> Run:
    header = RunHeader("disk", "2026-01-02T03:04:05Z", 1, (IOPS,), ("pgassay",), "0.1.0")
    with RunDirectory.create(path, header, write(STUDY), {}) as run:
        for block in range(1, 4):
            for pattern in ("random:100%", "write", "reread"):
                staging = run.begin_trial(run.next_number)
                levels = {"load.driver": "fio", "load.pattern": pattern, "load.io_size": "8kB"}
                record = TrialRecord(
                    number=staging.number,
                    block=block,
                    attempt=1,
                    treatment="",
                    condition=f"load.pattern={pattern}",
                    covariate="load.threads=1",
                    levels={name: LevelRecord(typed, typed, None) for name, typed in levels.items()},
                    status=Status.VALID,
                    started_wall_ns=0,
                    finished_wall_ns=10**9,
                    responses={
                        "iops": 1000.0,
                        "read_latency_p50_ms": read_ms if pattern == "random:100%" else None,
                        "reread_speedup": speedup * (1 + 0.01 * block) if pattern == "reread" else None,
                    },
                )
                rates = seconds if pattern == "write" else ()
                rows = [Row(n * 10**9, n * 10**9, "fio", "write_iops", "1/s", rate) for n, rate in enumerate(rates)]
                run.commit_trial(staging, record, rows)
        run.finish("done")
    return Run.open(path, leave_out=True)


def told(run: Run) -> list[str]:
    return [finding for _, finding in Findings(run).disk_signs]


def test_a_drive_that_keeps_its_pace_has_no_sign(tmp_path: Path) -> None:
    nothing, steady = told(make(tmp_path / "run", read_ms=0.09, speedup=1.0, seconds=STEADY))
    assert nothing == "no sign of a cache beneath the guest"
    assert steady == "no cliff under sustained writing in windows of this length (up to 8.19 GB written)"


def test_memory_beneath_the_guest_and_a_cliff_are_named(tmp_path: Path) -> None:
    fast, again, fall = told(make(tmp_path / "run", read_ms=0.012, speedup=3.0, seconds=FALLEN))
    assert "within 12 µs" in fast
    assert "3.1 times as fast as fresh blocks" in again
    assert "after 4.1 GB of sustained writing the rate fell from 410 to 82 MB/s" in fall
    assert "in 3 of 3 trials that only write: 2, 5, 8" in fall


def test_a_window_too_short_for_a_cliff_says_so(tmp_path: Path) -> None:
    *_, short = told(make(tmp_path / "run", read_ms=0.09, speedup=1.0, seconds=STEADY[:2]))
    assert short == "windows are too short to see a cliff under sustained writing: below 8 s"


def test_seconds_that_cannot_be_read_are_left_out_and_told(tmp_path: Path) -> None:
    run = make(tmp_path / "run", read_ms=0.09, speedup=1.0, seconds=FALLEN)
    (run.trial_directory(2) / "series.parquet").write_bytes(b"cut")
    findings = Findings(run)
    assert "in 2 of 2 trials" in findings.disk_signs[-1][1]
    assert any("trial 2" in sentence for sentence in findings.seconds.unread)


def test_other_studies_have_none_of_it(tmp_path: Path) -> None:
    from pgassay.testing.planted import make_run

    assert Findings(make_run(tmp_path / "run")).disk_signs == ()


def test_what_a_record_leaves_out_is_read_as_the_option_s_default() -> None:
    """The report imports no load, so it has fio's defaults of its own; an old record without a driver is pgbench's."""
    declared = {"driver": "pgbench", **FioOptions.from_levels({}).to_levels()}
    assert {name: declared[name] for name in drives._DEFAULTS} == drives._DEFAULTS
