"""What pgbench's own scripts keep equal, by which of them were run."""

from collections.abc import Collection, Sequence
from typing import Any, cast

import pytest

from pgassay.interfaces.server import Server
from pgassay.load.pgbench.data import unequal_sums


class Database:
    def __init__(self, sums: Sequence[int]) -> None:
        self.sums = sums
        self.asked = 0

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self.asked = sql.count("SELECT") - 1
        return [tuple(self.sums)]


@pytest.mark.parametrize(
    ("scripts", "sums", "wrong"),
    [
        (["tpcb-like"], (7, 7, 7, 7), False),
        (["tpcb-like"], (7, 7, 7, 8), True),
        (["tpcb-like", "select-only"], (1, 7, 7, 7), True),
        (["tpcb-like", "simple-update"], (7, 7), False),
        (["simple-update"], (7, 6), True),
    ],
)
def test_sums_of_the_tables_that_every_script_adds_to_agree(
    scripts: Collection[str], sums: Sequence[int], wrong: bool
) -> None:
    database = Database(sums)
    found = unequal_sums(cast("Server", database), scripts)
    assert database.asked == len(sums)
    assert bool(found) is wrong
    assert not wrong or str(sums[-1]) in found["inconsistent"]


@pytest.mark.parametrize("scripts", [["select-only"], ["/my/own.sql"], ["tpcb-like", "/my/own.sql"], ["ledger"]])
def test_nothing_is_asked_where_no_rule_is_known(scripts: Collection[str]) -> None:
    database = Database(())
    assert unequal_sums(cast("Server", database), scripts) == {}
    assert database.asked == 0
