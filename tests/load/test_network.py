"""How far a server is: measured on a real one, directly and behind a relay that holds its answers back."""

import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.errors import UsageError
from pgassay.host import accounts
from pgassay.host.runner import SystemClock
from pgassay.interfaces.client import CLOCK_ERROR, CLOCK_OFFSET, LOOPBACK, RESPONSES, SHORTEST, NetworkPath
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.load import LoadOptions, Tools
from pgassay.interfaces.places import Endpoint, Listening
from pgassay.interfaces.server import Server
from pgassay.load import drivers
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.player import PlayedLoad, PlayedScript, Player
from pgassay.load.references import LOOPBACK_ADDRESS, Loopback, NetworkReference, measure
from pgassay.load.sysbench import SysbenchOptions
from pgassay.load.tpcc import TpccOptions
from pgassay.postgres.network import open_to
from pgassay.testing import real

HELD_BACK_S = 0.1
"""Much longer than a busy machine takes to wake the relay up, in the best of some trips."""
LISTENING = Listening(LOOPBACK_ADDRESS, LOOPBACK_ADDRESS)


@contextmanager
def served(**settings: str) -> Iterator[Server]:
    with real.server(LISTENING, **settings) as (server, _):
        yield server


@contextmanager
def held_back(endpoint: Endpoint) -> Iterator[Endpoint]:
    """The same server behind a relay that is late with every answer. A password is for one port, so the relay's takes
    a file of its own."""
    assert endpoint.network is not None
    with ExitStack() as stack:
        gate = stack.enter_context(socket.create_server((LOOPBACK_ADDRESS, 0)))
        port = gate.getsockname()[1]
        relay = threading.Thread(target=_relay, args=(gate, endpoint.port))
        relay.start()
        stack.callback(relay.join)
        late = endpoint.network.password_file.with_name("late")
        words = endpoint.network.password_file.read_text(encoding="utf-8").split(":")
        late.write_text(":".join([words[0], str(port), *words[2:]]), encoding="utf-8")
        late.chmod(0o600)
        yield replace(endpoint, port=port, network=replace(endpoint.network, password_file=late))


def _relay(gate: socket.socket, port: int) -> None:
    """One connection, until both ends have closed it."""
    client, _ = gate.accept()
    with client, socket.create_connection((LOOPBACK_ADDRESS, port)) as server:
        there = threading.Thread(target=_pass_on, args=(client, server, 0.0))
        there.start()
        _pass_on(server, client, HELD_BACK_S)
        there.join()


def _pass_on(source: socket.socket, target: socket.socket, wait_s: float) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            time.sleep(wait_s)
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@pytest.mark.system
def test_a_planted_delay_is_in_every_trip_and_the_clock_stays_within_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of all exchanges counts, however long a busy machine takes for them."""
    for name, number in (("TRIPS", 10), ("CLOCKS", 20), ("UNTIMED", 2), ("LONGEST_S", 600.0)):
        monkeypatch.setattr(f"pgassay.load.references.{name}", number)
    with served() as server, held_back(server.client_endpoint) as late:
        found = measure(late).responses()
    shortest_us, offset_us, error_us = (found[each.name] for each in (SHORTEST, CLOCK_OFFSET, CLOCK_ERROR))
    assert shortest_us is not None
    assert offset_us is not None
    assert error_us is not None
    assert shortest_us >= HELD_BACK_S * 1e6
    assert abs(offset_us) <= error_us, "one machine has one clock"
    assert offset_us < -HELD_BACK_S * 1e6 / 4, "the answer alone was late, so half of the delay looks like an offset"


@pytest.mark.system
def test_the_reference_measures_only_where_a_network_is_used() -> None:
    reference = NetworkReference(lambda name: Loopback(real.runner()))
    assert reference.responses(PgbenchOptions()) == ()
    options = PgbenchOptions(host="loopback")
    assert reference.responses(options) == RESPONSES
    with served() as server:
        found = reference.measure(options, server)
        assert found.keys() == {each.name for each in RESPONSES}
        assert all(value is not None for value in found.values())
        assert NetworkReference(lambda name: None).measure(options, server) == {}
        elsewhere = NetworkReference(lambda name: None, from_here=True)
        assert elsewhere.responses(PgbenchOptions()) == RESPONSES
        seen = elsewhere.measure(PgbenchOptions(), server)
        assert seen["network_round_trip_us"]
        assert seen["network_trips_per_transaction"] == 7.0
        assert seen["client_clock_offset_us"] is None, "its clock moves no second of a load that runs here"
        server.stop()
        left = {"network_trips_per_transaction": 7.0}  # as tpcb-like is written
        assert dict(reference.measure(options, server)) == {**NetworkPath((), ()).responses(), **left}
        with pytest.raises(LoadError, match="could not measure the network"):
            measure(server.client_endpoint)


LOADS: Mapping[str, LoadOptions] = {
    "pgbench": PgbenchOptions(duration_s=1, host=LOOPBACK),
    "tpcc": TpccOptions(duration_s=1, host=LOOPBACK),
    "sysbench": SysbenchOptions(duration_s=1, host=LOOPBACK, rows=100),
}


@pytest.mark.system
@pytest.mark.parametrize("name", LOADS)
def test_a_load_plays_over_tcp_with_encryption(name: str, tmp_path: Path) -> None:
    options = LOADS[name]
    if name == "sysbench" and shutil.which("sysbench") is None:
        pytest.skip("sysbench is not installed")
    with served(log_connections="on") as server:
        load = drivers.make(options, Tools(real.installation().bindir, real.runner(), SystemClock()))
        load.create(server)
        load.fill(server)
        assert "pgassay_client" not in server.log_text()
        result = load.run(server, tmp_path / "output", 1)
        said = server.log_text()
    assert (result.status, dict(result.problems)) == (0, {})
    assert result.transactions > 0
    assert re.search(r"connection authorized: user=pgassay_client_\w+ database=postgres .*SSL enabled", said)
    assert "user=postgres" not in said.partition("pgassay_client")[2], "the load itself takes no other way"


def player(server: Server, script: str, endpoint: Endpoint | None = None, **more: Any) -> Player:
    load = PlayedLoad((PlayedScript("own", script),), **more)
    return Player(load, endpoint or server.client_endpoint, real.runner(), SystemClock())


@pytest.mark.system
def test_the_player_goes_over_tcp_with_encryption() -> None:
    """Also where a statement or a row is larger than a record of TLS, and by both ways of waiting for an answer."""
    row = f"repeat('y', 200000 + 0 * :n) || '{'x' * 100_000}'"
    long = f"\\set n random(1, 9)\nINSERT INTO texts SELECT {row} RETURNING t;\n"
    with served(log_connections="on") as server:
        server.execute("CREATE TABLE texts (t text)")
        for clients in (1, 3):
            for protocol in ("simple", "extended", "prepared"):
                with player(server, long, clients=clients, protocol=protocol) as playing:
                    played = playing.play(transactions=2)
                    again = playing.play(transactions=1)
                assert (played.transactions, again.transactions) == (2 * clients, clients)
                assert (played.aborted, dict(played.failed)) == ((), {})
        rows = server.query("SELECT count(*), min(length(t)), max(length(t)) FROM texts")
        said = server.log_text()
    assert rows == [(3 * (3 + 9), 300_000, 300_000)]
    assert re.search(r"connection authorized: user=pgassay_client_\w+ .*pgassay-player SSL enabled", said)


@pytest.mark.system
def test_a_long_pipeline_goes_over_tcp_with_encryption() -> None:
    """The server waits until its answers are read, and takes no more until then; also where reads wait (one client)."""
    sent, answered = f"SELECT length('{'x' * 20_000}');\n" * 200, "SELECT repeat('y', 20000);\n" * 500
    text = f"\\startpipeline\n{answered}\\syncpipeline\n{sent}{answered}\\endpipeline\n"
    with served() as server:
        for clients in (1, 3):
            with player(server, text, clients=clients, protocol="extended") as playing:
                played = playing.play(transactions=2)
            assert (played.transactions, played.aborted, dict(played.failed)) == (2 * clients, (), {})
            assert {(each.count, each.rows) for each in played.statements} == {(2 * clients, 2 * clients)}


@pytest.mark.system
def test_the_player_believes_one_certificate_and_needs_the_password(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    with (
        real.private_folder() as place,
        served() as server,
        closing(open_to(LISTENING, place, real.runner(), accounts.choose())) as other,
    ):
        endpoint = server.client_endpoint
        assert endpoint.network is not None
        line = endpoint.network.password_file.read_text(encoding="utf-8")
        wrong.write_text(f"{line.rpartition(':')[0]}:guessed\n", encoding="utf-8")
        theirs = other.endpoint(endpoint).network
        assert theirs is not None
        changed = {
            "another certificate than its own": replace(endpoint.network, certificate=theirs.certificate),
            "password authentication failed": replace(endpoint.network, password_file=wrong),
            "no password for this server": replace(endpoint.network, password_file=theirs.password_file),
            "no certificate in": replace(endpoint.network, certificate=wrong),
        }
        for words, network in changed.items():
            with pytest.raises(LoadError, match=words) as refused:
                player(server, "SELECT 1;", replace(endpoint, network=network))
            assert "guessed" not in refused.value.message


@pytest.mark.system
def test_a_server_that_goes_ends_its_clients_and_not_the_player() -> None:
    with served() as server, player(server, "SELECT 1;", clients=2) as playing:
        assert playing.play(transactions=1).transactions == 2
        server.stop()
        gone = playing.play(transactions=1)
    assert (gone.transactions, len(gone.aborted)) == (0, 2)


@pytest.mark.parametrize("text", ["", "two words", "-h", "a/b", "x" * 64])
def test_a_host_has_a_name_that_a_worker_may_have(text: str) -> None:
    with pytest.raises(UsageError, match=r"load\.host"):
        PgbenchOptions.from_levels({"host": text})
