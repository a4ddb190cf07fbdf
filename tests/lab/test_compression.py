"""What compression leaves of each kind, from the files of a real server: planted rows that shrink and that do not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.drive.options import DriveOptions
from pgassay.interfaces.load import LoadOptions
from pgassay.interfaces.server import Server
from pgassay.lab import measurements
from pgassay.testing import real


def test_it_is_declared_only_where_it_is_asked_for() -> None:
    assert measurements.responses([LoadOptions()]) == ()
    names = {response.name for response in measurements.responses([LoadOptions(), LoadOptions(compressibility=True)])}
    assert names == set(measurements.compression_ratios({}))


def test_the_codec_is_the_drives_own_or_the_usual_one() -> None:
    def codec(**levels: str) -> str:
        return measurements.codec_of(DriveOptions.from_levels({"data": "csd", **levels}))

    assert codec(**{"data.codec": "lz4"}) == "lz4"
    assert codec() == measurements.CODEC
    assert codec(**{"data.codec": "none"}) == measurements.CODEC, "else nothing would be shown"


def test_what_was_not_read_has_no_ratio() -> None:
    told = {"stored.heap_logical_bytes": 100.0, "stored.heap_compressed_bytes": 25.0, "stored.wal_logical_bytes": 5.0}
    found = measurements.compression_ratios(told)
    assert found == {"heap_compression_ratio": 4.0, "index_compression_ratio": None, "wal_compression_ratio": None}


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Server, Path]]:
    with real.private_folder() as folder:
        installation = real.installation()
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"fsync": "off", "autovacuum": "off"}, folder / "socket")
        try:
            yield server, folder / "data"
        finally:
            server.stop()


@pytest.mark.system
def test_tables_indexes_and_wal_are_told_apart(cluster: tuple[Server, Path]) -> None:
    server, directory = cluster
    server.execute("CREATE TABLE alike (id int PRIMARY KEY, pad text)")
    server.execute("INSERT INTO alike SELECT i, repeat('x', 200) FROM generate_series(1, 20000) i")
    alike = {
        **measurements.stored_wal(server, directory, "zstd-1"),
        **measurements.stored_relations(server, directory, "zstd-1"),
    }
    ratios = measurements.compression_ratios(alike)
    heap, index, wal = (ratios[f"{kind}_compression_ratio"] for kind in measurements.KINDS)
    assert heap is not None
    assert index is not None
    assert wal is not None
    assert heap > 8, "rows of one letter"
    assert 1 < index < heap, "numbers in order"
    assert wal > 1
    assert (alike["stored.wal_logical_bytes"] or 0) % 4096 == 0, "as far as it was written"
    ((size,),) = server.query("SELECT pg_relation_size('alike')::float8")
    assert alike["stored.heap_logical_bytes"] == size
    server.execute("CREATE TABLE noise AS SELECT sha512(i::text::bytea) FROM generate_series(1, 60000) i")
    noisy = measurements.compression_ratios(measurements.stored_relations(server, directory, "zstd-1"))[
        "heap_compression_ratio"
    ]
    assert noisy is not None
    assert noisy < heap / 2, "hashes do not shrink"
