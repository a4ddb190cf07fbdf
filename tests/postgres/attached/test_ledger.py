"""The list of what is owed to a user's server: on disk before anything is done, for one lab at a time."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.errors import BenchError, Missing
from pgassay.interfaces.places import Endpoint, Version
from pgassay.postgres.attached.attachment import attach, owed
from pgassay.postgres.attached.changes import AttachedLedger, Debt, ledgers, revive
from pgassay.postgres.attached.facts import Client, Facts
from pgassay.postgres.attached.restarts import RestartCommand
from pgassay.study.findings import Severity

ENDPOINT = Endpoint(
    Path("db1.example"), 5433, "app's", "a\\b", more=(("passfile", "/etc/pgpass"), ("sslmode", "require"))
)
DEBTS = (Debt("database", "pgassay_1"), Debt("setting", "work_mem", None, "8MB"), Debt("setting", "work_mem", None, ""))


def test_address_and_debts_come_back_as_they_were_written(tmp_path: Path) -> None:
    ledger = AttachedLedger.of(tmp_path, ENDPOINT, "712")
    assert ledger.lock.take()
    for debt in DEBTS:
        ledger.add(debt)
    (found,) = ledgers(tmp_path)
    assert (found.endpoint, found.system, found.owed()) == (ENDPOINT, "712", DEBTS)
    assert found.path.stat().st_mode & 0o077 == 0, "the address is nobody else's business"
    found.clear()
    assert ledgers(tmp_path) == []


def test_how_the_server_is_restarted_comes_back_for_whoever_repairs(tmp_path: Path) -> None:
    command = RestartCommand(("systemctl", "restart", "post gres"), 90.0)
    ledger = AttachedLedger.of(tmp_path, ENDPOINT, "712", command, Path("/var/lib/data"))
    assert ledger.lock.take()
    ledger.note(4000, 17)
    for value in ("1GB", "2GB"):
        ledger.add(Debt("setting", "shared_buffers", "128MB" if value == "1GB" else "1GB", value))
    (found,) = ledgers(tmp_path)
    assert (found.restart, found.data, found.commands()) == (command, Path("/var/lib/data"), ((4000, 17),))
    assert found.before() == ({"shared_buffers": "128MB"}, {"shared_buffers": ["1GB", "2GB"]}), "the first knows"
    ledger.lock.release()
    assert "shared_buffers" in owed(tmp_path)[0].text


@pytest.mark.parametrize("known", [False, True])
def test_a_server_that_stays_down_is_owed_and_what_helps_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """Of files elsewhere, and of files that this account may not write, or not even see."""
    data = tmp_path / "nowhere" if known else None
    ledger = AttachedLedger.of(tmp_path, ENDPOINT, "712", RestartCommand(("false",), 1.0), data)
    assert ledger.lock.take()
    ledger.add(Debt("setting", "shared_buffers", None, "1GB"))
    monkeypatch.setattr("pgassay.postgres.attached.restarts.answers", lambda endpoint, patience_s, down: False)
    with pytest.raises(BenchError, match='is down: "false" ended with status 1') as caught:
        revive(Agreeing(ENDPOINT), ledger)
    edit = f"sudo sed -i -E '/^(shared_buffers) *=/d' {data}/postgresql.auto.conf; then: false; then: "
    by_hand = edit if known else "take shared_buffers out of its postgresql.auto.conf"
    assert by_hand in (caught.value.hint or "")
    assert (caught.value.hint or "").endswith("pgassay doctor --repair")
    assert len(ledger.owed()) == 1


def test_a_line_cut_short_was_not_acted_upon_and_the_next_stands_apart(tmp_path: Path) -> None:
    ledger = AttachedLedger.of(tmp_path, ENDPOINT, "712")
    assert ledger.lock.take()
    ledger.add(DEBTS[0])
    with ledger.path.open("a") as file:
        file.write('{"kind": "setting", "na')
    assert ledger.owed() == DEBTS[:1]
    ledger.add(DEBTS[1])
    assert ledger.owed() == DEBTS[:2]
    ledger.path.write_text('{"kind": "server", "ho')
    assert ledgers(tmp_path) == [], "the first line was cut short, so nothing was done after it"


def test_one_lab_at_a_time_and_doctor_tells_which_it_is(tmp_path: Path) -> None:
    ledger, other = (AttachedLedger.of(tmp_path, ENDPOINT, "712") for _ in range(2))
    assert owed(tmp_path) == []
    assert ledger.lock.take()
    ledger.add(DEBTS[0])
    assert not other.lock.take()
    assert [each.severity for each in owed(tmp_path)] == [Severity.NOTE]
    ledger.lock.release()
    (finding,) = owed(tmp_path)
    assert finding.severity is Severity.WARNING
    assert "pgassay_1" in finding.text
    assert "db1.example:5433" in finding.text
    assert finding.remedy == "pgassay doctor --repair"
    assert other.lock.take()


class Agreeing:
    """A session that says yes, and nobody else has one."""

    def __init__(self, endpoint: Endpoint, first: str = "") -> None:
        self.endpoint = endpoint

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        if "synchronous_standby_names" in sql:
            return [("", "on", 0)]
        return [] if "pg_locks" in sql else [(True,)]

    def close(self) -> None:
        """There is nothing to close."""


def test_a_server_with_other_clients_is_free_for_the_next_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Facts(Version(17, 1, "17.1"), "712", False, "me", True, True, True, True, True, True, 100, None)
    ours = "pgassay.postgres.attached"
    monkeypatch.setattr(f"{ours}.attachment.resolve", lambda dsn, environment, called: ENDPOINT)
    monkeypatch.setattr(f"{ours}.attachment.Session", Agreeing)
    monkeypatch.setattr(f"{ours}.facts.ask", lambda sql: found)
    monkeypatch.setattr(
        f"{ours}.facts.others", lambda sql, companions: (Client(1, "app", "shop", "app", "client backend"),)
    )
    with pytest.raises(BenchError, match="has other clients"):
        attach("service=staging", tmp_path, Missing())
    monkeypatch.setattr(f"{ours}.facts.others", lambda sql, companions: ())
    attach("service=staging", tmp_path, Missing()).close()


@pytest.mark.parametrize(("started", "same"), [("7.5", True), ("8.5", False)])
def test_the_same_server_by_another_address_is_refused_and_a_copy_of_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str, same: bool
) -> None:
    """A physical copy has the system identifier of its original."""
    found = Facts(
        Version(17, 1, "17.1"), "712", False, "me", True, True, True, True, True, True, 100, None, started="7.5"
    )
    ours = "pgassay.postgres.attached"
    monkeypatch.setattr(f"{ours}.attachment.resolve", lambda dsn, *more: replace(ENDPOINT, port=int(dsn)))
    monkeypatch.setattr(f"{ours}.attachment.Session", Agreeing)
    monkeypatch.setattr(f"{ours}.facts.ask", lambda sql: found)
    monkeypatch.setattr(f"{ours}.facts.others", lambda sql, companions: ())
    first = attach("1", tmp_path, Missing())
    try:
        monkeypatch.setattr(f"{ours}.facts.ask", lambda sql: replace(found, started=started))
        if not same:
            attach("2", tmp_path, Missing(), others=[first]).close()
            return
        with pytest.raises(UsageError, match=r"server B .* again \(system identifier 712\)"):
            attach("2", tmp_path, Missing(), called="server B of --server", others=[first])
    finally:
        first.close()
