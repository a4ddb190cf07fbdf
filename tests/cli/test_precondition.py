"""`pgassay drive precondition` and `prove` as a user calls them, on loop devices and emulated drives."""

import argparse
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.cli import _preparing, main, run
from pgassay.copying import sync_filesystem
from pgassay.drive.block import device, kernel, preparation
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.kernel import LinuxKernel
from pgassay.drive.options import DriveOptions
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from pgassay.interfaces.drive_counters import SMART, Counted, DriveCounters
from pgassay.interfaces.store import Needs
from pgassay.lab.drives import known_in, local_attacher, owned
from pgassay.probe.drives import Drives
from tests.drive.block import real

pytestmark = pytest.mark.system

SIZE_BYTES = 64 << 20
KERNEL = LinuxKernel(LocalRunner(choose()))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With a state directory of its own."""
    real.require("device")
    with real.place() as path:
        monkeypatch.setenv("PGASSAY_STATE_DIR", str(path / "state"))
        yield path


@pytest.fixture
def loop(place: Path) -> Iterator[Path]:
    file = place / "disk"
    with file.open("wb") as image:
        image.truncate(SIZE_BYTES)
    found = KERNEL.attach(file)
    yield found
    kernel.detach_loop(found)


@pytest.fixture
def point(place: Path) -> Iterator[Path]:
    """The file system of an emulated drive that compresses."""
    with real.emulated_devices(place) as made:
        path = made("csd", 256)
        KERNEL.make(path, Filesystem(), "pgassay-test")
        found = place / "point"
        found.mkdir()
        KERNEL.mount(path, found, Filesystem())
        try:
            yield found
        finally:
            KERNEL.unmount(found)


class Still:
    """The counters of emulated drives, of which NAND writes stand still."""

    def __init__(self) -> None:
        self._really = device.counters_of
        self._known: dict[str, DriveCounters] = {}

    def of(self, path: Path | str) -> DriveCounters | None:
        read = self._really(Path(path))
        if read is None:
            return None

        def still() -> Counted:
            return {**read(), "nand_bytes_written": 7e9}

        return self._known.setdefault(str(path), still)


def answered(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def precondition(device: Path, *more: str) -> int:
    return main(["drive", "precondition", str(device), "--drive-writes", "1", "--proof", "8MB", *more])


@pytest.mark.slow
def test_the_command_tells_its_course_and_answers_in_json(
    loop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_preparing, "SAID_EVERY_S", 0.0)
    assert precondition(loop, "--i-own", str(loop), "--json") == 0
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert answer["device"] == str(loop)
    assert answer["counters"].startswith(
        "not trusted, because the device counts no host writes, or nothing asks it here (proof of "
    )
    assert (answer["settled"], answer["label"]) == (False, "pgassay-own")
    assert answer["drive_writes"] == pytest.approx(1.0, abs=0.1)
    assert not {"declare_as", "kept"} & set(answer), "nobody was asked"
    for doing, whole in (("proving its counters", "16MB"), ("filling in sequence", "64MB")):
        lines = re.findall(rf"{doing}: (\d+)M?B of {whole}(.*)", said.err)
        assert [int(done) for done, _ in lines] == list(range(int(whole.removesuffix("MB")) + 1)), said.err
        assert not lines[0][1]
        assert all(left == ", at most 0 min left" for _, left in lines[1:])


def test_a_run_that_preconditions_its_device_tells_so_in_its_plan_and_meanwhile(
    place: Path, loop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_preparing, "SAID_EVERY_S", 0.0)
    levels = {"data": f"device:{loop}", "data.precondition": "2"}
    asked = [word for name, level in levels.items() for word in ("--set", f"drive.{name}={level}")]
    words = ["fillfactor", "--quick", *asked, "--i-own", str(loop), "--data-dir", str(place / "data")]
    assert main(["run", *words, "--allow-volatile", "--dry-run"]) == 1, "64 MB hold no such study"
    assert f"\n  first       2 drive writes of 64.0 MB to {loop}, their time not counted\n" in capsys.readouterr().out
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    options = run.bench_options(parser.parse_args(words))
    preparation.precondition(loop, 2, options.tell_overwriting)
    said = capsys.readouterr().err
    for doing in ("filling in sequence", "overwriting at random"):
        assert f"{doing}: 0B of 64MB\n" in said
        assert f"{doing}: 64MB of 64MB, at most 0 min left\n" in said
    preparation.precondition(loop, 1, run.bench_options(parser.parse_args([*words, "--quiet"])).tell_overwriting)
    assert capsys.readouterr().err == ""


def test_a_device_that_nobody_owns_up_to_is_not_written_over(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert precondition(loop) == 2
    assert "--i-own" in capsys.readouterr().err
    assert loop.read_bytes() == bytes(SIZE_BYTES)


@pytest.mark.slow
def test_counters_that_stood_still_are_not_believed_by_later_runs(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emulated device stands for a real one here: it is not known to be ours while it is proven."""
    still = Still()
    monkeypatch.setattr(_preparing, "counters_of", lambda path, runner: still.of(path))
    monkeypatch.setattr(preparation, "PATIENCE_S", 0.0)
    (place / "data").mkdir()
    with real.emulated_devices(place) as made:
        path = made("ssd", 128)
        with monkeypatch.context() as real_one:
            real_one.setattr(device, "counters_of", lambda path: None)
            assert precondition(path, "--i-own", str(path), "--json") == 0
        answer = answered(capsys)
        said = "nand_bytes_written moved by 0B while 8MB of random data were written"
        assert answer["counters"].startswith(f"not trusted, because {said} (proof of ")
        assert answer["kept"] == "yes: runs on this drive go by it"
        (kept,) = json.loads((place / "state" / "counters.json").read_text())["proofs"]
        assert kept["drive"].startswith("loop device over ")
        assert (kept["device"], kept["problem"], kept["role"]) == (str(path), said, "")
        assert kept["written_bytes"] == 16 << 20

        account = choose()
        attacher = replace(
            local_attacher(LocalRunner(account), account),
            allow_volatile=True,
            owned=owned([str(path)]),
            known=known_in(place / "state" / "counters.json"),
            devices=still,
        )
        drive = attacher.attach(DriveOptions.from_levels({"data": f"device:{path}"}), place / "data", Needs())
        try:
            directory = drive.workspace("prepare")
            words = drive.traits(directory)["drive.counters"].found
            read = drive.counters(directory)[SMART]
            before = read()
            (directory / "rows").write_bytes(bytes(8 << 20))
            drive.write_back(directory)
            grown = {f"{SMART}.{name}": read()[name] - before[name] for name in before}
        finally:
            drive.release()
    assert str(words).split(" (")[0] == answer["counters"].split(" (")[0], "a run says the same of it"
    assert words == f"not trusted, because {said} (proof of {kept['proven_utc'][:10]})"
    assert grown["smart.host_bytes_written"] > 8 << 20
    costs = {cost.response.name: cost.value(grown, 1) for cost in Drives.costs}
    assert costs["host_bytes_per_transaction"] == grown["smart.host_bytes_written"]
    for name in ("write_amplification", "data_write_amplification", "nand_bytes_per_transaction"):
        assert costs[name] is None, name


@pytest.mark.slow
def test_a_drive_in_use_is_proven_beside_what_lies_on_it(
    place: Path, point: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "SPARE_LEAST_BYTES", 64 << 20)
    (point / "theirs").write_text("kept")
    free = free_blocks(point)
    assert main(["drive", "prove", str(point), "--proof", "128MB", "--json"]) == 2
    assert "free, this proof needs 320MB" in capsys.readouterr().err
    assert main(["drive", "prove", str(point), "--proof", "16MB", "--json"]) == 0
    answer = answered(capsys)
    assert answer["counters"].startswith("proven by 32MB on ")
    assert answer["declare_as"] == f"compressing=directory:{point}"
    assert answer["kept"] == "no: an emulated drive tells its counters itself"
    assert not (place / "state" / "counters.json").exists()
    assert sorted(each.name for each in point.iterdir()) == ["lost+found", "theirs"]
    assert free_blocks(point) == free


@pytest.mark.parametrize(("others_bytes", "kept"), [(0, "yes: "), (1 << 20, "no: other programs wrote meanwhile")])
def test_a_proof_that_others_disturbed_does_not_replace_an_earlier_one(
    others_bytes: int,
    kept: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved = preparation.Moved(8 << 20, (8 << 20) + others_bytes, 8 << 20)
    tried = list[Path]()
    monkeypatch.setattr(_preparing, "counters_of", lambda path, runner: dict)
    monkeypatch.setattr(_preparing, "prove_in", lambda *_: preparation.Proof(moved, moved))

    def keep(file: Path, path: Path, proof: preparation.Proof) -> str:
        tried.append(path)
        return ""

    monkeypatch.setattr(_preparing, "keep_proof", keep)
    assert main(["drive", "prove", str(tmp_path), "--json"]) == 0
    answer = answered(capsys)
    assert answer["kept"].startswith(kept)
    assert len(tried) == (others_bytes == 0)
    assert answer["counters"].startswith("not trusted, because " if others_bytes else "proven by 16MB on ")


def free_blocks(point: Path) -> int:
    sync_filesystem(point)
    return os.statvfs(point).f_bfree


def test_what_cannot_be_proven_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["drive", "prove", str(place / "absent")]) == 2
    assert "is not a directory" in capsys.readouterr().err
    monkeypatch.setattr(_preparing, "counters_of", lambda path, runner: None)
    assert main(["drive", "prove", str(place)]) == 2
    assert "nothing here counts what is written to the drive of" in capsys.readouterr().err
    assert list(place.iterdir()) == []
