"""Write amplification in the halves of a window."""

from pgassay.bench.counters import Sample
from pgassay.probe.drives import amplification_by_half

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
