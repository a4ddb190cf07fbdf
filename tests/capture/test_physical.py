"""The server's files as data: words of commands, what is refused before anything runs, and the study of a question."""

from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.capture import files, physical, texts
from pgassay.capture import physical as costs
from pgassay.capture.asking import require_versions
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Data, Physical
from pgassay.capture.physical import Estimate, FilesRequest, basebackup_failed
from pgassay.capture.question import document, parse
from pgassay.cli import main
from tests.capture.test_asking import asked
from tests.capture.test_scripts import SOURCE, capture

FILES = Physical("7300000000000000001", "in production", "Tue Nov 24 08:00:00 2026", 8192, 8192, 16 << 20, False)
TAKEN = replace(capture(), data=Data(physical.BASEBACKUP, physical.FOLDER, 5, 5, FILES))


def test_pg_basebackup_gets_no_password_and_a_spread_checkpoint() -> None:
    where = {"host": "db1", "user": "o'neil", "dbname": "app"}
    words = physical.command(Path("/bin/pg_basebackup"), where, Path("/new"), physical.SPREAD)
    assert words[-1] == r"--dbname=host='db1' user='o\'neil'", "a base backup is of no database"
    assert "--checkpoint=spread" in words
    assert "--wal-method=stream" in words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--data", "tape"), '--data cannot be "tape"'),
        (("--data", "basebackup", "--no-literals"), "--no-literals and --data basebackup exclude each other"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_server_is_asked(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["capture", "host=/nowhere", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("detail", "hint"),
    [
        ('FATAL:  no pg_hba.conf entry for replication connection from host "::1"', "database replication"),
        ("FATAL:  must be superuser or replication role to start walsender", "ALTER ROLE … REPLICATION"),
        ("FATAL:  permission denied to start WAL sender", "ALTER ROLE … REPLICATION"),
        ("could not send replication command: WAL level not sufficient (wal_level)", "needs a restart"),
    ],
)
def test_a_base_backup_that_is_refused_says_what_it_needs(detail: str, hint: str) -> None:
    assert hint in (basebackup_failed(detail).hint or "")


def test_too_little_room_is_known_before() -> None:
    cost = Estimate(bytes=1 << 30, free_bytes=1 << 30)
    assert cost.room_bytes > 1 << 30
    with pytest.raises(CaptureError, match="free"):
        costs.require_room(cost, Path("/data"))
    costs.require_room(replace(cost, free_bytes=2 << 30), Path("/data"))


def test_the_cost_is_said_with_the_room_and_the_checkpoint() -> None:
    cost = Estimate(100 << 30, 500 << 30, checkpoint_s=270.0)
    said = "\n".join(texts.cost_of_files(FilesRequest(physical.BASEBACKUP), cost))
    assert "files: 100GB are read; " in said
    assert said.splitlines()[0].endswith(" are needed here, 500GB are free")
    assert "spread over up to 4 min" in said
    assert "at full speed" in "\n".join(
        texts.cost_of_files(FilesRequest(physical.BASEBACKUP), replace(cost, checkpoint_s=0.0))
    )


def test_the_study_copies_the_files_and_loads_nothing(tmp_path: Path) -> None:
    study = document(SOURCE, None, tmp_path, {}, parse(["work_mem=4MB,64MB"], [], None))
    assert study["fixed"]["init.copy_of"] == str(tmp_path)
    assert study["fixed"]["init.copy_database"] == SOURCE.database
    assert "init" not in study["load"]


def test_advice_on_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.capture"
    with files.new_directory(path) as folder:
        (folder / physical.FOLDER).mkdir()
        files.write(TAKEN, folder, path.name)
    assert files.read(path) == TAKEN
    assert main(["advise", str(path), "--dry-run", "--data-dir", str(tmp_path)]) == 2
    assert "on which advise does not search yet" in capsys.readouterr().err


def test_another_major_version_cannot_read_the_files() -> None:
    other = parse([], [], None, ["18"])
    major = SOURCE.major
    require_versions(
        TAKEN, replace(other, programs=(("postgres.version", f"{major}.1"), ("build.version", str(major))))
    )
    with pytest.raises(CaptureError, match=f"files of PostgreSQL {major}, which PostgreSQL 12 cannot read") as caught:
        require_versions(TAKEN, replace(other, programs=(("postgres.version", "12"),)))
    assert "--data dump" in (caught.value.hint or "")


def test_libraries_of_functions_that_are_missing_are_named(tmp_path: Path) -> None:
    for number, name in enumerate(("$libdir/auto_explain", "auto_explain")):
        assert TAKEN.data.physical is not None
        found = replace(TAKEN.data.physical, libraries=(name, "$libdir/postgis-3"))
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(CaptureError, match=r"does not have: \$libdir/postgis-3$"):
            asked(folder, replace(TAKEN, data=replace(TAKEN.data, physical=found)))
