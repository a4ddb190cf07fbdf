"""A real server with a web shop on it: captured while it runs, unchanged by that, and asked about what was planted."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay import children
from pgassay.capture import files
from pgassay.capture.reads import MARK
from pgassay.cli import main
from pgassay.record.reading import Run
from pgassay.report import headline, statements
from pgassay.report.findings import Findings
from pgassay.testing import real
from tests import machine
from tests.capture import web_shop
from tests.capture.watched import Watched, watched_shop

pytestmark = pytest.mark.slow

INDEX = "CREATE INDEX ON orders (customer_id)"
"""It is missing."""


@pytest.fixture(scope="module")
def shop() -> Iterator[Watched]:
    with watched_shop(real.installation(), {"shared_buffers": "64MB"}) as found:
        yield found


@pytest.fixture(scope="module")
def captured(shop: Watched) -> Path:
    path = shop.folder / "shop.capture"
    with web_shop.driven(shop.server.endpoint):
        assert main(["capture", shop.conninfo(), "--for", "4s", "--out", str(path)]) == 0
    return path


def test_a_capture_holds_the_load_the_columns_and_what_it_cost(captured: Path) -> None:
    found = files.read(captured)
    assert found.load is not None
    texts = {each.text for each in found.load.statements}
    assert "SELECT id, status, total FROM orders WHERE customer_id = $1 ORDER BY placed_at DESC LIMIT $2" in texts
    assert not any(MARK in text or "basket page" in text for text in texts)
    orders = next(table for table in found.tables if table.name == "orders")
    assert [column.name for column in orders.columns] == ["id", "customer_id", "status", "placed_at", "total"]
    assert "delivered" in orders.columns[2].common_values
    assert found.cost.cpu_ms is not None
    assert found.cost.statements > 4
    assert found.data.bytes == (captured / found.data.file).stat().st_size > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("port=1 host=/nowhere",), "could not read the server"),
        (("--data", "none", "--for", "soon"), "soon"),
    ],
)
def test_what_cannot_be_captured_is_an_error(
    shop: Watched, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = words if words[0].startswith("port") else (shop.conninfo(), *words)
    assert main(["capture", *given, "--out", str(shop.folder / "none")]) == 2
    assert said in capsys.readouterr().err
    assert not (shop.folder / "none").exists()


def test_a_question_finds_the_missing_index(
    captured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with machine.own_folder() as folder:
        run = folder / "run"
        where = ("--data-dir", str(folder / "data"), "--out", str(run))
        assert main(["ask", str(captured), "--index", INDEX, *web_shop.SHORT, *where]) == 0
        said = capsys.readouterr().out
        (verdict,) = Findings(Run.open(run)).verdicts
    assert "likeness to the source's load: " in said
    assert "100.0% of the source's time" in said
    assert verdict.effect.treatment == f"schema.change={INDEX}"
    assert (verdict.verdict.kind.value, verdict.effect.estimate > 1.5) == ("better", True)


@pytest.mark.skipif(children.which("valgrind") is None, reason="valgrind is not installed")
def test_a_question_is_answered_by_what_the_server_executes(captured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--count", "--set", "load.transactions=50", "--blocks", "5..5", "--allow-busy", "--allow-volatile")
    with machine.own_folder() as folder:
        run = folder / "run"
        where = ("--data-dir", str(folder / "data"), "--out", str(run))
        assert main(["ask", str(captured), "--index", INDEX, *words, *where]) == 0
        findings = Findings(Run.open(run))
        (verdict,) = findings.verdicts
        assert findings.once(statements.of_run).effects == (), "no statement's time is reported"
    assert (verdict.verdict.kind.value, verdict.effect.estimate < 0.7) == ("better", True)
    said = capsys.readouterr()
    assert "fewer instructions" in said.out
    assert "calibrate" not in said.out + said.err, "calibrations are of times"


def test_statements_that_get_slower_or_answer_otherwise_are_told(
    captured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = (
        "ALTER TABLE order_items DROP CONSTRAINT order_items_pkey; UPDATE customers SET email = upper(email);"
        " ALTER TABLE orders ADD CONSTRAINT none_new CHECK (id = 0) NOT VALID"
    )
    with machine.own_folder() as folder:
        run = folder / "run"
        where = ("--data-dir", str(folder / "data"), "--out", str(run))
        assert main(["ask", str(captured), "--change", change, *web_shop.SHORT, *where]) == 0
        findings = Findings(Run.open(run))
        found = findings.once(statements.of_run)
        answers, *_, slower = findings.once(headline.headline_of).sentences
    worst = found.effects[0]
    assert (worst.slower, "FROM order_items" in worst.text) == (True, True)
    before, after = found.tried[worst.script].plans.values()
    assert ("order_items_pkey" in before, "Seq Scan on order_items" in after) == (True, True)
    login = next(each for each in found.tried.values() if "FROM customers" in each.text)
    assert [(each.text, each.baseline_rows, each.rows) for each in found.wrong] == [(login.text, login.calls, 0)]
    assert "another number of rows: SELECT id, country" in answers
    assert "slower (intervals for all together): SELECT p.name" in slower
    said = capsys.readouterr()
    assert "another number of rows" in said.out
    assert "a statement of yours fails with schema.change=" in said.err
    assert "violates check constraint" in said.err
    assert [each.text for each in found.tried.values() if "INSERT" in each.text or "UPDATE" in each.text] == []


def test_advice_on_a_capture_finds_the_missing_index(captured: Path, shop: Watched) -> None:
    space, run = shop.folder / "space.toml", shop.folder / "advised"
    where = ("--data-dir", str(shop.folder / "data"), "--out", str(run))
    space.write_text(
        f'[settings]\nbackend_flush_after = ["0", "512kB"]\n"schema.change" = '
        f'{{ default = "none", levels = ["none", "{INDEX}"], reason = "orders of a customer" }}\n'
    )
    words = (
        "--quick",
        "--space",
        str(space),
        "-T",
        "1",
        "--set",
        "track_io_timing=on",
        "--budget",
        "40min",
        "--seed",
        "1",
    )
    assert main(["advise", str(captured), *words, "--allow-busy", "--allow-volatile", *where]) == 0
    advice = json.loads((run / "advice.json").read_text())
    assert advice["confirmed"]
    assert advice["settings"] == {"schema.change": INDEX}
    assert advice["start"]["shared_buffers"] == "64MB", "it starts from the settings of the server"
    lines = (run / "postgresql.auto.conf").read_text().splitlines()
    assert f"# no setting: schema.change = {INDEX}" in lines
    assert all(line.startswith("#") for line in lines)
