"""`pgassay init` reads a real server's settings, changes nothing there, and writes a study that parses."""

from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.lab.catalogue import every_factor
from pgassay.study.document import read
from pgassay.study.parsing import parse
from pgassay.testing.real import installation, private_folder


@pytest.mark.system
def test_a_server_s_settings_become_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = installation()
    out = tmp_path / "mine.toml"
    with private_folder() as folder:
        found.initialize(folder / "data", {})
        settings = {"work_mem": "12MB", "random_page_cost": "1.25", "shared_buffers": "64MB"}
        server = found.start(folder / "data", settings, folder / "s")
        try:
            before = server.query("SELECT xact_rollback FROM pg_stat_database WHERE datname = 'postgres'")
            assert main(["init", "--from", server.endpoint.conninfo(), "--out", str(out)]) == 0
            assert main(["init", "--from", server.endpoint.conninfo(), "--out", str(out)]) == 2
            assert server.query("SELECT xact_rollback FROM pg_stat_database WHERE datname = 'postgres'") == before
        finally:
            server.stop()
    told = capsys.readouterr()
    assert "settings of a PostgreSQL" in told.out
    assert "exists already" in told.err
    study = parse("mine", read("mine", out.read_text(encoding="utf-8")), every_factor())
    taken = {name: level.typed for name, level in study.fixed.items() if name.startswith("server.")}
    assert taken["server.work_mem"] == "12MB"
    assert taken["server.random_page_cost"] == "1.25"
    assert "server.port" not in taken
    assert "server.unix_socket_directories" not in taken


def test_a_server_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["init", "--from", f"host={tmp_path} port=1", "--out", str(tmp_path / "x.toml")]) == 2
    told = capsys.readouterr().err
    assert "could not read the server" in told
    assert "hint:" in told
    assert not (tmp_path / "x.toml").exists()
