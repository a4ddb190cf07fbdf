"""Data with functions and tables of the names that our checks use: what amcheck would find is found all the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pgassay.interfaces.server import Server
from pgassay.lab import measurements
from pgassay.testing import real

pytestmark = pytest.mark.system

NOTHING = "LANGUAGE sql AS 'SELECT'"
NONE_FOUND = "SETOF record LANGUAGE sql AS 'SELECT 1::bigint, NULL::text WHERE false'"
SAFE = {
    "functions that fit better": (
        f"CREATE FUNCTION public.bt_index_check(oid, boolean) RETURNS void {NOTHING}",
        f"CREATE FUNCTION public.verify_heapam(oid, OUT blkno bigint, OUT msg text) RETURNS {NONE_FOUND}",
        f"CREATE FUNCTION public.verify_heapam(regclass, OUT blkno bigint, OUT msg text) RETURNS {NONE_FOUND}",
    ),
    "a path to other functions": (
        "CREATE SCHEMA evil",
        "CREATE EXTENSION amcheck SCHEMA public",
        f"CREATE FUNCTION evil.bt_index_check(regclass, boolean) RETURNS void {NOTHING}",
        f"CREATE FUNCTION evil.verify_heapam(regclass, OUT blkno bigint, OUT msg text) RETURNS {NONE_FOUND}",
        "ALTER DATABASE postgres SET search_path = evil, public",
    ),
    "another catalog": (
        "CREATE SCHEMA evil",
        "CREATE VIEW evil.pg_class AS SELECT * FROM pg_catalog.pg_class WHERE false",
        "CREATE VIEW evil.pg_index AS SELECT * FROM pg_catalog.pg_index WHERE false",
        "ALTER ROLE postgres SET search_path = evil, pg_catalog, public",
    ),
    "no path at all": ("CREATE EXTENSION amcheck", "ALTER ROLE postgres SET search_path = ''"),
}
REPLACED = (
    "CREATE EXTENSION amcheck SCHEMA public",
    f"CREATE OR REPLACE FUNCTION public.bt_index_check(index regclass, heapallindexed boolean) RETURNS void {NOTHING}",
)


@contextmanager
def damaged(statements: tuple[str, ...]) -> Iterator[Server]:
    """A server with these statements and a page that amcheck complains of."""
    with real.private_folder() as folder:
        installation = real.installation()
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket")
        try:
            server.execute("CREATE TABLE t AS SELECT i, md5(i::text) AS x FROM generate_series(1, 20000) i")
            server.execute("CREATE INDEX ON t (x)")
            for each in statements:
                server.execute(each)
            ((name,),) = server.query("SELECT pg_catalog.pg_relation_filepath('public.t')")
            server.execute("CHECKPOINT")
        finally:
            server.stop()
        _overwrite(folder / "data" / str(name))
        server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket")
        try:
            yield server
        finally:
            server.stop(immediately=True)


def _overwrite(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(3 * 8192 + 24)
        opened.write(b"\xff\x7f\xff\x7f" * 16)


@pytest.mark.parametrize("how", SAFE)
def test_damage_is_found_whatever_the_data_call_their_own(how: str) -> None:
    with damaged(SAFE[how]) as server:
        assert list(measurements.check_relations(server)) == [measurements.DATA]


def test_a_replaced_check_is_none() -> None:
    with damaged(REPLACED) as server:
        assert list(measurements.check_relations(server)) == [measurements.NOT_CHECKED]
