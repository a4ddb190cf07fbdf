"""A small shop on a real server with its log: captured, and played again to see what a missing index costs it."""

import json
import threading
from pathlib import Path
from random import Random
from time import monotonic, sleep

import psycopg
import pytest

from pgassay.cli import main
from pgassay.interfaces.server import Server
from pgassay.record.ask import likeness
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.testing import real
from tests import machine

pytestmark = [pytest.mark.slow, pytest.mark.system]

PREFIX = "%m [%c] %q%u@%d "
LENGTH_S, SESSIONS, ERRORS = 6.0, 3, 0.1
SHOP = """
CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, total int NOT NULL);
INSERT INTO orders SELECT n, n % 4000, 0 FROM generate_series(1, 500000) n;
ANALYZE;
"""
INDEX = "CREATE INDEX ON orders (customer)"


def visit(server: Server, number: int) -> None:
    """Prepared and plain statements, transactions, and an error now and then, with pauses of a client."""
    random = Random(number)
    began = monotonic()
    with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
        while monotonic() - began < LENGTH_S:
            customer = random.randrange(4000)
            connection.execute("SELECT sum(total) FROM orders WHERE customer = %s", (customer,), prepare=True)
            with connection.transaction():
                connection.execute("UPDATE orders SET total = total + 1 WHERE id = %s", (customer + 1,))
                connection.execute(f"SELECT total FROM orders WHERE id = {customer + 1}")
            if random.random() < ERRORS:
                with pytest.raises(psycopg.Error):
                    connection.execute("SELECT 1 / 0")
            sleep(0.05)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    path, log = folder / "shop.capture", folder / "server.log"
    # Fewer connections than load.sessions allows for, so `ask --replay` has to leave that limit out.
    limits = {"max_connections": "50", "log_min_duration_statement": "0"}
    with real.server(log_line_prefix=PREFIX, **limits) as (server, _):
        with psycopg.connect(server.endpoint.conninfo(), autocommit=True) as connection:
            connection.execute(SHOP)
        where = server.endpoint
        written = where.socket_directory.parent / f"server-{where.port}.log"
        before = written.stat().st_size
        visitors = [threading.Thread(target=visit, args=(server, number)) for number in range(SESSIONS)]
        for each in visitors:
            each.start()
        for each in visitors:
            each.join()
        log.write_bytes(written.read_bytes()[before:])
        words = ["capture", server.endpoint.conninfo(), "--with-literals", "--log", str(log), "--out", str(path)]
        assert main(words) == 0
    return path


def test_the_log_played_again_finds_the_missing_index(captured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with machine.own_folder() as folder:
        run = folder / "run"
        where = ("--data-dir", str(folder / "data"), "--out", str(run), "--allow-busy", "--allow-volatile")
        assert main(["ask", str(captured), "--replay", "--index", INDEX, "--blocks", "5..5", *where]) == 0
        said, warned = capsys.readouterr()
        found = Run.open(run)
        (verdict,) = Findings(found).verdicts
        trials = [each for each in found.trials if each.status.value == "valid"]
        alike = likeness(found)
        kept = [json.loads(each.read_text()) for each in run.glob("trials/*/replay.json")]
    assert "because the load may need 95 connections: max_connections = 50" in warned
    assert f"calls of {SESSIONS} sessions" in said
    assert "0 failed that did not in the log" in said
    assert verdict.effect.response == "latency_ms"
    assert verdict.verdict.kind.value == "better"
    assert trials
    assert len(kept) == len(found.trials)
    assert len({each["calls"] for each in kept}) == 1, "every trial plays the same calls"
    assert all(each["failed_alike"] > 0 for each in kept), "an error of the log is none of the replay"
    assert "likeness to the source's load: " in said
    assert alike is not None
    assert alike.score is not None
    assert not alike.unlike
    by_name = {each.name: each.likeness for each in alike.parts}
    assert (by_name["calls by statement"] or 0.0) > 0.9
    assert (by_name["calls a second"] or 0.0) > 0.7, "a busy machine may end later"
    assert by_name["rows a call"] is None, "a log does not tell"
    assert "unlike" not in verdict.verdict.text


def test_a_log_with_other_statements_is_a_load_unlike_the_captures(
    captured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (captured / "log.json").read_text().replace("SELECT sum(total)", "SELECT max(total)")
    text = text.replace("SELECT total FROM", "SELECT id, total FROM").replace(
        "UPDATE orders SET", "UPDATE orders o SET"
    )
    (captured / "other.json").write_text(text, encoding="utf-8")
    with machine.own_folder() as folder:
        run = folder / "run"
        where = ("--data-dir", str(folder / "data"), "--out", str(run), "--allow-busy", "--allow-volatile")
        other = ("--set", f"load.log={captured / 'other.json'}", "--set", "load.duration=2s")
        assert main(["ask", str(captured), "--replay", "--index", INDEX, "--blocks", "5..5", *other, *where]) == 0
        (verdict,) = Findings(Run.open(run)).verdicts
        capsys.readouterr()
        assert main(["show", str(run), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["likeness"]
    assert verdict.verdict.text.endswith("(on a load unlike yours)")
    assert told["unlike"]
    assert told["score"] < 0.8


def test_at_the_sources_pace_the_missing_index_shows_in_the_latency(
    captured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with machine.own_folder() as folder:
        run = folder / "run"
        where = ("--data-dir", str(folder / "data"), "--out", str(run), "--allow-busy", "--allow-volatile")
        short = ("--blocks", "5..5", "--set", "load.duration=4s", "--set", "load.warmup=0s")
        assert main(["ask", str(captured), "--pace", "source", "--index", INDEX, *short, *where]) == 0
        said = capsys.readouterr().out
        found = Run.open(run)
        (verdict,) = Findings(found).verdicts
        rates = {each.levels["load.rate"].canonical for each in found.trials}
        done = [each.responses["tps"] for each in found.trials if each.status.value == "valid"]
    (rate,) = rates
    assert f"pace: {rate} transactions a second are due, the source's mean ({rate} in its busiest minute)" in said
    assert "calls a second" in said
    assert verdict.effect.response == "latency_ms"
    assert verdict.verdict.kind.value == "better"
    assert all(each is not None and each < 1.5 * float(rate) for each in done), "no faster than it is due"


def test_a_capture_without_literals_keeps_no_log(captured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = captured / "log.json"
    hidden = log.rename(captured / "away")
    try:
        assert main(["ask", str(captured), "work_mem=4MB,64MB", "--replay", "--dry-run"]) != 0
    finally:
        hidden.rename(log)
    assert "has no log that could be played again" in capsys.readouterr().err


def test_failures_here_alone_are_named_before_the_run(captured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (captured / "log.json").read_text()
    (captured / "changed.json").write_text(text.replace("SELECT sum(total)", "SELECT sum(absent)"), encoding="utf-8")
    with machine.own_folder() as folder:
        where = ("--data-dir", str(folder / "data"), "--out", str(folder / "run"))
        changed = ("--set", f"load.log={captured / 'changed.json'}", "--set", "load.duration=2s")
        assert main(["ask", str(captured), "work_mem=4MB,64MB", "--replay", *changed, *where]) != 0
        assert not (folder / "run").exists()
    error = capsys.readouterr().err
    assert 'with 42703 (column "absent" does not exist) in SELECT sum(absent) FROM orders' in error
    assert "data first, then the log: " in error
    assert "load.failures" not in error, "no table is missing"


def test_calls_that_lack_a_table_may_be_let_through(captured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (captured / "log.json").read_text()
    changed = text.replace("SELECT sum(total) FROM orders", "SELECT sum(total) FROM scratch")
    (captured / "temporary.json").write_text(changed, encoding="utf-8")
    with machine.own_folder() as folder:
        where = ("--data-dir", str(folder / "data"), "--out", str(folder / "run"))
        log = ("--set", f"load.log={captured / 'temporary.json'}", "--set", "load.duration=2s")
        assert main(["ask", str(captured), "work_mem=4MB,64MB", "--replay", *log, *where]) != 0
    error = capsys.readouterr().err
    assert 'with 42P01 (relation "scratch" does not exist)' in error
    assert "--set load.failures=5% lets more calls fail" in error
