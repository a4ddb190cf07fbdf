"""Files of users and of other programs: any bytes, cells of any length, and no file that is none."""

import os
from pathlib import Path

import pytest

from pgassay import cli
from pgassay.advise.asking import read_space
from pgassay.drive.block import description
from pgassay.errors import UsageError
from pgassay.flash import simulation
from pgassay.importing import reader
from pgassay.load.pgbench import data
from pgassay.load.pgbench.options import PgbenchOptions, Script
from pgassay.postgres.settings import read_conf
from tests.security.forging import bounded

SAMPLES = Path(__file__).parents[1] / "samples"


def test_settings_and_scripts_may_have_any_bytes(tmp_path: Path) -> None:
    (tmp_path / "mine.conf").write_bytes(b"# gr\xfc\xdfe\nwork_mem = 8MB\n")
    (tmp_path / "mine.sql").write_bytes(b"-- gr\xfc\xdfe\nSELECT 1;\n")
    assert read_conf(tmp_path / "mine.conf").settings == {"work_mem": "8MB"}
    options = PgbenchOptions(scripts=(Script(str(tmp_path / "mine.sql")),))
    assert options.reads_only
    assert options.round_trips == 1


def test_what_must_be_utf_8_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"[settings]\n# gr\xfc\xdfe\n")
    for read in (read_space, description.read, simulation.read):
        with pytest.raises(UsageError, match=r"mine\.toml.*line 2 is not UTF-8"):
            read(path)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "9" * 5000, "a = nan"])
def test_toml_that_no_program_takes_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    for read in (read_space, description.read, simulation.read):
        with pytest.raises(UsageError, match=r"mine\.toml.*it (is nested|has )"):
            read(path)


def test_a_cell_may_be_as_long_as_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.csv"
    rows = [f"{name},{1000 + each},x" for each in range(6) for name in ("a", "b")]
    path.write_text("\n".join(["arm,tps,note", *rows[:-1], rows[-1] + "y" * 200_000]) + "\n")
    assert cli.main(["lint", str(path), "--columns", "treatment=arm,value=tps"]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


def through_a_pipe(path: Path) -> int:
    """The reading end of a pipe that holds the file."""
    reading, writing = os.pipe()
    os.write(writing, path.read_bytes())
    os.close(writing)
    return reading


def test_what_a_shell_substitutes_is_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    """As `pgassay lint <(pgbench …)` does."""
    reading = through_a_pipe(SAMPLES / "pgbench15_tpcb.txt")
    assert cli.main(["lint", f"/dev/fd/{reading}"]) == 0
    os.close(reading)
    assert "pgbench: 1 run of 1 treatment, tps" in capsys.readouterr().out


def test_a_log_in_a_pipe_is_refused_with_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    reading = through_a_pipe(SAMPLES / "ratetx.21952")
    assert cli.main(["lint", f"/dev/fd/{reading}"]) == 2
    os.close(reading)
    assert "is a log of pgbench in a pipe: name its file" in capsys.readouterr().err


def test_a_pipe_without_end_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "TEXT_BYTES_MAX", 1000)
    reading = through_a_pipe(SAMPLES / "pgbench15_tpcb.txt")
    with bounded(lambda: "lint"):
        assert cli.main(["lint", f"/dev/fd/{reading}"]) == 2
    os.close(reading)
    assert "it has more than 1,000 bytes" in capsys.readouterr().err


def test_a_fifo_among_results_is_left_out_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pgbench.out")
    with bounded(lambda: "lint"):
        assert cli.main(["lint", str(tmp_path / "pgbench.out")]) == 2
        assert cli.main(["lint", str(tmp_path)]) == 2
    assert "is a fifo, not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("\\i {here}/more.sql", "a FIFO"),
        ("  \\ir more.sql", "a FIFO"),
        ("\\include '{here}/with space.sql'", "a FIFO"),
        ("\\ir /dev/zero", "a device"),
        ("\\i regular.sql", ""),
        ("\\i missing.sql", ""),
        ("\\i :name", ""),
    ],
)
def test_data_that_read_no_regular_file_are_refused_before_psql_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "psql").touch()
    (tmp_path / "regular.sql").touch()
    for name in ("more.sql", "with space.sql"):
        os.mkfifo(tmp_path / name)
    init = tmp_path / "init.sql"
    init.write_text(f"CREATE TABLE a (b int);\n{line.format(here=tmp_path)}\n")
    if not kind:
        data.require_own(tmp_path, init)
        return
    with pytest.raises(UsageError, match=f'init.sql" reads ".*": it is {kind}, not a regular file'):
        data.require_own(tmp_path, init)


@pytest.mark.parametrize(
    ("begin", "maker"),
    [
        ("-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n", "MySQL"),
        ("/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB\n", "MariaDB"),
        ("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n", "SQLite"),
    ],
)
def test_a_dump_of_another_database_system_is_refused_by_its_name(tmp_path: Path, begin: str, maker: str) -> None:
    (tmp_path / "psql").touch()
    init = tmp_path / "init.sql"
    init.write_text(f"{begin}CREATE TABLE a (b int);\n")
    with pytest.raises(UsageError, match=f"is a dump of {maker}, which PostgreSQL cannot read"):
        data.require_own(tmp_path, init)
