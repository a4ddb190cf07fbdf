"""The per-transaction log: quantiles and whole seconds, and what stays when the log itself is dropped."""

import base64
import gzip
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay._core import LatencySketch
from pgassay.interfaces.probe import Sample
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.pgbench.output import Logged, Progress, latencies, log_files, put_away, read_log, series, share_within
from tests.load.samples import FOLDER

PLAIN = PgbenchOptions.from_levels({})
RATE = PgbenchOptions.from_levels({"rate": "500"})
STARTED_NS = 1_795_229_907_300_000_000


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """The log of two threads of a real run at a rate, about 500 transactions in 2 s."""
    for name in ("ratetx.21952", "ratetx.21952.1"):
        shutil.copyfile(FOLDER / name, tmp_path / name)
    return tmp_path / "ratetx"


def lines(prefix: Path) -> list[list[str]]:
    """Fields of every transaction that succeeded."""
    every = [line.split() for path in log_files(prefix) for line in path.read_text().splitlines()]
    return [line for line in every if line[2].isdigit()]


def logged(prefix: Path, options: PgbenchOptions = RATE) -> Logged:
    return read_log(prefix, options, STARTED_NS)


def test_all_threads_are_read(prefix: Path) -> None:
    found = logged(prefix)
    times = sorted(int(line[2]) for line in lines(prefix))
    assert found.count == len(times)
    assert found.latencies["latency_max_ms"] == times[-1] / 1000
    median = found.latencies["latency_p50_ms"]
    assert median == pytest.approx(times[(len(times) + 1) // 2 - 1] / 1000, rel=LatencySketch.RELATIVE_ERROR)
    assert found.problems == {}


@given(st.lists(st.integers(0, 12), max_size=300))
def test_latencies_that_no_answer_can_have_are_counted(times: list[int]) -> None:
    sketch = LatencySketch()
    for each in times:
        sketch.record(each)
    exact = sum(each <= 5 for each in times) / len(times) if times else None
    assert share_within(sketch, 5) == exact
    assert latencies(sketch)["impossible_latency_share"] == exact


def test_only_whole_seconds_enter_the_series(prefix: Path) -> None:
    found = series(logged(prefix), (), "pgbench", (10**9, STARTED_NS))
    ends = [int(line[4]) * 10**6 + int(line[5]) for line in lines(prefix)]
    whole = (max(ends) - STARTED_NS // 1000) // 10**6
    tps = [sample for sample in found if sample.name == "tps"]
    assert whole >= 1
    assert [sample.wall_ns - STARTED_NS for sample in tps] == [(second + 1) * 10**9 for second in range(whole)]
    assert [sample.monotonic_ns for sample in tps] == [(second + 2) * 10**9 for second in range(whole)]
    first = sum(end < STARTED_NS // 1000 + 10**6 for end in ends)
    assert tps[0].value == first
    assert {sample.unit for sample in found if sample.name.endswith("_ms")} == {"ms"}


def test_the_sketches_stay_when_the_log_goes(prefix: Path) -> None:
    found = logged(prefix)
    kept = prefix.parent / "latency.json"
    put_away(prefix, kept, found, keep=False)
    assert log_files(prefix) == []
    stored = json.loads(kept.read_text())
    assert stored["format"] == 1
    again = LatencySketch.from_bytes(base64.b64decode(stored["total"]))
    assert latencies(again) == found.latencies
    seconds = LatencySketch()
    for text in stored["intervals"]:
        seconds.merge(LatencySketch.from_bytes(base64.b64decode(text)))
    assert seconds == again, "the seconds add up to the whole"


def test_a_log_that_is_asked_for_is_kept_compressed(prefix: Path) -> None:
    texts = [path.read_bytes() for path in log_files(prefix)]
    names = [path.name for path in log_files(prefix)]
    put_away(prefix, prefix.parent / "latency.json", logged(prefix), keep=True)
    packed = [prefix.parent / f"{name}.gz" for name in names]
    assert [gzip.decompress(path.read_bytes()) for path in packed] == texts
    assert log_files(prefix) == []


def test_a_malformed_log_is_a_problem_and_stays(tmp_path: Path) -> None:
    (tmp_path / "log.1").write_text("this is no log\n")
    found = read_log(tmp_path / "log", PLAIN, STARTED_NS)
    assert set(found.problems) == {"unreadable_log"}
    put_away(tmp_path / "log", tmp_path / "latency.json", found, keep=False)
    assert [path.name for path in tmp_path.iterdir()] == ["log.1"]


def test_without_a_log_the_progress_report_serves(tmp_path: Path) -> None:
    found = read_log(tmp_path / "log", PLAIN, STARTED_NS)
    assert (found.count, found.log) == (0, None)
    told = (Progress(1.0, 100.0, None, None),)
    assert series(found, told, "pgbench", (5, 7)) == (
        Sample(10**9 + 5, 10**9 + 7, "pgbench", "tps", "1/s", 100.0),
        Sample(10**9 + 5, 10**9 + 7, "pgbench", "latency_ms", "ms", None),
        Sample(10**9 + 5, 10**9 + 7, "pgbench", "failed", "count", None),
    )
