"""The list of all runs follows the records, and its index can be lost or damaged at any time."""

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.live import catalogue
from pgassay.live.catalogue import FINISHED, OPEN, UNREADABLE, Catalogue, Query, identity_of, listed, runs_below
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import Entry, Kind
from pgassay.record.reading import Run


@pytest.fixture
def root(tmp_path: Path, runs: Path) -> Path:
    """A copy of the planted runs that a test may change."""
    return Path(shutil.copytree(runs, tmp_path / "copy"))


def names(catalogue: Catalogue, query: Query | None = None) -> list[str]:
    return sorted(run.path for run in catalogue.search(query or Query()).runs)


def test_every_run_is_found_with_its_state(runs: Path, tmp_path: Path) -> None:
    catalogue = Catalogue(runs, tmp_path / "index")
    catalogue.refresh()
    found = {run.path: run for run in catalogue.search(Query()).runs}
    states = {path: run.state for path, run in found.items()}
    assert states == {
        "one": FINISHED, "partly": FINISHED, "<img src=x onerror=alert(2)>": FINISHED,
        "deep/two": OPEN, "broken": UNREADABLE, "empty": UNREADABLE,
    }  # fmt: skip
    assert "line 1 of journal.jsonl" in found["broken"].why
    assert (found["one"].study, found["one"].trials, found["one"].host) == ("fillfactor", 26, "planted")


def test_a_run_itself_can_be_served(runs: Path, tmp_path: Path) -> None:
    catalogue = Catalogue(runs / "one", tmp_path / "index")
    catalogue.refresh()
    (run,) = catalogue.search(Query()).runs
    assert (run.path, run.study) == (".", "fillfactor")


def test_what_is_written_later_is_seen(root: Path, tmp_path: Path) -> None:
    catalogue = Catalogue(root, tmp_path / "index")
    catalogue.refresh()
    shutil.copytree(root / "one", root / "new")
    shutil.rmtree(root / "partly")
    shutil.copy(root / "one" / "journal.jsonl", root / "broken" / "journal.jsonl")
    assert "partly" in names(catalogue)
    assert catalogue.run(identity_of("partly")) is None
    catalogue.refresh()
    assert "partly" not in names(catalogue)
    assert "new" in names(catalogue)
    (mended,) = catalogue.search(Query(words="broken")).runs
    assert mended.state == FINISHED


def test_a_run_that_is_not_listed_yet_has_its_page(root: Path, tmp_path: Path) -> None:
    catalogue = Catalogue(root, tmp_path / "index")
    catalogue.refresh()
    shutil.copytree(root / "one", root / "new")
    found = catalogue.run(identity_of("new"))
    assert found is not None
    assert found[1] == root / "new"
    assert catalogue.run("0" * 16) is None


@pytest.mark.parametrize("damage", ["lost", "rubbish", "other", "table", "cut"])
def test_a_lost_or_damaged_index_is_made_anew(root: Path, tmp_path: Path, damage: str) -> None:
    kept = tmp_path / "index"
    catalogue = Catalogue(root, kept)
    catalogue.refresh()
    before = names(catalogue)
    if damage == "lost":
        kept.unlink()
    elif damage == "rubbish":
        kept.write_bytes(b"no database at all" * 1000)
    elif damage == "cut":
        kept.write_bytes(kept.read_bytes()[:5000])
    else:
        with sqlite3.connect(kept) as database:
            database.execute("PRAGMA user_version = 99" if damage == "other" else "DROP TABLE runs")
        database.close()
    assert names(catalogue) == before
    assert len(before) == 6


def test_an_index_that_another_server_makes_at_the_same_time_is_used(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, real, opened = tmp_path / "index", catalogue._opened, []

    def late(path: Path) -> sqlite3.Connection:
        opened.append(path)
        if len(opened) == 2:
            Catalogue(root, kept).refresh()
        return real(path)

    monkeypatch.setattr(catalogue, "_opened", late)
    assert len(names(Catalogue(root, kept))) == 6


def test_an_index_that_another_server_removes_at_the_same_time_is_made_anew(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, unlink = tmp_path / "index", Path.unlink
    kept.write_bytes(b"no database at all" * 1000)

    def late(path: Path, missing_ok: bool = False) -> None:
        unlink(path)
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", late)
    assert len(names(Catalogue(root, kept))) == 6


def test_a_number_that_no_index_can_hold_hides_no_run(root: Path, tmp_path: Path) -> None:
    with RunDirectory.open(root / "deep" / "two") as run:
        run.journal.append(Kind.DECISION, {"block": 2**63})
    listed = Catalogue(root, tmp_path / "index")
    assert len(names(listed)) == 6
    (found,) = listed.search(Query(words="deep")).runs
    assert (found.why, found.blocks) == ("", 0)


def test_a_block_counts_when_a_trial_of_it_is_committed(root: Path, tmp_path: Path) -> None:
    """As in the report: a run that ended in its first trial had a block in the list."""
    path = root / "deep" / "two"
    with RunDirectory.open(path) as run:
        run.begin_trial(run.next_number, {"block": 1, "attempt": 1, "arm": "x"})
        run.interrupted("signal")
    found = listed(root, "deep/two")
    assert (found.trials, found.blocks) == (26, 0)
    committed = Entry(len(run.journal.entries) + 1, 0, Kind.TRIAL_COMMITTED, {"number": 27, "sha256": ""})
    again = replace(Run.open(path), journal=(*Run.open(path).journal, committed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "open", lambda *_, **__: again)
        assert (listed(root, "deep/two").trials, listed(root, "deep/two").blocks) == (27, 1)


def test_search_takes_words_as_they_are_and_choices_exactly(runs: Path, tmp_path: Path) -> None:
    catalogue = Catalogue(runs, tmp_path / "index")
    catalogue.refresh()
    assert names(catalogue, Query(words="TWO deep")) == ["deep/two"]
    assert names(catalogue, Query(words="%")) == []
    assert names(catalogue, Query(words="' OR 1=1 --")) == []
    assert names(catalogue, Query(study="fillfacto")) == []
    assert len(names(catalogue, Query(study="fillfactor", host="planted"))) == 4
    assert names(catalogue, Query(version="16")) == []
    assert names(catalogue, Query(page=2)) == []
    found = catalogue.search(Query())
    assert (found.total, found.studies, found.hosts, found.versions) == (6, ["fillfactor"], ["planted"], [])


def test_a_version_is_chosen_whole(root: Path, tmp_path: Path) -> None:
    host = root / "one" / "host.json"
    known = [{"version": "postgres (PostgreSQL) 16.1 (Debian 16.1-1)"}, {"version": "PostgreSQL 18.1"}]
    host.write_text(json.dumps({"format": 1, "facts": {"postgres": known, "cpu": {}}}))
    catalogue = Catalogue(root, tmp_path / "index")
    catalogue.refresh()
    assert catalogue.search(Query()).versions == ["16.1", "18.1"]
    assert names(catalogue, Query(version="16.1")) == ["one"]
    assert names(catalogue, Query(version="6.1")) == []


def test_links_and_hidden_folders_are_passed_over(root: Path) -> None:
    (root / "deep" / "round").symlink_to(root)
    shutil.copytree(root / "one", root / ".hidden")
    shutil.copytree(root / "one", root / "one" / "inside")
    assert len(list(runs_below(root))) == 6
