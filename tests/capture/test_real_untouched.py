"""A server whose every write is logged, numbered and hashed: a capture of any kind leaves none of them.

Three things would show a write: the log (every statement that changes something is in it), the number of the next
transaction (whoever changes a row or the schema takes one), and a hash of data, settings and files of settings. The
position of the WAL would show also what the server writes by itself because of us.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgassay.capture.errors import CaptureError
from pgassay.capture.reads import MARK
from pgassay.capture.source import Session
from pgassay.cli import main
from pgassay.testing import real
from tests.capture.watched import Watched, watched_shop

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def shop() -> Iterator[Watched]:
    """Nobody works on it, and its own workers write nothing (for a standby the writer would log who is running)."""
    settings = {"autovacuum": "off", "checkpoint_timeout": "1h", "wal_level": "minimal", "max_wal_senders": "0"}
    with watched_shop(real.installation(), settings) as found:
        with psycopg.connect(found.server.endpoint.conninfo(), autocommit=True) as connection:
            connection.execute("ANALYZE")
            connection.execute("VACUUM (FREEZE)")  # else whoever reads a page first would prune it, which is in the WAL
            connection.execute("CHECKPOINT")
        yield found


def capture(shop: Watched, name: str, *words: str, user: str = "reader") -> Path:
    path = shop.folder / name
    assert main(["capture", shop.conninfo(user), "--for", "1s", "--out", str(path), *words]) == 0
    return path


@pytest.mark.parametrize("kind", ["dump", "none"])
def test_no_write_is_logged_numbered_or_found(shop: Watched, kind: str) -> None:
    before = shop.contents(), shop.transactions(), shop.wal_position(), shop.changes_by_us()
    capture(shop, kind, "--data", kind)
    assert (shop.contents(), shop.transactions(), shop.wal_position(), shop.changes_by_us()) == before


def test_a_plan_writes_nothing_and_leaves_no_directory(shop: Watched) -> None:
    before = shop.transactions(), shop.wal_position()
    assert main(["capture", shop.conninfo(), "--dry-run", "--out", str(shop.folder / "planned")]) == 0
    assert (shop.transactions(), shop.wal_position()) == before
    assert not (shop.folder / "planned").exists()


def test_a_plan_says_what_the_data_will_cost(shop: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(shop.folder / "planned")
    assert main(["capture", shop.conninfo(), "--dry-run", "--out", out]) == 0
    assert re.search(r"dump: .*B are needed here at most, .* free", capsys.readouterr().out)


def test_a_superuser_who_captures_writes_nothing_either(shop: Watched) -> None:
    """No right is trusted to be missing: the server itself refuses writes in our transactions."""
    before = shop.contents(), shop.transactions(), shop.wal_position()
    capture(shop, "superuser", user=shop.server.endpoint.user)
    assert (shop.contents(), shop.transactions(), shop.wal_position()) == before


LIMITS = (
    "SELECT current_setting('transaction_read_only'), current_setting('statement_timeout'),"
    " current_setting('lock_timeout'), current_setting('application_name')"
)


def test_every_read_is_read_only_gives_up_soon_and_says_who_it_is(shop: Watched) -> None:
    with Session(shop.conninfo(shop.server.endpoint.user)) as session:
        for _ in range(2):  # each read sets them again
            assert session.read("the limits", LIMITS).rows == (("on", "30s", "1s", "pgassay capture"),)
        seen = shop.server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [MARK])
        assert seen == [(1,)]


@pytest.mark.parametrize(
    ("write", "said"),
    [
        ("UPDATE products SET price = price + 1 RETURNING id", "cannot execute UPDATE in a read-only transaction"),
        ("CREATE TABLE planted ()", "cannot execute CREATE TABLE in a read-only transaction"),
        ("SELECT * FROM products FOR UPDATE", "cannot execute SELECT FOR UPDATE in a read-only transaction"),
    ],
)
def test_the_server_refuses_a_write_of_a_superusers_session(shop: Watched, write: str, said: str) -> None:
    with Session(shop.conninfo(shop.server.endpoint.user)) as session:
        with pytest.raises(CaptureError, match=f"could not read a write: {said}"):
            session.read("a write", write)
        assert session.read("the limits", LIMITS).rows[0][0] == "on", "and goes on"


def test_a_read_does_not_wait_for_a_lock(shop: Watched) -> None:
    with (
        psycopg.connect(shop.server.endpoint.conninfo()) as other,
        Session(shop.conninfo(shop.server.endpoint.user)) as session,
    ):
        other.execute("LOCK TABLE products IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(CaptureError, match="canceling statement due to lock timeout"):
            session.read("the products", "SELECT count(*) FROM products")
        other.rollback()
        assert session.read("the products", "SELECT count(*) > 0 FROM products").rows == ((True,),)


def test_a_write_would_show_in_all_of_them(shop: Watched) -> None:
    before = shop.contents(), shop.transactions(), shop.wal_position(), shop.changes_by_us()
    with psycopg.connect(f"{shop.conninfo(shop.server.endpoint.user)} application_name='{MARK}'") as connection:
        connection.execute("UPDATE products SET price = price + 1 WHERE id = 1")
    after = shop.contents(), shop.transactions(), shop.wal_position(), shop.changes_by_us()
    assert all(one != other for one, other in zip(before, after, strict=True))
