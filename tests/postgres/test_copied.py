"""Directories that were copied from a server: which are usable, and what is said of those that are not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.errors import ClusterError
from pgassay.postgres import copied
from pgassay.postgres.copied import Control

PRINTED = """pg_control version number:            1300
Database system identifier:           7300000000000000001
Database cluster state:               in production
Latest checkpoint's REDO WAL file:    000000010000000000000002
Time of latest checkpoint:            Tue Nov 24 08:00:00 2026
max_prepared_xacts setting:           5
Database block size:                  8192
WAL block size:                       8192
Bytes per WAL segment:                16777216
Data page checksum version:           0
"""
RUNNING = copied.parse_control(15, PRINTED)
STOPPED = replace(RUNNING, state="shut down")
FIRST, SECOND = "000000010000000000000002", "000000010000000000000003"


def directory(path: Path, *wal: str, label: str = "", manifest: object = None) -> Path:
    (path / "pg_wal").mkdir(parents=True)
    (path / "pg_tblspc").mkdir()
    (path / "global").mkdir()
    (path / "global" / "pg_control").write_bytes(b"control")
    for name in wal:
        (path / "pg_wal" / name).touch()
    if label:
        (path / copied.LABEL).write_text(f"START WAL LOCATION: 0/2000028 (file {label})\nSTART TIMELINE: 1\n")
    if manifest is not None:
        (path / copied.MANIFEST).write_text(json.dumps(manifest))
    return path


def test_the_control_file_is_read_by_its_lines() -> None:
    wanted = Control(
        15, "7300000000000000001", "in production", "Tue Nov 24 08:00:00 2026", FIRST, 8192, 8192, 16 << 20, False, 5
    )
    assert wanted == copied.parse_control(15, PRINTED)
    with pytest.raises(KeyError):
        copied.parse_control(15, PRINTED.replace("WAL block size", "WAL size"))


def test_a_stopped_servers_directory_is_usable_and_one_copied_from_a_running_server_is_not(tmp_path: Path) -> None:
    where = directory(tmp_path / "a", FIRST)
    copied.require_usable(where, STOPPED)
    with pytest.raises(ClusterError, match='was copied while its server ran, or after a crash: it is "in production"'):
        copied.require_usable(where, RUNNING)


def test_a_base_backup_needs_its_wal_from_the_first_file_to_the_last(tmp_path: Path) -> None:
    ranges = {"WAL-Ranges": [{"Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "0/3000100"}]}
    copied.require_usable(directory(tmp_path / "a", FIRST, SECOND, label=FIRST, manifest=ranges), RUNNING)
    copied.require_usable(directory(tmp_path / "b", FIRST, label=FIRST), RUNNING)
    with pytest.raises(ClusterError, match=f"pg_wal/{SECOND} is missing"):
        copied.require_usable(directory(tmp_path / "c", FIRST, label=FIRST, manifest=ranges), RUNNING)
    with pytest.raises(ClusterError, match=f"pg_wal/{FIRST} is missing"):
        copied.require_usable(directory(tmp_path / "d", label=FIRST), RUNNING)
    with pytest.raises(ClusterError, match="its backup_manifest is not whole"):
        copied.require_usable(directory(tmp_path / "e", FIRST, label=FIRST, manifest=[]), RUNNING)
    with pytest.raises(ClusterError, match=f"pg_wal/{FIRST} is missing"):
        copied.require_usable(directory(tmp_path / "f"), STOPPED)


def test_a_backup_that_ends_where_a_file_begins_needs_nothing_of_it(tmp_path: Path) -> None:
    ranges = {"WAL-Ranges": [{"Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "0/3000000"}]}
    copied.require_usable(directory(tmp_path / "a", FIRST, label=FIRST, manifest=ranges), RUNNING)


def test_names_of_wal_files_go_on_after_4_gigabytes() -> None:
    assert copied.segment(1, 255, 16 << 20) == "0000000100000000000000FF"
    assert copied.segment(2, 256, 16 << 20) == "000000020000000100000000"
    assert copied.segment(1, 4, 1 << 30) == "000000010000000100000000"


def test_links_out_of_the_directory_are_its_wal_and_its_tablespaces(tmp_path: Path) -> None:
    where = directory(tmp_path / "a")
    assert list(copied.outside(where)) == []
    (where / copied.TABLESPACES / "16384").symlink_to(tmp_path)
    (where / copied.TABLESPACES / "16385").mkdir()
    (where / copied.WAL).rmdir()
    (where / copied.WAL).symlink_to(tmp_path)
    assert [each.name for each in copied.outside(where)] == ["pg_wal", "16384"]


def test_another_state_of_the_same_cluster_is_another_copy(tmp_path: Path) -> None:
    where = directory(tmp_path / "a", label=FIRST)
    first = copied.identity(where)
    assert copied.identity(directory(tmp_path / "b", label=FIRST)) == first
    (where / "global" / "pg_control").write_bytes(b"later")
    assert copied.identity(where) != first


def test_what_is_no_data_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it is no data directory"):
        copied.require_there(tmp_path)
    with pytest.raises(ClusterError, match="it has no PG_VERSION"):
        copied.major_of(tmp_path)
