"""A real shop asked whether partitions help: made on a dump, on data from statistics and on the files, and played."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.record.reading import Run
from pgassay.report import statements
from pgassay.report.findings import Findings
from pgassay.testing import real
from tests.capture import web_shop
from tests.capture.watched import Watched, watched_shop

pytestmark = pytest.mark.slow

CLAUSE = "orders BY RANGE (placed_at) EVERY '1 month'"
KEYS = (
    "ALTER TABLE order_items DROP CONSTRAINT order_items_order_id_fkey;"
    " ALTER TABLE orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (id, placed_at)"
)
FILES = ("--data", "basebackup", "--checkpoint", "fast")


@pytest.fixture(scope="module")
def shop() -> Iterator[Watched]:
    settings = {"shared_buffers": "64MB", "wal_level": "replica", "max_wal_senders": "4"}
    with watched_shop(real.installation(), settings) as found:
        found.server.execute("ALTER ROLE reader REPLICATION")
        yield found


def captured(shop: Watched, name: str, *words: str) -> Path:
    path = shop.folder / name
    with web_shop.driven(shop.server.endpoint):
        assert main(["capture", shop.conninfo(), "--for", "4s", *words, "--out", str(path)]) == 0
    return path


def test_keys_that_forbid_it_are_named_before_anything_runs(shop: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    path = captured(shop, "refused.capture")
    capsys.readouterr()
    assert main(["ask", str(path), "--partition", CLAUSE]) == 2
    said = capsys.readouterr()
    assert "orders_pkey PRIMARY KEY (id) has not; the foreign keys order_items_order_id_fkey of order_items" in said.err
    assert f'--set "schema.change={KEYS}"' in said.err
    assert not (path / "asked").exists()


@pytest.mark.parametrize("words", [(), ("--data", "synthetic"), FILES], ids=["dump", "synthetic", "basebackup"])
def test_a_partitioned_table_is_made_and_played(
    shop: Watched, words: tuple[str, ...], request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    path = captured(shop, f"{request.node.callspec.id}.capture", *words)
    with real.private_folder() as folder:
        run = folder / "run"
        where = ("--data-dir", str(folder / "data"), "--out", str(run))
        held = ("--set", f"schema.change={KEYS}", "--blocks", "2..2")
        assert main(["ask", str(path), "--partition", CLAUSE, *web_shop.SHORT, *held, *where]) == 0
        findings = Findings(Run.open(run))
        found = findings.once(statements.of_run)
        trials = findings.trials
    assert "partitions of orders: " in capsys.readouterr().out
    levels = [each.levels["schema.partition"] for each in trials]
    assert {each.read_back for each in levels} == {"none", CLAUSE}
    assert found.wrong == (), "every statement returns as many rows"
    visit = next(each for each in found.tried.values() if each.text.startswith("SELECT id, status, total"))
    before, after = visit.plans.values()
    assert ("orders_p" in before, "orders_p" in after) == (False, True)
