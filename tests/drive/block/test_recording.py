"""Recording what an emulated drive is sent, and what is refused."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pgassay._core import FlashTrace
from pgassay.cli import main
from pgassay.copying import sync_filesystem
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.noise import noise

NOISE = noise(4 << 20)


@pytest.fixture
def place() -> Iterator[Path]:
    with real.place() as path:
        yield path


def pgassay(*words: str) -> str:
    """The program's own answer: a process of its own, so that a daemon's parent ends as it does for users."""
    return real.succeeded(sys.executable, "-m", "pgassay", *words)


@pytest.mark.system
@pytest.mark.slow
def test_a_drive_of_ours_is_recorded_and_simulated(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real.require("csd")
    data, trace = ("--data-dir", str(place)), place / "trace"
    made = ("drive", "create", "one", "csd", "--capacity", "256MB", "--mount-options", "noatime,discard", *data)
    point = Path(pgassay(*made).strip())

    def work(_: float) -> None:
        (point / "noise").write_bytes(NOISE)
        (point / "text").write_bytes(b"what compresses well " * 100_000)
        sync_filesystem(point)
        (point / "text").unlink()
        sync_filesystem(point)
        subprocess.run(["fstrim", str(point)], check=True)

    monkeypatch.setattr("pgassay.cli.drive.time", SimpleNamespace(sleep=work))
    assert main(["drive", "record", "one", "--output", str(trace), "--duration", "1s", *data]) == 0
    monkeypatch.undo()
    read = FlashTrace(trace)
    arrays = read.arrays()
    kinds = Counter(FlashTrace.OPERATIONS[each] for each in arrays["operation"])
    assert (read.codec, read.codec_level, read.drive_blocks) == ("zstd", 1, 256 << 8)
    assert np.count_nonzero(arrays["compressed_bytes"] == 4096) >= len(NOISE) // 4096
    assert np.count_nonzero(arrays["compressed_bytes"] < 400) >= 2_000_000 // 4096
    assert min(kinds["write"], kinds["flush"], kinds["trim"]) > 0
    replayed = json.loads(pgassay("drive", "simulate", "--trace", str(trace), "--capacity", "256MB", "--json"))
    assert replayed["simulations"][0]["windows"]
    pgassay("drive", "destroy", "one", *data)
    assert left_behind(place) == []


@pytest.mark.system
def test_an_image_records_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real.require("image")
    data = ("--data-dir", str(place))
    pgassay("drive", "create", "one", "image", "--capacity", "64MB", *data)
    assert main(["drive", "record", "one", "--output", str(place / "trace"), *data]) == 2
    assert "is no emulated drive" in capsys.readouterr().err
    pgassay("drive", "destroy", "one", *data)
