"""Data without a signature: seen at both ends of a device and in stretches between, on plain files here."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgassay.drive.block.device import EDGE_BYTES, STRETCHES, first_data, require_blank_or_ours
from pgassay.interfaces.errors import DriveError
from tests.fakes.runner import FakeRunner

LARGE_BYTES = 1 << 40
MIB = 1 << 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A terabyte of nothing."""
    path = tmp_path_factory.mktemp("blank") / "disk"
    with path.open("wb") as file:
        file.truncate(LARGE_BYTES)
    return path


def wipefs(*signatures: dict[str, str]) -> FakeRunner:
    """It finds these."""
    return FakeRunner({"wipefs": lambda arguments, given: (0, json.dumps({"signatures": signatures}), "")})


def put(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


@pytest.mark.parametrize("size", [0, 1, 4096, EDGE_BYTES, 3 * MIB, 40 * MIB])
def test_zeros_are_blank_whatever_the_size(tmp_path: Path, size: int) -> None:
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(size)
    assert first_data(tmp_path / "disk") is None


@pytest.mark.parametrize("place", [0, EDGE_BYTES - 1, LARGE_BYTES - EDGE_BYTES, LARGE_BYTES - 1])
def test_a_byte_at_either_end_is_seen(disk: Path, place: int) -> None:
    assert first_data(disk) is None
    put(disk, place, b"x")
    try:
        assert first_data(disk) == place
    finally:
        put(disk, place, b"\0")


@settings(max_examples=20)
@given(st.integers(0, 16 * MIB - 1))
def test_of_a_small_device_every_byte_is_seen(tmp_path_factory: pytest.TempPathFactory, place: int) -> None:
    path = tmp_path_factory.mktemp("small") / "disk"
    with path.open("wb") as file:
        file.truncate(16 * MIB)
    put(path, place, b"x")
    assert first_data(path) == place


@settings(max_examples=20)
@given(st.integers(0, (STRETCHES + 1) * MIB - 1))
def test_data_as_long_as_stretches_are_apart_are_seen(tmp_path_factory: pytest.TempPathFactory, start: int) -> None:
    path = tmp_path_factory.mktemp("larger") / "disk"
    with path.open("wb") as file:
        file.truncate(2 * EDGE_BYTES + STRETCHES * MIB)
    put(path, start, b"x" * MIB)
    found = first_data(path)
    assert found is not None
    assert start <= found < start + MIB


def test_data_without_a_signature_are_left_alone(disk: Path) -> None:
    require_blank_or_ours(disk, wipefs())
    put(disk, 4096, b"x")
    try:
        with pytest.raises(DriveError, match=r"\(byte 4096 is not zero\): it is left alone") as caught:
            require_blank_or_ours(disk, wipefs())
        assert (
            caught.value.hint
            == f"if you do not need them: mkfs.ext4 -E nodiscard -L pgassay-own {disk} marks it as one for pgassay"
        )
        require_blank_or_ours(disk, wipefs({"type": "ext4", "label": "pgassay-own"}))
        with pytest.raises(DriveError, match=r"\(ext4 labelled precious\)"):
            require_blank_or_ours(disk, wipefs({"type": "ext4", "label": "precious"}))
    finally:
        put(disk, 4096, b"\0")


def test_a_device_that_cannot_be_read_is_not_blank(tmp_path: Path) -> None:
    with pytest.raises(DriveError, match="could not read"):
        first_data(tmp_path / "nothing")
