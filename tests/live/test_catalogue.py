"""The list of all runs follows the records."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.live.catalogue import FINISHED, OPEN, UNREADABLE, Catalogue, identity_of, listed, runs_below
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import Entry, Kind
from pgassay.record.reading import Run


@pytest.fixture
def root(tmp_path: Path, runs: Path) -> Path:
    """A copy of the planted runs that a test may change."""
    return Path(shutil.copytree(runs, tmp_path / "copy"))


def names(catalogue: Catalogue, words: str = "", page: int = 1) -> list[str]:
    return sorted(run.path for run in catalogue.search(words, page)[0])


def test_every_run_is_found_with_its_state(runs: Path) -> None:
    catalogue = Catalogue(runs)
    catalogue.refresh()
    found = {run.path: run for run in catalogue.search()[0]}
    states = {path: run.state for path, run in found.items()}
    assert states == {
        "one": FINISHED, "partly": FINISHED, "<img src=x onerror=alert(2)>": FINISHED,
        "deep/two": OPEN, "broken": UNREADABLE, "empty": UNREADABLE,
    }  # fmt: skip
    assert "line 1 of journal.jsonl" in found["broken"].why
    assert (found["one"].study, found["one"].trials, found["one"].host) == ("fillfactor", 26, "planted")


def test_a_run_itself_can_be_served(runs: Path) -> None:
    catalogue = Catalogue(runs / "one")
    catalogue.refresh()
    (run,) = catalogue.search()[0]
    assert (run.path, run.study) == (".", "fillfactor")


def test_what_is_written_later_is_seen(root: Path) -> None:
    catalogue = Catalogue(root)
    catalogue.refresh()
    shutil.copytree(root / "one", root / "new")
    shutil.rmtree(root / "partly")
    shutil.copy(root / "one" / "journal.jsonl", root / "broken" / "journal.jsonl")
    assert "partly" in names(catalogue)
    assert catalogue.run(identity_of("partly")) is None
    catalogue.refresh()
    assert "partly" not in names(catalogue)
    assert "new" in names(catalogue)
    (mended,) = catalogue.search("broken")[0]
    assert mended.state == FINISHED


def test_a_run_that_is_not_listed_yet_has_its_page(root: Path) -> None:
    catalogue = Catalogue(root)
    catalogue.refresh()
    shutil.copytree(root / "one", root / "new")
    found = catalogue.run(identity_of("new"))
    assert found is not None
    assert found[1] == root / "new"
    assert catalogue.run("0" * 16) is None


def test_a_number_beyond_64_bits_hides_no_run(root: Path) -> None:
    with RunDirectory.open(root / "deep" / "two") as run:
        run.journal.append(Kind.DECISION, {"block": 2**63})
    listed = Catalogue(root)
    listed.refresh()
    assert len(names(listed)) == 6
    (found,) = listed.search("deep")[0]
    assert (found.why, found.blocks) == ("", 0)


def test_a_block_counts_when_a_trial_of_it_is_committed(root: Path) -> None:
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


def test_search_takes_words_as_they_are(runs: Path) -> None:
    catalogue = Catalogue(runs)
    catalogue.refresh()
    assert names(catalogue, "TWO deep") == ["deep/two"]
    assert names(catalogue, "%") == []
    assert names(catalogue, "' OR 1=1 --") == []
    assert len(names(catalogue, "fillfactor planted")) == 4
    assert names(catalogue, page=2) == []
    assert catalogue.search()[1] == 6


def test_versions_are_found(root: Path) -> None:
    host = root / "one" / "host.json"
    known = [{"version": "postgres (PostgreSQL) 16.1 (Debian 16.1-1)"}, {"version": "PostgreSQL 18.1"}]
    host.write_text(json.dumps({"format": 1, "facts": {"postgres": known, "cpu": {}}}))
    catalogue = Catalogue(root)
    catalogue.refresh()
    assert names(catalogue, "16.1") == names(catalogue, "18.1") == ["one"]


def test_links_and_hidden_folders_are_passed_over(root: Path) -> None:
    (root / "deep" / "round").symlink_to(root)
    shutil.copytree(root / "one", root / ".hidden")
    shutil.copytree(root / "one", root / "one" / "inside")
    assert len(list(runs_below(root))) == 6
