"""Logs that a collector wrapped: read, and said what they were wrapped in; others are named as what they are."""

from pathlib import Path

import pytest

from pgassay.capture import logs
from pgassay.capture.errors import CaptureError
from pgassay.capture.logs import LogFiles
from pgassay.errors import UsageError

CASE = Path(__file__).parent / "10-wrapped-logs"
LONG = "SELECT a,\n                                       b\n  FROM t WHERE id = $1"


@pytest.mark.parametrize(
    ("name", "kind", "texts", "torn"),
    [
        ("cnpg.json", "CloudNativePG's JSON", {"SELECT a FROM t WHERE id = $1", "SELECT $1"}, 0),
        ("cloudsql.json", "Google Cloud Logging's JSON", {"SELECT a FROM t WHERE id = $1"}, 0),
        ("heroku.log", "Heroku's log stream", {"SELECT a FROM t WHERE id = $1"}, 1),
        ("syslog.log", "syslog's", {LONG}, 1),
    ],
)
def test_a_wrapped_log_is_read(name: str, kind: str, texts: set[str], torn: int) -> None:
    found = logs.read(LogFiles((CASE / name,)), logs.DEFAULT_PREFIX, "shop", with_values=True)
    assert {" ".join(each.text.split()) for each in found.statements} == {" ".join(each.split()) for each in texts}
    assert (found.wrapped, found.torn, found.unread, found.doubtful) == ((kind,), torn, 0, 0)
    assert found.sessions == 1
    assert found.first_us


def test_a_copy_in_which_runs_of_blanks_are_one_is_named() -> None:
    with pytest.raises(CaptureError) as raised:
        logs.read(LogFiles((CASE / "collapsed.log",)), logs.DEFAULT_PREFIX, "shop", with_values=True)
    assert raised.value.message == "the log is a copy in which runs of blanks are one, which is not read"
    assert "log_destination" in (raised.value.hint or "")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match='no log format "papertrail": stderr, csv, json, cnpg, '):
        LogFiles((CASE / "cnpg.json",), (), "papertrail").check()


def test_a_table_that_a_log_service_exported_is_named(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text('"level_s","time_s",Message\nLOG,"2026-11-23","x LOG:  statement: SELECT 1"\n', encoding="utf-8")
    with pytest.raises(CaptureError, match="the log is a table that a log service exported, which is not read"):
        logs.read(LogFiles((path,)), logs.DEFAULT_PREFIX, "shop", with_values=True)


def test_another_prefix_is_still_called_one(tmp_path: Path) -> None:
    path = tmp_path / "postgresql.log"
    path.write_text("bob 2026-11-23 01:29:46 UTC: LOG:  duration: 1.000 ms  statement: SELECT 1\n", encoding="utf-8")
    with pytest.raises(CaptureError, match="do not begin with log_line_prefix"):
        logs.read(LogFiles((path,)), logs.DEFAULT_PREFIX, "shop", with_values=True)
