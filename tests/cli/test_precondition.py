"""`pgassay drive precondition` as a user calls it, on a loop device."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.cli import drive, main
from pgassay.drive.block import kernel
from pgassay.drive.block.kernel import LinuxKernel
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from tests.drive.block import real

pytestmark = pytest.mark.system

SIZE_BYTES = 64 << 20


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    real.require("device")
    with real.place() as place:
        monkeypatch.setenv("PGASSAY_STATE_DIR", str(place / "state"))
        file = place / "disk"
        with file.open("wb") as image:
            image.truncate(SIZE_BYTES)
        found = LinuxKernel(LocalRunner(choose())).attach(file)
        yield found
        kernel.detach_loop(found)


def precondition(device: Path, *more: str) -> int:
    return main(["drive", "precondition", str(device), "--drive-writes", "1", "--proof", "8MB", *more])


@pytest.mark.slow
def test_the_command_tells_its_course_and_answers_in_json(
    loop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive, "_TOLD_EVERY_S", 0.0)
    assert precondition(loop, "--i-own", str(loop), "--json") == 0
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert answer["device"] == str(loop)
    assert answer["counters"] == "not trusted: the device counts no host writes, or nothing asks it here"
    assert (answer["settled"], answer["label"]) == (False, "pgassay-own")
    assert answer["drive_writes"] == pytest.approx(1.0, abs=0.1)
    assert "declare_as" not in answer
    for doing, whole in (("proving its counters", "16MB"), ("filling in sequence", "64MB")):
        lines = re.findall(rf"{doing}: (\d+)M?B of {whole}(.*)", said.err)
        assert [int(done) for done, _ in lines] == list(range(int(whole.removesuffix("MB")) + 1)), said.err
        assert not lines[0][1]
        assert all(left == ", at most 0 min left" for _, left in lines[1:])


def test_a_device_that_nobody_owns_up_to_is_not_written_over(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert precondition(loop) == 2
    assert "--i-own" in capsys.readouterr().err
    assert loop.read_bytes() == bytes(SIZE_BYTES)
