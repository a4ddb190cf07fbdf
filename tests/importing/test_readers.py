"""Every reader keeps the contract, and readers of other packages are asked after ours and before that of tables."""

from pathlib import Path

import pytest

from pgassay.importing.fields import parse_roles
from pgassay.importing.files import READERS, TABLE, read_files
from pgassay.importing.reader import Options
from pgassay.testing.importers import check_reader
from tests.importing.made import SAMPLES, hammerdb, postgresbench
from tests.packages import Install

NOTES = """
from pgassay.importing.reader import Reader
from pgassay.importing.values import ForeignRun, Reading, response

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


def samples(name: str, folder: Path) -> list[Path]:
    if name == "HammerDB":
        return [hammerdb(folder / "hammer.DB")]
    if name == "PostgresBench":
        path = folder / "a.json"
        path.write_text(postgresbench("a", (1.0, 2.0)), encoding="utf-8")
        return [path]
    found = {
        "pgbench": ("pgbench15_N.txt", "pgbench18_tpcb.txt"),
        "sysbench": ("sysbench_oltp_update_index.txt", "sbtpcc_RR.txt"),
        "go-tpc": ("gotpc_run_json.txt",),
    }
    return [SAMPLES / each for each in found[name]]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_keeps_the_contract(reader: object, tmp_path: Path) -> None:
    (ours,) = [each for each in READERS if each is reader]
    readings = check_reader(ours, samples(ours.name, tmp_path))
    fields = {field for reading in readings for run in reading.runs for field in run.fields}
    assert fields & set(ours.suggested), "what it suggests tells no runs apart"


def test_the_reader_of_tables_keeps_the_contract(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("size,tps\n1,100\n2,120\n", encoding="utf-8")
    options = Options(roles=parse_roles(["treatment=size,value=tps"]))
    (reading,) = check_reader(TABLE, [tmp_path / "t.csv"], options)
    assert [run.responses for run in reading.runs] == [{"tps": 100.0}, {"tps": 120.0}]


def test_the_contract_finds_a_reader_that_takes_any_text(tmp_path: Path) -> None:
    class Greedy(type(TABLE)):  # type: ignore[misc]
        name = "greedy"

        def recognises(self, file: object, options: object) -> bool:
            return True

    (tmp_path / "t.csv").write_text("size,tps\n1,100\n2,120\n", encoding="utf-8")
    options = Options(roles=parse_roles(["treatment=size,value=tps"]))
    with pytest.raises(AssertionError, match="greedy recognises"):
        check_reader(Greedy(), [tmp_path / "t.csv"], options)


def test_another_package_s_reader_is_asked_before_the_one_of_tables(results: Path, install: Install) -> None:
    install("pg-notes", "[pgassay.importers]\nnotes = sample_notes:NOTES\n", NOTES, "sample_notes")
    (results / "a.csv").write_text("notes,4kB,100\n", encoding="utf-8")
    (results / "b.csv").write_text("notes,8kB,120\n", encoding="utf-8")
    reading, roles = read_files([results], Options(), compared=True)
    assert (reading.kind, [run.responses["tps"] for run in reading.runs]) == ("notes", [100.0, 120.0])
    assert [use.name for use in roles.treatment] == ["size"]


def test_a_broken_reader_is_named_and_stops_no_other(results: Path, install: Install) -> None:
    install("pg-notes", "[pgassay.importers]\nnotes = sample_torn:NOTES\n", "import no_such_module", "sample_torn")
    (results / "a.json").write_text(postgresbench("a", (1.0, 2.0)), encoding="utf-8")
    reading, _ = read_files([results], Options(), compared=False)
    assert not any("pg-notes" in remark for remark in reading.remarks), "nobody needed it"
    (results / "b.notes").write_text("notes,8kB,120\n", encoding="utf-8")
    reading, _ = read_files([results], Options(), compared=False)
    assert len(reading.runs) == 2
    assert reading.left_out[0].reason.startswith("has an unrecognised format (recognised: pgbench, sysbench,")
    assert any('importer "notes" of package pg-notes 1.2 cannot be used: ' in remark for remark in reading.remarks)


def test_a_reader_may_not_take_the_name_of_one_of_ours(results: Path, install: Install) -> None:
    install("pg-notes", "[pgassay.importers]\nhammerdb = sample_named:NOTES\n", NOTES, "sample_named")
    (results / "a.json").write_text(postgresbench("a", (1.0, 2.0)), encoding="utf-8")
    (results / "b.notes").write_text("notes,8kB,120\n", encoding="utf-8")
    reading, _ = read_files([results], Options(), compared=False)
    assert any("pgassay has a importer of this name" in remark for remark in reading.remarks)
