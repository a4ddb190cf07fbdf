"""Recording what an emulated drive is sent."""

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pgassay._core import FlashTrace
from pgassay.copying import sync_filesystem
from pgassay.drive.block.daemon import SocketControl
from pgassay.drive.block.filesystems import Filesystem
from pgassay.drive.block.kernel import LinuxKernel
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner
from tests.drive.block import real
from tests.drive.block.killing import left_behind
from tests.noise import noise

NOISE = noise(4 << 20)


@pytest.fixture
def place() -> Iterator[Path]:
    with real.place() as path:
        yield path


@pytest.mark.system
@pytest.mark.slow
def test_what_a_drive_is_sent_is_recorded(place: Path) -> None:
    kernel, trace, point = LinuxKernel(LocalRunner(choose())), place / "trace", place / "point"
    filesystem = Filesystem(mount_options=("noatime", "discard"))
    with real.emulated_devices(place) as made:
        device = made("csd", 256)
        kernel.make(device, filesystem, "pgassay-test")
        point.mkdir()
        kernel.mount(device, point, filesystem)
        control = SocketControl(place / "home")
        try:
            control.ask("record", path=str(trace))
            (point / "noise").write_bytes(NOISE)
            (point / "text").write_bytes(b"what compresses well " * 100_000)
            sync_filesystem(point)
            (point / "text").unlink()
            sync_filesystem(point)
            subprocess.run(["fstrim", str(point)], check=True)
            control.ask("record", path=None)
        finally:
            kernel.unmount(point)
    read = FlashTrace(trace)
    arrays = read.arrays()
    kinds = Counter(FlashTrace.OPERATIONS[each] for each in arrays["operation"])
    assert (read.codec, read.codec_level, read.drive_blocks) == ("zstd", 1, 256 << 8)
    assert np.count_nonzero(arrays["compressed_bytes"] == 4096) >= len(NOISE) // 4096
    assert np.count_nonzero(arrays["compressed_bytes"] < 400) >= 2_000_000 // 4096
    assert min(kinds["write"], kinds["flush"], kinds["trim"]) > 0
    assert left_behind(place) == []
