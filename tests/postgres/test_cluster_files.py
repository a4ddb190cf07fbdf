"""What is a cluster's and what is not, from trees made by hand."""

import struct
from pathlib import Path

import pytest

from pgassay.interfaces.errors import ClusterError
from pgassay.postgres import cluster_files
from pgassay.postgres.cluster_files import RelationFile

SEGMENT = 16 << 20


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """The few files that make a cluster."""
    for folder in ("base/5", "global", "pg_wal/archive_status", "pg_tblspc", "pg_xact"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "PG_VERSION").write_text("17\n")
    return tmp_path


def owners(cluster: Path) -> dict[str, RelationFile | str]:
    return {str(file.path.relative_to(cluster)): file.owner for file in cluster_files.list_files(cluster).files}


def test_forks_and_segments_belong_to_their_relation(cluster: Path) -> None:
    for name in ("16384", "16384.1", "16384_fsm", "16384_vm", "16384_fsm.1", "PG_VERSION", "t3_16400"):
        (cluster / "base/5" / name).write_bytes(b"x")
    (cluster / "global/1262").write_bytes(b"x")
    assert owners(cluster) == {
        **{f"base/5/16384{end}": RelationFile(5, 16384) for end in ("", ".1", "_fsm", "_vm", "_fsm.1")},
        "base/5/PG_VERSION": "other",
        "base/5/t3_16400": "other",
        "global/1262": RelationFile(0, 1262),
    }


def test_tablespaces_are_followed(cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("space")
    (elsewhere / "PG_17_202406281/5").mkdir(parents=True)
    (elsewhere / "PG_17_202406281/5/16390").write_bytes(b"x")
    (cluster / "pg_tblspc/16389").symlink_to(elsewhere)
    assert list(owners(cluster).values()) == [RelationFile(5, 16390)]


def test_recycled_wal_is_told_by_the_address_of_its_first_page(cluster: Path) -> None:
    def write(name: str, address: int) -> None:
        with (cluster / "pg_wal" / name).open("wb") as segment:
            segment.write(struct.pack("=HHIQ", 0xD110, 2, 1, address))
            segment.truncate(SEGMENT)

    write("000000010000000200000003", (2 << 32) + 3 * SEGMENT)
    write("000000010000000200000004", (1 << 32) + 9 * SEGMENT)
    (cluster / "pg_wal/000000010000000200000005").write_bytes(b"")
    (cluster / "pg_wal/00000002.history").write_bytes(b"x")
    assert list(owners(cluster).values()) == ["WAL", "WAL, recycled", "WAL, recycled", "other"]


@pytest.mark.parametrize("missing", ["PG_VERSION", "base", "all"])
def test_another_directory_is_refused(cluster: Path, missing: str) -> None:
    where = cluster
    if missing == "base":
        (cluster / "base/5").rmdir()
        (cluster / "base").rmdir()
    elif missing == "all":
        where = cluster / "nothing"
    else:
        (cluster / missing).unlink()
    with pytest.raises(ClusterError, match="is not the data directory of a PostgreSQL cluster"):
        cluster_files.list_files(where)
    (cluster / "PG_VERSION").write_bytes(b"\xff\xfe junk")
    with pytest.raises(ClusterError):
        cluster_files.list_files(cluster)


def test_damaged_catalogues_leave_numbers(cluster: Path) -> None:
    (cluster / "base/5/1259").write_bytes(b"\xff" * 8192)
    (cluster / "base/5/16384").write_bytes(b"x" * 100)
    assert cluster_files.names_from_files(cluster_files.list_files(cluster)) == {}
    pairs = struct.pack("=iIII", 0x592717, 1, 1259, 1259)
    (cluster / "base/5/pg_filenode.map").write_bytes(pairs)
    for content in (b"\xff" * 8192, bytes(8192), bytes(18) + b"\x04\x20" + b"\x77" * 8172, b"short"):
        (cluster / "base/5/1259").write_bytes(content)
        cluster_files.names_from_files(cluster_files.list_files(cluster))
    (cluster / "base/5/pg_filenode.map").write_bytes(pairs[:10])
    assert cluster_files.names_from_files(cluster_files.list_files(cluster)) == {}
