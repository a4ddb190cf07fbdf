"""Write amplification in the halves of a window."""

import pytest

from pgassay.interfaces.probe import Differences, Sample
from pgassay.probe.drives import Drives, amplification_by_half

SECOND_NS = 1_000_000_000


def series(source: str, name: str, values: list[float | None]) -> list[Sample]:
    return [Sample(second * SECOND_NS, 0, source, name, "bytes", value) for second, value in enumerate(values)]


def test_each_half_has_its_own() -> None:
    host = series("drive", "host_bytes_written", [0, 10, 20, 30, 40, 50, 60])
    nand = series("drive", "nand_bytes_written", [0, 10, 20, 30, 50, 70, 90])
    found = amplification_by_half([*host, *nand], 0, 6 * SECOND_NS)
    assert found == {"drive.write_amplification_first": 1.0, "drive.write_amplification_second": 2.0}


def test_what_lies_outside_the_window_or_is_missing_does_not_count() -> None:
    host = series("drive", "host_bytes_written", [0, 1000, 1010, None, 1020, 1030])
    nand = series("drive", "nand_bytes_written", [0, 5000, 5010, 5020, 5030, 5050])
    found = amplification_by_half([*host, *nand], SECOND_NS, 4 * SECOND_NS)
    assert found["drive.write_amplification_first"] == 1.0
    assert found["drive.write_amplification_second"] == 2.0
    assert amplification_by_half(series("smart", "host_bytes_written", [0, 1, 2]), 0, 2 * SECOND_NS) == {}


def test_a_half_without_writes_has_none() -> None:
    host = series("drive_wal", "host_bytes_written", [0, 0, 0, 0, 0])
    nand = series("drive_wal", "nand_bytes_written", [0, 0, 0, 0, 0])
    found = amplification_by_half([*host, *nand], 0, 4 * SECOND_NS)
    assert set(found.values()) == {None}


COSTS = {cost.response.name: cost for cost in Drives.costs}


def measured(name: str, counters: Differences) -> float | None:
    return COSTS[name].value(counters, 10)


def written(source: str, host: float, nand: float | None) -> dict[str, float | None]:
    return {f"{source}.host_bytes_written": host, f"{source}.nand_bytes_written": nand}


@pytest.mark.parametrize(("data", "wal"), [("drive", "drive_wal"), ("smart", "smart_wal"), ("drive", "smart_wal")])
def test_data_and_wal_are_told_apart_on_real_drives_too(data: str, wal: str) -> None:
    counters = written(data, 100.0, 150.0) | written(wal, 50.0, 50.0)
    assert measured("data_write_amplification", counters) == 1.5
    assert measured("wal_write_amplification", counters) == 1.0
    assert measured("write_amplification", counters) == 200 / 150
    assert measured("nand_bytes_per_transaction", counters) == 20.0


def test_a_drive_without_nand_writes_leaves_the_whole_unknown() -> None:
    """Host writes of both over NAND writes of one would be too little."""
    counters = written("drive", 100.0, 150.0) | written("smart_wal", 50.0, None)
    assert measured("write_amplification", counters) is None
    assert measured("nand_bytes_per_transaction", counters) is None
    assert measured("data_write_amplification", counters) == 1.5
    assert measured("host_bytes_per_transaction", counters) == 15.0


def test_counters_of_a_real_drive_that_stand_still_are_not_used() -> None:
    counters = written("smart", 1e9, 0.0)
    assert measured("write_amplification", counters) is None
    assert measured("data_write_amplification", counters) is None
    assert measured("nand_bytes_per_transaction", counters) is None
    assert measured("write_amplification", written("drive", 1e9, 0.0)) == 0.0, "an emulated drive is exact"


def contents(source: str, logical: float | None, physical: float | None) -> dict[str, float | None]:
    return {f"{source}.logical_bytes": logical, f"{source}.physical_bytes": physical}


def test_what_compresses_is_told_by_drives_that_tell_both_sizes() -> None:
    """Many NVMe drives tell how much of them is in use, and only few what that takes on flash."""
    compressing = contents("drive", 2e9, 1e9)
    assert measured("compression_ratio", compressing | contents("smart_wal", 800e9, None)) == 2.0
    assert measured("compression_ratio", compressing | contents("smart_wal", None, 5e9)) == 2.0
    assert measured("compression_ratio", compressing | contents("smart_wal", 4e9, 1e9)) == 3.0
    assert measured("compression_ratio", contents("smart", 800e9, None)) is None
    of_files = {"drive.contents_logical_bytes": 6e9, "drive.contents_physical_bytes": 2e9}
    assert measured("compression_ratio", compressing | of_files | contents("smart_wal", 800e9, None)) == 3.0


def test_drive_writes_are_of_drives_that_tell_their_capacity() -> None:
    counters = written("drive", 100.0, 150.0) | {"drive.capacity_bytes": 50.0} | written("smart_wal", 900.0, 900.0)
    assert measured("drive_writes", counters) == 2.0


@pytest.mark.parametrize(("silent", "telling"), [("smart", "drive_wal"), ("smart", "smart_wal")])
def test_one_drive_does_not_pass_for_both(silent: str, telling: str) -> None:
    """A drive that counts nothing is there with all its counters missing, as one that did not answer."""
    nothing = {f"{silent}.host_bytes_written": None, f"{silent}.nand_bytes_written": None}
    counters = nothing | written(telling, 100.0, 150.0)
    for name in ("host_bytes_per_transaction", "nand_bytes_per_transaction", "write_amplification"):
        assert measured(name, counters) is None, name
    assert measured("data_write_amplification", counters) is None
    assert measured("wal_write_amplification", counters) == 1.5


def test_a_wal_drive_that_counts_nothing_leaves_the_data_their_own() -> None:
    counters = written("drive", 100.0, 150.0) | {"smart_wal.host_bytes_written": None}
    assert measured("host_bytes_per_transaction", counters) is None
    assert measured("write_amplification", counters) is None
    assert measured("nand_bytes_per_transaction", counters) is None
    assert measured("data_write_amplification", counters) == 1.5
    assert measured("wal_write_amplification", counters) is None


@pytest.mark.parametrize(("source", "device"), [("smart", "diskstats"), ("smart_wal", "diskstats_wal")])
def test_host_writes_that_stand_still_while_the_kernel_wrote_are_not_used(source: str, device: str) -> None:
    counters = written(source, 0.0, 0.0) | {f"{source}.capacity_bytes": 1e12, f"{device}.written_bytes": 5e9}
    of_writes = ("host_bytes_per_transaction", "nand_bytes_per_transaction", "drive_writes")
    assert [measured(name, counters) for name in of_writes] == [None] * 3
    assert [measured(name, counters | written(source, 0.0, None)) for name in of_writes] == [None] * 3
    beside = written("drive", 1e9, 1e9) | {"drive.capacity_bytes": 1e9}
    assert [measured(name, beside | counters) for name in of_writes] == [None] * 3
    for little in (0.0, 512_000.0, 32 << 20):
        idle = counters | {f"{device}.written_bytes": little}
        assert [measured(name, idle) for name in of_writes] == [0.0] * 3, "less than moves the coarsest counter"
    other = counters | {f"{device}.written_bytes": None, "diskstats_other.written_bytes": 5e9}
    assert [measured(name, other) for name in of_writes] == [0.0] * 3, "the kernel does not count this device"


def test_an_emulated_drive_without_writes_has_none() -> None:
    counters = written("drive", 0.0, 0.0) | {"drive.capacity_bytes": 1e9, "diskstats.written_bytes": 5e9}
    assert measured("host_bytes_per_transaction", counters) == 0.0
    assert measured("nand_bytes_per_transaction", counters) == 0.0
    assert measured("drive_writes", counters) == 0.0


def test_nand_writes_that_stand_still_leave_host_writes_as_they_are() -> None:
    counters = written("smart", 1e9, 0.0) | {"smart.capacity_bytes": 2e9, "diskstats.written_bytes": 1e9}
    assert measured("host_bytes_per_transaction", counters) == 1e8
    assert measured("drive_writes", counters) == 0.5


def test_caps_are_shares_of_the_time_that_the_volume_counted() -> None:
    data = {"drive.volume_us": 4e6, "drive.ios_limited_us": 3e6, "drive.bytes_limited_us": 0.0}
    assert measured("iops_cap_share", data) == 0.75
    assert measured("throughput_cap_share", data) == 0.0
    assert measured("no_credit_share", data) is None, "it does not burst"
    both = data | {"drive_wal.volume_us": 4e6, "drive_wal.ios_limited_us": 4e6, "drive_wal.without_credits_us": 1e6}
    assert measured("iops_cap_share", both) == 1.0, "the drive that is at its cap holds up the load"
    assert measured("no_credit_share", both) == 0.25
    assert measured("iops_cap_share", written("drive", 1.0, 1.0)) is None
