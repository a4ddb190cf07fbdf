"""A log whose further lines begin with blanks where the server wrote a tab: no statement of it is cut."""

from pathlib import Path

from pgassay._core import ServerLogReader
from pgassay.capture import logs
from pgassay.capture.logs import LogFiles

CASE = Path(__file__).parent / "09-rds-spaces"


def test_lines_without_a_prefix_belong_to_the_statement_before() -> None:
    prefix = "%t:%r:%u@%d:[%p]:"
    texts = [" ".join(event[5].split()) for event in ServerLogReader([CASE / "rds.log"], [prefix])]
    assert texts == ["DELETE FROM orders WHERE id = 42", "SELECT a FROM t WHERE id = 7", "SELECT 1"]
    found = logs.read(LogFiles((CASE / "rds.log",), (prefix,)), "", "shop", with_values=True)
    assert {each.text for each in found.statements} == {
        "DELETE FROM orders WHERE id = $1", "SELECT a FROM t WHERE id = $1", "SELECT $1",
    }  # fmt: skip
    torn, pauses = logs.warnings_of(found)
    assert "last record is left out" in torn
    assert "pauses are not known and not played" in pauses


def test_each_call_has_its_where() -> None:
    reader = ServerLogReader([CASE / "rds-ms-sample.log"], ["%m:%r:%u@%d:[%p]:"])
    texts = [" ".join(event[5].split()) for event in reader]
    assert texts == [f"SELECT state FROM orders WHERE id = {n}" for n in range(66, 75)]
    assert (reader.unread, reader.doubtful, reader.torn) == (0, 0, 1)
