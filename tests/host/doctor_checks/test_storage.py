"""Judgements on the place for clusters, by values on both sides of each limit."""

from pathlib import Path

import pytest

from pgassay.bench.places import Mount
from pgassay.host.devices import BlockDevice
from pgassay.host.doctor_checks import storage

GB = 1024**3


def _mount(filesystem: str = "ext4", free_gb: float = 50, size_gb: float = 100, reflink: bool = False) -> Mount:
    return Mount(
        Path("/data"), Path("/"), filesystem, "/dev/sda1", "rw", round(size_gb * GB), round(free_gb * GB), reflink
    )


def _device(scheduler: str | None = "none", write_cache: str | None = "write back") -> BlockDevice:
    return BlockDevice("sda1", "sda", None, False, scheduler, write_cache, 512, 4096)


@pytest.mark.parametrize(("free", "size", "severity"), [(50, 100, "ok"), (9, 100, "warning"), (40, 1000, "warning")])
def test_space(free: float, size: float, severity: str) -> None:
    assert storage.space(_mount(free_gb=free, size_gb=size)).severity == severity


def test_kind() -> None:
    assert storage.kind(_mount("tmpfs")).severity == "error"
    assert "copies" in storage.kind(_mount("ext4")).text
    assert "share blocks" in storage.kind(_mount("xfs", reflink=True)).text


@pytest.mark.parametrize(
    ("median_us", "cache", "severity"),
    [
        (5.0, "write back", "warning"),
        (29.9, "write through", "warning"),
        (106.0, "write back", "note"),
        (106.0, "write through", "ok"),
        (4000.0, "write back", "ok"),
    ],
)
def test_flush(median_us: float, cache: str, severity: str) -> None:
    finding = storage.flush(median_us, _mount(), _device(write_cache=cache))
    assert finding is not None
    assert finding.severity == severity
    assert f"{median_us:.0f} µs" in finding.text


def test_a_flush_to_memory_is_none_and_one_not_measured_is_not_judged() -> None:
    finding = storage.flush(1.0, _mount("tmpfs"), None)
    assert finding is not None
    assert finding.severity == "error"
    assert storage.flush(None, _mount(), _device()) is None


def test_write_cache_and_scheduler() -> None:
    assert storage.write_cache(None) is None
    assert storage.write_cache(_device(write_cache=None)) is None
    assert storage.scheduler(_device(scheduler=None)) is None
    found = [storage.write_cache(_device(write_cache=each)) for each in ("write back", "write through")]
    assert [each.severity for each in found if each] == ["ok", "note"]
    found = [storage.scheduler(_device(scheduler=each)) for each in ("none", "mq-deadline", "bfq")]
    assert [each.severity for each in found if each] == ["ok", "ok", "warning"]
