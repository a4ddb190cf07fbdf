"""Simulated studies over two workers in this process: the answers of one machine, bit for bit."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from distributed import Client

from benchmarks.validity.parts import Numbers, Part, done, done_on, parts
from pgassay.fleet import cores, spread
from pgassay.fleet.messages import FleetError
from tests.fleet.clusters import SLOW_DISK, in_process

pytestmark = SLOW_DISK


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with in_process(tmp_path_factory.mktemp("dask"), 2) as cluster, Client(cluster, set_as_default=False) as found:
        yield found


def a_few() -> list[Part]:
    """The first and the last of each table, but for those whose least number of trials takes long."""
    work = parts("smoke", Numbers(studies=20, seed=7))
    return [part for table, each in work.items() if "known" not in table for part in dict.fromkeys((each[0], each[-1]))]


def test_over_hosts_the_answers_are_those_of_one_machine(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "cores", lambda: 1)
    work = a_few()
    assert [repr(each) for each in done_on(client, work)] == [repr(done(part)) for part in work]


class Elsewhere:
    """A client of one host with these sources."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def run(self, work: Callable[..., object], packages: Sequence[str]) -> dict[str, dict[str, str]]:
        return {"tcp://127.0.0.1:1": self.sources}


@pytest.mark.parametrize(
    ("sources", "said"),
    [("", "h1 does not have benchmarks.validity"), ("1234", "h1 has other sources of benchmarks.validity")],
)
def test_a_host_with_other_sources_is_named(sources: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "names", lambda client: {"tcp://127.0.0.1:1": "h1"})
    with pytest.raises(FleetError, match=said) as raised:
        spread.require_sources(Elsewhere({"benchmarks.validity": sources}), ("benchmarks.validity",))
    assert "checkout" in str(raised.value.hint)
