"""Outputs of pgbench, sysbench and HammerDB as people have them: every run is read, and none is taken for another's."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.importing.files import read_files
from pgassay.importing.imported_run import place
from pgassay.importing.reader import ForeignRun, Options, Reading

CASES = Path(__file__).parent


def read(*names: str) -> Reading:
    return read_files([CASES / name for name in names], Options(), compared=False)[0]


def one(name: str) -> ForeignRun:
    (run,) = read(name).runs
    return run


def treatments(*names: str) -> Mapping[str, int]:
    """How many runs each treatment has when no option names them."""
    reading, roles = read_files([CASES / name for name in names], Options(), compared=False)
    found = [each.place.treatment for each in place(reading.runs, roles, "tps")]
    return {name: found.count(name) for name in found}


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "output.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_pgbench_that_reconnects_for_each_transaction_is_a_run_of_its_own_kind() -> None:
    run = one("01-pgbench-reconnect/pooled-1.txt")
    assert (run.responses["tps"], run.fields["reconnects"]) == (1187.166, "yes")
    assert one("15-pooled-settings/b/out-3.txt").fields["reconnects"] == "no"


def test_pgbench_s_runs_that_a_loop_appended_are_as_many_runs() -> None:
    assert treatments("03-pgbench-several-runs/three-clients.log") == {
        "clients=10": 1,
        "clients=50": 1,
        "clients=100": 1,
    }
    reading = read("03-pgbench-several-runs/three-repeats.log")
    assert [run.responses["tps"] for run in reading.runs] == [831.1, 832.1, 833.1]
    assert [run.place.rpartition(" line ")[2] for run in reading.runs] == ["1", "16", "31"]
    assert [[second.value for second in run.series] for run in reading.runs] == [[850.1, 860.3]] * 3
    assert not reading.ordered, "appended or joined by hand: the file does not say"


def test_an_aborted_run_in_a_log_is_no_other_s_abort(tmp_path: Path) -> None:
    """Without banner and vacuum, progress that falls back or follows a result begins a run."""
    text = (CASES / "03-pgbench-several-runs" / "three-repeats.log").read_text(encoding="utf-8")
    bare = "".join(line for line in text.splitlines(True) if not line.startswith(("pgbench (", "starting vacuum")))
    path = written(tmp_path, "progress: 10.0 s, 5.0 tps, lat 58.100 ms stddev 59.000\n" + bare)
    reading, _ = read_files([path], Options(), compared=False)
    assert [run.responses["tps"] for run in reading.runs] == [831.1, 832.1, 833.1]
    assert [len(run.series) for run in reading.runs] == [2, 2, 2]
    died = "pgbench (14.5)\npgbench: error: client 0 aborted in command 4 of script 0; it wants no more\n"
    reading, _ = read_files([written(tmp_path, died + text)], Options(), compared=False)
    assert [(each.place, each.reason) for each in reading.left_out] == [
        (
            f"{path} line 1",
            "pgbench gave up without a summary: error: client 0 aborted in command 4 of script 0; it wants no more",
        )
    ]
    assert [run.problems for run in reading.runs] == [()] * 3


def test_errors_after_the_result_belong_to_a_lone_run(tmp_path: Path) -> None:
    text = (CASES / "03-pgbench-several-runs" / "three-repeats.log").read_text(encoding="utf-8")
    lines = text.splitlines(True)[:15]
    out = "".join(line for line in lines if not line.startswith(("progress", "starting")))
    err = "".join(line for line in lines if line.startswith(("progress", "starting")))
    reading, _ = read_files([written(tmp_path, out + err)], Options(), compared=False)
    assert [len(run.series) for run in reading.runs] == [2]


def test_sysbench_s_runs_that_a_loop_appended_are_as_many_runs() -> None:
    reading = read("04-sysbench-several-runs/loop.log")
    assert [(run.fields["threads"], run.responses["tps"]) for run in reading.runs] == [
        ("1", 210.0), ("8", 1200.0), ("64", 2000.0)
    ]  # fmt: skip
    reading = read("04-sysbench-several-runs/fatal-then-fine.log")
    assert [(run.fields["threads"], run.problems) for run in reading.runs] == [("8", ())]
    assert "gave up without a result: PQexecPrepared() failed" in reading.left_out[0].reason
    assert one("04-sysbench-several-runs/nobanner.log").responses["tps"] == 1200.0


def test_sysbench_1_1_says_the_time_elsewhere() -> None:
    run = one("05-sysbench-1.1/sysbench11.log")
    assert (run.seconds, run.responses["tps"], run.fields["version"][:5]) == (20.0021, 1200.0, "1.1.0")


def test_sysbench_s_older_formats_are_read() -> None:
    run = one("06-sysbench-0.x/sysbench0412.txt")
    assert (run.responses["tps"], run.seconds) == (166.6, 60.024)
    assert run.responses["qps"] == pytest.approx(3165.4 + 333.2)
    assert (run.responses["latency_ms"], run.responses["latency_p95_ms"]) == (47.98, 80.2)
    assert run.responses["ignored_errors_share"] == 12 / 10012
    assert run.fields["version"] == "0.4.12"
    run = one("06-sysbench-0.x/sysbench05.txt")
    assert (run.responses["tps"], run.responses["latency_ms"]) == (1604.5, 4.98)
    assert [second.value for second in run.series] == [1605.04, 1606.0]


@pytest.mark.parametrize("percentile", [90, 50, 75])
def test_sysbench_s_percentile_is_whichever_was_asked_for(tmp_path: Path, percentile: int) -> None:
    text = (CASES / "05-sysbench-1.1" / "sysbench11.log").read_text(encoding="utf-8")
    path = written(tmp_path, text.replace("95th percentile", f"{percentile}th percentile"))
    reading, _ = read_files([path], Options(), compared=False)
    assert reading.runs[0].responses[f"latency_p{percentile}_ms"] == 6.55
    assert f"latency_p{percentile}_ms" in [each.name for each in reading.responses]


def test_sysbench_s_rate_and_other_lines_of_its_head_tell_runs_apart(tmp_path: Path) -> None:
    text = (CASES / "04-sysbench-several-runs" / "nobanner.log").read_text(encoding="utf-8")
    at_a_rate = text.replace("Initializing random", "Target transaction rate: 1000/sec\nInitializing random")
    reading, _ = read_files([written(tmp_path, at_a_rate + text)], Options(), compared=False)
    assert [run.fields.get("rate") for run in reading.runs] == ["1000", None]


def test_sysbench_s_second_line_of_an_interval_begins_no_run(tmp_path: Path) -> None:
    """With a rate it tells the length of the queue, too."""
    text = (CASES / "05-sysbench-1.1" / "sysbench11.log").read_text(encoding="utf-8")
    queued = re.sub(r"^(\[ \d+s \]) .*$", r"\g<0>\n\1 queue length: 0, concurrency: 0", text, flags=re.MULTILINE)
    assert queued.count("queue length") == 2
    reading, _ = read_files([written(tmp_path, queued)], Options(), compared=False)
    assert [len(run.series) for run in reading.runs] == [2]
    assert not reading.left_out


def test_sysbench_s_checkpoint_reports_are_refused(tmp_path: Path) -> None:
    text = (CASES / "05-sysbench-1.1" / "sysbench11.log").read_text(encoding="utf-8")
    statistics = text[text.index("SQL statistics:") :]
    path = written(tmp_path, text.replace("[ 20s ]", f"[ 10s ] Checkpoint report:\n{statistics}[ 20s ]"))
    with pytest.raises(UsageError) as raised:
        read_files([path], Options(), compared=False)
    assert "holds reports of --report-checkpoints" in (raised.value.hint or "")


def test_hammerdb_s_text_log_is_a_run() -> None:
    run = one("07-hammerdb-text/hammerdb.log")
    assert (run.responses["nopm"], run.responses["tpm"], run.planned_s) == (42100.0, 97200.0, 300.0)
    assert (run.fields["virtual_users"], run.fields["database"]) == ("16", "PostgreSQL")


def test_hammerdb_s_log_may_hold_several_runs(tmp_path: Path) -> None:
    text = (CASES / "07-hammerdb-text" / "hammerdb.log").read_text(encoding="utf-8")
    stopped = text.partition("Timestamp 1 @ Tue Mar 03 10:07")[0]
    more = text.replace("16 Active", "32 Active").replace("42100", "50000")
    reading, _ = read_files([written(tmp_path, text + stopped + more)], Options(), compared=False)
    assert [(run.fields["virtual_users"], run.responses["nopm"]) for run in reading.runs] == [
        ("16", 42100.0), ("32", 50000.0)
    ]  # fmt: skip
    assert [each.reason for each in reading.left_out] == ["has no result: it was stopped, or still runs"]


def test_hammerdb_s_settings_tell_runs_apart(tmp_path: Path) -> None:
    """hammerdbcli prints them once before several runs, and the ramp-up and the length in each run."""
    log = (CASES / "07-hammerdb-text" / "hammerdb.log").read_text(encoding="utf-8")
    before = (
        "Changed tpcc:pg_count_ware from 1 to 80 for PostgreSQL\n"
        "Value 5432 for connection:pg_port is the same as existing value 5432, no change made\n"
        "Changed tpcc:pg_pass from tpcc to hidden for PostgreSQL\n"
        "Dictionary Settings for PostgreSQL\ntpcc       {\n pg_storedprocs         = false\n}\n"
    )
    between = "Changed tpcc:pg_count_ware from 80 to 160 for PostgreSQL\n"
    text = before + log + log + between + log.replace("period of 5 in", "period of 30 in")
    reading, roles = read_files([written(tmp_path, text)], Options(), compared=False)
    assert [
        [run.fields[name] for name in ("warehouses", "port", "storedprocs", "rampup", "duration")]
        for run in reading.runs
    ] == [["80", "5432", "false", "2", "5"]] * 2 + [["160", "5432", "false", "2", "30"]]
    assert [use.name for use in roles.treatment] == ["warehouses", "duration"]
    assert "hidden" not in str(reading)


def test_hammerdb_s_text_of_a_schema_s_build_is_named(tmp_path: Path) -> None:
    text = "HammerDB CLI v9.0\nVuser 1 created - WAIT IDLE\nVuser 1:RUNNING\nVuser 1:CREATING TPCC SCHEMA\n"
    with pytest.raises(UsageError) as raised:
        read_files([written(tmp_path, text)], Options(), compared=False)
    assert "is not a timed test (a schema's build" in (raised.value.hint or "")


def test_sysbench_s_lines_of_its_threads_are_no_settings_of_their_own(tmp_path: Path) -> None:
    """A script prints in each thread that starts; threads that start together print into each other's line."""
    text = (CASES / "04-sysbench-several-runs" / "nobanner.log").read_text(encoding="utf-8")
    said = ["Schema mine\nSchema mine\nSchema mine\n", "Schema mineSchema mine\n\nSchema mine\n", "Schema other\n"]
    text = "".join(text.replace("Threads started!", f"{each}\nThreads started!") for each in said)
    reading, roles = read_files([written(tmp_path, text)], Options(), compared=False)
    same, again, other = (run.fields["options"] for run in reading.runs)
    assert same == again != other
    assert [use.name for use in roles.treatment] == ["options"]


def test_pgbench_s_scripts_and_their_weights_tell_runs_apart(tmp_path: Path) -> None:
    text = (CASES.parent / "samples" / "pgbench18_retries.txt").read_text(encoding="utf-8")
    assert text.count(" - weight: 1 ") == 2
    reading, roles = read_files(
        [written(tmp_path, text + text.replace("weight: 1 ", "weight: 9 ", 1))], Options(), compared=False
    )
    assert [use.name for use in roles.treatment] == ["script"]
    assert [run.fields["script"].count("@9") for run in reading.runs] == [0, 1]


def test_what_a_tool_prints_of_its_run_tells_runs_apart(tmp_path: Path) -> None:
    assert treatments("15-pooled-settings/a") == {"partitions=unknown": 2, "partitions=8": 2}
    assert treatments("15-pooled-settings/b") == {"server_version=14.9": 2, "server_version=16.2": 2}
    text = (CASES / "15-pooled-settings" / "b" / "out-3.txt").read_text(encoding="utf-8")
    unheard = text.replace("query mode:", "wire compression: zstd\nquery mode:")
    _, roles = read_files([written(tmp_path, text + unheard)], Options(), compared=False)
    assert [use.name for use in roles.treatment] == ["wire_compression"]


def test_pgbench_9_has_its_latencies() -> None:
    run = one("23-pgbench-9/old95.txt")
    assert (run.responses["latency_ms"], run.responses["latency_stddev_ms"], run.responses["tps"]) == (
        11.74, 7.08, 852.296346
    )  # fmt: skip


@pytest.mark.parametrize("before", ["    ", "> ", "pgbench-1  | ", "2026-01-02 10:00:00 ", "\x1b[36mdb_1 |\x1b[0m "])
def test_pasted_text_is_read_without_what_stands_before_it(tmp_path: Path, before: str) -> None:
    lines = (CASES / "03-pgbench-several-runs" / "three-clients.log").read_text(encoding="utf-8").splitlines()
    text = "".join(f"{before.replace('00:00', f'{n:02d}:{n:02d}')}{line}  \r\n" for n, line in enumerate(lines))
    reading, _ = read_files([written(tmp_path, text)], Options(), compared=False)
    assert [run.fields["clients"] for run in reading.runs] == ["10", "50", "100"]
    assert [run.responses["tps"] for run in reading.runs] == [831.1, 835.1, 840.1]


def test_windows_powershell_s_utf_16_is_read(tmp_path: Path) -> None:
    text = (CASES / "03-pgbench-several-runs" / "three-clients.log").read_text(encoding="utf-8")
    path = tmp_path / "output.txt"
    path.write_bytes(text.replace("\n", "\r\n").encode("utf-16"))
    assert len(read_files([path], Options(), compared=False)[0].runs) == 3


def test_results_that_share_one_head_are_refused(tmp_path: Path) -> None:
    """Cut by hand: whether the head is that of the later results nobody knows."""
    text = (CASES / "03-pgbench-several-runs" / "three-repeats.log").read_text(encoding="utf-8")
    first, *later = text.split("pgbench (14.5")[1:]
    cut = "".join(f"=== RUN {n} ===\nduration: {each.partition('duration: ')[2]}" for n, each in enumerate(later))
    with pytest.raises(UsageError) as raised:
        read_files([written(tmp_path, f"pgbench (14.5{first}{cut}")], Options(), compared=False)
    assert "holds 3 results and the settings of 1: give each run a file" in (raised.value.hint or "")


def test_bullets_of_a_list_are_no_part_of_a_line(tmp_path: Path) -> None:
    text = (CASES / "03-pgbench-several-runs" / "three-clients.log").read_text(encoding="utf-8")
    text = text.replace("number of clients", "- number of clients").replace("duration", "* duration")
    reading, _ = read_files([written(tmp_path, text)], Options(), compared=False)
    assert [run.fields["clients"] for run in reading.runs] == ["10", "50", "100"]


def test_a_type_that_a_page_swallowed_is_unknown(tmp_path: Path) -> None:
    text = (CASES / "03-pgbench-several-runs" / "three-clients.log").read_text(encoding="utf-8")
    lost = text.replace("<builtin: TPC-B (sort of)>", "")
    reading, _ = read_files([written(tmp_path, lost)], Options(), compared=False)
    assert [(run.fields["script"], run.fields["clients"]) for run in reading.runs] == [
        ("unknown", "10"), ("unknown", "50"), ("unknown", "100")
    ]  # fmt: skip
