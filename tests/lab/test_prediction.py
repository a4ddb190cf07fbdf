"""From a record's write signatures to other drives: what scales, what is checked against the drive's own ageing."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from math import log, sqrt
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np
import pytest

from pgassay._core import FlashOutOfSpaceError
from pgassay.cli import main
from pgassay.errors import UsageError
from pgassay.flash.prediction import Target, predict
from pgassay.interfaces.write_signature import SUFFIX, WriteSignature, of_requests
from pgassay.lab.prediction import DriveQuestion, predictions
from pgassay.record.directory import RunDirectory
from pgassay.record.formats import RunHeader
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.study.document import write
from pgassay.study.responses import Better, Response, Status

MB = 1 << 20
CAPACITY = 64 * MB
BLOCKS = CAPACITY // 4096


def signature_with(wal: int) -> WriteSignature:
    """So many requests of a ring, 4500 of pages."""
    random = np.random.default_rng(1)
    ring, pages = 4 * np.arange(wal) % 400, 400 + 2 * random.integers(0, 2000, 4500)
    stored = random.integers(1000, 4096, 4 * wal + 9000).astype(np.uint16)
    return of_requests(BLOCKS, np.r_[ring, pages], np.repeat([4, 2], [wal, 4500]), stored)


SIGNATURE = signature_with(1000)
FILLED = 0.9
DATABASE = {"100": 30.0 * MB, "75": 36.0 * MB}
FIXED = 4 * MB
"""What does not grow with the data: an empty cluster and the least WAL."""
PACKED = 1.2
"""What is stored for a byte of the database, as the host sees it."""
STUDY: dict[str, Any] = {
    "study": {"title": "t"},
    "fixed": {"drive.data": "ssd", "drive.state": "aged", "drive.live_share": FILLED},
    "responses": {"primary": "physical_bytes"},
}


@cache
def settled_at() -> float:
    """What the recorded drive itself comes to."""
    found = predict(SIGNATURE, Target("page-mapped", CAPACITY, 0.07, FILLED * CAPACITY, 1.0, pages_per_block=16))
    assert found.write_amplification is not None
    return found.write_amplification


def recorded(
    path: Path,
    *,
    aged: bool = True,
    times: float = 1.0,
    noise: float = 0.0,
    database: Mapping[str, float] = DATABASE,
    compressing: WriteSignature | None = None,
    more: Sequence[WriteSignature] = (),
) -> Run:
    """Two treatments, three trials each; so many times the data, and as much that is fixed; space has that noise.

    With a signature `compressing` the load was recorded on such a drive, too, with `more` on further normal ones.
    """
    random = np.random.default_rng(round(100 * times))
    response = Response("physical_bytes", "flash", "bytes", Better.LOWER)
    header = RunHeader("x", "2026-01-02T03:04:05Z", 1, (response,), ("pgassay",), "0.1.0")
    drive: dict[str, str | float | None] = {
        "drive.capacity_bytes": float(CAPACITY),
        "drive.over_provisioning": 0.07,
        "drive.superblock_bytes": 16 * 4096.0,
        "drive.settled_write_amplification": settled_at(),
    }
    fills = [int(fill) for fill in database]
    drives = {"ssd": ("page-mapped", SIGNATURE)}
    study: dict[str, Any] = {
        **STUDY,
        "factors": {"table.fillfactor": fills},
        "design": {"baseline": {"table.fillfactor": fills[0]}},
    }
    if compressing is not None:
        drives["csd"] = ("compressing", compressing)
    drives |= {f"ssd{number}": ("page-mapped", each) for number, each in enumerate(more, 2)}
    if len(drives) > 1:
        study["factors"] = {"drive.data": list(drives), **study["factors"]}
        study["design"] = {"baseline": {"drive.data": "ssd", **study["design"]["baseline"]}}
        study["fixed"] = {name: level for name, level in STUDY["fixed"].items() if name != "drive.data"}
    texts = {name: signature.to_text() for name, (_, signature) in drives.items() if aged}
    with RunDirectory.create(path, header, write(study), {}) as run:
        for block, of_drive, (fill, size) in product((1, 2, 3), drives, database.items()):
            staging = run.begin_trial(run.next_number)
            levels = {"drive.data": of_drive, "table.fillfactor": fill, "drive.live_share": str(FILLED)}
            flash = (size * times + FIXED) * (1 + noise * random.standard_normal())
            record = TrialRecord(
                number=staging.number,
                block=block,
                attempt=1,
                treatment=", ".join(f"{name}={levels[name]}" for name in study["factors"]),
                condition="",
                covariate="",
                levels={name: LevelRecord(typed, typed, typed) for name, typed in levels.items()},
                status=Status.VALID,
                started_wall_ns=staging.number * 10**10,
                finished_wall_ns=staging.number * 10**10 + 10**9,
                responses={
                    "database_bytes": size * times,
                    "physical_bytes": flash,
                    "compression_ratio": PACKED * size * times / flash,
                },
                counters={},
                regime={**drive, "drive.model": drives[of_drive][0]} if aged else {},
            )
            if aged:
                (staging.path / f"drive.write_signature{SUFFIX}").write_text(texts[of_drive])
            run.commit_trial(staging, record, ())
        run.finish("all blocks are done")
    return Run.open(path)


def test_space_scales_with_the_baselines_data_and_spare_flash_lowers_amplification(tmp_path: Path) -> None:
    asked = DriveQuestion(int(740e9), int(3.2e12), (0.07, 0.28), live_share=0.95, simulated_bytes=CAPACITY)
    dense, loose = predictions([recorded(tmp_path / "run")], asked)
    assert dense.physical.value == pytest.approx(740e9 * 34 / 30)
    assert loose.physical.value == pytest.approx(740e9 * 40 / 30)
    assert loose.physical.basis == loose.compression.basis == "one run, scaled linearly"
    for each in (dense, loose):
        little, much = (drive.write_amplification for drive in each.drives)
        assert little is not None
        assert much is not None
        assert 1 <= much < little
        assert all(drive.settled for drive in each.drives)


def test_the_recorded_drive_is_the_check(tmp_path: Path) -> None:
    dense, _ = predictions(
        [recorded(tmp_path / "run")], DriveQuestion(int(740e9), int(3.2e12), (0.07,), simulated_bytes=CAPACITY)
    )
    (check,) = dense.checks
    assert check.settled == pytest.approx(settled_at())
    assert check.error == pytest.approx(0.0, abs=1e-9), "the same drive, the same load, the same seed"


def test_a_normal_drive_is_predicted_by_what_its_load_wrote_to_every_drive(tmp_path: Path) -> None:
    """Checkpoints fall otherwise in each recording, so that one alone is off by as much; the error of their mean counts
    that. A compressing drive has its own alone, since others do not say what its blocks compress to."""
    run = recorded(tmp_path / "run", compressing=signature_with(2000))
    asked = DriveQuestion(int(740e9), int(3.2e12), (0.07,), live_share=0.95, simulated_bytes=CAPACITY)
    found = list(predictions([run], asked))
    assert [len(each.recordings[0]) for each in found] == [2, 2, 1, 1]
    normal, compressing = found[0], found[2]
    own, other = normal.recordings[0]
    (drive,) = normal.drives
    assert own is not None
    assert other is not None
    assert drive.write_amplification == pytest.approx((own * other) ** 0.5)
    assert drive.interval is not None
    low, high = drive.interval
    assert low < min(own, other)
    assert high > max(own, other)
    assert normal.checks[0].error == pytest.approx(0.0, abs=1e-9), "by its own recording"
    (packed,) = compressing.drives
    assert packed.interval is not None
    assert packed.interval[1] / packed.interval[0] < 1.03, "of the simulation alone"


def test_a_recording_counts_once_in_what_recordings_differ_by(tmp_path: Path) -> None:
    """Every normal drive of a load has all its recordings: three of them have two degrees of freedom, not four."""
    run = recorded(
        tmp_path / "run",
        database={"100": DATABASE["100"]},
        compressing=signature_with(2000),
        more=[signature_with(1500)],
    )
    asked = DriveQuestion(int(740e9), int(3.2e12), (0.07,), live_share=0.95, simulated_bytes=CAPACITY)
    for each in predictions([run], asked):
        if each.kind != "page-mapped":
            continue
        logs = [log(found) for found in each.recordings[0] if found is not None]
        assert len(logs) == 3
        (drive,) = each.drives
        assert drive.interval is not None
        low, high = drive.interval
        assert log(high / low) / 2 >= 4.3026 * stdev(logs) / sqrt(3)


def test_what_is_not_known_of_a_simulation_is_no_error_of_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgassay.flash.prediction.LIMIT", 0.5)
    run = recorded(tmp_path / "run", compressing=signature_with(2000))
    asked = DriveQuestion(int(740e9), int(3.2e12), (0.07,), live_share=0.95, simulated_bytes=CAPACITY)
    for each in predictions([run], asked):
        (drive,) = each.drives
        assert drive.write_amplification is not None
        assert drive.interval is None


def test_a_drive_that_runs_out_of_space_has_no_figure_and_no_basis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(recorded(tmp_path / "run").path)

    def full(*_: object) -> None:
        raise FlashOutOfSpaceError("full")

    monkeypatch.setattr("pgassay.flash.prediction._run", full)
    words = ("--data", "30MB", "--capacity", "64MB")
    assert main(["drive", "predict", path, *words]) == 0
    assert "write amplification not available: the drive runs out of space, " in capsys.readouterr().out
    assert main(["drive", "predict", path, *words, "--json"]) == 0
    first, _ = json.loads(capsys.readouterr().out)["simulated"]
    assert (first["drives"][0]["write_amplification"], first["drives"][0]["basis"]) == (None, None)


def test_a_run_without_signatures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no write signature"):
        list(predictions([recorded(tmp_path / "run", aged=False)], DriveQuestion(1 << 30, 1 << 40, (0.07,))))


def test_the_command_prints_what_is_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(recorded(tmp_path / "run").path)
    sizes = ("--data", "740GB", "--capacity", "3.2TB", "--simulated", "64MB")
    assert main(["drive", "predict", path, *sizes, "--over-provisioning", "7%,28%", "--writes-per-day", "10TB"]) == 0
    said = capsys.readouterr().out
    assert "table.fillfactor=75: " in said
    assert "over-provisioning 28 %: write amplification" in said
    assert "the recorded drive: simulated" in said
    assert said.count("simulated") >= 4
    assert "space is scaled linearly from one run: what does not grow with the data" in said
    assert main(["drive", "predict", path, *sizes, "--json"]) == 0
    first, _ = json.loads(capsys.readouterr().out)["simulated"]
    assert first["physical_bytes"]["basis"] == "one run, scaled linearly"
    assert first["drives"][0]["endurance_bytes"] > 3.2e12
    assert first["drives"][0]["superblock_bytes"] is None


def test_the_superblock_of_the_drive_can_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is written side by side dies side by side in a small superblock, and with others in a large one."""
    path = str(recorded(tmp_path / "run").path)
    words = ("--data", "30MB", "--capacity", "64MB", "--live-share", "90%", "--json")
    found = []
    for size in ((), ("--superblock", "64kB"), ("--superblock", "1MB")):
        assert main(["drive", "predict", path, *words, *size]) == 0
        first, _ = json.loads(capsys.readouterr().out)["simulated"]
        found.append((first["drives"][0]["superblock_bytes"], first["drives"][0]["write_amplification"]))
    (none, usual), (small, alike), (large, more) = found
    assert (none, small, large) == (None, 64 << 10, 1 << 20)
    assert alike == pytest.approx(usual), "a thousandth of this drive"
    assert abs(more / alike - 1) > 0.02


def test_runs_at_several_scales_lead_to_one_that_was_withheld(tmp_path: Path) -> None:
    """Space and compression of 16 times the data: two models' intervals hold it, one model alone is 10 % off."""
    small, middle = (recorded(tmp_path / str(times), times=times, noise=0.003) for times in (1.0, 3.0))
    withheld = 16.0
    asked = DriveQuestion(
        int(DATABASE["100"] * withheld), 1 << 30, (0.07,), live_share=FILLED, simulated_bytes=CAPACITY
    )
    for dense, size in zip(predictions([small, middle], asked), DATABASE.values(), strict=True):
        truth = size * withheld + FIXED
        for figure, known in ((dense.physical, truth), (dense.compression, PACKED * size * withheld / truth)):
            assert figure.interval is not None
            assert figure.interval[0] <= known <= figure.interval[1]
            assert figure.value == pytest.approx(known, rel=0.03)
            assert figure.basis == "limit + c * N of two runs, which cannot test it"
        assert len(dense.checks) == 2
        (drive,) = dense.drives
        assert drive.write_amplification is not None
        assert drive.interval is not None
        assert drive.interval[0] < drive.write_amplification < drive.interval[1]
    alone, _ = predictions([small], asked)
    assert alone.physical.value > 1.1 * (DATABASE["100"] * withheld + FIXED)


def test_runs_of_one_size_and_runs_without_a_treatment_in_common_are_refused(tmp_path: Path) -> None:
    one = recorded(tmp_path / "run")
    with pytest.raises(UsageError, match="nothing of other sizes"):
        list(predictions([one, one], DriveQuestion(1 << 30, 1 << 40, (0.07,))))
    larger = recorded(tmp_path / "larger", times=4.0)
    with pytest.raises(UsageError, match="nothing of other sizes"):
        list(predictions([one, larger, one], DriveQuestion(1 << 30, 1 << 40, (0.07,))))
    other = recorded(tmp_path / "other", times=2.0, database={"90": 33.0 * MB, "50": 50.0 * MB})
    with pytest.raises(UsageError, match="no treatment in common"):
        list(predictions([one, other], DriveQuestion(1 << 30, 1 << 40, (0.07,))))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--data", "0GB", "--capacity", "1TB"), "--data must be above 0"),
        (("--data", "1GB", "--capacity", "1"), "amount of memory"),
        (("--data", "1GB", "--capacity", "1TB", "--simulated", "0GB"), "--simulated must be above 0"),
        (("--data", "1GB", "--capacity", "1TB", "--wal", "0GB"), "--wal must be above 0"),
        (("--data", "2TB", "--capacity", "1TB"), "the data need"),
        (("--data", "1GB", "--capacity", "1TB", "--over-provisioning", "7"), "over-provisioning"),
        (("--data", "1GB", "--capacity", "1TB", "--live-share", "150%"), "live-share"),
        (("--data", "1GB", "--capacity", "1TB", "--live-share", "100%"), "above 0 and below 100%"),
        (("--data", "1GB", "--capacity", "1TB", "--over-provisioning", "100%"), "above 0 and below 100%"),
        (("--data", "60MB", "--capacity", "3.2TB"), "1.6TB of the drive would have to be simulated, at most 64GB"),
        (("--data", "60MB", "--capacity", "3.2TB"), "smaller --capacity, more --data, or a run with less data"),
        (("--data", "740GB", "--capacity", "32TB", "--simulated", "30TB"), "30TB of the drive would have to be"),
        (("--data", "740GB", "--capacity", "3.2TB", "--simulated", "3TB"), "give a smaller --simulated"),
        (("--data", "1GB", "--capacity", "1TB", "--superblock", "0GB"), "--superblock must be 64kB to 16GB here"),
        (("--data", "1GB", "--capacity", "1TB", "--superblock", "32kB"), "--superblock must be 64kB"),
        (("--data", "1GB", "--capacity", "1TB", "--superblock", "100GB"), "--superblock must be 64kB"),
        (("--data", "1GB", "--capacity", "1TB", "--superblock", "big"), "amount of memory"),
    ],
)
def test_bad_input_is_named(
    words: tuple[str, ...], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drive", "predict", str(recorded(tmp_path / "run").path), *words]) == 2
    assert complaint in capsys.readouterr().err


def test_no_drive_is_simulated_where_a_later_one_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several runs each drive holds the data of one; that of the largest run is the largest."""
    runs = [recorded(tmp_path / str(times), times=times) for times in (1.0, 4.0)]
    monkeypatch.setattr("pgassay.lab.prediction.predict", None)
    with pytest.raises(UsageError, match="of the drive would have to be simulated"):
        list(predictions(runs, DriveQuestion(1 << 30, 1 << 40, (0.07,))))
