"""A record that somebody else made: what writes into it follows no link, and packs no file of ours in its name."""

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from pgassay.cli import main
from pgassay.record.directory import RunDirectory
from pgassay.record.errors import RecordError
from pgassay.record.values import LevelRecord
from pgassay.report import page
from pgassay.testing.planted import make_run

PRECIOUS = "precious\n"
Said = pytest.CaptureFixture[str]


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file of the user's, outside of every record."""
    made = tmp_path / "home" / "profile"
    made.parent.mkdir()
    made.write_text(PRECIOUS)
    return made


def test_a_report_replaces_links_and_does_not_follow_them(tmp_path: Path, precious: Path) -> None:
    run = make_run(tmp_path / "run").path
    assert main(["report", str(run), "--no-figures"]) == 0
    written = [each for each in (run / "report").rglob("*") if each.is_file()]
    assert {each.suffix for each in written} == {".html", ".csv", ".json"}
    for each in written:
        each.unlink()
        each.symlink_to(precious)
    assert main(["report", str(run), "--no-figures"]) == 0
    assert precious.read_text() == PRECIOUS
    assert not any(each.is_symlink() for each in written)


@pytest.mark.parametrize("link", ["report", f"report/{page.DATA}"])
def test_a_report_is_not_written_where_a_link_leads(tmp_path: Path, precious: Path, link: str, capsys: Said) -> None:
    run = make_run(tmp_path / "run").path
    (run / link).parent.mkdir(exist_ok=True)
    (run / link).symlink_to(precious.parent)
    assert main(["report", str(run), "--no-figures"]) == 2
    assert "is a symbolic link" in capsys.readouterr().err
    assert [each.name for each in precious.parent.iterdir()] == [precious.name]


def test_a_report_stays_in_its_folder_when_that_is_replaced_meanwhile(
    tmp_path: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its data and figures are reached from the folder that was opened, not by its path again."""
    run, html = make_run(tmp_path / "run").path, page.html
    (precious.parent / page.DATA).mkdir()

    def swapping(*given: Any, **more: Any) -> str:
        (run / "report").rename(run / "moved")
        (run / "report").symlink_to(precious.parent)
        return html(*given, **more)

    monkeypatch.setattr(page, "html", swapping)
    assert main(["report", str(run), "--no-figures"]) == 0
    assert list((precious.parent / page.DATA).iterdir()) == []
    assert list((run / "moved" / page.DATA).iterdir()) != []


def test_a_report_goes_where_the_users_own_link_leads(tmp_path: Path, precious: Path) -> None:
    run, mine = make_run(tmp_path / "run").path, tmp_path / "mine"
    mine.symlink_to(precious.parent)
    assert main(["report", str(run), "--no-figures", "--out", str(mine)]) == 0
    assert (precious.parent / page.PAGE).is_file()


@pytest.mark.parametrize("name", ["lock", "journal.jsonl"])
def test_going_on_writes_through_no_link(tmp_path: Path, precious: Path, name: str) -> None:
    run = make_run(tmp_path / "run").path
    (run / name).unlink()
    (run / name).symlink_to(precious)
    with pytest.raises(RecordError):
        RunDirectory.open(run)
    assert precious.read_text() == PRECIOUS


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of another account")
def test_a_capsule_of_another_accounts_record_has_no_file_of_ours(tmp_path: Path, precious: Path, capsys: Said) -> None:
    level = LevelRecord(str(precious), str(precious))
    run = make_run(tmp_path / "run", discarded=False, fixed=(f"load.script={precious}",), levels={"load.script": level})
    capsule = tmp_path / "a.capsule"
    os.chown(run.path, pwd.getpwnam("nobody").pw_uid, -1)
    assert main(["export", str(run.path), "--capsule", str(capsule)]) == 0
    assert f"{precious} (load.script), a file of this machine, which the record of" in capsys.readouterr().out
    assert PRECIOUS.encode() not in capsule.read_bytes()
