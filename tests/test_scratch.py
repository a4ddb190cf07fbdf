"""Places that live as long as their process: noted, removed at the end, and known by their note after a kill."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pgassay import scratch
from pgassay.files import UntrustedError

HOLDER = """
import sys
from pathlib import Path
from pgassay import scratch
with scratch.folder("some kind", Path(sys.argv[1])) as folder:
    (folder / "inside").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the folders are made; the notes are elsewhere, and nobody else's."""
    monkeypatch.setenv("PGASSAY_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "state" / scratch.NOTES


def hold(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds a folder."""
    words = [sys.executable, "-c", HOLDER, str(parent)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def killed(parent: Path) -> tuple[int, Path]:
    """What a process that was killed has left, and its process id."""
    process, folder = hold(parent)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.pid, folder


def note_of(notes: Path) -> Path:
    """The only one."""
    (found,) = (each for each in notes.iterdir() if each.name != ".lock")
    return found


def test_it_is_there_while_it_is_needed(place: Path, notes: Path) -> None:
    with scratch.folder("some kind", place) as folder:
        assert folder.name.startswith("pgassay-some-kind-")
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "a").write_text("b")
        assert note_of(notes).stat().st_mode & 0o077 == 0
        assert scratch.left() == [], "somebody holds it"
        assert scratch.remove_left() == ([], [])
    assert not folder.exists()
    with pytest.raises(KeyError), scratch.folder("some kind", place) as folder:
        raise KeyError
    assert not folder.exists()
    assert [each.name for each in notes.iterdir()] == [".lock"]


def _torn(half: Path) -> None:
    half.write_text("a")
    raise FileNotFoundError


def test_what_becomes_whole_stays_and_what_does_not_goes(place: Path) -> None:
    with scratch.place("file", place / "half") as half:
        half.write_text("a")
        half.rename(place / "whole")
    assert (place / "whole").read_text() == "a"
    with pytest.raises(FileNotFoundError), scratch.place("file", place / "half") as half:
        _torn(half)
    assert [each.name for each in place.iterdir()] == ["whole"]


def test_what_a_kill_leaves_is_named_and_removed_and_nothing_that_is_held(place: Path) -> None:
    pid, left = killed(place)
    living, held = hold(place)
    (found,) = scratch.left()
    assert (found.path, found.kind, found.pid) == (left, "some kind", pid)
    assert scratch.remove_left() == ([found], [])
    assert [each for each in (left, held) if each.is_dir()] == [held]
    assert scratch.left() == []
    living.communicate("")
    assert list(place.iterdir()) == []


def test_a_process_id_that_is_in_use_again_misleads_nobody(place: Path, notes: Path) -> None:
    _, left = killed(place)
    note = note_of(notes)
    note.write_text(json.dumps(json.loads(note.read_text()) | {"pid": os.getpid()}))
    assert [each.path for each in scratch.left()] == [left]
    assert scratch.remove_left()[0]
    assert not left.exists()


def test_what_only_has_such_a_name_stays(place: Path) -> None:
    """Others may make what they like in /tmp."""
    names = [f"{scratch.PREFIX}{each}" for each in ("some-kind-000000000000", "x")]
    for name in names:
        (place / name).mkdir()
    assert scratch.left() == []
    assert scratch.remove_left() == ([], [])
    assert sorted(each.name for each in place.iterdir()) == sorted(names)


def _link_to(elsewhere: Path) -> Callable[[Path], None]:
    def change(left: Path) -> None:
        (left / "inside").rmdir()
        left.rmdir()
        left.symlink_to(elsewhere)

    return change


def test_a_link_in_its_place_is_removed_and_what_it_leads_to_stays(place: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "inside").mkdir(parents=True)
    _, left = killed(place)
    _link_to(elsewhere)(left)
    scratch.remove_left()
    assert not os.path.lexists(left)
    assert (elsewhere / "inside").is_dir()


def test_a_link_above_it_is_not_followed(place: Path, tmp_path: Path) -> None:
    _, left = killed(place)
    place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "moved")
    (gone, kept) = scratch.remove_left()
    assert (gone, len(kept)) == ([], 1)
    assert "symbolic link" in kept[0][1]
    assert (tmp_path / "moved" / left.name / "inside").is_dir()
    assert len(scratch.left()) == 1, "it stays known"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder away")
def test_what_another_account_put_in_its_place_stays(place: Path) -> None:
    _, left = killed(place)
    os.chown(left, 65534, 65534)
    gone, kept = scratch.remove_left()
    assert (gone, [why for _, why in kept]) == ([], [f'"{left}" belongs to user 65534: it is left alone'])
    assert (left / "inside").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder away")
def test_notes_of_another_account_are_not_believed(place: Path, notes: Path) -> None:
    _, left = killed(place)
    os.chown(notes, 65534, 65534)
    with pytest.raises(UntrustedError, match="belongs to user 65534"):
        scratch.left()
    with pytest.raises(UntrustedError, match="belongs to user 65534"):
        scratch.remove_left()
    assert left.is_dir()


TORN = ("", "{", "[]", '{"path": 1}', '{"path": "/x", "kind": "a", "pid": "b"}', '{"path": 1e999}', "[" * 100_000)


@pytest.mark.parametrize("text", TORN)
def test_a_torn_note_is_of_nothing(place: Path, notes: Path, text: str) -> None:
    _, left = killed(place)
    note_of(notes).write_text(text)
    assert scratch.left() == []
    assert left.is_dir()
    assert [each.name for each in notes.iterdir()] == [".lock"]


def test_notes_of_another_machine_with_the_same_home_stay(place: Path, notes: Path) -> None:
    _, left = killed(place)
    note = note_of(notes)
    note.write_text(json.dumps(json.loads(note.read_text()) | {"host": "elsewhere"}))
    assert scratch.left() == []
    assert scratch.remove_left() == ([], [])
    assert note.exists()
    assert left.is_dir()


def test_without_a_state_directory_there_is_a_place_all_the_same(place: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in its way")
    with scratch.folder("some kind", place) as folder:
        assert folder.is_dir()
    assert not folder.exists()


def test_nothing_is_left_where_nothing_was_made(place: Path) -> None:
    assert scratch.left() == []
    assert scratch.remove_left() == ([], [])


def test_what_could_not_be_removed_stays_known(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise OSError(16, "busy", str(path))

    with monkeypatch.context() as patched, scratch.folder("load", place) as folder:
        patched.setattr(scratch, "_remove", refuse)
    assert folder.is_dir()
    assert [(each.path, each.kind) for each in scratch.left()] == [(folder, "load")]
    gone, kept = scratch.remove_left()
    assert ([each.path for each in gone], kept) == ([folder], [])
    assert not folder.exists()
    assert scratch.left() == []
