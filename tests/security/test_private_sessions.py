"""Our own sessions reach the private server that they are for, whatever variables of libpq's the user's shell has."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pgassay.interfaces.places import Endpoint
from pgassay.postgres.server import Session
from pgassay.testing import real

LEADING_ASTRAY = {
    "PGHOSTADDR": "192.0.2.1", "PGHOST": "192.0.2.1", "PGPORT": "5432", "PGUSER": "prod", "PGDATABASE": "prod",
    "PGREQUIREPEER": "nobody", "PGREQUIREAUTH": "scram-sha-256", "PGTARGETSESSIONATTRS": "standby",
    "PGCHANNELBINDING": "require", "PGGSSENCMODE": "require", "PGSSLMODE": "verify-full", "PGSSLNEGOTIATION": "direct",
    "PGCLIENTENCODING": "SQL_ASCII", "PGOPTIONS": "-c search_path=x", "PGPASSWORD": "secret", "PGPASSFILE": "/nowhere",
}  # fmt: skip


@pytest.mark.system
def test_no_variable_of_the_shell_leads_a_session_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with real.server() as (server, _):
        for name, value in LEADING_ASTRAY.items():
            monkeypatch.setenv(name, value)
        session = Session(server.endpoint)
        try:
            assert session.query("SELECT inet_server_addr(), current_user::text, current_setting('search_path')") == [
                (None, "postgres", '"$user", public')
            ]
        finally:
            session.close()


LEADING_BY_VARIABLE_ALONE = {
    "PGSERVICE": "elsewhere", "PGTZ": "Nowhere/Land", "PGDATESTYLE": "German", "PGGEQO": "off",
}  # fmt: skip


@pytest.mark.system
@pytest.mark.parametrize("service", ["[elsewhere]\nhostaddr=192.0.2.1\n", ""])
def test_no_service_and_no_variable_without_a_parameter_is_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    (tmp_path / "services").write_text(service)
    with real.server() as (server, _):
        monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
        for name, value in LEADING_BY_VARIABLE_ALONE.items():
            monkeypatch.setenv(name, value)
        with ThreadPoolExecutor(4) as pool:  # a load's rows are written by several sessions
            found = list(pool.map(lambda _: shown(server.endpoint), range(8)))
        assert found == [(None, "ISO, MDY", "on")] * 8
        assert {name: os.environ.get(name) for name in LEADING_BY_VARIABLE_ALONE} == LEADING_BY_VARIABLE_ALONE


def shown(endpoint: Endpoint) -> tuple[object, ...]:
    """By a session of its own."""
    session = Session(endpoint)
    try:
        ((*row,),) = session.query("SELECT inet_server_addr(), current_setting('DateStyle'), current_setting('geqo')")
        return tuple(row)
    finally:
        session.close()


def test_two_sessions_do_not_open_at_once_where_a_variable_is_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second would find nothing set, and the first would set it again while the second opens."""
    monkeypatch.setenv("PGTZ", "Nowhere/Land")
    inside, second = Event(), Event()

    def connect(*_: object, **__: object) -> bool:
        if inside.is_set():
            second.set()
            return False
        inside.set()
        return second.wait(1.0)

    monkeypatch.setattr(psycopg, "connect", connect)
    endpoint = Endpoint(Path("/tmp/s"), 5432, "postgres", "postgres")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(endpoint.connect)
        assert inside.wait(60)
        pool.submit(endpoint.connect)
        assert not first.result(), "both were inside"
    assert second.is_set()


def test_what_leads_to_a_users_own_server_is_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOSTADDR", "192.0.2.1")
    private = Endpoint(Path("/tmp/s"), 5432, "postgres", "postgres")
    assert conninfo_to_dict(private.conninfo())["hostaddr"] == ""
    assert "hostaddr" not in conninfo_to_dict(replace(private, more=(("sslmode", "prefer"),)).conninfo())
