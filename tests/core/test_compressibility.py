"""Sizes of blocks against Python's own codecs, and sums of chunks against sizes of blocks."""

import importlib
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pgassay._core import relay_tables, scan_blocks, stored_bytes

BLOCK = 4096


def words(blocks: int) -> bytes:
    """Text of few words, as rows of a table hold it."""
    random = np.random.default_rng(1)
    vocabulary = np.array([b"alpha ", b"beta ", b"gamma-", b"0123456789", b"\0\0\0\0", b"PostgreSQL "], dtype=object)
    text = b"".join(random.choice(vocabulary, blocks * 1000))
    noise = random.integers(0, 256, len(text), dtype=np.uint8)
    mixed = np.where(random.random(len(text)) < 0.1, noise, np.frombuffer(text, np.uint8))
    return mixed[: blocks * BLOCK].tobytes()


def blocks(data: bytes) -> list[bytes]:
    return [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]


def test_zeros_take_nothing_and_noise_takes_itself() -> None:
    noise = np.random.default_rng(0).bytes(BLOCK)
    for codec in ("none", "lz4", "deflate-1", "zstd-1"):
        assert stored_bytes(bytes(BLOCK) + noise + b"x", codec)[:2].tolist() == [0, BLOCK]
    assert stored_bytes(b"", "zstd-1").size == 0


@pytest.mark.parametrize("level", [6, 9])
def test_deflate_is_as_good_as_zlib(level: int) -> None:
    data = words(64)

    def size(block: bytes) -> int:
        deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
        return len(deflate.compress(block) + deflate.flush())

    expected = sum(map(size, blocks(data)))
    assert int(stored_bytes(data, f"deflate-{level}").sum()) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("level", [1, 3])
def test_zstd_is_zstandard_without_its_magic(level: int) -> None:
    zstandard: Any = pytest.importorskip("zstandard")
    compressor = zstandard.ZstdCompressor(level=level, write_content_size=False, write_checksum=False)
    data = words(64)
    expected = [min(BLOCK, len(compressor.compress(block)) - 4) for block in blocks(data)]
    assert stored_bytes(data, f"zstd-{level}").tolist() == expected


def test_zstd_is_near_pythons_own() -> None:
    try:
        zstd: Any = importlib.import_module("compression.zstd")
    except ModuleNotFoundError:
        pytest.skip("Python 3.14 brings zstd")
    data = words(64)
    expected = sum(len(zstd.compress(block, 1)) - 4 for block in blocks(data))
    assert int(stored_bytes(data, "zstd-1").sum()) == pytest.approx(expected, rel=0.01)


def test_chunks_are_sums_of_blocks(tmp_path: Path) -> None:
    data = words(5) + bytes(2 * BLOCK) + words(1)[:1000]
    (tmp_path / "one").write_bytes(data)
    found = scan_blocks(
        [tmp_path / "one", tmp_path / "gone"],
        np.array([0, 0, 1], np.uint32),
        np.array([0, 3 * BLOCK, 0], np.uint64),
        np.array([3 * BLOCK, 1 << 20, BLOCK], np.uint32),
        codecs=["zstd-1", "lz4"],
        granularities=[1, 512, 4096],
        threads=2,
    )
    sizes = {codec: stored_bytes(data, codec).astype(int) for codec in ("zstd-1", "lz4")}
    for row, part in zip(found, (slice(0, 3), slice(3, None)), strict=False):
        assert row[2:].tolist() == [
            int((-(-sizes[codec][part] // granularity) * granularity).sum())
            for codec in ("zstd-1", "lz4")
            for granularity in (1, 512, 4096)
        ]
    assert found[:, :2].tolist() == [[3, 0], [5, 2], [0, 0]]


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    one = np.zeros(1, np.uint32)

    def scan(**changed: Any) -> None:
        given = {"codecs": ["lz4"], "granularities": [1], **changed}
        paths = given.pop("paths", [tmp_path])
        scan_blocks(paths, given.pop("files", one), one.astype(np.uint64), one + 1, **given)

    with pytest.raises(ValueError, match='no codec "gzip"'):
        scan(codecs=["gzip"])
    with pytest.raises(ValueError, match="granularity 100 is not a power of two"):
        scan(granularities=[100])
    with pytest.raises(ValueError, match="no codec or no granularity"):
        scan(codecs=[])
    with pytest.raises(ValueError, match="no file 1 among 1"):
        scan(files=one + 1)
    with pytest.raises(ValueError, match="differ in length"):
        scan(files=np.zeros(2, np.uint32))
    with pytest.raises(IsADirectoryError) as caught:
        scan()
    assert caught.value.filename == str(tmp_path)
    with pytest.raises(ValueError, match="fillfactor 5 is not from 10 to 100"):
        relay_tables(
            [], one, one, one.astype(np.uint64), one,
            page_bytes=8192, fillfactors=[5], codecs=["lz4"], granularities=[1],
        )  # fmt: skip
