"""The load of a replay: what it plays and when, what it counts, and which logs it refuses before a run."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pgassay.errors import PgassayError, UsageError
from pgassay.interfaces.load import LoadResult
from pgassay.interfaces.server import Server
from pgassay.interfaces.slices import CallFailure, LatencyHistogram, ReplayedSecond, Slice
from pgassay.load import replay as results
from pgassay.load.player import LeftOut, LogFacts
from pgassay.load.replay import ReplayLoad, ReplayOptions
from pgassay.testing import real
from tests.load import replayed
from tests.load.loads import fake_tools, real_tools
from tests.load.replayed import Said, statement


@pytest.fixture
def server() -> Iterator[Server]:
    with real.server() as (started, _):
        for each in replayed.SCHEMA.strip().split(";\n"):
            started.execute(each.rstrip(";"))
        yield started


def load_of(folder: Path, said: Sequence[Said], **levels: str) -> ReplayLoad:
    log = replayed.write(folder / "server.log", said)
    texts = {"log": str(log), "log_prefix": replayed.PREFIX, "duration": "1s", **levels}
    return ReplayLoad(ReplayOptions.from_levels(texts), real_tools())


def responses(result: LoadResult, *names: str) -> list[float]:
    found = [result.responses[name] for name in names]
    assert None not in found
    return [value for value in found if value is not None]


@pytest.mark.system
def test_warm_up_and_window_play_each_call_of_the_log_once(server: Server, tmp_path: Path) -> None:
    turns = 40
    said = [Said(0.0, replayed.name_of(each), "LOG:  connection authorized: user=a") for each in (0, 1)]
    load = load_of(tmp_path, [*said, *replayed.sums(2, 4.0, turns)], warmup="1s", duration="3s")
    load.check()
    warm_up = ReplayLoad(load.options.warm_up(), load.tools).run(server, tmp_path / "warmup", 1)
    window = load.run(server, tmp_path / "window", 1)
    assert (dict(warm_up.problems), dict(window.problems)) == ({}, {})
    assert responses(window, "failed_share") == [0.0], "a row that the warm-up inserted is not inserted again"
    assert warm_up.transactions > 0
    assert warm_up.transactions + window.transactions == 2 * turns * 4, "the last query is the log's end, and beyond"
    ((paid, orders),) = server.query("SELECT (SELECT sum(amount) FROM sums), (SELECT count(*) FROM orders)")
    assert (paid, orders) == (2 * turns, 2 * turns)
    kept = json.loads((tmp_path / "window" / results.FILE).read_text())
    assert sum(each["calls"] for each in kept["statements"]) == window.transactions
    assert {each["text"].split()[0] for each in kept["statements"]} >= {"BEGIN", "UPDATE", "INSERT", "COMMIT"}


@pytest.mark.system
def test_a_server_that_is_too_slow_is_late_and_is_charged_for_it(server: Server, tmp_path: Path) -> None:
    said = [statement(each / 100, replayed.name_of(0), "SELECT pg_sleep(0.03)") for each in range(100)]
    result = load_of(tmp_path, [*said, statement(1.1, replayed.name_of(0), "SELECT 1")]).run(
        server, tmp_path / "out", 1
    )
    assert (result.status, dict(result.problems), result.transactions) == (0, {}, 100)
    tps, latency_ms, late_ms, most_ms = responses(result, "tps", "latency_ms", "lateness_ms", "lateness_max_ms")
    assert tps < 35, "a session sends one call after the other, each of 30 ms"
    assert most_ms > 1900, "the last is due after 1 s, and sent after nearly 3 s"
    assert latency_ms > late_ms + 29, "latency counts from when a call was due"
    late = [sample.value for sample in result.series if sample.name == "lateness_ms" and sample.value is not None]
    assert late == sorted(late), "it grows"


@pytest.mark.system
def test_sessions_beyond_the_limit_are_left_out_and_counted(server: Server, tmp_path: Path) -> None:
    load = load_of(tmp_path, replayed.sums(3, 2.0, 10), sessions="2")
    result = load.run(server, tmp_path / "out", 1)
    left = json.loads((tmp_path / "out" / results.FILE).read_text())["left_out"]
    assert (result.transactions, left["calls_beyond"]) == (2 * 10 * 4, 10 * 4)
    assert load.options.connections == 2


@pytest.mark.system
def test_a_session_is_connected_when_it_begins_with_what_it_had_set(server: Server, tmp_path: Path) -> None:
    first, second = replayed.name_of(0), replayed.name_of(1)
    said = [
        statement(0.0, first, "SET search_path = there"),
        statement(0.1, first, "SELECT n FROM things"),
        statement(2.0, first, "SELECT n FROM things"),
        statement(3.5, second, "SELECT amount FROM sums WHERE customer = 1"),
        statement(4.5, second, "SELECT 1"),
    ]
    server.execute("CREATE SCHEMA there")
    server.execute("CREATE TABLE there.things AS SELECT 1 AS n")
    result = load_of(tmp_path, said, warmup="1s", duration="3s").run(server, tmp_path / "out", 1)
    assert (dict(result.problems), result.transactions) == ({}, 2), "the window sets again what the warm-up had set"


@pytest.mark.system
def test_what_fails_here_alone_is_counted_and_named(server: Server, tmp_path: Path) -> None:
    name = replayed.name_of(0)
    said = [statement(each / 100, name, f"SELECT amount FROM sums WHERE customer = {each}") for each in range(38)]
    said += [statement(0.5, name, "SELECT absent FROM sums"), Said(0.6, name, "LOG:  statement: SELECT 1 / 0")]
    said += [Said(0.6, name, "ERROR:  division by zero"), Said(0.6, name, "STATEMENT:  SELECT 1 / 0")]
    said += [statement(0.7, name, "SELECT missing FROM sums"), statement(1.1, name, "SELECT 1")]
    strict = load_of(tmp_path, said).run(server, tmp_path / "strict", 1)
    assert list(strict.problems) == ["failed_transactions"]
    assert "2 of 40 calls failed (5.0%)" in strict.problems["failed_transactions"]
    assert '1 with 42703 (column "absent" does not exist) in SELECT absent' in strict.problems["failed_transactions"]
    lenient = load_of(tmp_path, said, failures="5%").run(server, tmp_path / "lenient", 1)
    assert dict(lenient.problems) == {}
    assert responses(lenient, "failed_share") == [pytest.approx(0.05)]
    assert json.loads((tmp_path / "lenient" / results.FILE).read_text())["failed_alike"] == 1


@pytest.mark.system
def test_the_first_failure_of_a_transaction_is_its_cause(server: Server, tmp_path: Path) -> None:
    server.execute("INSERT INTO orders VALUES (7)")
    texts = ["SELECT 1", "BEGIN", "INSERT INTO orders VALUES (7)", *["SELECT amount FROM sums"] * 3, "COMMIT"]
    said = [statement(place / 100, replayed.name_of(0), text) for place, text in enumerate(texts)]
    load = load_of(tmp_path, [*said, statement(1.1, replayed.name_of(0), "SELECT 1")], failures="60%")
    result = load.run(server, tmp_path / "out", 1)
    assert dict(result.problems) == {}
    shown = results.described((tmp_path / "out" / results.FILE).read_bytes(), result)
    assert "7 calls of 1 sessions" in shown
    assert "1 failed that did not in the log, and 3 more in transactions that these aborted\n" in shown
    assert "\n  1 with 23505 (duplicate key value" in shown
    assert "25P02" not in shown


def test_a_replay_needs_a_log(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a log"):
        ReplayLoad(ReplayOptions(), fake_tools()).check()
    absent = ReplayOptions.from_levels({"log": f"{tmp_path}/a.log,{tmp_path}/b.log"})
    with pytest.raises(UsageError, match=r"a\.log\" does not exist"):
        ReplayLoad(absent, fake_tools()).check()


@pytest.mark.system
def test_logs_that_cannot_be_played_are_refused_before_a_run(tmp_path: Path) -> None:
    name, calls = replayed.name_of(0), [statement(each / 10, replayed.name_of(0), "SELECT 1") for each in range(30)]
    unbound = [Said(each.at_s, name, "LOG:  duration: 1.000 ms  execute s: SELECT $1") for each in calls]
    damaged = [Said(each.at_s, name, "") for each in calls] * 2
    quiet = [statement(0.0, name, "SELECT 1"), statement(9.0, name, "SELECT 1")]
    half = [*calls, statement(3.1, name, "COMMIT"), statement(3.2, name, "SELECT 1"), statement(5.0, name, "SELECT 1")]
    for said, levels, words in (
        (calls, {"duration": "10s"}, r"the log is 2\.9 s long at this speed, and .* ask for 10 s"),
        (calls, {"duration": "2s", "speed": "2x"}, r"the log is 1\.4 s long"),
        (calls, {"duration": "2s", "warmup": "2s"}, "ask for 4 s"),
        ([*unbound, *calls[:3]], {}, "only 3 of the log's 33 calls can be played: 30 without their parameters"),
        ([Said(0.0, name, "LOG:  duration: 1.000 ms")], {}, "the log holds no statement"),
        ([*damaged, *calls[:20]], {"log_prefix": "%m [%c] %d "}, "do not begin with log_line_prefix"),
        (quiet, {"warmup": "1s", "duration": "5s"}, "no call between 1 s and 6 s"),
        (half, {}, "of transactions that begin before the log"),
        (calls, {"log_prefix": "%z"}, "no escape %z"),
        (calls, {"log_prefix": "%m [%c] %u@%d"}, 'lines do not begin with log_line_prefix .*%u@%d": 2026-'),
        (
            [*calls, statement(2.95, name, "DELETE FROM a"), statement(2.96, name, "SELECT b,"), *calls[-1:]],
            {},
            "lacks further lines of its statements, as a copy by grep does: 1 end in the middle",
        ),
    ):
        with pytest.raises(UsageError, match=words):
            load_of(tmp_path, said, **levels).check()
    load_of(tmp_path, calls, duration="2s").check()


@pytest.mark.system
def test_a_damaged_end_of_a_log_is_passed_over(server: Server, tmp_path: Path) -> None:
    load = load_of(tmp_path, [statement(each / 10, replayed.name_of(0), "SELECT 1") for each in range(30)])
    log = load.options.logs[0]
    log.write_text(f"what is this\n{log.read_text()}2026-11-23 01:2", encoding="utf-8")
    load.check()
    result = load.run(server, tmp_path / "out", 1)
    left = json.loads((tmp_path / "out" / results.FILE).read_text())["left_out"]
    assert (result.transactions, left["torn"], left["unread"]) == (10, 1, 1)


def test_without_data_nothing_is_played(tmp_path: Path) -> None:
    load = ReplayLoad(ReplayOptions(), fake_tools())
    for step in (load.create, load.fill):
        with pytest.raises(PgassayError, match="no data to play its log on"):
            step(None)  # type: ignore[arg-type]  # it is refused before the server is looked at


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("speed", "0", "multiple"),
        ("speed", "fast", "multiple"),
        ("failures", "5", "share"),
        ("failures", "101%", "share"),
    ],
)
def test_levels_that_mean_nothing_are_refused(name: str, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ReplayOptions.from_levels({name: text})


def test_options_come_back_from_their_levels() -> None:
    levels = {"log": "/a,b.log\n/c.log", "log_prefix": "%m [%p] \n%t:%c ", "speed": "1.5", "failures": "2.5%"}
    options = ReplayOptions.from_levels(levels)
    assert options.line_prefixes == ("%m [%p] ", "%m [%p]", "%t:%c ", "%t:%c"), "a level has no space at its end"
    assert [str(path) for path in options.logs] == ["/a,b.log", "/c.log"]
    assert ReplayOptions.from_levels(options.to_levels()) == options


FACTS = LogFacts(1, 10, 10, LeftOut(), 2000.0, ("SELECT $1", "UPDATE t"))
LATENCIES = LatencyHistogram(8, 8_000_000, 1_000_000, 1_000_000, ((1_000_000, 8),))
PLAYED = Slice(
    10**9, 3 * 10**9, 3 * 10**9, LATENCIES, lateness=LATENCIES,
    seconds=(ReplayedSecond(8, 8_000_000, 8, 4_000_000), ReplayedSecond(0, 0, 0, 0)),
)  # fmt: skip


def test_calls_that_were_never_answered_are_the_servers_failure() -> None:
    behind = Slice(0, 1, 1, LATENCIES, unsent=2, lateness=LatencyHistogram(8, 9, 1, 4 * 10**9))
    assert results.problems_of(FACTS, behind, 0.01) == {
        "fell_behind": "2 of 10 calls were not answered in time: the server cannot keep up with the log at this speed "
        "(calls were sent up to 4.0 s late)"
    }
    broken = Slice(0, 1, 1, LATENCIES, unsent=2, aborted=("session 3: unexpected end of file", "session 4: broken"))
    assert results.problems_of(FACTS, broken, 0.01) == {
        "aborted": "session 3: unexpected end of file (and 1 more sessions)"
    }
    assert list(results.problems_of(FACTS, Slice(0, 1, 1, LatencyHistogram()), 0.01)) == ["no_transactions"]


def test_failures_are_named_by_how_often_they_come() -> None:
    failures = tuple(CallFailure(number % 2, f"4000{number}", "no", number) for number in range(1, 6))
    said = results.named(FACTS, Slice(0, 1, 1, LATENCIES, failures=failures))
    assert said.startswith("5 with 40005 (no) in UPDATE t; 4 with 40004 (no) in SELECT $1;")
    assert said.endswith("; and 2 other ways")


def test_calls_in_a_transaction_that_failed_already_are_no_causes() -> None:
    """They came first by their number, and the key that was there already was not named."""
    causes = (CallFailure(0, "23505", "duplicate key", 1), CallFailure(1, "42P01", "no table", 1))
    behind = tuple(CallFailure(number, "25P02", "current transaction is aborted", 3) for number in (0, 1))
    played = Slice(0, 1, 1, LATENCIES, failed={"23505": 1, "42P01": 1, "25P02": 6}, failures=(*behind, *causes))
    assert results.problems_of(FACTS, played, 0.01) == {
        "failed_transactions": "2 of 16 calls failed (50.0% with 6 more in transactions that these aborted) that did"
        " not in the log: 1 with 23505 (duplicate key) in SELECT $1; 1 with 42P01 (no table) in UPDATE t"
    }
    assert results.problems_of(FACTS, played, 0.5) == {}, "calls that were not played are missing from the load"


def test_a_stretch_is_told_by_second() -> None:
    samples = results.series(PLAYED, "replay", 5, 3 * 10**9)
    assert [(each.monotonic_ns, each.name, each.value) for each in samples] == [
        (2 * 10**9, "tps", 8.0), (2 * 10**9, "latency_ms", 1.0), (2 * 10**9, "lateness_ms", 0.5),
        (3 * 10**9, "tps", 0.0), (3 * 10**9, "latency_ms", None), (3 * 10**9, "lateness_ms", None),
    ]  # fmt: skip
    found = results.of_slice(PLAYED, 2.0)
    assert (found["tps"], found["latency_ms"], found["lateness_p99_ms"], found["failed_share"]) == (4.0, 1.0, 1.0, 0.0)
    assert set(found) == {each.name for each in results.RESPONSES}
