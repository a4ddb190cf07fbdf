"""Service times in a real mount: never earlier than modelled, and their lateness is reported (docs/drives.md).

Upper bounds of latencies are not asserted: on a shared machine they fail by themselves.
"""

import mmap
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.drive.test_daemon import PROGRAM, Daemon, looped, mounted, run, serving
from tests.noise import noise

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="an emulated drive needs root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="this machine has no /dev/fuse"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="pgassay-drive is not built; make setup builds it"),
]

BLOCK = 4096
SMALL: dict[str, Any] = {"kind": "page-mapped", "codec": "none", "pages_per_block": None, "store_bytes": 320 << 20}


@contextmanager
def timed(directory: Path, dilation: int = 1, **timing: Any) -> Iterator[tuple[Daemon, int, mmap.mmap]]:
    """A drive with service times, opened past the page cache, and a buffer that direct I/O takes."""
    with serving(directory, **SMALL, timing=timing, dilation=dilation) as daemon, looped(daemon) as device:
        descriptor = os.open(device, os.O_RDWR | os.O_DIRECT)
        try:
            with mmap.mmap(-1, BLOCK) as buffer:
                yield daemon, descriptor, buffer
        finally:
            os.close(descriptor)


def took_ns(work: Callable[[], object]) -> int:
    """How long a call takes."""
    started_ns = time.monotonic_ns()
    work()
    return time.monotonic_ns() - started_ns


def test_reads_are_answered_no_earlier_than_the_model_says_and_lateness_is_told(tmp_path: Path) -> None:
    with timed(tmp_path, profile="tlc-nvme", read_ns=2_000_000) as (daemon, descriptor, buffer):
        contents = {}
        for block in range(64):
            contents[block] = noise(BLOCK, block)
            buffer[:] = contents[block]
            os.pwritev(descriptor, [buffer], block * BLOCK)
        os.fsync(descriptor)
        latencies = []
        for block in random.Random(1).choices(range(64), k=200):  # as many for the same reason as below
            latencies.append(took_ns(partial(os.preadv, descriptor, [buffer], block * BLOCK)))
            assert buffer[:] == contents[block]
        assert min(latencies) >= 2_000_000
        stats = daemon.ask("stats")
    told = stats["timing"]["reads"]
    assert stats["timing"]["profile"] == "tlc-nvme"
    assert told["requests"] >= 200
    assert told["asked_p50_ns"] >= 2_000_000
    assert sum(count for _, count in told["late_histogram"]) == told["requests"]
    assert told["late_max_ns"] >= told["late_p99_ns"] * 0.99 >= told["late_p50_ns"] * 0.98
    kinds = [kind for name in ("reads", "writes", "flushes") if (kind := stats["timing"][name]) is not None]
    assert stats["timed_requests"] == sum(kind["requests"] for kind in kinds)
    assert 0.0 <= told["late_share"] <= 1.0
    assert stats["asked_ns"] >= 200 * 2_000_000


def test_a_slower_clock_makes_answers_later_and_is_told_in_the_drives_own_time(tmp_path: Path) -> None:
    drive = timed(tmp_path, dilation=5, profile="tlc-nvme", read_ns=1_000_000)
    with drive as (daemon, descriptor, buffer):
        os.pwritev(descriptor, [buffer], 0)
        os.fsync(descriptor)
        # Many: blkid(8) reads fifty blocks of every device, and those that were never written take no time.
        latencies = [took_ns(partial(os.preadv, descriptor, [buffer], 0)) for _ in range(200)]
        assert min(latencies) >= 5_000_000
        stats = daemon.ask("stats")["timing"]
    assert (stats["dilation"], stats["reads"]["requests"] >= 200) == (5, True)
    assert 1_000_000 <= stats["reads"]["asked_p50_ns"] < 1_200_000


def test_a_flush_waits_for_a_buffer_without_power_loss_protection(tmp_path: Path) -> None:
    with timed(tmp_path, profile="sata-ssd", program_ns=20_000_000) as (daemon, descriptor, buffer):
        for _ in range(3):
            os.pwritev(descriptor, [buffer], 0)
            assert took_ns(lambda: os.fsync(descriptor)) >= 20_000_000
        assert daemon.ask("stats")["timing"]["flushes"]["asked_p50_ns"] >= 20_000_000


def test_a_disk_without_a_write_cache_writes_at_the_pace_of_its_platter(tmp_path: Path) -> None:
    with timed(tmp_path, profile="hdd-7200", write_cache=False) as (_, descriptor, buffer):
        # The same block comes by once in a turn.
        spent_ns = took_ns(lambda: [os.pwritev(descriptor, [buffer], 0) for _ in range(10)])
        assert spent_ns >= 9 * 60_000_000_000 // 7200


def test_a_volume_passes_no_more_than_its_cap_and_counts_the_time_at_it(tmp_path: Path) -> None:
    with timed(tmp_path, profile="volume-3000-iops", iops=200, latency_ns=0, tail_ns=0) as (daemon, descriptor, buffer):
        before = daemon.ask("stats")
        for block in range(600):
            os.preadv(descriptor, [buffer], block % 64 * BLOCK)
        after = daemon.ask("stats")
    spent, limited = (after[name] - before[name] for name in ("volume_ns", "ios_limited_ns"))
    # A hundredth of a second's worth passes at once; no machine is too slow for this.
    assert 200 * spent / 1e9 + 2 >= 600
    assert 0 < limited <= spent
    assert after["without_credits_ns"] is None


def test_a_file_system_lives_on_a_timed_drive_over_snapshot_ageing_and_restore(tmp_path: Path) -> None:
    point, home = tmp_path / "mnt", tmp_path / "drive"
    point.mkdir()
    home.mkdir()
    data = noise(4 << 20)
    with serving(home, **SMALL, timing={"profile": "sata-ssd"}) as daemon:
        with looped(daemon) as device:
            run("mkfs.ext4", "-q", "-E", "nodiscard", device)
            with mounted(device, point):
                (point / "file").write_bytes(data)
            daemon.ask("snapshot", name="one")
            assert daemon.ask("age", mode="uniform", live_share=0.8)["write_amplification"] > 0.9
            with mounted(device, point):
                (point / "file").unlink()
                run("fstrim", point)
        # Without its loop device: a program that has the device open keeps what the kernel had cached of it.
        daemon.ask("restore", name="one")
        with looped(daemon) as device:
            run("e2fsck", "-fn", device)
            with mounted(device, point):
                assert (point / "file").read_bytes() == data
        assert daemon.ask("fsck")["problems"] == []
        assert daemon.ask("stats")["errors"] == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"timing": {"profile": "floppy"}}, "invalid timing profile floppy"),
        ({"timing": {"read_ns": -5}}, "invalid timing"),
        ({"timing": {"profile": "hdd-7200"}, "kind": "compressing", "codec": "zstd-1"}, "disks do not compress"),
        ({"timing": {"profile": "volume-3000-iops", "iops": 0}}, "must be greater than 0"),
        ({"timing": {"profile": "volume-3000-iops-burst", "iops": 3000}}, "must be above iops"),
        ({"timing": {}, "store": "null"}, "keeps nothing"),
        ({"dilation": 4}, "there are none"),
        ({"timing": {}, "dilation": 1000}, "from 1 to 100"),
    ],
)
def test_what_cannot_have_service_times_is_refused(tmp_path: Path, more: dict[str, Any], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        Daemon(tmp_path, {**SMALL, **more})
