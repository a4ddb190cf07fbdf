"""Data and WAL on drives in one place: neither half of a snapshot is taken for the other."""

from pathlib import Path

import pytest

from pgassay.bench.store import Drive
from tests.drive.places import on_fakes


def kept(drive: Drive) -> None:
    """A snapshot of a cluster with one file of data and one of WAL."""
    directory = drive.workspace("prepare")
    (directory / "pg_wal").mkdir()
    (directory / "pg_wal" / "segment").write_text("wal")
    (directory / "file").write_text("data")
    drive.lay_out(directory)
    drive.take_snapshot("k", directory)


@pytest.mark.parametrize("places", [("directory", "directory"), ("directory:{}", "directory"), ("image", "image")])
def test_both_halves_may_be_kept_in_one_place(tmp_path: Path, places: tuple[str, str]) -> None:
    data, wal = (each.format(tmp_path / "data") for each in places)
    drive = on_fakes(tmp_path / "data", data, wal)
    assert not drive.has_snapshot("k")
    kept(drive)
    assert drive.has_snapshot("k")
    clone = drive.clone("k", "trial-1")
    assert (clone / "file").read_text() == "data"
    assert [path.name for path in clone.iterdir() if path.name == "segment"] == []
    assert (clone / "pg_wal").is_symlink()
    assert (clone / "pg_wal" / "segment").read_text() == "wal"
    drive.discard(clone)
    drive.forget_snapshot("k")
    assert not drive.has_snapshot("k")
    drive.release()
