"""Which files a study names: what its factors call files, and nothing else that looks like a path."""

from pathlib import Path

import pytest

from pgassay.lab.catalogue import every_factor
from pgassay.lab.named_files import files_of, repeatable, rooted
from pgassay.lab.run import write_study
from pgassay.record.reading import Run
from pgassay.record.values import LevelRecord
from pgassay.study import builtin
from pgassay.study.document import Overrides, read
from pgassay.testing.planted import make_run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a script and a secret in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.sql").write_text("SELECT 1;")
    (tmp_path / "secret.key").write_text("a key")
    return tmp_path


def with_script(here: Path, script: str, **texts: str) -> Path:
    """A run whose study has this script, and these texts in its first table."""
    name = Path(script).name
    level = LevelRecord(script, str(here / name))
    kept = {f"script_1_{name}": b"SELECT 0; -- as it was run"}
    make_run(here / "run", fixed=(f"load.script={script}",), kept=kept, levels={"load.script": level})
    study = here / "run/study.toml"
    for key, text in texts.items():
        study.write_text(study.read_text().replace("[study]\n", f'[study]\n{key} = "{text}"\n', 1))
    return here / "run"


def test_paths_become_paths_from_the_root_and_other_texts_stay(here: Path) -> None:
    (here / "drive.toml").write_text("")
    script, there = here / "mine.sql", here / "there.sql"
    document = {
        "factors": {"load.script": ["mine.sql", "select-only", str(there)], "table.fillfactor": ["100", "75"]},
        "load": {"init": "none", "log": ["mine.sql", str(there)], "clients": 4},
        "fixed": {"drive.data": "directory:data", "build.source": "git:postgres@HEAD", "drive.wal": "beside"},
        "conditions": [{"load.init": "mine.sql"}],
        "study": {"title": "mine.sql"},
    }
    assert rooted(document, every_factor()) == {
        "factors": {"load.script": [str(script), "select-only", str(there)], "table.fillfactor": ["100", "75"]},
        "load": {"init": "none", "log": f"{script},{there}", "clients": 4},
        "fixed": {
            "drive.data": f"directory:{here}/data", "build.source": f"git:{here}/postgres@HEAD", "drive.wal": "beside",
        },
        "conditions": [{"load.init": str(script)}],
        "study": {"title": "mine.sql"},
    }  # fmt: skip
    weighed = rooted({"load": {"script": ["mine.sql@3", f"{there}@2"]}}, every_factor())
    assert weighed == {"load": {"script": f"{script}@3,{there}@2"}}


def test_a_study_is_written_with_paths_from_the_root(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = read("fillfactor", builtin.find("fillfactor")[1])
    written = write_study("fillfactor", document, Overrides("quick", fixed=("load.script=mine.sql",)))
    assert written.document["load"]["script"] == str(here / "mine.sql")
    assert written.study.fixed["load.script"].typed == str(here / "mine.sql")


def test_only_what_a_factor_calls_a_file_is_one(here: Path) -> None:
    run = Run.open(with_script(here, str(here / "mine.sql"), note=str(here / "secret.key")))
    (found,) = files_of(run)
    assert (found.factor, found.path, found.holds_rows) == ("load.script", here / "mine.sql", False)
    assert found.sources[0].read_bytes() == b"SELECT 0; -- as it was run"


def test_rows_are_those_of_dumps_and_logs(here: Path) -> None:
    levels = {
        "load.init": LevelRecord("/d/rows.dump", "/d/rows.dump"), "load.log": LevelRecord("/d/a.log", "/d/a.log"),
    }  # fmt: skip
    found = files_of(make_run(here / "run", levels=levels))
    assert {each.factor: each.holds_rows for each in found} == dict.fromkeys(levels, True)


def test_older_records_have_paths_as_typed_and_mean_those_of_their_trials(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run.open(with_script(here, "mine.sql"))
    monkeypatch.chdir("/")
    assert [each.path for each in files_of(run)] == [here / "mine.sql"]
    assert repeatable(run)["load"]["script"] == str(here / "mine.sql")
