"""A run in one file: the same bytes each time, whole on the other side, and no way to write anywhere else."""

import json
import shutil
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.record import capsule
from pgassay.record.check import check
from pgassay.record.errors import DamagedError, NewerFormatError, RecordError
from pgassay.record.reading import Run
from pgassay.study.findings import Severity
from pgassay.testing.planted import make_run


def write(run: Run, report: Path, file: Path, *named: capsule.NamedFile, with_data: bool = False) -> capsule.Manifest:
    return capsule.write(capsule.contents_of(run, report, named, with_data=with_data), file)


Edit = Callable[[list[tuple[zipfile.ZipInfo, bytes]]], None]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("made") / "run", discarded=False)


@pytest.fixture(scope="module")
def made(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capsule with a report of one file."""
    folder = tmp_path_factory.mktemp("capsule")
    (folder / "report").mkdir()
    (folder / "report/report.html").write_text("page")
    write(run, folder / "report", folder / "run.capsule")
    return folder / "run.capsule"


def edited(made: Path, folder: Path, edit: Edit) -> Path:
    """A copy of the capsule whose entries somebody has changed."""
    with zipfile.ZipFile(made) as archive:
        entries = [(each, archive.read(each)) for each in archive.infolist()]
    edit(entries)
    path = folder / "edited.capsule"
    with zipfile.ZipFile(path, "w") as archive:
        for entry, data in entries:
            archive.writestr(entry, data)
    return path


def refused(path: Path, folder: Path) -> RecordError:
    with pytest.raises(RecordError) as failure:
        capsule.unpack(path, folder / "out")
    assert sorted(each.name for each in folder.iterdir()) == [path.name], "nothing is left behind"
    return failure.value


def test_the_other_side_has_the_same_run(run: Run, made: Path, tmp_path: Path) -> None:
    unpacked = capsule.unpack(made, tmp_path / "out")
    assert unpacked.manifest.run == "run"
    again = Run.open(unpacked.run)
    assert again.trials == run.trials
    assert again.study == run.study
    assert check(unpacked.run) == []
    assert (unpacked.folder / "report/report.html").read_text() == "page"
    assert not (unpacked.run / "index.parquet").exists(), "made again where it is wanted"


def test_the_same_run_gives_the_same_bytes(run: Run, made: Path, tmp_path: Path) -> None:
    copied = tmp_path / run.path.name
    shutil.copytree(run.path, copied)
    (copied / "report").mkdir(exist_ok=True)
    write(Run.open(copied), made.parent / "report", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == made.read_bytes()


def test_a_file_is_never_written_over(run: Run, made: Path) -> None:
    before = made.read_bytes()
    with pytest.raises(RecordError, match="exists already"):
        write(run, made.parent / "report", made)
    assert made.read_bytes() == before
    assert sorted(path.name for path in made.parent.iterdir()) == ["report", "run.capsule"]


def test_a_damaged_run_is_refused_and_leaves_no_file(run: Run, tmp_path: Path) -> None:
    copied = tmp_path / "run"
    shutil.copytree(run.path, copied)
    path = copied / "trials/000001/trial.json"
    path.write_bytes(path.read_bytes().replace(b'"number": 1', b'"number": 2', 1) + b" ")
    (copied / "index.parquet").unlink(missing_ok=True)
    with pytest.raises(DamagedError):
        write(Run.open(copied), tmp_path / "none", tmp_path / "capsule")
    assert not (tmp_path / "capsule").exists()


def test_a_link_in_a_record_is_not_followed(run: Run, tmp_path: Path) -> None:
    copied = tmp_path / "run"
    shutil.copytree(run.path, copied)
    (tmp_path / "secret").write_text("secret")
    (copied / "trials/000001/pgbench.out").symlink_to(tmp_path / "secret")
    with pytest.raises(DamagedError, match="is not a file"):
        write(Run.open(copied), tmp_path / "none", tmp_path / "capsule")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, capsule.NamedFile]:
    """A script and a dump, each outside the run."""
    (tmp_path / "mine.sql").write_text("SELECT 1;")
    (tmp_path / "rows.dump").write_text("1\tAda")
    return {
        "script": capsule.NamedFile("load.script", tmp_path / "mine.sql", (tmp_path / "mine.sql",), False),
        "rows": capsule.NamedFile("load.init", tmp_path / "rows.dump", (tmp_path / "rows.dump",), True),
        "gone": capsule.NamedFile("load.log", tmp_path / "gone.log", (tmp_path / "gone.log",), True),
    }


def test_named_files_come_with_it_but_not_those_with_rows(
    run: Run, files: dict[str, capsule.NamedFile], tmp_path: Path
) -> None:
    manifest = write(run, tmp_path / "none", tmp_path / "capsule", *files.values())
    unpacked = capsule.unpack(tmp_path / "capsule", tmp_path / "out")
    ((path, here),) = unpacked.places.items()
    assert (path, here.read_text()) == (files["script"].path, "SELECT 1;")
    assert manifest.left_out == {
        str(files["rows"].path): "load.init", str(files["gone"].path): "load.log",
    }  # fmt: skip
    assert b"Ada" not in (tmp_path / "capsule").read_bytes()


def test_rows_come_with_it_where_they_are_asked_for(
    run: Run, files: dict[str, capsule.NamedFile], tmp_path: Path
) -> None:
    write(run, tmp_path / "none", tmp_path / "capsule", *files.values(), with_data=True)
    places = capsule.unpack(tmp_path / "capsule", tmp_path / "out").places
    assert places[files["rows"].path].read_text() == "1\tAda"


def test_copies_in_trials_of_what_is_left_out_are_left_out_and_the_record_stays_sound(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", discarded=False, kept={"script_1_captured.sql": b"SELECT 'Ada';"})
    copies = tuple(sorted(run.path.glob("trials/*/script_1_captured.sql")))
    assert copies
    captured = capsule.NamedFile("load.script", Path("/app.capture/asked/1/captured.sql"), copies, True)
    write(run, tmp_path / "none", tmp_path / "capsule", captured)
    assert b"Ada" not in (tmp_path / "capsule").read_bytes()
    unpacked = capsule.unpack(tmp_path / "capsule", tmp_path / "out")
    found = check(unpacked.run)
    assert {each.severity for each in found} == {Severity.NOTE}
    assert [each.where for each in found] == ["script_1_captured.sql"]
    assert f"left out of the capsule ({len(copies)} times)" in found[0].text
    (unpacked.run / "left_out.json").write_text('["trials/000001/trial.json", "trials/000001/series.parquet"]')
    (unpacked.run / "trials/000001/series.parquet").unlink()
    assert any(each.severity is Severity.ERROR for each in check(unpacked.run)), "what a report reads is never left out"


LOGS = {name: b"DETAIL:  Key (name)=(Ada) already exists." for name in ("server.log", "pgbench.err", "player.err")}


def test_logs_of_servers_and_errors_of_loads_are_left_out_and_the_record_stays_sound(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", discarded=False, kept=LOGS)
    contents = capsule.contents_of(run, tmp_path / "none", ())
    capsule.write(contents, tmp_path / "capsule")
    assert b"Ada" not in (tmp_path / "capsule").read_bytes()
    assert set(contents.logs_left_out) == {path for name in LOGS for path in run.path.glob(f"trials/*/{name}")}
    unpacked = capsule.unpack(tmp_path / "capsule", tmp_path / "out")
    assert Run.open(unpacked.run).trials == run.trials
    found = check(unpacked.run)
    assert {each.severity for each in found} == {Severity.NOTE}
    assert [each.where for each in found] == sorted(LOGS)
    write(Run.open(unpacked.run), tmp_path / "none", tmp_path / "again")
    assert check(capsule.unpack(tmp_path / "again", tmp_path / "twice").run) == found, "a capsule of a capsule's record"


def test_logs_come_with_it_where_they_are_asked_for(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", discarded=False, kept=LOGS)
    write(run, tmp_path / "none", tmp_path / "capsule", with_data=True)
    unpacked = capsule.unpack(tmp_path / "capsule", tmp_path / "out")
    assert check(unpacked.run) == []
    assert (unpacked.run / "trials/000001/server.log").read_bytes() == LOGS["server.log"]


def test_a_capsule_is_its_owners_alone(made: Path) -> None:
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    with zipfile.ZipFile(made) as archive:
        assert {each.external_attr >> 16 & 0o777 for each in archive.infolist()} == {0o600}


@pytest.mark.parametrize(
    "name",
    ["../evil", "/tmp/evil", "run/../../evil", "run//evil", "run/./evil", "run\\..\\evil", "evil", "run", "other/evil",
     "run/run.json/evil", "C:/evil", "run/", ".", f"run/{'d/' * 2000}evil"],
)  # fmt: skip
def test_no_name_leads_elsewhere(made: Path, tmp_path: Path, name: str) -> None:
    def add(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
        manifest = json.loads(entries[0][1])
        manifest["files"][name] = {"bytes": 1, "sha256": "0" * 64}
        entries[0] = (entries[0][0], json.dumps(manifest).encode())
        entries.append((zipfile.ZipInfo(name), b"" if name.endswith("/") else b"x"))

    assert "was not made by pgassay" in refused(edited(made, tmp_path, add), tmp_path).message
    assert not Path("/tmp/evil").exists()


@given(st.text(max_size=30))
def test_no_name_at_all_leads_elsewhere(name: str) -> None:
    folder = Path("/safe/folder")
    try:
        capsule._check_names([name], Path("capsule"))
    except RecordError:
        return
    assert folder in Path(f"{folder}/{name}").parents
    assert ".." not in name.split("/")


def change(**changes: object) -> Edit:
    def edit(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
        entries[0] = (entries[0][0], json.dumps({**json.loads(entries[0][1]), **changes}).encode())

    return edit


def linked(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries[1][0].external_attr = (stat.S_IFLNK | 0o777) << 16


def compressed(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries[1][0].compress_type = zipfile.ZIP_DEFLATED


def changed(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entry, data = entries[-1]
    entries[-1] = (entry, bytes([data[0] ^ 1]) + data[1:])


def shorter(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries[-1] = (entries[-1][0], entries[-1][1][:-1])


def incomplete(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries.pop()


def headless(entries: list[tuple[zipfile.ZipInfo, bytes]]) -> None:
    entries.pop(0)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (linked, "is not a file"),
        (compressed, "compressed or encrypted"),
        (changed, "is not what capsule.json says"),
        (shorter, "is not what capsule.json says"),
        (incomplete, "its files are not those of capsule.json"),
        (headless, "does not begin with capsule.json"),
        (change(format="x"), "capsule.json: Expected `int`"),
        (change(files=[]), "capsule.json: Expected `object`"),
        (change(scripts={"/x": "scripts/1/none"}), "it lacks scripts/1/none"),
        (change(run="\x1b[2J"), "control characters"),
    ],
)  # fmt: skip
def test_what_was_tampered_with_is_refused(made: Path, tmp_path: Path, edit: Edit, said: str) -> None:
    assert said in refused(edited(made, tmp_path, edit), tmp_path).message


def test_a_newer_format_names_the_version_that_reads_it(made: Path, tmp_path: Path) -> None:
    failure = refused(edited(made, tmp_path, change(format=7, program_version="3.1", new_field=1)), tmp_path)
    assert isinstance(failure, NewerFormatError)
    assert "pgassay 3.1 or later" in (failure.hint or "")


def test_entries_that_share_bytes_cannot_fill_a_disk(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trick of a zip bomb without compression: each entry's header claims the whole file."""
    path = tmp_path / "bomb"
    shutil.copy(made, path)
    whole = zipfile.ZipFile.infolist

    def claimed(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        entries = whole(archive)
        for entry in entries[1:]:
            entry.file_size = entry.compress_size = path.stat().st_size
        return entries

    monkeypatch.setattr(zipfile.ZipFile, "infolist", claimed)
    assert "its files overlap" in refused(path, tmp_path).message


def test_too_many_files_are_refused(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capsule, "FILES_MAX", 3)
    shutil.copy(made, tmp_path / "many")
    assert "more than 3 files" in refused(tmp_path / "many", tmp_path).message


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"no zip at all" * 100, b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_capsule_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    assert "is not a capsule" in refused(tmp_path / "file", tmp_path).message


def test_a_capsule_cut_anywhere_is_refused(made: Path, tmp_path: Path) -> None:
    data = made.read_bytes()
    for share in (0.1, 0.5, 0.9, 0.999):
        (tmp_path / "cut").write_bytes(data[: int(len(data) * share)])
        assert "is not a capsule" in refused(tmp_path / "cut", tmp_path).message


def test_an_unfinished_run_has_a_capsule_too(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", finished=False)
    manifest = write(replace(run), tmp_path / "none", tmp_path / "capsule")
    assert "run/journal.jsonl" in manifest.files
    assert not any("lock" in name for name in manifest.files)
