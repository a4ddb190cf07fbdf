"""What every instrument keeps: the fake, Valgrind and the processor's counter with the PostgreSQL of this machine."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgassay import children
from pgassay.count import Valgrind
from pgassay.errors import UsageError
from pgassay.hardware_counter import HardwareCounter
from pgassay.host import accounts
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.hosting import Placement
from pgassay.interfaces.probe import BACKEND, MISSES, Executed, Instrument
from pgassay.interfaces.server import Server
from pgassay.postgres import ownership, processes
from pgassay.testing import real
from tests.fakes.instrument import FakeInstrument

PATIENCE_S = 300.0
PAGE_FAULTS = (1, 2)
"""PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, which every machine's kernel counts."""
ROWS, BYTES = "SELECT sum(i) FROM generate_series(1, %s) AS i", "SELECT length(repeat('x', %s))"


@dataclass
class Bench:
    """An instrument, and a way to have a process of its server work on so much in a window of its own."""

    instrument: Instrument
    counted: Callable[[int], tuple[Executed, ...]]


def fake() -> Iterator[Bench]:
    instrument = FakeInstrument(misses=True)

    def counted(rows: int) -> tuple[Executed, ...]:
        with instrument.window(7, ()) as executed:
            instrument.end(1e6 + 100.0 * rows)
            return executed()

    yield Bench(instrument, counted)


@contextmanager
def served(sockets: Path, under: tuple[str, ...]) -> Iterator[Server]:
    with real.private_folder() as folder:
        installation, cluster = real.installation(), folder / "data"
        installation.initialize(cluster, {})
        server = installation.start(cluster, {"fsync": "off"}, sockets, Placement(under=under))
        try:
            assert server.postmaster_pid in processes.serving(cluster), "it is found by whoever ends what is left"
            yield server
        finally:
            server.stop(immediately=True)
        assert processes.serving(cluster) == []


def with_server(server: Server, instrument: Instrument, statement: str = ROWS) -> Bench:
    def counted(much: int) -> tuple[Executed, ...]:
        there = server.processes()
        with instrument.window(server.postmaster_pid, there) as executed:
            with server.endpoint.connect(autocommit=True) as connection:
                connection.execute(statement, [much])
            deadline = time.monotonic() + PATIENCE_S
            while server.processes() - there:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            return executed()

    return Bench(instrument, counted)


def valgrind() -> Iterator[Bench]:
    if children.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    with ownership.private_directory(accounts.choose()) as sockets:
        instrument = Valgrind(real.runner(), sockets, accounts.choose().owner, misses=True)
        with served(sockets, instrument.begin()) as server:
            yield with_server(server, instrument)


def hardware() -> Iterator[Bench]:
    instrument = HardwareCounter()
    try:
        instrument.require()
    except UsageError as error:
        pytest.skip(error.message)
    with ownership.private_directory(accounts.choose()) as sockets, served(sockets, instrument.begin()) as server:
        yield with_server(server, instrument)


ON_SERVERS = [pytest.param(each, marks=pytest.mark.system) for each in (valgrind, hardware)]


@pytest.fixture(scope="module", params=[fake, *ON_SERVERS])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    yield from request.param()


def test_a_process_that_ended_is_counted(bench: Bench) -> None:
    (little,), (much,) = bench.counted(1_000), bench.counted(101_000)
    assert (little.kind, much.kind) == (BACKEND, BACKEND)
    each = (much.instructions - little.instructions) / 100_000
    assert 50 < each < 5_000, "instructions of a row"


def test_the_same_work_executes_the_same(bench: Bench) -> None:
    (first,), (second,) = bench.counted(20_000), bench.counted(20_000)
    assert second.instructions == pytest.approx(first.instructions, rel=0.01)


def test_functions_and_modelled_misses_are_those_of_the_same_process(bench: Bench) -> None:
    if isinstance(bench.instrument, HardwareCounter):
        pytest.skip("it counts instructions alone")
    (little,), (much,) = bench.counted(1_000), bench.counted(101_000)
    for found in (little, much):
        assert 0 < found.instructions <= sum(own for own, _ in found.functions.values())
        assert set(found.modelled_misses) == set(MISSES)
    assert any(much.functions.get(name, (0, 0))[1] - calls >= 10_000 for name, (_, calls) in little.functions.items())
    assert much.modelled_misses["first_level_cache"] > little.modelled_misses["first_level_cache"] > 0


def test_it_says_what_it_is(bench: Bench) -> None:
    bench.instrument.require()
    assert bench.instrument.name


def test_a_new_server_begins_with_no_counts_of_another(tmp_path: Path) -> None:
    instrument = Valgrind(real.runner(), tmp_path, None)
    instrument.begin()
    (tmp_path / "counts" / "7").write_text("")
    instrument.begin()
    assert list((tmp_path / "counts").iterdir()) == []


@pytest.mark.system
def test_the_kernel_adds_up_what_the_backends_of_a_window_did_and_no_others() -> None:
    """With an event of the kernel's own: a machine without hardware counters has the same way to them."""
    instrument = HardwareCounter(PAGE_FAULTS)
    try:
        with instrument.window(os.getpid(), ()) as executed:
            executed()
    except BenchError as error:
        pytest.skip(error.message)
    with ownership.private_directory(accounts.choose()) as sockets, served(sockets, instrument.begin()) as server:
        bench = with_server(server, instrument, BYTES)
        (little,), (much,) = bench.counted(1), bench.counted(200_000_000)
        assert much.instructions > 5 * little.instructions > 0
        with (
            server.endpoint.connect(autocommit=True) as before,
            instrument.window(server.postmaster_pid, server.processes()) as executed,
        ):
            before.execute(BYTES, [200_000_000])
            assert sum(each.instructions for each in executed()) < much.instructions / 5, "it was there before"


def test_a_folder_that_the_servers_account_replaced_is_not_read(tmp_path: Path) -> None:
    instrument = Valgrind(real.runner(), tmp_path, None)
    instrument.begin()
    with instrument.window(1, ()) as executed:
        (tmp_path / "secret").write_text("events: Ir sysCount sysTime\nfn=(1) PostgresMain\n0 5\ntotals: 5\n")
        (tmp_path / "counts" / "7").symlink_to(tmp_path / "secret")
        with pytest.raises(BenchError, match="cannot be read"):
            executed()
