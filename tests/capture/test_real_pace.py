"""A real server's log at its own pace: the plan says the rate, and so many transactions are due when it is played."""

from pathlib import Path

import pytest

from pgassay.capture import files, question
from pgassay.capture.replaying import LIBRARY, Stage, play_alone, try_each
from pgassay.capture.scripts import scripted
from pgassay.cli import main
from pgassay.host.runner import SystemClock
from pgassay.testing import real
from tests.capture.test_real_log import PREFIX, sell

pytestmark = pytest.mark.system


def test_a_load_at_the_sources_pace_is_due_and_no_faster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, log = tmp_path / "shop.capture", tmp_path / "server.log"
    with real.server(log_line_prefix=PREFIX, log_min_duration_statement="0", **LIBRARY) as (server, _):
        sell(server, sales=300)  # much more of the time than its ANALYZE, which is not played
        log.write_text(server.log_text(), encoding="utf-8")
        assert main(["capture", server.endpoint.conninfo(), "--log", str(log), "--out", str(path)]) == 0
        capture = files.read(path)
        assert capture.load is not None
        load = scripted(capture)
        due = question.pace_of(question.SOURCE, capture.load, load.played)
        assert due is not None
        stage = Stage(server, real.runner(), SystemClock(), clients=4, most_ms=3000, rate_tps=due.rate_tps)
        alone = try_each(load.tried, stage)
        if alone.owners is None:
            pytest.skip("this PostgreSQL has no pg_stat_statements")
        made = play_alone(load.played, stage, alone.owners)
    assert made is not None
    begun = sum(each.calls for each in made.statements if each.text.startswith(("BEGIN", "SELECT", "begin")))
    assert 0 < begun < 2 * due.rate_tps * made.window_s, "as fast as it goes there would be many times as many"
    capsys.readouterr()
    assert main(["ask", str(path), "work_mem=4MB,64MB", "--pace", "busiest", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert f"pace: {question.level(due.rate_tps)} transactions a second are due, the source's mean" in said
    assert "latency_ms" in said
