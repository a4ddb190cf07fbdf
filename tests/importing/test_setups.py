"""What a DBA objects to is found in real files where they tell it, and in a run directory made of them."""

import json
import shutil
from pathlib import Path

import pytest

from pgassay.analysis.benchmark import Setup
from pgassay.cli import main
from tests.importing.made import SAMPLES, hammerdb, pgbench


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lint(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, str]:
    """Code to evidence."""
    capsys.readouterr()
    assert main(["lint", *words, "--json"]) == status
    return {each["code"]: each["evidence"] for each in json.loads(capsys.readouterr().out)["findings"]}


def tpc_b(clients: int, threads: int, scale: int = 10, duration_s: int = 60) -> str:
    said = pgbench(1000.0, clients=clients, duration_s=duration_s)
    said = said.replace("<builtin: simple update>", "<builtin: TPC-B (sort of)>")
    said = said.replace("scaling factor: 20", f"scaling factor: {scale}")
    return said.replace("number of threads: 2", f"number of threads: {threads}")


def test_tpc_b_of_64_clients_on_one_thread_at_scale_10(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.txt").write_text(tpc_b(64, 1), encoding="utf-8")
    found = lint(capsys, "out.txt")
    assert found["scale-below-clients"].endswith("scale 10 and 64 clients")
    assert found["few-threads"].endswith("64 clients on 1 thread")
    assert found["window-below-checkpoint"].endswith("60 s; checkpoint_timeout is not known, and its default is 5 min")


def test_a_sound_setup_has_none_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.txt").write_text(tpc_b(64, 8, 100, 600), encoding="utf-8")
    assert set(lint(capsys, "out.txt")) == {"too-few"}


def test_a_rate_of_pgbench_is_found_in_its_real_output(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(SAMPLES / "pgbench15_rate.txt", "rate.txt")
    assert "at a limited rate" in lint(capsys, "rate.txt")["rate-limited"]
    assert "rate-limited" not in lint(capsys, "rate.txt", "--primary", "latency_ms"), "latency at a rate is a result"
    shutil.copy(SAMPLES / "pgbench15_tpcb.txt", "free.txt")
    assert "rate-limited" not in lint(capsys, "free.txt")


def test_reads_need_no_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(SAMPLES / "pgbench15_S.txt", "select.txt")
    assert "window-below-checkpoint" not in lint(capsys, "select.txt")


def test_hammerdb_s_job_names_its_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert "one-machine" in lint(capsys, str(hammerdb(Path("hammer.DB"))))


def test_a_table_with_memory_and_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--columns", "treatment=ssd,value=tps")
    for size, expected in (("2GB", True), ("64GB", False)):
        rows = [f"{ssd},{100 + place},16GB,{size}" for place in range(2) for ssd in ("one", "two")]
        Path("t.csv").write_text("\n".join(["ssd,tps,memory,database_size", *rows]), encoding="utf-8")
        assert ("data-in-memory" in lint(capsys, "t.csv", *options)) is expected


def test_an_import_keeps_what_lint_needs(capsys: pytest.CaptureFixture[str]) -> None:
    for folder, threads in (("a", 1), ("b", 8)):
        Path(folder).mkdir()
        Path(folder, "out.txt").write_text(tpc_b(64, threads), encoding="utf-8")
    assert main(["import", "a", "b", "--out", "run"]) == 0
    assert lint(capsys, "run", "--resolution", "5%") == lint(capsys, "a", "b")


def test_strict_tells_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.txt").write_text(tpc_b(4, 2), encoding="utf-8")
    lint(capsys, "out.txt")
    lint(capsys, "out.txt", "--strict", status=1)
    lint(capsys, "out.txt", "--strict-from", "error", status=0)
    lint(capsys, "out.txt", "--strict-from", "note", status=1)


@pytest.mark.parametrize(("severity", "status"), [("note", 0), ("warning", 1), ("error", 1)])
def test_strict_of_doctor(severity: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pgassay.host import doctor
    from pgassay.study.findings import Finding, Severity

    for variable in ("PGASSAY_DATA_DIR", "PGASSAY_STATE_DIR", "XDG_STATE_HOME"):  # else it tells of this machine, too
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(doctor, "examine", lambda places: [Finding("made", Severity(severity), "made")])
    assert main(["doctor"]) == 0
    assert main(["doctor", "--strict", "--json"]) == status


def test_own_names_of_settings_are_known() -> None:
    levels = {"load.script": "tpcb-like", "load.scale": "20", "load.clients": "32", "load.jobs": "clients"}
    setup = Setup.of(levels)
    assert (setup.tpc_b, setup.writes, setup.scale, setup.threads) == (True, True, 20.0, 32.0)
    assert Setup.of({"load.script": "select-only"}).writes is False
    assert Setup.of({}) == Setup()
