"""Who else is connected to a user's server: a client that has just left is listed for a moment longer."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from pgassay.postgres.attached import facts

CLIENT = (7, "psql", "app", "me", "client backend")


class Listed:
    """A server that lists one client in its first so many answers."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.asked = 0

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self.asked += 1
        self.left -= 1
        return [CLIENT] if self.left >= 0 else []

    def close(self) -> None:
        """There is nothing to close."""


@pytest.fixture(autouse=True)
def standing_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks the machine stands still for a minute, so nobody leaves meanwhile."""
    minutes = iter(range(0, 60 * 60, 60))
    monkeypatch.setattr(facts, "time", SimpleNamespace(monotonic=lambda: next(minutes), sleep=lambda seconds: None))


def test_who_leaves_between_two_looks_is_no_client_however_late_the_second_comes() -> None:
    assert facts.others(Listed(3)) == ()


def test_who_stays_is_told_after_so_many_looks() -> None:
    server = Listed(1000)
    (found,) = facts.others(server)
    assert (found.pid, found.application, found.database) == (7, "psql", "app")
    assert server.asked == 21


def test_without_patience_there_is_one_look() -> None:
    server = Listed(1)
    assert len(facts.others(server, patience_s=0.0)) == 1
    assert server.asked == 1
