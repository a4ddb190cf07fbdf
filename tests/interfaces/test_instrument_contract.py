"""What every instrument keeps: the fake, and Valgrind with the PostgreSQL of this machine."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgassay import children
from pgassay.count import Valgrind
from pgassay.host import accounts
from pgassay.interfaces.hosting import Placement
from pgassay.interfaces.probe import BACKEND, MISSES, Executed, Instrument
from pgassay.postgres import ownership, processes
from pgassay.testing import real
from tests.fakes.instrument import FakeInstrument

PATIENCE_S = 300.0


@dataclass
class Bench:
    """An instrument, and a way to have a process of its server work for so long and end."""

    instrument: Instrument
    work: Callable[[int], None]


def fake() -> Iterator[Bench]:
    instrument = FakeInstrument(misses=True)
    yield Bench(instrument, lambda rows: instrument.end(1e6 + 100.0 * rows))


def valgrind() -> Iterator[Bench]:
    if children.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    with real.private_folder() as folder, ownership.private_directory(accounts.choose()) as sockets:
        instrument = Valgrind(real.runner(), sockets, accounts.choose().owner)
        installation, cluster = real.installation(), folder / "data"
        installation.initialize(cluster, {})
        server = installation.start(cluster, {"fsync": "off"}, sockets, Placement(under=instrument.begin(misses=True)))
        try:
            assert server.postmaster_pid in processes.serving(cluster), "it is found by whoever ends what is left"

            def work(rows: int) -> None:
                there, ended = server.processes(), instrument.ended()
                with server.endpoint.connect(autocommit=True) as connection:
                    connection.execute("SELECT sum(i) FROM generate_series(1, %s) AS i", [rows])
                deadline = time.monotonic() + PATIENCE_S
                while server.processes() - there or instrument.ended() == ended:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)

            yield Bench(instrument, work)
        finally:
            server.stop(immediately=True)
        assert processes.serving(cluster) == []


@pytest.fixture(scope="module", params=[fake, pytest.param(valgrind, marks=pytest.mark.system)])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    yield from request.param()


def counted(bench: Bench, rows: int) -> Executed:
    before = bench.instrument.ended()
    bench.work(rows)
    (found,) = bench.instrument.executed(bench.instrument.ended() - before)
    return found


def test_a_process_that_ended_is_counted_by_function(bench: Bench) -> None:
    little, much = counted(bench, 1_000), counted(bench, 101_000)
    for found in (little, much):
        assert found.kind == BACKEND
        assert 0 < found.instructions <= sum(own for own, _ in found.functions.values())
    each = (much.instructions - little.instructions) / 100_000
    assert 50 < each < 5_000, "instructions of a row"
    assert any(much.functions.get(name, (0, 0))[1] - calls >= 10_000 for name, (_, calls) in little.functions.items())


def test_the_same_work_executes_the_same(bench: Bench) -> None:
    first, second = counted(bench, 20_000), counted(bench, 20_000)
    assert second.instructions == pytest.approx(first.instructions, rel=0.01)


def test_misses_are_modelled_where_they_are_asked_for(bench: Bench) -> None:
    little, much = (counted(bench, rows).modelled_misses for rows in (1_000, 101_000))
    assert set(little) == set(much) == set(MISSES)
    assert all(0 <= much[kind] < 100_000 * 1_000 for kind in MISSES)
    assert much["first_level_cache"] > little["first_level_cache"] > 0


def test_it_says_what_it_is(bench: Bench) -> None:
    bench.instrument.require()
    assert bench.instrument.name
    assert all(not word.isspace() for word in bench.instrument.begin(misses=False))
    assert bench.instrument.ended() == frozenset(), "a new server begins with no counts"


def test_a_folder_that_the_servers_account_replaced_is_not_read(tmp_path: Path) -> None:
    instrument = Valgrind(real.runner(), tmp_path, None)
    instrument.begin(misses=False)
    (tmp_path / "secret").write_text("events: Ir sysCount sysTime\nfn=(1) PostgresMain\n0 5\ntotals: 5\n")
    (tmp_path / "counts" / "7").symlink_to(tmp_path / "secret")
    assert instrument.ended() == {7}
    with pytest.raises(Exception, match="cannot be read"):
        instrument.executed([7])
