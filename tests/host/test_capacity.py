"""What a drive can do is measured in a file of our own, which is gone afterwards."""

from pathlib import Path

import pytest

from pgassay.host import capacity


def test_rates_are_positive_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "PATIENCE_S", 0.02)
    monkeypatch.setattr(capacity, "FILE_BYTES", 4 * capacity.CHUNK_BYTES)
    found = capacity.measure(tmp_path)
    assert {"written_bytes", "flushes"} <= found.keys() <= {"written_bytes", "flushes", "reads"}
    assert all(value > 0 for value in found.values())
    assert found["written_bytes"] > found["flushes"]
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_nothing_is_claimed() -> None:
    assert capacity.measure(Path("/proc")) == {}
