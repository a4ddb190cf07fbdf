"""Waits by kind: every look counts, ours do not, a lost server is None, and a real server tells a lock from a CPU."""

import threading
import time
from typing import Any

import psycopg
import pytest

from pgassay.host.runner import SystemClock
from pgassay.probe.registry import Probes
from pgassay.probe.server_views import KINDS, WaitsReader
from pgassay.probe.statistics import Session
from pgassay.testing import real
from pgassay.testing.fakes import FakeClock

PATIENCE_S = 300.0


class Answers:
    """A session that answers with the same row, or not at all."""

    def __init__(self, row: tuple[int, ...] | None) -> None:
        self.row = row
        self.closed = False

    def fetch(self, sql: bytes) -> tuple[Any, ...] | None:
        return self.row

    def close(self) -> None:
        self.closed = True


def waits(answers: Answers, interval_s: float = 3600.0) -> WaitsReader:
    return WaitsReader(answers, FakeClock(), interval_s)  # type: ignore[arg-type]


def test_looks_add_up() -> None:
    probe = waits(Answers((1, 0, 3, 0, 0, 0, 0, 4)))
    probe.read()
    (reading,) = probe.read()
    probe.close()
    assert reading.source == "waits"
    assert (reading.values["looks"], reading.values["on_cpu"], reading.values["lock"], reading.values["all"]) == (
        2.0, 2.0, 6.0, 8.0,
    )  # fmt: skip


def test_it_looks_between_the_readings() -> None:
    before = set(threading.enumerate())
    probe = waits(Answers((1,) * (len(KINDS) + 1)), 0.001)
    probe.read()
    deadline = time.monotonic() + PATIENCE_S
    looks, asked = 0.0, 1
    while looks < asked + 20 and time.monotonic() < deadline:
        time.sleep(0.005)
        looks, asked = probe.read()[0].values["looks"] or 0.0, asked + 1
    probe.close()
    assert looks >= asked + 20, "each reading is a look, and the others were between them"
    assert [thread for thread in set(threading.enumerate()) - before if thread.name == "waits"] == []


def test_a_lost_server_is_none_and_starts_no_thread() -> None:
    answers = Answers(None)
    probe = waits(answers)
    (reading,) = probe.read()
    assert set(reading.values.values()) == {None}
    probe.close()
    probe.close()
    assert answers.closed


def test_shares_are_of_all_backends_seen() -> None:
    found = Probes().costs({"waits.lock": 6.0, "waits.on_cpu": 2.0, "waits.all": 8.0}, 100)
    assert (found["waits_lock_share"], found["waits_on_cpu_share"]) == (0.75, 0.25)
    assert found["waits_client_share"] is None
    assert Probes().costs({"waits.lock": 0.0, "waits.all": 0.0}, 0)["waits_lock_share"] is None


@pytest.mark.system
def test_a_real_server_tells_a_lock_from_a_client() -> None:
    with real.private_folder() as folder:
        installation = real.installation()
        installation.initialize(folder / "data", {})
        server = installation.start(folder / "data", {"fsync": "off"}, folder / "socket")
        try:
            conninfo = server.endpoint.conninfo().replace("application_name=pgassay", "application_name=load")
            probe = WaitsReader(Session(server.endpoint), SystemClock(), 3600.0)
            with psycopg.connect(conninfo) as holder, psycopg.connect(conninfo) as waiter:
                holder.execute("CREATE TABLE t ()")
                holder.execute("SELECT pg_advisory_lock(1)")
                blocked = threading.Thread(target=lambda: waiter.execute("SELECT pg_advisory_lock(1)"))
                blocked.start()
                deadline = time.monotonic() + PATIENCE_S
                seen: dict[str, float] = {}
                while not (seen.get("lock") and seen.get("client")) and time.monotonic() < deadline:
                    before = probe.read()[0].values
                    seen = {
                        name: (value or 0.0) - (before[name] or 0.0) for name, value in probe.read()[0].values.items()
                    }
                holder.execute("SELECT pg_advisory_unlock(1)")
                blocked.join()
            probe.close()
        finally:
            server.stop()
    assert seen["lock"] == 1
    assert seen["client"] >= 1
    assert seen["data_read"] == 0
