"""Logs that a collector wrapped: each is named as what it is, since no `--log-line-prefix` helps."""

from pathlib import Path

import pytest

from pgassay.capture import logs
from pgassay.capture.errors import CaptureError
from pgassay.capture.logs import LogFiles

CASE = Path(__file__).parent / "10-wrapped-logs"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cnpg.json", "CloudNativePG's JSON"),
        ("cloudsql.json", "Google Cloud Logging's JSON"),
        ("heroku.log", "Heroku's log stream"),
        ("syslog.log", "syslog's"),
        ("collapsed.log", "a copy in which runs of blanks are one"),
    ],
)
def test_a_wrapped_log_is_named_as_what_it_is(name: str, kind: str) -> None:
    with pytest.raises(CaptureError) as raised:
        logs.read(LogFiles((CASE / name,)), logs.DEFAULT_PREFIX, "shop", with_values=True)
    assert raised.value.message == f"the log is {kind}, which is not read"
    assert "log_destination" in (raised.value.hint or "")


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
