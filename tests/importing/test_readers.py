"""Readers of other packages are asked after ours and before that of tables; one that is broken stops no other."""

from pathlib import Path

import pytest

from pgassay.importing.files import read_files
from pgassay.importing.reader import Options
from tests.importing.made import pgbench
from tests.packages import Install

NOTES = """
from pgassay.importing.reader import Reader
from pgassay.importing.reader import ForeignRun, Reading, response

class Notes(Reader):
    name = "notes"
    suggested = ("size",)

    def recognises(self, file, options):
        return file.text.startswith("notes,")

    def read(self, files, options):
        for file in files:
            size, tps = file.text.split(",")[1:3]
            run = ForeignRun(str(file.path), {"size": size}, {"tps": float(tps)})
            yield file.path, Reading(self.name, (run,), (response("tps"),))

NOTES = Notes()
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder beside the one that packages are installed in."""
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def test_another_package_s_reader_is_asked_before_the_one_of_tables(results: Path, install: Install) -> None:
    install("pg-notes", "[pgassay.importers]\nnotes = sample_notes:NOTES\n", NOTES, "sample_notes")
    (results / "a.csv").write_text("notes,4kB,100\n", encoding="utf-8")
    (results / "b.csv").write_text("notes,8kB,120\n", encoding="utf-8")
    reading, roles = read_files([results], Options(), compared=True)
    assert (reading.kind, [run.responses["tps"] for run in reading.runs]) == ("notes", [100.0, 120.0])
    assert [use.name for use in roles.treatment] == ["size"]


def test_a_broken_reader_is_named_and_stops_no_other(results: Path, install: Install) -> None:
    install("pg-notes", "[pgassay.importers]\nnotes = sample_torn:NOTES\n", "import no_such_module", "sample_torn")
    (results / "a.txt").write_text(pgbench(1.0) + pgbench(2.0), encoding="utf-8")
    reading, _ = read_files([results], Options(), compared=False)
    assert not any("pg-notes" in remark for remark in reading.remarks), "nobody needed it"
    (results / "b.notes").write_text("notes,8kB,120\n", encoding="utf-8")
    reading, _ = read_files([results], Options(), compared=False)
    assert len(reading.runs) == 2
    assert reading.left_out[0].reason.startswith("has an unrecognised format (recognised: pgbench, sysbench,")
    assert any('importer "notes" of package pg-notes 1.2 cannot be used: ' in remark for remark in reading.remarks)


def test_a_reader_may_not_take_the_name_of_one_of_ours(results: Path, install: Install) -> None:
    install("pg-notes", "[pgassay.importers]\nhammerdb = sample_named:NOTES\n", NOTES, "sample_named")
    (results / "a.txt").write_text(pgbench(1.0) + pgbench(2.0), encoding="utf-8")
    (results / "b.notes").write_text("notes,8kB,120\n", encoding="utf-8")
    reading, _ = read_files([results], Options(), compared=False)
    assert any("pgassay has a importer of this name" in remark for remark in reading.remarks)
