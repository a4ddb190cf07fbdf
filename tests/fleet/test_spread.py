"""Work that needs processors alone, over two workers in this process: in order, and with errors that can be read."""

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from distributed import Client

from pgassay import flash
from pgassay.errors import PgassayError
from pgassay.fleet import dask_crew, spread
from pgassay.fleet.dask_crew import dashboard
from pgassay.fleet.messages import FleetError
from pgassay.fleet.simulations import simulate_on
from tests.fleet.clusters import SLOW_DISK, in_process

pytestmark = SLOW_DISK
PATIENCE_S = 300.0
"""For what always happens, but late on a busy machine."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with in_process(tmp_path_factory.mktemp("dask"), 2) as cluster, Client(cluster, set_as_default=False) as found:
        yield found


@dataclass(frozen=True)
class Number:
    """A piece."""

    value: int


def squared(piece: Number) -> int:
    if piece.value < 0:
        raise PgassayError(f"{piece.value} is below nothing", "take another")
    return piece.value**2


def test_results_come_in_the_order_of_the_pieces(client: Client) -> None:
    assert list(spread.over(client, squared, [Number(each) for each in range(20)])) == [each**2 for each in range(20)]


def test_an_error_of_ours_keeps_its_words_and_says_where(client: Client) -> None:
    with pytest.raises(FleetError, match="-1 is below nothing") as raised:
        list(spread.over(client, squared, [Number(1), Number(-1)]))
    assert raised.value.hint == "take another"
    assert raised.value.message != "-1 is below nothing"


def test_every_host_does_the_same_piece_once(client: Client) -> None:
    found = dict(spread.on_each(client, squared, Number(3)))
    assert list(found.values()) == [9, 9]


def test_hosts_are_awaited_and_too_few_are_said(client: Client) -> None:
    assert len(spread.hosts_of(client, 2, PATIENCE_S)) == 2
    assert spread.least_cores(client) == len(os.sched_getaffinity(0))
    with pytest.raises(FleetError, match="2 of 3 hosts"):
        spread.hosts_of(client, 3, 0.0)


def test_the_page_of_a_scheduler_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_crew, "_PAGE_S", PATIENCE_S)
    with in_process(tmp_path, 0) as cluster, Client(cluster, set_as_default=False) as found:
        page = dashboard(found)
        assert page is not None
        with urlopen(page.replace("/status", "/health"), timeout=PATIENCE_S) as answer:
            assert answer.read() == b"ok"


def test_a_sweep_over_hosts_is_the_sweep_of_one_machine(client: Client) -> None:
    document = flash.read(None, ["drive.user_bytes=64MB"])
    points = flash.points(document, ["drive.over_provisioning=7%,28%,50%", "run.seed=1,2"])
    assert simulate_on(client, document, points) == flash.simulate_all(points)


class Stale:
    """A client whose latest news of the scheduler has no workers, as Dask's own periodic question leaves it."""

    def __init__(self) -> None:
        self.scheduler = self

    async def identity(self, n_workers: int) -> dict[str, dict[str, dict[str, str]]]:
        assert n_workers == -1
        return {"workers": {"tcp://127.0.0.1:1": {"name": "h1"}}}

    def sync(self, asked: Callable[..., Any], *, callback_timeout: float, **arguments: Any) -> Any:
        assert 0 < callback_timeout < 300, "a scheduler that stands still is not waited for"
        return asyncio.run(asked(**arguments))

    def scheduler_info(self, n_workers: int) -> dict[str, dict[str, str]]:
        return {"workers": {}}


def test_hosts_are_asked_of_the_scheduler_and_not_of_the_clients_latest_news() -> None:
    assert spread.names(Stale()) == {"tcp://127.0.0.1:1": "h1"}
