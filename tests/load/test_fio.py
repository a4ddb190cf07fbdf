"""fio: its JSON and logs as they are, its command lines, options refused before anything runs, faults named."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.hosting import Placement
from pgassay.load import fio as load
from pgassay.load.fio import IO_SIZE, RESPONSES, FioOptions, parse_pattern, run_command
from pgassay.testing.fakes import FakeInstallation
from tests.fakes.runner import FakeRunner
from tests.load.loads import fake_tools, fio

SAMPLES = Path(__file__).parents[1] / "samples"
FILE = Path("/data/file")


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def test_rates_and_latencies_of_a_mixed_run() -> None:
    found = load.parse(sample("fio_randrw.json"))
    assert found.responses["read_iops"] == pytest.approx(29487.75, abs=0.01)
    assert found.responses["read_latency_ms"] == pytest.approx(0.16583, abs=1e-5)
    assert found.responses["read_latency_p99_ms"] == pytest.approx(0.292864)
    assert found.responses["read_latency_max_ms"] == pytest.approx(10.240586)
    reads, writes = found.responses["read_iops"], found.responses["write_iops"]
    assert reads is not None
    assert writes is not None
    assert found.responses["iops"] == pytest.approx(reads + writes)
    assert found.responses["flush_latency_ms"] is None
    assert set(found.responses) == {response.name for response in RESPONSES}
    assert found.written_bytes == json.loads(sample("fio_randrw.json"))["jobs"][0]["write"]["io_bytes"] > 0


def test_percentiles_of_all_lie_between_those_of_reads_and_writes() -> None:
    found = load.parse(sample("fio_randrw.json")).responses
    ends = sorted((found["read_latency_p99_ms"] or 0.0, found["write_latency_p99_ms"] or 0.0))
    assert ends[0] * 0.98 <= (found["io_latency_p99_ms"] or 0.0) <= ends[1] * 1.02


def test_stalls_are_counted_from_both_histograms() -> None:
    document = json.loads(sample("fio_randrw.json"))
    found = load.parse(json.dumps(document)).responses
    assert (found["stalls_100ms"], found["stalls_1s"]) == (0.0, 0.0)
    document["jobs"][0]["read"]["clat_ns"]["bins"] |= {"99000000": 8, "150000000": 4, "1200000000": 2}
    document["jobs"][0]["write"]["clat_ns"]["bins"] |= {"400000000": 1}
    found = load.parse(json.dumps(document)).responses
    assert (found["stalls_100ms"], found["stalls_1s"]) == (7.0, 2.0)
    for kind in ("read", "write"):
        del document["jobs"][0][kind]["clat_ns"]["bins"]
    assert load.parse(json.dumps(document)).responses["stalls_1s"] is None


def test_an_fdatasync_is_counted_by_its_histogram() -> None:
    """fio 3.33 says 0 I/Os for `sync`, with 1769 in the histogram."""
    found = load.parse(sample("fio_fdatasync.json")).responses
    document = json.loads(sample("fio_fdatasync.json"))
    runtime_s = document["jobs"][0]["write"]["runtime"] / 1e3
    assert found["flushes_per_s"] == pytest.approx(1769 / runtime_s)
    assert found["flush_latency_ms"] == pytest.approx(2.24773, abs=1e-4)
    assert found["flush_latency_p99_ms"] == pytest.approx(5.406720)


def test_warnings_before_the_document_do_no_harm() -> None:
    text = "fio: this platform does not support something\n" + sample("fio_randrw.json") + "\ntrailing"
    assert load.parse(text).operations == load.parse(sample("fio_randrw.json")).operations > 0


@pytest.mark.parametrize("text", ["", "fio: no JSON", "{", '{"jobs": []}', '{"jobs": [{"read": {}}]}', "{}"])
def test_what_is_no_result_is_refused(text: str) -> None:
    with pytest.raises(LoadError, match="unrecognised format"):
        load.parse(text)


def test_rereading_is_set_against_fresh_reads() -> None:
    document = json.loads(sample("fio_randrw.json"))
    again = json.loads(json.dumps(document["jobs"][0]))
    again["read"]["iops"] *= 3.0
    document["jobs"].append(again)
    assert load.parse(json.dumps(document)).responses["reread_speedup"] == pytest.approx(3.0)


def test_seconds_add_up_over_threads() -> None:
    rows = load.per_second(sample("fio_rw_iops.1.log"))
    assert rows[0] == (1, 31920.0, 16394.0)
    assert load.per_second("1000, 5, 0, 0, 0\n1001, 6, 0, 0, 0\nnonsense\n1, x, 0\n2000, 1, 2, 0, 0")[0] == (
        1,
        11.0,
        0.0,
    )


@pytest.mark.parametrize(
    ("levels", "wanted"),
    [
        ({"pattern": "random:100%"}, ["--rw=randread", "--direct=1", "--ioengine=psync"]),
        ({"pattern": "random:0%"}, ["--rw=randwrite"]),
        ({"pattern": "random:70%"}, ["--rw=randrw", "--rwmixread=70"]),
        ({"pattern": "wal"}, ["--rw=write", "--fdatasync=1", "--direct=0", "--bs=8192"]),
        ({"pattern": "write", "threads": "4"}, ["--numjobs=4", "--size=268435456", "--offset_increment=268435456"]),
        ({"pattern": "seqwr"}, ["--rw=write", "--create_on_open=1", "--fallocate=none", "--fsync=100"]),
        ({"pattern": "read", "depth": "8"}, ["--rw=read", "--ioengine=io_uring", "--iodepth=8"]),
        ({"pattern": "reread", "duration": "10s"}, ["--name=fresh", "--name=repeated", "--stonewall", "--runtime=5"]),
    ],
)
def test_command_lines(levels: Mapping[str, str], wanted: list[str]) -> None:
    arguments = run_command(FILE, FioOptions.from_levels(levels), 7, Path("/out/fio"))
    assert set(wanted) <= set(arguments)
    assert "--randseed=7" in arguments
    assert all("\n" not in each for each in arguments)


@given(st.integers(0, 100))
def test_a_pattern_stands_for_itself(share: int) -> None:
    canonical = parse_pattern("load.pattern", f"random:{share}")
    assert canonical == f"random:{share}%"
    assert parse_pattern("load.pattern", canonical) == canonical


@pytest.mark.parametrize(
    "levels",
    [
        {"pattern": "random:101%"}, {"pattern": "random:"}, {"pattern": "randread"}, {"io_size": "1000"},
        {"io_size": "1kB", "file_size": "1MB"}, {"io_size": "64MB"}, {"threads": "0"}, {"depth": "deep"},
        {"file_size": "16MB", "threads": "4", "io_size": "4MB"}, {"duration": "1.5s"},
    ],
)  # fmt: skip
def test_nonsense_is_refused(levels: Mapping[str, str]) -> None:
    with pytest.raises(UsageError):
        FioOptions.from_levels(levels)


def test_without_a_warm_up_the_layout_would_be_measured() -> None:
    with pytest.raises(UsageError, match="warmup"):
        fio({}, fake_tools()).check()
    fio({"warmup": "1s"}, fake_tools()).check()
    assert fio({"file_size": "1GB"}, fake_tools()).estimated_bytes() > 1 << 30


def test_fio_has_the_memory_of_the_server_whose_place_it_takes(tmp_path: Path) -> None:
    def directory(server: object, match: object, parameters: object) -> list[tuple[str]]:
        return [(str(tmp_path / "data"),)]

    installation = FakeInstallation(answers={"SHOW data_directory": directory})
    installation.initialize(tmp_path / "data", {})
    limited = Placement(cpus=(0,), groups=(tmp_path / "group",))
    server = installation.start(tmp_path / "data", {}, tmp_path, limited)
    runner = FakeRunner({"fio": lambda arguments, given: (0, "", "")})
    fio({"warmup": "1s", "duration": "1s"}, fake_tools(runner)).run(server, tmp_path / "out", 1)
    assert ["--name=layout" in call for call in runner.calls] == [True, False]
    assert runner.placements == [Placement(groups=(tmp_path / "group",))] * 2, "load.cores has its CPUs"


def test_a_file_that_the_run_makes_is_not_laid_out_before(tmp_path: Path) -> None:
    def directory(server: object, match: object, parameters: object) -> list[tuple[str]]:
        return [(str(tmp_path / "data"),)]

    installation = FakeInstallation(answers={"SHOW data_directory": directory})
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path)
    (tmp_path / "data" / load.FILE).touch()
    runner = FakeRunner({"fio": lambda arguments, given: (0, "", "")})
    made = fio({"pattern": "seqwr", "duration": "1s"}, fake_tools(runner))
    made.run(server, tmp_path / "out", 1)
    assert ["--name=layout" in call for call in runner.calls] == [False]
    assert (made.options.laid_out_bytes, made.options.trial_bytes) == (0, 1 << 30)


def test_io_sizes_are_whole_sectors() -> None:
    assert IO_SIZE.parse("load.io_size", "4kB") == 4096
    with pytest.raises(UsageError):
        IO_SIZE.parse("load.io_size", "700B")
