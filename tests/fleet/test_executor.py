"""What a head waits for: an executor of which nobody is left, or of which all hang, says so instead of waiting."""

import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from types import SimpleNamespace

import pytest
from distributed import Client, LocalCluster, get_worker
from distributed.scheduler import KilledWorker

from pgassay import __version__
from pgassay.fleet import FleetError, blocks, dask_executor
from pgassay.fleet.blocks import BlockExecutor, BlockOrder
from pgassay.fleet.dask_executor import DaskExecutor, Terms
from pgassay.fleet.worker import Shipped
from pgassay.record.journal import Kind
from tests.fakes.executor import FakeExecutor
from tests.fleet.clusters import SLOW_DISK, in_process
from tests.fleet.fleet_of_fakes import Fleet, hosted
from tests.fleet.test_head import agreed, blocks_of, settling, told
from tests.lab.simulation import simulate

pytestmark = SLOW_DISK
RELEASED = Event()
LOST: "SimpleQueue[int]" = SimpleQueue()
"""An entry for each time that Dask gives block 3 up: how many lost workers it allows."""
WAIT_S = 600.0


def work(order: bytes) -> Shipped:
    """Block 1 at once; block 3 when Dask has given it up so often as LOST says; others never, while a test lasts."""
    if order == b"3":
        if not LOST.empty():
            raise KilledWorker("block 3", SimpleNamespace(address="h1"), LOST.get())
        return str(get_worker().name), []
    if order != b"1":
        RELEASED.wait(WAIT_S)
    return str(get_worker().name), []


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    RELEASED.clear()
    with in_process(tmp_path / "dask", 1) as found:
        yield found
        RELEASED.set()


@pytest.fixture
def executor(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[DaskExecutor]:
    """One host, which has come; nobody is waited for longer than a moment."""
    monkeypatch.setattr(dask_executor, "GONE_S", 1.0)
    monkeypatch.setattr(dask_executor, "_LOOK_S", 0.1)
    monkeypatch.setattr(dask_executor, "HANGS", 1.0)
    monkeypatch.setattr(dask_executor, "HANGS_S", 1.0)
    with Client(cluster, set_as_default=False) as client:  # type: ignore[no-untyped-call,unused-ignore]
        made = DaskExecutor(client, Terms(1, wait_s=WAIT_S), lambda order: str(order.block).encode(), work)
        made.gather(lambda: {"pgassay": __version__, "machine": "one"})
        yield made
        made.cancel()


def refused(executor: BlockExecutor) -> str:
    """Why nothing comes."""
    executor.submit(BlockOrder(2, seed=0))
    with pytest.raises(FleetError) as raised:
        executor.next_arrived(lambda states: None)
    assert "resume the run" in (raised.value.hint or "")
    return raised.value.message


def test_blocks_are_not_awaited_of_nobody(cluster: LocalCluster, executor: DaskExecutor, tmp_path: Path) -> None:
    cluster.scale(0)  # type: ignore[no-untyped-call,unused-ignore]
    until = time.monotonic() + WAIT_S
    while executor.within_reach() and time.monotonic() < until:
        time.sleep(0.1)
    assert "no host has answered" in refused(executor)
    fake = FakeExecutor({"h1": hosted(tmp_path)}, dies=frozenset({1}))
    assert "no host has answered" in refused(fake)


def test_blocks_in_which_all_hosts_hang_are_not_awaited(executor: DaskExecutor) -> None:
    executor.submit(BlockOrder(1, seed=0))
    assert executor.next_arrived(lambda states: None).block == 1
    assert "no host has finished its block for at least" in refused(executor)


def test_orders_may_hold_all_files_of_a_study(cluster: LocalCluster) -> None:
    assert blocks.FILES_BYTES_MAX * 4 // 3 < dask_executor.ORDER_BYTES - (1 << 20), "as JSON has them, beside the study"
    order = bytes(11 << 20)
    with Client(cluster, set_as_default=False) as client:  # type: ignore[no-untyped-call,unused-ignore]
        with pytest.warns(UserWarning, match="large graph"):
            client.submit(len, order, pure=False).result(timeout=WAIT_S)
        RELEASED.set()
        executor = DaskExecutor(client, Terms(1, wait_s=WAIT_S), lambda each: order, work)
        executor.submit(BlockOrder(1, seed=0))
        assert executor.next_arrived(lambda states: None).block == 1


@pytest.mark.parametrize("times", [dask_executor._GIVEN_UP, dask_executor._GIVEN_UP + 1])
def test_a_block_that_dask_gave_up_is_begun_again_but_not_for_ever(executor: DaskExecutor, times: int) -> None:
    for _ in range(times):
        LOST.put(3)
    executor.submit(BlockOrder(3, seed=0))
    if times <= dask_executor._GIVEN_UP:
        assert executor.next_arrived(lambda states: None).block == 3
    else:
        with pytest.raises(FleetError, match=r"block 3 failed: .* 4 different workers"):
            executor.next_arrived(lambda states: None)
    assert LOST.empty()


def test_a_head_whose_hosts_have_all_died_says_so_and_is_resumed_as_if_nothing_had_been(tmp_path: Path) -> None:
    alive = Fleet(simulate(tmp_path, study=settling()), tmp_path, alike=True)
    alive.carry_on()
    fleet = Fleet(simulate(tmp_path, study=settling()), tmp_path, alike=True, dies=frozenset({2, 3, 4}))
    with pytest.raises(FleetError, match="no host has answered"):
        fleet.carry_on()
    assert fleet.executors[0].cancelled
    assert fleet.head.run.journal[-1].kind != Kind.FINISHED
    fleet.dies = frozenset()
    fleet.carry_on()
    assert blocks_of(fleet) == blocks_of(alive)
    assert told(fleet.head).trials == told(alive.head).trials
    assert agreed(fleet)
