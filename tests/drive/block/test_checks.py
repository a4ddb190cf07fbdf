"""What is asked before a drive is made, and after it was used: by the program, the file system and the drive itself."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.drive.attacher import Attacher
from pgassay.drive.block import daemon, kernel
from pgassay.drive.block.daemon import RealDaemon
from pgassay.drive.block.description import PRESETS
from pgassay.drive.options import FACTORS, DriveOptions
from pgassay.errors import UsageError
from pgassay.interfaces.errors import DamagedError
from pgassay.interfaces.store import Needs
from tests.drive import places
from tests.drive.test_daemon import PROGRAM
from tests.fakes.block import FakeDaemon, FakeKernel

built = pytest.mark.skipif(not PROGRAM.exists(), reason="pgassay-drive is not built; make setup builds it")
CSD = PRESETS["csd"].with_capacity(1 << 30)


@pytest.fixture
def bench() -> Attacher:
    return places.attacher()


def attach(bench: Attacher, place: Path, **levels: str) -> Any:
    wanted = {name.replace("_", ".", 1): level for name, level in levels.items()}
    return bench.attach(DriveOptions.from_levels(wanted), place, Needs(64 << 20, 64 << 20, 1, 64 << 20))


@built
def test_a_drive_that_cannot_be_is_refused_before_it_is_made() -> None:
    """What is refused, and in which words: tests/core/test_drive_descriptions.py."""
    impossible = CSD.with_values({"drive.granularity_bytes": 3})
    with pytest.raises(UsageError, match='drive "mine" cannot be emulated: invalid granularity') as caught:
        RealDaemon().check(replace(impossible, kind="mine"))
    assert caught.value.hint
    with pytest.raises(UsageError, match="multiple of 4096"):
        RealDaemon().check(CSD.with_capacity((1 << 30) + 1))


def test_a_wrong_value_is_refused_with_what_is_accepted() -> None:
    with pytest.raises(UsageError, match="cannot be emulated: invalid emulation codec rar: must be one of zstd-1 to"):
        CSD.with_values({"emulation.codec": "rar"})


def test_a_drive_as_small_as_its_data_keeps_the_shape_that_it_was_given(bench: Attacher, tmp_path: Path) -> None:
    """The size of a flash page is part of the shape: superblocks of another size would contradict it."""
    file = tmp_path / "mine.toml"
    file.write_text("[drive]\nflash_page_bytes = 16384\n")
    level = FACTORS["drive.data"].parse("drive.data", str(file)).canonical
    drive = attach(bench, tmp_path, data=level, data_capacity="auto")
    program = bench.program
    assert isinstance(program, FakeDaemon)
    program.checked[0].core.check_emulated()
    drive.release()


@built
def test_the_program_takes_what_it_is_given_and_makes_nothing(tmp_path: Path) -> None:
    RealDaemon().check(CSD)
    assert list(tmp_path.iterdir()) == []
    empty = subprocess.run([PROGRAM, "check"], input="", capture_output=True, text=True, check=False)
    assert (empty.returncode, "invalid configuration" in empty.stderr) == (2, True)


def test_drives_of_a_study_are_asked_about_as_they_will_be(bench: Attacher, tmp_path: Path) -> None:
    drive = attach(bench, tmp_path, data="csd", data_capacity="1GB", data_policy="fifo", timing="sata-ssd")
    program = bench.program
    assert isinstance(program, FakeDaemon)
    (asked,) = program.checked
    assert (asked.core.capacity_bytes, asked.core.policy, asked.core.profile) == (1 << 30, "fifo", "sata-ssd")
    json.dumps(asked.core.configuration("x", tmp_path))
    drive.release()


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("pgassay-drive: no room\nhint: make it smaller\n", "no room", "make it smaller"),
        ("pgassay-drive: memory cannot be locked\npgassay-drive: no room\n", "no room", ""),
        ("ready\n", "", ""),
        ("", "", ""),
    ],
)
def test_a_complaint_is_told_with_its_hint(text: str, said: str, hint: str) -> None:
    assert daemon.complaint(text) == (said, hint)


@pytest.mark.parametrize(
    "levels", [{"data": "image"}, {"data": "csd", "wal": "image"}, {"data": "image", "wal": "csd"}]
)
def test_what_a_check_finds_is_told_once_all_is_given_back(
    bench: Attacher, tmp_path: Path, levels: dict[str, str]
) -> None:
    kernel = bench.kernel
    assert isinstance(kernel, FakeKernel)
    drive = attach(bench, tmp_path, **levels)
    directory = drive.workspace("prepare")
    if "wal" in levels:
        (directory / "pg_wal").mkdir()
        drive.lay_out(directory)
    drive.take_snapshot("k", directory)
    clone = drive.clone("k", "trial-1")
    drive.discard(clone, check=True)
    kernel.damaged = True
    clone = drive.clone("k", "trial-2")
    with pytest.raises(DamagedError, match="is damaged"):
        drive.discard(clone, check=True)
    assert (kernel.devices, kernel.mounted) == ({}, {})
    clone = drive.clone("k", "trial-3")
    drive.discard(clone)
    drive.release()


def test_an_emulated_drive_looks_at_itself(bench: Attacher, tmp_path: Path) -> None:
    program = bench.program
    assert isinstance(program, FakeDaemon)
    drive = attach(bench, tmp_path, data="csd", data_capacity="1GB")
    directory = drive.workspace("prepare")
    (control,) = program.running.values()
    control.problems.append("segment 3 has 5 live bytes, its count says 6")
    with pytest.raises(DamagedError, match="segment 3"):
        drive.discard(directory, check=True)
    drive.release()


def test_a_record_that_nobody_finishes_goes_with_the_attempt(bench: Attacher, tmp_path: Path) -> None:
    drive = attach(bench, tmp_path, data="csd", data_capacity="1GB", state="aged")
    drive.take_snapshot("k", drive.workspace("prepare"))
    ageing = drive.ageing()
    ageing.abandon()
    for _ in range(2):  # the second attempt finds no trace of the first
        clone = drive.clone("k", "wear")
        ageing.begin()
        drive.discard(clone)
        assert list(tmp_path.rglob("ageing.trace"))
        ageing.abandon()
        assert list(tmp_path.rglob("ageing.trace")) == []
    drive.release()


def test_root_without_the_capability_may_not_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "status"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    status.write_text("Name:\tx\nCapEff:\t000001ffffffffff\n")
    assert kernel.may_mount(status)
    status.write_text(f"CapEff:\t{(1 << 41) - 1 - (1 << 21):016x}\n")
    assert not kernel.may_mount(status)
    assert kernel.may_mount(tmp_path / "not told")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert not kernel.may_mount(status)
