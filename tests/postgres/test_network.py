"""A server over TCP: a verifier by the standard's own example, and on a real server who gets in, and what is left."""

import hashlib
import hmac
import shutil
import socket
import stat
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from pgassay.host.accounts import choose
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.places import Endpoint, Listening
from pgassay.interfaces.server import Server
from pgassay.postgres import network
from pgassay.testing import real

LOOPBACK = Listening("127.0.0.1", "127.0.0.1")
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
NONCE = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
EXCHANGE = f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={NONCE},s={SALT},i=4096,c=biws,r={NONCE}".encode()
"""The example of RFC 7677, section 3, for the password `pencil`, with the proof and the signature that it gives."""
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SIGNATURE = "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_a_verifier_admits_the_example_of_the_standard() -> None:
    kind, counted, keys = network.verifier("pencil", b64decode(SALT)).split("$")
    stored, served = (b64decode(key) for key in keys.split(":"))
    assert (kind, counted) == ("SCRAM-SHA-256", f"4096:{SALT}")
    assert hmac.digest(served, EXCHANGE, "sha256") == b64decode(SIGNATURE)
    signed = hmac.digest(stored, EXCHANGE, "sha256")
    client_key = bytes(one ^ other for one, other in zip(b64decode(PROOF), signed, strict=True))
    assert hashlib.sha256(client_key).digest() == stored


def test_rules_name_one_role_and_one_address() -> None:
    first, second = network.rules("role", "192.0.2.7").splitlines()
    assert first == "local all all trust"
    assert second == 'hostssl postgres "role" 192.0.2.7/32 scram-sha-256'
    assert network.rules("role", "2001:db8::7").endswith("2001:db8::7/128 scram-sha-256\n")


def test_a_password_line_escapes_the_colons_of_an_address() -> None:
    opening = network.Opening(Path("/nowhere"), Listening("::1", "::1"), 5433, "role", "secret")
    assert network.password_line(opening) == "\\:\\:1:5433:postgres:role:secret\n"
    assert "secret" not in repr(opening)


def test_a_port_that_is_taken_and_an_address_that_is_not_ours_are_refused() -> None:
    with pytest.raises(BenchError, match=r"could not listen on any port of 192\.0\.2\.7"):
        network.bound(Listening("192.0.2.7", "192.0.2.7"))
    with pytest.raises(BenchError, match=r"could not listen on port 1 of 203\.0\.113\.1"):
        network.bound(Listening("203.0.113.1", "203.0.113.1", 1))


@pytest.mark.skipif(shutil.which(network.OPENSSL) is None, reason="openssl is not installed")
def test_a_port_that_was_found_free_is_nobody_elses_until_the_server_has_ended() -> None:
    with (
        real.private_folder() as place,
        closing(network.open_to(LOOPBACK, place, real.runner(), choose())) as opening,
    ):
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((LOOPBACK.address, opening.port))
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((LOOPBACK.address, opening.port))
            server.listen()
    assert opening.kept is not None
    assert opening.kept.fileno() == -1


@contextmanager
def served() -> Iterator[tuple[Server, Path]]:
    """A server over TCP, and its folder: `data`, `socket`."""
    installation = real.installation()
    with real.private_folder() as folder:
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket", listening=LOOPBACK)
        try:
            server.execute("CREATE TABLE mine AS SELECT 1 AS one")
            yield server, folder
        finally:
            server.stop()


def _ask(endpoint: Endpoint, sql: str, **more: str) -> object:
    with psycopg.connect(endpoint.conninfo(), **more) as connection:  # type: ignore[arg-type]
        row = connection.execute(sql.encode()).fetchone()
        assert row is not None
        return row[0]


def test_a_load_gets_in_with_encryption_and_its_password_and_nothing_else_does() -> None:
    with served() as (server, _):
        endpoint = server.client_endpoint
        assert endpoint.network is not None
        assert _ask(endpoint, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") is True
        assert _ask(endpoint, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
        assert _ask(endpoint, "SELECT one FROM mine") == 1
        with pytest.raises(psycopg.OperationalError, match="no encryption"):
            _ask(endpoint, "SELECT 1", sslmode="disable")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            _ask(endpoint, "SELECT 1", password="guessed")
        with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry"):
            _ask(replace(endpoint, user="postgres"), "SELECT 1")
        secret = endpoint.network.password_file.read_text(encoding="utf-8").strip().rpartition(":")[2]
        assert len(secret) > 40
        assert secret not in server.log_text()
        places = [endpoint.network.password_file.parent, *endpoint.network.password_file.parent.iterdir()]
        assert all(stat.S_IMODE(each.stat().st_mode) & 0o077 == 0 for each in places if each.suffix != ".pem")
        assert stat.S_IMODE(endpoint.network.certificate.with_name("server-key.pem").stat().st_mode) == 0o600


def test_nothing_is_left_of_it_when_the_server_stops() -> None:
    with served() as (server, folder):
        server.stop()
        assert not [each.name for each in (folder / "socket").iterdir() if each.name.startswith("network")]
        installation = real.installation()
        again = installation.start(folder / "data", {}, folder / "socket")
        try:
            open_to_others = "type <> 'local' AND auth_method <> 'reject'"
            assert again.query(f"SELECT line_number FROM pg_hba_file_rules WHERE {open_to_others}") == []
            assert again.query("SELECT name FROM pg_settings WHERE name = 'ssl' AND setting = 'on'") == []
        finally:
            again.stop()


def test_nothing_is_left_of_it_when_the_server_does_not_start() -> None:
    installation = real.installation()
    with real.private_folder() as folder:
        installation.initialize(folder / "data", {})
        with pytest.raises(BenchError):
            installation.start(folder / "data", {"shared_buffers": "1"}, folder / "socket", listening=LOOPBACK)
        assert not [each.name for each in (folder / "socket").iterdir() if each.name.startswith("network")]


def test_a_server_that_was_not_asked_has_no_port() -> None:
    with real.server() as (server, _):
        assert server.client_endpoint == server.endpoint
        assert server.query("SHOW listen_addresses") == [("",)]
