"""The flash model as Python sees it: numbers agree with theory, arrays arrive, and every refusal names its value."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay import _core
from pgassay._core import FlashDrive, FlashInput, FlashTrace, flash_theory, write_flash_trace
from pgassay.drive.smart import parse_media

BLOCKS = 4096


def small(**changes: Any) -> FlashDrive:
    """16 MiB, 16 pages a block."""
    description: Any = {"user_bytes": BLOCKS * 4096, "over_provisioning": 0.28, "pages_per_block": 16, **changes}
    return FlashDrive(description)


def amplification(drive: FlashDrive, load: FlashInput, writes: int) -> float:
    """NAND over host bytes while a load is written."""
    before = drive.counters()
    drive.apply(load, writes)
    after = drive.counters()
    nand = after["nand_bytes_written"] - before["nand_bytes_written"]
    return nand / (after["host_bytes_written"] - before["host_bytes_written"])


@pytest.mark.parametrize("policy", ["fifo", "greedy"])
def test_a_drive_agrees_with_its_formula(policy: str) -> None:
    drive = small(user_bytes=1 << 30, pages_per_block=64, gc_stream="with-host", policy=policy)
    load = FlashInput(drive.logical_blocks, [{}])
    drive.fill(load)
    drive.apply(load, 6 * drive.logical_blocks)
    classes = load.popularity()
    assert classes is not None
    formula = flash_theory(policy, drive.alpha, drive.pages_per_block, classes)
    assert amplification(drive, load, 4 * drive.logical_blocks) == pytest.approx(formula, rel=0.005)


def test_ageing_by_theory_starts_in_steady_state() -> None:
    drive = small(user_bytes=1 << 28, pages_per_block=64, policy="fifo")
    load = FlashInput(drive.logical_blocks, [{}])
    drive.age_by_theory(load)
    assert amplification(drive, load, drive.logical_blocks // 2) == pytest.approx(2.4814, rel=0.03)


def test_ageing_by_theory_knows_granules_and_pages() -> None:
    sizes: Any = [{"sizes": [{"bytes": 2100}]}]
    shape = {"user_bytes": 1 << 28, "pages_per_block": 64, "policy": "fifo"}
    compressing = small(kind="compressing", granularity_bytes=512, **shape)
    load = FlashInput(compressing.logical_blocks, sizes)
    compressing.age_by_theory(load)
    classes = load.popularity(512)
    assert classes == [(compressing.logical_blocks, 1.0, 2560.0)]
    formula = flash_theory("fifo", compressing.alpha, 64, classes, compressing=True)
    assert amplification(compressing, load, compressing.logical_blocks // 2) == pytest.approx(formula, rel=0.03)
    # A normal drive gives each block a page, whatever the load says of its size.
    normal = small(**shape)
    load = FlashInput(normal.logical_blocks, sizes)
    normal.age_by_theory(load)
    assert amplification(normal, load, normal.logical_blocks // 2) == pytest.approx(2.4814, rel=0.03)


def test_streams_that_tell_hot_from_cold_write_less() -> None:
    parts: Any = [
        {"share_of_writes": 0.9, "blocks": BLOCKS // 10, "handle": 1},
        {"share_of_writes": 0.1, "first_block": BLOCKS // 10},
    ]
    found = []
    for handles in (1, 2):
        drive = small(handles=handles, gc_stream="per-handle")
        placed: Any = [{**part, "handle": min(part.get("handle", 0), handles - 1)} for part in parts]
        load = FlashInput(BLOCKS, placed)
        drive.fill(load)
        drive.apply(load, 6 * BLOCKS)
        found.append(amplification(drive, load, 6 * BLOCKS))
    assert found[1] < 0.9 * found[0]


def test_what_reads_a_real_drives_log_reads_this_one() -> None:
    drive = small()
    drive.write(np.arange(100, dtype=np.uint32))
    read = parse_media(("ocp", "smart-add-log"), json.dumps(drive.health()))
    assert read is not None
    assert (read.nand, read.unit_bytes) == (100 * 4096, 1)


def test_arrays_and_counters_agree() -> None:
    drive = small(kind="compressing", granularity_bytes=1, reserve_blocks=3)
    drive.write(np.arange(10, dtype=np.uint32), np.full(10, 100, dtype=np.uint16))
    counters = drive.counters()
    assert (counters["host_bytes_written"], counters["compressed_bytes_written"]) == (40960, 1000)
    assert drive.health()["compression_ratio"] == 800
    with pytest.raises(ValueError, match="a batch of 32 logical blocks came with 1 compressed sizes"):
        drive.write(np.arange(32, dtype=np.uint32), np.array([1], dtype=np.uint16))
    wrong: Any = np.arange(32)
    with pytest.raises(TypeError, match="lbas"):
        drive.write(wrong)


def test_pools_are_written_apart() -> None:
    drive = small(over_provisioning=None, pools=[(0.25, 0.5), (0.75, 0.2)])
    load = FlashInput(drive.logical_blocks, [{"pattern": "hot-cold", "hot_blocks": 0.25, "hot_writes": 0.75}])
    drive.fill(load)
    assert amplification(drive, load, 50_000) > 1
    with pytest.raises(ValueError, match="pools have no timing"):
        drive.time(load, 10)


def test_timing_gives_distributions() -> None:
    shape = {"channels": 2, "dies_per_channel": 2, "flash_pages_per_block": 6, "flash_page_bytes": 16384}
    drive = FlashDrive({"user_bytes": 1 << 26, "over_provisioning": 0.28, **shape})  # type: ignore[typeddict-item]
    load = FlashInput(drive.logical_blocks, [{}])
    drive.fill(load)
    drive.apply(load, 2 * drive.logical_blocks)
    report = drive.time(load, 20_000, read_share=0.5, per_second=10_000, service={"read_ns": 40_000})
    reads, writes = report["reads"], report["writes"]
    assert reads is not None
    assert writes is not None
    assert reads["count"] + writes["count"] == 20_000
    assert sum(count for _, count in reads["histogram"]) == reads["count"]
    assert 40_000 <= reads["p50_ns"] <= reads["p99_ns"] <= reads["max_ns"]
    assert drive.time(load, 10)["reads"] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"over_provisioning": 0}, "invalid over-provisioning 0: must be greater than 0"),
        ({"spare_of_physical": 0.2}, "either over_provisioning or spare_of_physical"),
        ({"chanels": 3}, "drive has no key chanels; its keys are channels, "),
        ({"policy": "gredy"}, "invalid drive policy gredy: must be one of greedy, "),
        ({"reserve_blocks": 0}, "reserve blocks 0: must be at least 1"),
        ({"over_provisioning": 0.001}, "less than one block of 16 pages spare"),
        ({"channels": 2}, "invalid drive pages_per_block 16: contradicts"),
        ({"pools": [(0.5, 0.1)], "over_provisioning": None}, "invalid drive pools 0.5: the pools' shares"),
        ({"pools": [(1.5, 0.1), (-0.5, 0.1)], "over_provisioning": None}, "invalid drive pools 1.5: a pool's share"),
        ({"pools": [(1, 0.1)]}, "each pool has its own over-provisioning"),
        ({"choices": 70_000}, "invalid choices 70000: must be at most 65536"),
        ({"kind": "compressing", "logical_bytes": 5}, "logical_bytes 5: must be a multiple of 4096"),
    ],
)
def test_impossible_drives_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_a_value_of_the_wrong_type_is_named() -> None:
    with pytest.raises(_core.DescriptionError, match="invalid drive choices two: must be a whole number"):
        small(choices="two")


def test_impossible_loads_are_refused() -> None:
    def refuse(component: Any) -> str:
        with pytest.raises(ValueError, match=r".") as caught:
            FlashInput(BLOCKS, [component])
        return str(caught.value)

    assert "exactly one of bytes, between" in refuse({"sizes": [{"bytes": 1, "between": [1, 2]}]})
    assert "exceeds the largest, 1" in refuse({"sizes": [{"between": [2, 1]}]})
    assert "must lie between 0 and 4096 bytes" in refuse({"sizes": [{"weights": [[5000, 1]]}]})
    assert "invalid sizes weights -5: sizes must be whole" in refuse({"sizes": [{"weights": [[-5, 1]]}]})
    assert "past the end of the drive" in refuse({"first_block": 1, "blocks": BLOCKS})
    assert "input has no key patern" in refuse({"patern": "zipf"})


def test_a_full_drive_says_so() -> None:
    drive = small(kind="compressing", logical_bytes=8 * BLOCKS * 4096, reserve_blocks=3)
    with pytest.raises(_core.FlashOutOfSpaceError, match="rejected"):
        drive.fill(FlashInput(drive.logical_blocks, [{}]))
    assert drive.counters()["rejected_writes"] == 1


def arrays(sizes: list[list[int]]) -> dict[str, Any]:
    """One write a list of sizes, as `write_flash_trace` takes them."""
    count = len(sizes)
    return {
        "time_ns": np.arange(count, dtype=np.uint64) * 1000,
        "operation": np.zeros(count, dtype=np.uint8),
        "first_block": np.arange(count, dtype=np.uint32),
        "blocks": np.array([len(one) for one in sizes], dtype=np.uint32),
        "compressed_bytes": np.array([size for one in sizes for size in one], dtype=np.uint16),
    }


@given(st.lists(st.lists(st.integers(0, 4096), min_size=1, max_size=5), max_size=20))
def test_a_trace_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, sizes: list[list[int]]) -> None:
    path = tmp_path_factory.mktemp("trace") / "load.trace"
    written = arrays(sizes)
    write_flash_trace(path, drive_blocks=BLOCKS, codec="zstd", codec_level=1, **written)
    trace = FlashTrace(path)
    assert (trace.records, trace.written_blocks) == (len(sizes), sum(map(len, sizes)))
    assert (trace.codec, trace.codec_level, trace.drive_blocks) == ("zstd", 1, BLOCKS)
    read: Any = trace.arrays()
    for name, values in written.items():
        assert np.array_equal(read[name], values), name


def test_traces_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "load.trace"
    write_flash_trace(path, drive_blocks=BLOCKS, **arrays([[4096, 4096], [100]]))
    damaged = bytearray(path.read_bytes())
    damaged[100] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="damaged chunk at byte 64 of the trace: checksum"):
        FlashTrace(path).arrays()
    with pytest.raises(FileNotFoundError):
        FlashTrace(tmp_path / "none")
