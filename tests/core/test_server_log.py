"""The reader of server logs from Python: events, their counts, what cannot be read, memory."""

import json
import resource
from pathlib import Path

import pytest

from pgassay._core import ServerLogReader, normalize_statement, summarize_server_logs

PREFIX = "%m [%p] %q%u@%d "
HEAD = "2026-11-23 01:29:46.500 UTC [77] bob@shop "


def written(folder: Path, *messages: str) -> Path:
    path = folder / "postgresql.log"
    lines = [f"{HEAD}{each}\n" for each in (*messages, "LOG:  checkpoint starting: time")]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_an_event_has_time_session_names_text_parameters_and_duration(tmp_path: Path) -> None:
    path = written(
        tmp_path, "LOG:  duration: 2.5 ms  execute s: SELECT $1, $2", "DETAIL:  Parameters: $1 = 'a', $2 = NULL"
    )
    (event,) = ServerLogReader([path], [PREFIX])
    assert event == (1795397386500000, "77", "shop", "bob", "execute", "SELECT $1, $2", ["a", None], 2.5)


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "LOG:  durata: 0.123 ms  istruzione: SELECT 1", "LOG:  statement: SELECT 1")
    path.write_text(f"another prefix LOG:  statement: SELECT 1\n{path.read_text()}{HEAD}", encoding="utf-8")
    reader = ServerLogReader([path], [PREFIX])
    assert [event[4] for event in reader] == ["statement"]
    assert (reader.unread, reader.foreign, reader.torn) == (1, 1, 1)


def test_an_entry_of_auto_explain_is_an_event_of_its_own_kind(tmp_path: Path) -> None:
    top = "Result  (cost=0.00..0.01 rows=1 width=4)"
    text = f"LOG:  duration: 2.5 ms  plan:\n\tQuery Text: SELECT $1\n\tQuery Parameters: $1 = 'a'\n\t{top}"
    reader = ServerLogReader(
        [written(tmp_path, text, "LOG:  duration: 2.5 ms  plan:\n\tQuery Text: SELECT 1")], [PREFIX]
    )
    assert [event[4:] for event in reader] == [("plan", "SELECT $1", ["a"], 2.5)]
    assert reader.plans_unread == 1
    found = json.loads(summarize_server_logs([tmp_path / "postgresql.log"], [PREFIX], keep_values=True))
    (statement,) = found["statements"]
    assert (statement["calls"], statement["planned"], statement["parameters"]) == (0, True, [["a"]])


def test_a_summary_has_statements_without_their_values_unless_these_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "LOG:  statement: SELECT 'x', 7", "LOG:  duration: 1.5 ms")
    for keep, values in ((False, []), (True, [["x", "7"]])):
        found = json.loads(summarize_server_logs([path], [PREFIX], keep_values=keep))
        (statement,) = found["statements"]
        assert (statement["text"], statement["calls"], statement["exec_ms"]) == ("SELECT $1, $2", 1, 1.5)
        assert statement["parameters"] == values
    other = json.loads(summarize_server_logs([path], [PREFIX], database="other"))
    assert other["statements"] == []


def test_numbers_of_parameters_come_back_in_the_order_of_their_places() -> None:
    assert normalize_statement("SELECT a FROM t WHERE b = $2 AND c = 5 -- x") == (
        "SELECT a FROM t WHERE b = $1 AND c = $2",
        [2, None],
    )


def test_files_and_prefixes_that_are_wrong_are_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        list(ServerLogReader([tmp_path / "gone.log"], [PREFIX]))
    with pytest.raises(ValueError, match="no escape %z"):
        ServerLogReader([tmp_path], ["%z"])
    with pytest.raises(ValueError, match='no log format "xml": stderr, csv, json, cnpg'):
        ServerLogReader([tmp_path], [PREFIX], log_format="xml")


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    text = "".join(f"{HEAD}LOG:  statement: SELECT {n} FROM t WHERE a = 'value {n}'\n" for n in range(20_000))
    path = tmp_path / "large.log"
    with path.open("w") as file:
        for _ in range(30):
            file.write(text)
    summarize_server_logs([path], [PREFIX], keep_values=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = json.loads(summarize_server_logs([path] * 2, [PREFIX], keep_values=True))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert found["statements"][0]["calls"] == 1_200_000 - 2, "the last of each may go on"
    assert grown_kib < path.stat().st_size / 1024 / 4
