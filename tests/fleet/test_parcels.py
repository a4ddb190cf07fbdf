"""Parcels hold a trial whole, and nothing that a stranger put in is believed."""

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.fleet import FleetError
from pgassay.fleet.blocks import BlockOrder
from pgassay.fleet.parcels import Arrived, Inbox, Parcel, unpack
from pgassay.record.disk import RealDisk
from tests.fleet.fleet_of_fakes import hosted
from tests.lab.simulation import SEED


@pytest.fixture
def arrived(tmp_path: Path) -> Arrived:
    return hosted(tmp_path)(BlockOrder(4, SEED), "h1")


def forged(parcel: Parcel, *members: tarfile.TarInfo) -> Parcel:
    """The parcel with these members added, and a checksum that is right."""
    buffer = io.BytesIO(parcel.data)
    with tarfile.open(fileobj=buffer, mode="a:") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    data = buffer.getvalue()
    return replace(parcel, data=data, sha256=hashlib.sha256(data).hexdigest())


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname, found.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
    return found


def test_a_block_is_the_same_bytes_each_time(tmp_path: Path, arrived: Arrived) -> None:
    again = hosted(tmp_path)(BlockOrder(4, SEED), "h2")
    assert [each.arm for each in again.parcels] == [each.arm for each in arrived.parcels]
    found = unpack(4, arrived.parcels[0])
    assert found.record.responses["tps"]
    assert found.series
    assert found.files


@pytest.mark.parametrize(
    "bad",
    [
        member("../escape"), member("/etc/escape"), member("a/../../escape"), member("SHA256SUMS"),
        member("link", tarfile.SYMTYPE, "/etc/passwd"), member("hard", tarfile.LNKTYPE, "trial.json"),
        member("device", tarfile.CHRTYPE), member("trial.json"),
    ],
)  # fmt: skip
def test_what_may_not_be_in_a_parcel_is_refused(arrived: Arrived, bad: tarfile.TarInfo) -> None:
    with pytest.raises(FleetError, match="block 4 arrived damaged"):
        unpack(4, forged(arrived.parcels[0], bad))


def test_a_flipped_byte_another_block_and_no_archive_are_refused(arrived: Arrived) -> None:
    first = arrived.parcels[0]
    flipped = replace(first, data=bytes([first.data[0] ^ 1]) + first.data[1:])
    rubbish = b"rubbish" * 100
    for parcel, block in (
        (flipped, 4), (first, 5), (replace(first, arm="other"), 4),
        (Parcel(first.arm, 1, hashlib.sha256(rubbish).hexdigest(), rubbish), 4),
    ):  # fmt: skip
        with pytest.raises(FleetError, match="damaged"):
            unpack(block, parcel)


def test_the_inbox_keeps_a_block_whole_and_believes_no_names(tmp_path: Path, arrived: Arrived) -> None:
    disk, run = RealDisk(), tmp_path / "run"
    run.mkdir()
    kept = Inbox(disk, run)
    kept.keep(arrived)
    kept.keep(replace(arrived, host="later"))  # a trial of the first may be committed: it stays
    assert kept.blocks() == {4}
    assert kept.take(4) == arrived
    text = (run / "inbox/000004/block.json").read_text()
    (run / "inbox/000004/block.json").write_text(text.replace(arrived.parcels[0].sha256, "../../../etc/passwd"))
    with pytest.raises(FleetError, match="damaged"):
        kept.take(4)
    kept.forget_before(5)
    assert kept.blocks() == frozenset()
    (run / "inbox/.000009").mkdir()
    assert Inbox(disk, run).blocks() == frozenset()
    assert not (run / "inbox/.000009").exists()
