"""Folders that live as long as their process: removed at the end, and by the next one after a kill."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pgassay import scratch

HOLDER = """
import sys
from pathlib import Path
from pgassay import scratch
with scratch.folder("kind", Path(sys.argv[1])) as folder:
    (folder / "inside").mkdir()
    print(folder, flush=True)
    sys.stdin.read()
"""


def hold(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds a folder."""
    words = [sys.executable, "-c", HOLDER, str(parent)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_is_there_while_it_is_needed(tmp_path: Path) -> None:
    with scratch.folder("kind", tmp_path) as folder:
        assert folder.name.startswith("pgassay-scratch-kind-")
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "a").write_text("b")
    assert not folder.exists()
    with pytest.raises(KeyError), scratch.folder("kind", tmp_path) as folder:
        raise KeyError
    assert not folder.exists()


def test_what_a_kill_leaves_the_next_one_removes_and_nothing_that_is_held(tmp_path: Path) -> None:
    killed, left = hold(tmp_path)
    living, held = hold(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert left.is_dir()
    assert (left / "inside").is_dir()
    with scratch.folder("other", tmp_path):
        assert not left.exists()
        assert held.is_dir()
    living.communicate("")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_ours_stays(tmp_path: Path) -> None:
    strange = tmp_path / f"{scratch.PREFIX}strange"
    strange.mkdir()
    linked = tmp_path / f"{scratch.PREFIX}linked"
    linked.symlink_to(strange)
    (tmp_path / f"{scratch.PREFIX}file").write_text("")
    assert scratch.remove_left(tmp_path) == []
    assert strange.is_dir()
    (strange / ".held").symlink_to("/dev/null")
    assert scratch.remove_left(tmp_path) == [], "a lock that is a link is none of ours"
    (strange / ".held").unlink()
    (strange / ".held").write_text("")
    assert scratch.remove_left(tmp_path) == [strange]
    assert linked.is_symlink()
