"""What a write signature predicts of an emulated drive is what that drive's own ageing comes to, within 5 %."""

from pathlib import Path

import numpy as np
import pytest

from pgassay._core import write_flash_trace
from pgassay.drive.block.daemon import AGEING_PATIENCE_S, SocketControl
from pgassay.flash.prediction import Target, predict
from pgassay.interfaces.write_signature import of_trace
from tests.drive.block import real
from tests.flash.test_prediction import BLOCKS, LIVE, WITHIN, recorded

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(600)]

COLD = 0.4
MODELS = {"ssd": ("page-mapped", "none", 0), "csd": ("compressing", "zstd", 1)}


def trace_of(path: Path, kind: str) -> Path:
    """A planted load, in what each block compresses to."""
    firsts, counts = recorded(1)
    blocks = int(counts.sum())
    sizes = np.full(blocks, 4096) if kind == "ssd" else np.random.default_rng(3).integers(800, 2400, blocks)
    _, codec, level = MODELS[kind]
    write_flash_trace(
        path,
        drive_blocks=BLOCKS,
        time_ns=np.arange(len(firsts), dtype=np.uint64),
        operation=np.zeros(len(firsts), np.uint8),
        first_block=(firsts + 2000).astype(np.uint32),
        blocks=counts.astype(np.uint32),
        compressed_bytes=sizes.astype(np.uint16),
        codec=codec,
        codec_level=level,
    )
    return path


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("spare", [0.07, 0.28])
def test_an_emulated_drive_ages_to_what_was_predicted(kind: str, spare: float, tmp_path: Path) -> None:
    real.require(kind)
    trace = trace_of(tmp_path / "load.trace", kind)
    with real.emulated_devices(tmp_path) as made:
        made(kind, BLOCKS * 4096 >> 20, spare)
        control = SocketControl(tmp_path / "home")
        asked = {"live_share": LIVE, "compressibility": COLD, "mode": "trace", "trace": str(trace)}
        aged = control.ask("age", patience_s=AGEING_PATIENCE_S, **asked)
        superblock = control.ask("stats")["superblock_bytes"]
    capacity = BLOCKS * 4096
    cold = 1.0 if kind == "ssd" else COLD
    target = Target(MODELS[kind][0], capacity, spare, LIVE * capacity, 1.0, cold, superblock // 4096)
    found = aged["write_amplification"]
    assert predict(of_trace(trace), target).write_amplification == pytest.approx(found, rel=WITHIN)
