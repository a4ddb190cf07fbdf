"""Thresholds as they are typed: names, relations, units, and what is refused with which hint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.study.document import Overrides, resolve
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.thresholds import Limit, Relation, parse, parse_table, split
from pgassay.study.thresholds import resolve as resolve_thresholds

TPS = Response("tps", "transactions per second", "1/s", Better.HIGHER)
P99 = Response("latency_p99_ms", "99th percentile of latency", "ms", Better.LOWER)
P95 = Response("latency_p95_ms", "95th percentile of latency", "ms", Better.LOWER)
CPU = Response("server_cpu_us_per_transaction", "server CPU, per transaction", "us", Better.LOWER, cost=True)
SIZE = Response("database_bytes", "size of the database at the end", "bytes", Better.LOWER)
FLASH = Response("physical_bytes", "live bytes on flash at the end", "bytes", Better.LOWER)
HOT = Response("hot_share", "share of updates that were HOT", "share", Better.HIGHER, Scale.DIFFERENCE)
CHECKPOINTS = Response("checkpoints", "checkpoints begun in the window", "count", Better.NEITHER, Scale.DIFFERENCE)
EVERY = (TPS, P99, P95, CPU, SIZE, FLASH, HOT, CHECKPOINTS)


def limit(text: str, named: tuple[str, ...] = ("tps", "latency_p99_ms"), *, compared: bool = True) -> Limit:
    (found,) = resolve_thresholds([parse(*split(text))], EVERY, named, compared=compared)
    return found


@pytest.mark.parametrize(
    ("text", "name", "relation", "value", "change"),
    [
        ("latency_p99_ms < 5 ms", "latency_p99_ms", "<", 5.0, False),
        ("p99_ms<5ms", "latency_p99_ms", "<", 5.0, False),
        ("99th percentile of latency <= 0.005 s", "latency_p99_ms", "<=", 5.0, False),
        ("p99 < 5", "latency_p99_ms", "<", 5.0, False),
        ("latency < 500 µs", "latency_p99_ms", "<", 0.5, False),
        ("cpu_per_transaction < 1 ms", "server_cpu_us_per_transaction", "<", 1000.0, False),
        ("server_cpu < 1 ms", "server_cpu_us_per_transaction", "<", 1000.0, False),
        ("space < +30 %", "database_bytes", "<", 1.3, True),
        ("database < 2 GB", "database_bytes", "<", 2.0 * 1024**3, False),
        ("tps >= -5%", "tps", ">=", 0.95, True),
        ("tps > 2,500", "tps", ">", 2500.0, False),
        ("tps > 2500 1/s", "tps", ">", 2500.0, False),
        ("hot_share > 90 %", "hot_share", ">", 0.9, False),
        ("hot_share > +10 points", "hot_share", ">", 0.1, True),
        ("checkpoints < +2", "checkpoints", "<", 2.0, True),
    ],
)
def test_a_threshold_is_read(text: str, name: str, relation: str, value: float, change: bool) -> None:
    found = limit(text)
    assert (found.response.name, found.relation, found.change) == (name, Relation(relation), change)
    assert found.value == pytest.approx(value)


def test_space_is_what_the_study_names() -> None:
    assert limit("space < +1 %", ("tps", "physical_bytes")).response is FLASH
    assert limit("space < +1 %").response is SIZE


def test_what_is_called_for_short_is_no_other_response_that_has_the_word() -> None:
    client = Response("client_cpu_us_per_transaction", "CPU of the program, per transaction", "us", Better.LOWER)
    (found,) = resolve_thresholds([parse(*split("cpu < 1 ms"))], (client, *EVERY), ("tps",), compared=True)
    assert found.response is CPU
    (found,) = resolve_thresholds([parse(*split("cpu < 1 ms"))], (client, *EVERY), (client.name,), compared=True)
    assert found.response is client, "the study's own is meant first"


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("5 ms", "is not a threshold", "latency_p99_ms < 5 ms"),
        ("p99 = 5 ms", "is not a threshold", "latency_p99_ms < 5 ms"),
        ("p99 < fast", "is not a threshold", "latency_p99_ms < 5 ms"),
        ("< 5 ms", "is not a threshold", "latency_p99_ms < 5 ms"),
        ("latensy_p99_ms < 5 ms", 'the response "latensy_p99_ms" of a threshold is not measured', "latency_p99_ms"),
        (
            "joules < 5",
            'the response "joules" of a threshold is not measured',
            "this study asks for: tps, latency_p99_ms",
        ),
        ("bytes < 5 MB", "may be several", "name one of: database_bytes, physical_bytes"),
        ("p99 < 5 MB", "does not fit the response latency_p99_ms", "a time in us, ms, s"),
        ("database < 5 ms", "does not fit the response database_bytes", "a size in B, kB, MB, GB, TB"),
        ("tps > 5 ms", "does not fit the response tps", "a number of 1/s"),
        ("space < 30 %", "does not fit", '"< +30 %"'),
        ("space < +3 GB", "does not fit", "a change in per cent"),
        ("tps > -100 %", "does not fit", "a change in per cent"),
        ("hot_share > +10 %", "does not fit", "+10 points"),
        ("checkpoints < +10 %", "does not fit", "no change in per cent"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(text: str, error: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        limit(text)
    assert error in refused.value.message
    assert hint in (refused.value.hint or "")


def test_a_change_needs_a_baseline() -> None:
    with pytest.raises(UsageError, match="no baseline"):
        limit("tps > +5 %", compared=False)
    assert limit("tps > 5", compared=False).value == 5.0


@pytest.mark.parametrize(
    ("one", "other", "possible"),
    [
        ("p99 < 5 ms", "p99 > 10 ms", False),
        ("p99 < 5 ms", "p99 >= 0.005 s", False),
        ("p99 <= 5 ms", "p99 >= 5 ms", True),
        ("p99 < 5 ms", "p99 < +5 %", True),
        ("p99 < 5 ms", "p95 > 10 ms", True),
        ("tps > 100", "tps < 200", True),
    ],
)
def test_thresholds_that_no_value_can_meet_are_refused(one: str, other: str, possible: bool) -> None:
    both = [parse(*split(each)) for each in (one, other)]
    for order in (both, both[::-1]):
        if possible:
            assert len(resolve_thresholds(order, EVERY, ("tps",), compared=True)) == 2
        else:
            with pytest.raises(UsageError, match="no value can meet both"):
                resolve_thresholds(order, EVERY, ("tps",), compared=True)


def test_a_study_file_lists_them_by_response() -> None:
    found = parse_table({"tps": ["> 100", "> -5 %"], "latency_p99_ms": "< 5 ms"})
    assert [each.text for each in found] == ["tps > 100", "tps > -5 %", "latency_p99_ms < 5 ms"]
    with pytest.raises(UsageError, match=r'"tps" in \[decide\] must be a condition'):
        parse_table({"tps": 100})


STUDY = {
    "study": {"format": 1}, "factors": {"server.work_mem": ["4MB", "64MB"]}, "decide": {"tps": "> 100"},
    "quick": {"decide": {"latency_p99_ms": "< 9 ms"}},
}  # fmt: skip


def test_the_command_line_adds_to_the_study() -> None:
    resolved = resolve("mine", STUDY, Overrides("quick", weigh=["tps > -5 %", "p95 < 2 ms"]))
    assert resolved["decide"] == {"tps": ["> 100", "> -5 %"], "latency_p99_ms": "< 9 ms", "p95": ["< 2 ms"]}
    assert [each.text for each in parse_recorded("mine", resolved).decide] == [
        "tps > 100", "tps > -5 %", "latency_p99_ms < 9 ms", "p95 < 2 ms",
    ]  # fmt: skip
    assert parse_recorded("mine", {**resolved, "decide": {}}).decide == ()
    with pytest.raises(UsageError, match="must be a table"):
        parse_recorded("mine", resolve("mine", {**STUDY, "decide": 3}, Overrides()))


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse(*split(text))
    except UsageError:
        return
    assert abs(found.number) < float("inf")
