"""A worker as the host of a load: what travels, what comes home, and what becomes of a worker that is not heard."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.fleet import FleetError, client
from pgassay.interfaces.errors import ClientLostError, LoadError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from tests.fakes.runner import FakeRunner

ADDRESS = "tls://198.18.0.2:39811"


@dataclass
class FakeFuture:
    """A task that ends with `ending`, or never: a value, or what it raised."""

    ending: object = None
    status: str = "pending"

    def done(self) -> bool:
        return self.status != "pending"

    def result(self, timeout: float | None = None) -> object:
        return self.ending

    def exception(self) -> object:
        return self.ending


@dataclass
class FakeDask:
    """A scheduler's client that knows some workers, and keeps what is called off; its own latest news have none."""

    workers: dict[str, dict[str, object]]
    status: str = "running"
    cancelled: list[FakeFuture] = field(default_factory=list)

    @property
    def scheduler(self) -> "FakeDask":
        return self

    async def identity(self, n_workers: int) -> dict[str, object]:
        assert n_workers == -1
        return {"workers": self.workers}

    def sync(self, asked: Callable[..., Any], *, callback_timeout: float, **arguments: Any) -> Any:
        assert 0 < callback_timeout < 300, "a scheduler that stands still is not waited for"
        return asyncio.run(asked(**arguments))

    def scheduler_info(self, _: int) -> dict[str, object]:
        return {"workers": {}}

    def cancel(self, future: FakeFuture, *, force: bool) -> None:
        assert force
        self.cancelled.append(future)


def worker(**changes: Any) -> tuple[client.WorkerClient, FakeDask]:
    dask = FakeDask(**{"workers": {ADDRESS: {"name": "h1", "last_seen": 1.0}}, **changes})
    return client.WorkerClient("h1", dask, FakeRunner()), dask


def running(future: FakeFuture, made: client.WorkerClient, place: Path) -> client.WorkerRunning:
    texts = place / "pgbench.out", place / "pgbench.err"
    return client.WorkerRunning(("pgbench",), future, made, ADDRESS, {}, *texts)


def test_paths_travel_as_names_and_come_back_as_paths(tmp_path: Path) -> None:
    script, output = tmp_path / "a.sql", tmp_path / "output"
    script.write_text("SELECT 1;")
    command = ("/usr/bin/pgbench", f"--log-prefix={output}/log", "-f", f"{script}@3", "postgres")
    environment = {"PGPASSFILE": str(script)}
    order, paths = client.order_of(command, environment, [script], output, Placement(cpus=(1,)), 15)
    assert str(tmp_path) not in "".join((*order.words, *order.environment.values()))
    assert list(order.files.values()) == [b"SELECT 1;"]
    assert (order.program, order.cpus, order.postgres) == ("pgbench", (1,), 15)
    assert tuple(client.replaced(word, paths) for word in order.words) == command[1:]
    assert client.replaced(order.environment["PGPASSFILE"], paths) == str(script)


@given(
    st.dictionaries(st.text("ab/", min_size=1, max_size=4), st.integers(0, 9), max_size=4),
    st.text("abc/=", max_size=20),
)
def test_what_is_replaced_comes_back_whole(names: dict[str, int], text: str) -> None:
    marks = {path: client.mark(f"file-{number}-{place}") for place, (path, number) in enumerate(names.items())}
    back = {each: path for path, each in marks.items()}
    assert client.replaced(client.replaced(text, marks), back) == text


def test_an_address_of_a_worker_and_ours_towards_it() -> None:
    assert client.host_of(ADDRESS) == "198.18.0.2"
    assert client.host_of("tls://[2001:db8::7]:39811") == "2001:db8::7"
    assert client.towards("127.0.0.1") == "127.0.0.1"


def test_a_worker_that_goes_is_noticed_and_its_task_called_off(tmp_path: Path) -> None:
    made, dask = worker()
    future = FakeFuture()
    started = running(future, made, tmp_path)
    assert made.heard(ADDRESS)
    dask.workers.clear()
    with pytest.raises(ClientLostError, match='the host "h1" of the load is gone'):
        started.wait(60.0)
    assert dask.cancelled == [future]


def test_a_worker_that_goes_with_its_result_is_noticed(tmp_path: Path) -> None:
    made, dask = worker()

    @dataclass
    class Lost(FakeFuture):
        def result(self, timeout: float | None = None) -> object:
            assert timeout is not None, "it would be waited for without end"
            dask.workers.clear()
            raise TimeoutError

    future = Lost(status="finished")
    with pytest.raises(ClientLostError, match='the host "h1" of the load is gone'):
        running(future, made, tmp_path).wait(60.0)
    assert dask.cancelled == [future]


def test_a_worker_that_is_silent_is_gone_though_the_scheduler_still_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("pgassay.fleet.client.time.monotonic", lambda: now[0])
    made, dask = worker()
    assert made.heard(ADDRESS)
    now[0] += client.SILENT_S / 2
    dask.workers[ADDRESS]["last_seen"] = 2.0
    assert made.heard(ADDRESS)
    now[0] += client.SILENT_S
    assert not made.heard(ADDRESS)
    dask.workers[ADDRESS]["last_seen"] = 3.0
    assert made.heard(ADDRESS), "a cable that is back in time"
    dask.status = "connecting"
    assert not made.heard(ADDRESS), "without its scheduler nobody is heard"


def test_a_program_that_is_called_off_has_ended_only_if_its_host_is_there(tmp_path: Path) -> None:
    made, dask = worker()
    started = running(FakeFuture(), made, tmp_path)
    started.terminate()
    assert started.wait().status == -15
    lost = running(FakeFuture(), made, tmp_path)
    dask.workers.clear()
    with pytest.raises(ClientLostError):
        lost.terminate()


def test_what_a_worker_cannot_run_is_no_loss_of_it(tmp_path: Path) -> None:
    made, _ = worker()
    refused = running(FakeFuture(RuntimeError("sysbench is not installed"), "error"), made, tmp_path)
    with pytest.raises(LoadError, match="sysbench is not installed") as caught:
        refused.wait(1.0)
    assert not isinstance(caught.value, ClientLostError)
    killed = running(FakeFuture(OSError("killed"), "error"), made, tmp_path)
    with pytest.raises(ClientLostError):
        killed.wait(1.0)


def test_a_worker_that_does_not_come_is_named_with_those_that_did() -> None:
    _, dask = worker()
    absent = client.WorkerClient("h2", dask, FakeRunner(), wait_s=0.0)
    with pytest.raises(FleetError, match='the worker "h2" did not come') as caught:
        absent.require()
    assert caught.value.hint is not None
    assert "connected are h1" in caught.value.hint


def test_an_order_of_no_program_of_postgresql_asks_for_no_version(tmp_path: Path) -> None:
    made, _ = worker()
    assert made._major("sysbench") is None
    order, _ = client.order_of(("sysbench", "run"), {}, [], tmp_path, ANYWHERE)
    assert order.postgres is None
