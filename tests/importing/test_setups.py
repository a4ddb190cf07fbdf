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


LOAD = "dropping old tables...\ncreating tables...\ngenerating data (client-side)...\nvacuuming...\ndone in 0.3 s.\n"


def test_the_client_s_version_between_treatments(capsys: pytest.CaptureFixture[str]) -> None:
    for folder, version in (("a", "16.2"), ("b", "17.0")):
        Path(folder).mkdir()
        Path(folder, "out.txt").write_text(f"pgbench ({version}, server 17.0)\n{tpc_b(4, 2)}", encoding="utf-8")
    options = ("--pattern", "{config}/out.txt")
    evidence = "config=a: pgbench 16.2; config=b: pgbench 17.0"
    assert lint(capsys, "a", "b", *options)["other-client"] == evidence
    assert main(["import", "a", "b", *options, "--out", "run"]) == 0
    assert lint(capsys, "run", "--resolution", "5%")["other-client"] == evidence
    Path("b", "out.txt").write_text(f"pgbench (16.2, server 17.0)\n{tpc_b(4, 2)}", encoding="utf-8")
    assert "other-client" not in lint(capsys, "a", "b", *options)


def test_the_first_run_of_a_log_with_the_load_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.txt").write_text(LOAD + tpc_b(4, 2) * 3, encoding="utf-8")
    assert lint(capsys, "out.txt")["after-load"].startswith("1 of 3 runs")
    Path("out.txt").write_text((LOAD + tpc_b(4, 2)) * 3 + LOAD, encoding="utf-8")
    assert "after-load" not in lint(capsys, "out.txt")
    job = lint(capsys, str(hammerdb(Path("hammer.DB"))))
    assert job["after-load"].startswith("1 of 2 runs")


def test_sysbench_s_prepare_is_a_load_too(capsys: pytest.CaptureFixture[str]) -> None:
    run = (SAMPLES / "sysbench_oltp_delete.txt").read_text(encoding="utf-8")
    prepared = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nCreating table 'sbtest1'...\n"
    Path("out.txt").write_text(prepared + run + run, encoding="utf-8")
    assert lint(capsys, "out.txt")["after-load"].startswith("1 of 2 runs")
    Path("out.txt").write_text(run + run, encoding="utf-8")
    assert "after-load" not in lint(capsys, "out.txt")


def test_durability_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--columns", "treatment=build,value=tps")
    for other, expected in (("off", True), ("on", False)):
        rows = [
            f"{build},{100 + place},{commit}" for place in range(2) for build, commit in (("a", "on"), ("b", other))
        ]
        Path("t.csv").write_text("\n".join(["build,tps,synchronous_commit", *rows]), encoding="utf-8")
        assert ("unequal-durability" in lint(capsys, "t.csv", *options)) is expected


def test_a_course_that_steps_down_in_a_real_output_s_progress(capsys: pytest.CaptureFixture[str]) -> None:
    def progress(rates: list[float]) -> str:
        lines = (f"progress: {place}.0 s, {rate:.1f} tps, lat 1.1 ms stddev 0.5" for place, rate in enumerate(rates, 1))
        return "\n".join(lines) + "\n"

    steady = [1000.0 + place % 7 for place in range(200)]
    Path("out.txt").write_text(progress([*steady, *(300.0 + place % 5 for place in range(100))]) + tpc_b(4, 2, 10, 300))
    assert "burst-credits" in lint(capsys, "out.txt")
    Path("out.txt").write_text(progress(steady) + tpc_b(4, 2, 10, 200))
    assert "burst-credits" not in lint(capsys, "out.txt")


def test_how_many_runs_the_claim_would_have_taken(capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_text("t,tps\na,100\nb,103\n", encoding="utf-8")
    words = ["lint", "t.csv", "--columns", "treatment=t,value=tps", "--needed"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "needed: t=b against t=a: +3 % takes 12 runs of each, there is 1 run (spread 3.4 %" in said
    assert main([*words, "--json"]) == 0
    (each,) = json.loads(capsys.readouterr().out)["needed"]
    assert (each["runs"], each["there"]) == (12, 1)
    Path("t.csv").write_text("t,tps\na,100\na,103\n", encoding="utf-8")
    assert main(words) == 0
    assert "needed: nothing is compared" in capsys.readouterr().out


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
