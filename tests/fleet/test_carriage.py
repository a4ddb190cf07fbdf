"""Pieces between workers that are processes of their own: what a killed worker has is not sent again, and what comes
damaged is refused and sent again."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import pytest
from distributed import Client

from pgassay.fleet import addresses, carriage, messages, pieces, spread
from pgassay.fleet.carriage import Carriage, Place, fetched_listing, link_bytes_per_s, on_host
from pgassay.fleet.dask_crew import connect
from pgassay.fleet.messages import FleetError
from pgassay.fleet.pieces import Listing, Store, pack, unpack
from tests.fleet import fake_worker
from tests.fleet.test_dask import free_port, started
from tests.fleet.test_pieces import everything, tree
from tests.noise import noise

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

READY_S = 300.0
"""Four processes that import Dask, on a busy machine."""


class Hosts:
    """A scheduler and workers on loopback, each with a folder."""

    def __init__(self, place: Path, stack: ExitStack) -> None:
        self.place, self._stack = place, stack
        self.address = f"tcp://127.0.0.1:{free_port()}"
        words = ("--host", self.address, "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        stack.enter_context(started("distributed.cli.dask_scheduler", *words))
        self.workers = {name: self.start(name) for name in ("h1", "h2", "h3")}
        self.client: Client = stack.enter_context(connect(addresses.parse(self.address), None, READY_S))
        self.awaited({"h1", "h2", "h3"})

    def start(self, name: str) -> "object":
        return self._stack.enter_context(started("pgassay", "worker", self.address, "--name", name))

    def awaited(self, names: set[str]) -> None:
        until = time.monotonic() + READY_S
        while set(carriage.addresses(self.client)) != names:
            assert time.monotonic() < until
            time.sleep(0.1)

    def at(self, name: str) -> Place:
        return Place(name, str(self.place / name))

    def store(self, name: str) -> Store:
        return Store(self.place / name)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with ExitStack() as stack:
        yield Hosts(tmp_path, stack)


def origin(hosts: Hosts, megabytes: int) -> tuple[Path, Listing]:
    """A directory on h1, packed there; nothing of it shrinks."""
    found = tree(hosts.place / "origin", {f"{n}": noise(1 << 20, n) for n in range(megabytes)})
    pack(found, "mine", hosts.store("h1"))
    return found, fetched_listing(hosts.client, hosts.at("h1"))


def whole(hosts: Hosts, name: str, listing: Listing, wanted: Path) -> bool:
    into = hosts.place / f"{name}-into"
    into.mkdir()
    unpack(listing, hosts.store(name), into)
    return everything(into) == everything(wanted)


def never() -> None:
    raise AssertionError("nothing was damaged")


def test_pieces_go_to_all_hosts_and_what_a_host_has_is_not_sent(hosts: Hosts) -> None:
    wanted, listing = origin(hosts, 30)
    assert len(listing.pieces) == 8
    had = listing.pieces[:3]
    for piece in had:
        hosts.store("h3").put(piece.sha256, hosts.store("h1").read(piece.sha256))
    sent = Carriage(hosts.client, hosts.at("h1"), listing, never).carry([hosts.at("h2"), hosts.at("h3")])
    assert sent.bytes == 2 * listing.packed_bytes - sum(piece.bytes for piece in had)
    assert (sent.again, sent.failed) == (0, {})
    assert whole(hosts, "h2", listing, wanted)
    assert whole(hosts, "h3", listing, wanted)
    again = Carriage(hosts.client, hosts.at("h1"), listing, never).carry([hosts.at("h2")])
    assert again.bytes == 0
    assert link_bytes_per_s(hosts.client, "h1", "h2") > 0.0


def test_a_damaged_piece_is_refused_made_anew_and_sent_again(hosts: Hosts) -> None:
    wanted, listing = origin(hosts, 9)
    piece = listing.pieces[1]
    damaged = hosts.place / "h1" / piece.sha256
    damaged.write_bytes(b"?" + damaged.read_bytes()[1:])
    made = []

    def anew() -> None:
        made.append(pack(wanted, "mine", hosts.store("h1"), anew=True))

    sent = Carriage(hosts.client, hosts.at("h1"), listing, anew).carry([hosts.at("h2")])
    assert (made, sent.again, sent.bytes) == ([listing], 1, listing.packed_bytes)
    assert whole(hosts, "h2", listing, wanted)
    damaged.write_bytes(b"?" + damaged.read_bytes()[1:])
    with pytest.raises(FleetError, match="came from h1 damaged each time"):
        Carriage(hosts.client, hosts.at("h1"), listing, lambda: None).carry([hosts.at("h3")])


def test_a_host_that_can_keep_nothing_is_named_and_the_others_get_all(hosts: Hosts) -> None:
    wanted, listing = origin(hosts, 9)
    (hosts.place / "h2").touch()  # no folder can be made here, as on a disk that is full
    sent = Carriage(hosts.client, hosts.at("h1"), listing, never).carry([hosts.at("h2"), hosts.at("h3")])
    assert sent.failed == {"h2": "what came cannot be kept: file exists"}
    assert whole(hosts, "h3", listing, wanted)


def test_a_worker_killed_on_the_way_goes_on_with_what_it_lacks(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """h2 dies when it has a few pieces, and comes back as another worker; h3 is killed for good."""
    monkeypatch.setattr(carriage, "BACK_S", 120.0)
    wanted, listing = origin(hosts, 60)
    killed: list[int] = []

    def kill() -> None:
        for name in ("h2", "h3"):
            hosts.workers[name].kill()  # type: ignore[attr-defined]
            hosts.workers[name].wait()  # type: ignore[attr-defined]
        killed.append(len(hosts.store("h2").lacks(listing)))
        hosts.workers["h2"] = hosts.start("h2")

    class Interrupted(Carriage):
        """Its second round has pieces under way while they are killed."""

        rounds = 0

        def _round(self, targets: Sequence[carriage._Target]) -> None:
            self.rounds += 1
            killer = Thread(target=kill if self.rounds == 2 else list)
            killer.start()
            super()._round(targets)
            killer.join()

    sent = Interrupted(hosts.client, hosts.at("h1"), listing, never).carry([hosts.at("h2"), hosts.at("h3")])
    assert 0 < killed[0] < len(listing.pieces), "killed on the way"
    assert sent.failed == {"h3": messages.DID_NOT_COME_BACK}
    assert whole(hosts, "h2", listing, wanted)
    sizes = [piece.bytes for piece in listing.pieces]
    assert sent.bytes < sum(sizes) * 2, "what h2 had was not sent again, and h3 did not get all"


def test_work_that_is_each_hosts_own_ends_with_the_name_of_a_host_that_is_lost(hosts: Hosts) -> None:
    """A build on every host waited for ever for one that was killed."""

    begun = hosts.place / "begun"
    begun.mkdir()

    def kill() -> None:
        until = time.monotonic() + READY_S
        while len(list(begun.iterdir())) < len(hosts.workers) and time.monotonic() < until:
            time.sleep(0.1)
        hosts.workers["h3"].kill()  # type: ignore[attr-defined]
        (begun / "enough").touch()

    killer = Thread(target=kill)
    killer.start()
    with pytest.raises(FleetError, match="h3 is gone"):
        list(spread.on_each(hosts.client, fake_worker.wait_for_enough, str(begun)))
    killer.join()


def test_what_a_function_on_a_host_raises_comes_as_it_is_and_a_host_that_is_gone_is_named(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carriage, "BACK_S", 0.5)
    assert on_host(hosts.client, "h1", os.getpid) == hosts.workers["h1"].pid  # type: ignore[attr-defined]
    with pytest.raises(FleetError, match="damaged"):
        on_host(hosts.client, "h1", pieces.Store(hosts.place / "none").read, "0" * 64)
    with pytest.raises(FleetError, match="h4 is gone"):
        on_host(hosts.client, "h4", os.getpid)
