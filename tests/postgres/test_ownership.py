"""Socket directories: short enough, closed, one port each; and owners that are gone."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from pgassay.interfaces.errors import ClusterError
from pgassay.interfaces.places import Account
from pgassay.postgres import ownership, processes

OURSELVES = Account(None, os.geteuid(), os.getegid())


def test_a_made_directory_is_short_closed_and_owned() -> None:
    with ownership.private_directory(OURSELVES) as path:
        assert path.stat().st_mode & 0o777 == 0o700
        sockets = path / ownership.SOCKETS
        assert ownership.prepare_socket_directory(path, OURSELVES) == (sockets, ownership.FIRST_PORT)
        (sockets / f".s.PGSQL.{ownership.FIRST_PORT}.lock").touch()
        assert ownership.prepare_socket_directory(path, OURSELVES) == (sockets, ownership.FIRST_PORT + 1)
        assert len(str(sockets)) < 50
    assert not path.exists()


def test_too_long_a_path_is_refused_with_its_length(tmp_path: Path) -> None:
    least = len(f"//{ownership.SOCKETS}/.s.PGSQL.65535")
    longest = tmp_path / ("x" * (ownership.SOCKET_PATH_BYTES_MAX - len(str(tmp_path)) - least))
    assert ownership.prepare_socket_directory(longest, OURSELVES)[1] == ownership.FIRST_PORT
    with pytest.raises(ClusterError, match="108 bytes long, the system allows 107"):
        ownership.prepare_socket_directory(longest.with_name(longest.name + "x"), OURSELVES)
    assert not longest.with_name(longest.name + "x").exists()


def test_an_open_directory_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(ClusterError, match="open to others"):
        ownership.prepare_socket_directory(tmp_path, OURSELVES)


def _forsake(directory: Path) -> None:
    """Make the owner's file that of a process that is gone."""
    said = json.loads((directory / ownership.OWNER_FILE).read_text())
    (directory / ownership.OWNER_FILE).write_text(json.dumps(said | {"started_ticks": 1}))


def test_an_owner_is_gone_only_when_its_file_says_so(tmp_path: Path) -> None:
    assert not ownership.abandoned(tmp_path), "nobody ever claimed it"
    ownership.claim(tmp_path)
    assert not ownership.abandoned(tmp_path)
    _forsake(tmp_path)
    assert ownership.abandoned(tmp_path), "another process has that number now"
    ownership.claim(tmp_path)
    said = json.loads((tmp_path / ownership.OWNER_FILE).read_text())
    (tmp_path / ownership.OWNER_FILE).write_text(json.dumps(said | {"boot": "before"}))
    assert ownership.abandoned(tmp_path), "the machine was booted since"
    (tmp_path / ownership.OWNER_FILE).write_text("torn")
    assert not ownership.abandoned(tmp_path), "what cannot be read is left alone"
    ownership.release(tmp_path)
    assert not ownership.abandoned(tmp_path)


def test_the_marker_is_read_as_written_and_nothing_else_counts(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="not made by pgassay"):
        ownership.require_mark(tmp_path)
    written = ownership.mark(tmp_path, 123, "17.5", OURSELVES)
    assert ownership.require_mark(tmp_path) == written
    assert written.made_wall_ns == 123
    older = {**asdict(written), "database": "app", "role": "pgassay"}
    (tmp_path / ownership.MARKER_FILE).write_text(json.dumps(older))
    assert ownership.require_mark(tmp_path) == written
    for text in ("torn", "[]", '{"format": 1}'):
        (tmp_path / ownership.MARKER_FILE).write_text(text)
        with pytest.raises(ClusterError, match="cannot be read"):
            ownership.require_mark(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ownership.MARKER_FILE).symlink_to(tmp_path / ownership.MARKER_FILE)
    with pytest.raises(ClusterError, match="not made by pgassay"):
        ownership.require_mark(elsewhere)


@pytest.mark.parametrize("place", ["trial-000001", "disk/mnt/trial-000001", "disk/crash/1/trial-000001"])
def test_an_abandoned_server_is_found_wherever_a_session_keeps_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """One of a crash state lay a level too deep: it kept its killed session, with drive and mounts, for good."""
    cluster = tmp_path / "pgassay" / "sessions" / "lab-a" / place
    cluster.mkdir(parents=True)
    ownership.mark(cluster, 1, "15", OURSELVES)
    (cluster / ownership.OWNER_FILE).write_text('{"pid": 1, "started_ticks": -1, "boot": ""}', encoding="utf-8")
    monkeypatch.setattr(processes, "serving", lambda directory: [4711])
    assert ownership.leftovers(tmp_path) == [cluster]


@pytest.mark.parametrize("left", [None, b"", b'{"format": 1, "ident', b"\0" * 200])
def test_what_a_loss_of_power_took_of_our_own_marker_is_brought_back(tmp_path: Path, left: bytes | None) -> None:
    """It lay beside PostgreSQL's files, so a cluster without it looked as if its server could not recover."""
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    copy.mkdir()
    marker = ownership.mark(source, 1, "15", OURSELVES)
    if left is not None:
        (copy / ownership.MARKER_FILE).write_bytes(left)
    ownership.mark_again(copy, source, OURSELVES)
    assert ownership.require_mark(copy) == marker


def test_a_marker_that_is_there_stays_and_a_strange_directory_gets_none(tmp_path: Path) -> None:
    source, copy, strange = tmp_path / "source", tmp_path / "copy", tmp_path / "strange"
    for each in (source, copy, strange):
        each.mkdir()
    ownership.mark(source, 1, "15", OURSELVES)
    marker = ownership.mark(copy, 2, "15", OURSELVES)
    ownership.mark_again(copy, source, OURSELVES)
    assert ownership.require_mark(copy) == marker
    (copy / ownership.MARKER_FILE).unlink()
    ownership.mark_again(copy, strange, OURSELVES)
    assert not (copy / ownership.MARKER_FILE).exists()
    ownership.mark_again(tmp_path / "gone", source, OURSELVES)
    assert not (tmp_path / "gone").exists()
