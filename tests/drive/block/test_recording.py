"""Recording what a block device is sent: the kernel's lines, and real recordings of a loop device of our own."""

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
from pgassay.drive.block import recording
from pgassay.errors import UsageError
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.noise import noise

SAMPLE = Path(__file__).parents[2] / "samples" / "block_rq_issue.txt"
"""mkfs.ext4, two files, fstrim: as `trace_pipe` gave it (Linux 6.18)."""
NOISE = noise(4 << 20)


def test_the_kernels_lines_become_requests() -> None:
    lines = SAMPLE.read_text().splitlines()
    found = list(recording.requests(lines))
    assert Counter(each.operation for each in found) == {
        "write": 24, "write-zeroes": 6, "trim": 4, "flush": 16, "read": 58,
    }  # fmt: skip
    whole = next(each for each in found if each.operation == "trim" and each.blocks > 1)
    assert (whole.first_block, whole.blocks, whole.time_us) == (0, (128 << 20) // 4096, 12912_349801)


@pytest.mark.parametrize(
    ("line", "first", "blocks"),
    [
        ("x-1 [000] ..... 1.000001: block_rq_issue: 8,0 WSM 512 () 7 + 1 none,0,0 [x]", 0, 1),
        ("x y-1 [000] ..... 1.000001: block_rq_issue: 8,0 W 1024 () 7 + 2 none,0,0 [x y]", 0, 2),
        ("x-1 [000] ..... 1.000001: block_rq_issue: 8,0 W 4096 () 16 + 8 [x]", 2, 1),
    ],
)
def test_sectors_are_rounded_outwards_to_blocks(line: str, first: int, blocks: int) -> None:
    (found,) = recording.requests([line])
    assert (found.operation, found.first_block, found.blocks) == ("write", first, blocks)


def test_a_write_that_flushes_first_is_both_and_other_lines_are_none() -> None:
    flushing = "x-1 [000] ..... 1.000001: block_rq_issue: 8,0 FWFS 4096 () 16 + 8 none,0,0 [x]"
    others = ["# tracer: nop", "CPU:1 [LOST 5 EVENTS]", "", flushing]
    assert [each.operation for each in recording.requests(others)] == ["flush", "write"]


def test_what_a_sample_leaves_out_draws_from_it(tmp_path: Path) -> None:
    file = tmp_path / "device"
    file.write_bytes((noise(4096) + b"text" * 1024) * 64)
    sizes = recording.sizes_of(file, np.arange(128), "zstd-1", sample_blocks=32, seed=1)
    assert len(sizes) == 128
    assert 30 < np.count_nonzero(sizes == 4096) < 98
    whole = recording.sizes_of(file, np.arange(128), "zstd-1", sample_blocks=128, seed=1)
    assert (whole[::2] == 4096).all()
    assert (whole[1::2] < 100).all()


def test_no_recording_writes_over_another_or_begins_without_a_device(tmp_path: Path) -> None:
    (tmp_path / "trace").touch()
    for path in (tmp_path / "trace", tmp_path / "missing" / "trace"):
        with pytest.raises(UsageError):
            recording.record_device(Path("/dev/null"), path, "zstd-1", lambda: None)
    with pytest.raises(UsageError, match="is not a block device"):
        recording.record_device(Path("/dev/null"), tmp_path / "other", "zstd-1", lambda: None)


@pytest.fixture
def place() -> Iterator[Path]:
    with real.place() as path:
        yield path


def pgassay(*words: str) -> str:
    """The program's own answer: a process of its own, so that a daemon's parent ends as it does for users."""
    return real.succeeded(sys.executable, "-m", "pgassay", *words)


def require_events() -> None:
    """Skip where the kernel or the container does not tell."""
    real.require("image")
    with open("/proc/filesystems", encoding="ascii") as file:  # noqa: PTH123
        if "tracefs" not in file.read():
            pytest.skip("tracing: this kernel has no tracefs")
    if not recording.TRACEFS.is_dir():
        pytest.skip(f"tracing: {recording.TRACEFS} is not there")


@pytest.mark.system
@pytest.mark.parametrize("kind", ["image", pytest.param("csd", marks=pytest.mark.slow)])
def test_a_drive_of_ours_is_recorded_and_simulated(place: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_events() if kind == "image" else real.require(kind)
    data, trace = ("--data-dir", str(place)), place / "trace"
    before = set((recording.TRACEFS / "instances").glob("pgassay-*"))
    made = ("drive", "create", "one", kind, "--capacity", "256MB", "--mount-options", "noatime,discard", *data)
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
    assert set((recording.TRACEFS / "instances").glob("pgassay-*")) <= before, "ours is gone"
