"""What an emulated drive is said to take of memory before a study starts, against what its program takes."""

import os
from pathlib import Path
from typing import Any

import pytest

from pgassay._core import DriveDescription
from pgassay.drive.options import LEAST_SHARE, memory_bytes
from tests.drive.test_daemon import PROGRAM, looped, run, serving

CAPACITY_BYTES = 4 << 30
SNAPSHOTS = 3

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="an emulated drive needs root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="this machine has no /dev/fuse"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="pgassay-drive is not built; make setup builds it"),
]


@pytest.mark.parametrize(
    ("flash", "codec", "lacking", "compressed_to", "share"),
    [
        ({"kind": "page-mapped", "pages_per_block": 256, "over_provisioning": 0.07}, "none", 0, 0.5, 0.5),
        # The host has written nothing to it, so its snapshots lack the places of contents.
        ({"kind": "compressing", "pages_per_block": 256, "over_provisioning": 0.28}, "zstd-1", 8, 0.5, 0.5),
        # What is not known before the run, as pgbench's half empty pages.
        pytest.param(
            {"kind": "compressing", "pages_per_block": 256, "over_provisioning": 0.28},
            "zstd-1",
            8,
            192 / 4096,
            LEAST_SHARE,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_full_drive_with_snapshots_takes_what_was_forecast(
    tmp_path: Path, flash: dict[str, Any], codec: str, lacking: int, compressed_to: float, share: float
) -> None:
    with serving(tmp_path, capacity_bytes=CAPACITY_BYTES, codec=codec, store_bytes=16 << 20, **flash) as daemon:
        with looped(daemon) as device:
            if codec == "none":
                # A normal drive gives zeros pages of flash, and the program keeps nothing of them but where they lie.
                run("blkdiscard", "--zeroout", device)
        daemon.ask("age", mode="uniform", compressed_to=compressed_to, limit=int(1.5 / compressed_to) - 1)
        for number in range(SNAPSHOTS):
            daemon.ask("snapshot", name=f"s{number}")
        stats = daemon.ask("stats")
        described = DriveDescription({"drive": {"user_bytes": CAPACITY_BYTES, **flash}})
        forecast = memory_bytes(described, SNAPSHOTS - 1, share)
        forecast -= lacking * SNAPSHOTS * CAPACITY_BYTES // 4096
        taken = stats["memory_bytes"] - stats["store_bytes"]
        assert 0.7 <= taken / forecast <= 1, f"{taken} of {forecast} bytes; {stats}"
        assert stats["snapshots_bytes"] <= SNAPSHOTS * 16 * CAPACITY_BYTES // 4096
        # What is dropped goes back to the machine.
        for number in range(SNAPSHOTS):
            daemon.ask("drop", name=f"s{number}")
        freed = stats["memory_bytes"] - daemon.ask("stats")["memory_bytes"]
        touched = stats["snapshots_bytes"] - lacking * SNAPSHOTS * CAPACITY_BYTES // 4096
        assert freed >= 0.9 * touched
