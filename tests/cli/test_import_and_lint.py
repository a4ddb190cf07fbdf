"""Importing and judging files from the command line: every kind, every slip, and the run directory that comes of it."""

import json
import shutil
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.record.check import check
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from tests.importing.made import SAMPLES, hammerdb, pgbench

VONDRA = """\
1649444799;1649446599;1;4;16;7500;rw;63052.550308;1800.060782;181215480232
1649446660;1649448446;1;4;16;7500;rw;64182.290781;1786.064398;159003275232
1649448506;1649448506;1;4;16;7500;rw;7413.595072;0.065404;766064
1649284173;1649285973;8;8;16;7500;rw;38084.032755;1800.023780;486767413592
1649286034;1649287834;8;8;16;7500;rw;41846.934833;1800.067963;459158887544
1649287894;1649289696;8;8;16;7500;rw;41237.429941;1801.789238;465354383064
1649281288;1649282188;8;8;16;7500;ro;262486.132952;900.018567;2792
"""
"""github.com/tvondra/pg-block-bench-pgbench, xeon/20220406-fpw/results.csv (2022): seven lines, as they stand."""
VONDRA_OPTIONS = (
    "--header", "began;ended;page_kB;wal_block_kB;wal_segment_MB;scale;mode;tps;seconds;wal_bytes",
    "--columns", "treatment=page_kB:build.block_size,value=tps,duration=seconds,started=began",
    "--where", "mode=rw",
)  # fmt: skip

GOLDEN = """\
table: 6 runs of 2 treatments, tps

error: runs that ended early are counted as results [short]
  evidence: 1 of 6 runs; build.block_size=1 (results.csv line 3) ran 0.0654 s of 1800.1 s
  remedy:   leave them out and find out why they ended: no space, a crash, a timeout

warning: treatments were run in a fixed order, so drift in time looks like an effect [fixed-order]
  evidence: all runs of a treatment follow each other: build.block_size=8 first, build.block_size=1 last
  remedy:   randomise the order of treatments within each repetition

warning: there are too few runs to tell an effect from noise [too-few]
  evidence: 2 of 2 treatments, as few as 2 runs; at their spread of 4.2 % a difference below 20 % is noise
  remedy:   at least 5 runs of each, better as many as an interval narrow enough needs

warning: identical runs differ by more than the effects that matter [noisy]
  evidence: 1 of 1 treatments; the worst: build.block_size=8, 3 runs from 38084 to 41846.9, spread 5.1 %: they cannot \
show effects below 12 %, and 5 % is asked for
  remedy:   find what moves (neighbours, checkpoints, start state), or repeat until the interval is narrow enough

4 reasons: 1 error, 3 warnings
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(name: str, text: str) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return name


def imported(*words: str) -> Run:
    """Import into `run`, and hold the record to its own check."""
    assert main(["import", *words, "--out", "run"]) == 0
    assert check(Path("run")) == []
    return Run.open(Path("run"))


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, str]:
    """Code to evidence."""
    capsys.readouterr()
    assert main(["lint", *words, "--json"]) == 0
    return {each["code"]: each["evidence"] for each in json.loads(capsys.readouterr().out)["findings"]}


def test_the_published_page_size_results_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    put("results.csv", VONDRA)
    assert main(["lint", "results.csv", *VONDRA_OPTIONS]) == 0
    assert capsys.readouterr().out == GOLDEN


def test_an_imported_table_is_a_run_like_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    run = imported(put("results.csv", VONDRA), *VONDRA_OPTIONS, "--baseline", "1")
    assert [trial.status for trial in run.trials] == ["valid"] * 5 + ["outcome"]
    assert [trial.block for trial in run.trials] == [1, 2, 3, 1, 2, 3]
    assert run.trials[5].reasons[0].detail == "ran 0.0654 s where similar runs took 1800.1 s"
    assert run.trials[0].started_wall_ns == 1649284173 * 10**9
    assert run.host["imported"]["label"] == "imported, not measured by pgassay"
    findings = Findings(run)
    assert findings.baseline == "build.block_size=1"
    assert "imported, not measured by pgassay" in findings.imported
    verbose = ["show", "run", "--verbose"]
    for command in (["show", "run"], verbose, ["check", "run"], ["export", "run"], ["report", "run", "--no-figures"]):
        assert main(command) == 0
    told = capsys.readouterr().out
    assert "these imported runs, which pgassay did not measure" in told
    assert "ended: imported, not measured by pgassay: 6 runs from results.csv" in told
    page = Path("run/report/report.html").read_text(encoding="utf-8")
    assert "imported, not measured by pgassay" in page
    assert "every treatment ran once in random order" not in page
    assert "pgassay run study.toml" not in page


def test_lint_says_the_same_of_the_file_and_of_its_import(capsys: pytest.CaptureFixture[str]) -> None:
    imported(put("results.csv", VONDRA), *VONDRA_OPTIONS)
    assert lint(capsys, "run", "--resolution", "5%") == lint(capsys, "results.csv", *VONDRA_OPTIONS)


def test_pgbench_outputs_by_their_paths(capsys: pytest.CaptureFixture[str]) -> None:
    for size, tps in (("4kB", 1000.0), ("8kB", 1200.0)):
        for repetition in range(1, 11):
            put(f"pg/{size}/run-{repetition}/pgbench.log", pgbench(tps + repetition % 3))
    abort = "pgbench: error: client 18 script 0 aborted in command 5 query 0: ERROR:  could not extend file\n"
    put("pg/4kB/run-2/pgbench.log", pgbench(7413.6, seconds=0.02, abort=abort))
    put("pg/generate.sh", "#!/bin/sh\n")
    pattern = ("--pattern", "pg/{size}/run-{run}/pgbench.log", "--treatment", "drive=nvme")
    run = imported("pg", *pattern)
    assert "left out: pg/generate.sh: has an unrecognised format" in capsys.readouterr().out
    assert {trial.treatment for trial in run.trials} == {"size=4kB, drive=nvme", "size=8kB, drive=nvme"}
    (bad,) = [trial for trial in run.trials if trial.status == "outcome"]
    assert (bad.block, [reason.code for reason in bad.reasons]) == (2, ["aborted", "short"])
    assert Findings(run).verdicts[0].effect.blocks == 9
    found = lint(capsys, "pg", *pattern)
    assert found["aborted"].startswith("1 of 20 runs, the first of size=4kB, drive=nvme (pg/4kB/run-2/pgbench.log)")
    assert "fixed-order" not in found, "paths tell no order in time"


def test_real_outputs_and_logs(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pgbench15_aborts", "pgbench18_exitabort"):
        shutil.copy(SAMPLES / f"{name}.txt", f"{name}.txt")
    for name in ("rettx.22514", "rettx.22514.1", "samp.22363", "agg.21944"):
        Path("logs").mkdir(exist_ok=True)
        shutil.copy(SAMPLES / name, f"logs/{name}")
    assert main(["lint", ".", "--log-has", "retries", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["runs"] == 2
    left_out = {each["place"]: each["reason"] for each in told["left_out"]}
    assert left_out["logs/samp.22363"] == "samp.22363 holds a sample of the transactions (--sampling-rate)"
    assert "--aggregate-interval" in left_out["logs/agg.21944"]
    assert left_out["pgbench18_exitabort.txt"].startswith("pgbench gave up without a summary: ")
    assert "aborted" in {each["code"] for each in told["findings"]}
    assert main(["lint", "logs"]) == 2, (
        "without the option a lag cannot be distinguished from retries, so nothing is left"
    )
    assert "7 columns: say --log-has lag" in capsys.readouterr().err


def test_logs_with_and_without_retries_beside_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    """--log-has tells what a seventh column is; a log of six has none, and is read as it stands."""
    lines = [f"0 {number} 500 0 {1700000000 + number // 100} {number % 100 * 10000}" for number in range(1, 601)]
    put("six/log.1", "".join(f"{line}\n" for line in lines))
    put("seven/log.2", "".join(f"{line} 0\n" for line in lines))
    run = imported("six", "seven", "--log-has", "retries")
    assert {trial.treatment for trial in run.trials} == {"folder=six", "folder=seven"}
    assert len({trial.responses["tps"] for trial in run.trials}) == 1
    assert main(["import", "six", "seven", "--out", "other"]) == 2
    told = capsys.readouterr().err
    assert "all runs are of one treatment" in told
    assert "left out: seven/log.2: log.2 has 7 columns: say --log-has lag" in told


def test_a_log_alone_with_its_output_adds_quantiles_and_must_agree(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"0 {number} 500 0 {1700000000 + number // 100} {number % 100 * 10000}" for number in range(1, 601)]
    for treatment in "ab":
        put(f"{treatment}/out", pgbench(100.0, duration_s=6))
        put(f"{treatment}/pgbench_log.1", "".join(f"{line}\n" for line in lines[: 600 if treatment == "a" else 500]))
    run = imported("a", "b")
    whole, cut = run.trials
    assert (whole.treatment, whole.responses["latency_p99_ms"], whole.responses["tps"]) == ("folder=a", 0.5, 100.0)
    assert whole.started_wall_ns // 10**9 == 1700000000
    assert run.series().collect().filter(trial=1)["value"].to_list() == [100.0] * 5
    assert [reason.detail for reason in cut.reasons] == ["the log holds 500 of 600 transactions"]


def test_sysbench_hammerdb_and_pgbench(capsys: pytest.CaptureFixture[str]) -> None:
    hammerdb(Path("hammer.DB"), (134092, 129852, 206136, 198488, 123287, 195082))
    assert "6 runs from 123287 to 206136" in lint(capsys, "hammer.DB")["noisy"]
    put("a.txt", "".join(map(pgbench, (14790.0, 13300.0, 8571.0))))
    put("b.txt", "".join(pgbench(each, clients=8) for each in (10000.0, 10100.0, 10050.0)))
    assert "clients=4, 3 runs from 8571 to 14790" in lint(capsys, "a.txt", "b.txt")["noisy"]
    run = imported("a.txt", "b.txt")
    assert [(trial.treatment, trial.block) for trial in run.trials[:4]] == [
        ("clients=4", 1), ("clients=4", 2), ("clients=4", 3), ("clients=8", 1),
    ]  # fmt: skip
    shutil.copy(SAMPLES / "sysbench_oltp_update_index.txt", "sb.txt")
    assert set(lint(capsys, "sb.txt")) == {"too-few", "window-below-checkpoint"}


def test_seconds_are_judged_as_seconds_and_imported_as_runs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{t},{run},{second},{100 + run}" for t in "ab" for run in (1, 2) for second in range(3)]
    options = ("--columns", "treatment=t,value=tps,block=run,second=s")
    name = put("seconds.csv", "\n".join(["t,run,s,tps", *rows]) + "\n")
    assert "pseudo-replicates" in lint(capsys, name, *options)
    assert [trial.responses["tps"] for trial in imported(name, *options).trials] == [101.0, 102.0, 101.0, 102.0]


def test_a_sound_table_and_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    order = [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b"), ("a", "c", "b"), ("b", "a", "c"), ("c", "b", "a")]
    rows = [f"{t};{block};{ {'a': 1000, 'b': 1300, 'c': 700}[t] + block % 4 * 3 + ord(t) % 3}"
            for block, arms in enumerate(order, start=1) for t in arms]  # fmt: skip
    name = put("sound.csv", "\n".join(["t;run;tps", *rows]) + "\n")
    options = ("--columns", "treatment=t,value=tps,block=run")
    assert main(["lint", name, *options]) == 0
    assert "no objection found; that does not prove it right" in capsys.readouterr().out
    kinds = [judged.verdict.kind for judged in Findings(imported(name, *options)).verdicts]
    assert kinds == ["better", "worse"]


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["t.csv"], "which column holds the results", "--columns treatment="),
        (["t.csv", "--columns", "value=tps"], "distinguishes the treatments", "there are: size"),
        (["t.csv", "--columns", "value=speed,treatment=size"], "no run to import", "without the column speed"),
        (["t.csv", "--columns", "value=tps,treatment=size", "--where", "size=9"], "no run to import", "by --where"),
        (["t.csv", "--columns", "value=tps,treatment=size", "--where", "size=1"], "of one treatment", "pgassay lint"),
        (
            ["t.csv", "--columns", "value=tps,treatment=size", "--baseline", "9"],
            "is not one treatment",
            "size=1; size=2",
        ),
        (["t.csv", "--columns", "value=tps,treatment=size", "--primary", "nopm"], 'no response "nopm"', "it has: tps"),
        (["t.csv", "--columns", "value=tps,treatment=size", "--resolution", "big"], "resolution", ""),
        (["t.csv", "--columns", "speed=tps"], "wants ROLE=COLUMN", "treatment, condition"),
        (["t.csv", "--where", "mode"], "wants NAME=VALUE", ""),
        (["nowhere.csv"], "no such file", ""),
        (["empty"], "no run to import", "is empty"),
        (["binary"], "no run to import", "has an unrecognised format"),
    ],
)
def test_slips(words: list[str], error: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    put("t.csv", "size,tps\n1,100\n2,120\n")
    put("empty", "")
    Path("binary").write_bytes(b"\0\1\2" * 99)
    assert main(["import", *words, "--out", "run"]) == 2
    told = capsys.readouterr().err
    assert error in told
    assert hint in told
    assert not Path("run").exists()


def test_repetitions_of_thousands_of_digits_are_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for file in files:
        rows = "".join(f"{config},{number},5\n" for config in "xy" for number in ("9" * 5000, "1", "2"))
        file.write_text(f"config,run,tps\n{rows}")
    words = (*map(str, files), "--columns", "treatment=config,value=tps,block=run")
    assert main(["lint", *words]) in (0, 1)
    assert capsys.readouterr().err == ""


def test_lint_of_our_own_run_takes_only_what_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from pgassay.testing.planted import make_run

    make_run(tmp_path / "own")
    assert main(["lint", "own"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("run: 24 runs of 3 treatments, tps\n")
    assert "[fixed-order]" in told, "the made run goes through its levels in one order"
    assert "aborted" not in told
