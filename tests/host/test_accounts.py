"""Whom servers run as, and whether they can get where they must."""

import os
from pathlib import Path

import pytest

from pgassay.host import accounts
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.places import Account

STRANGER = Account("stranger", 64999, 64999)


def _known(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """A password database with these accounts and root."""

    class Entry:
        def __init__(self, name: str, uid: int) -> None:
            self.pw_name, self.pw_uid, self.pw_gid = name, uid, uid

    entries = {"root": Entry("root", 0)} | {name: Entry(name, 500 + at) for at, name in enumerate(names)}
    monkeypatch.setattr("pwd.getpwnam", lambda name: entries[name])


@pytest.mark.parametrize(
    ("names", "sudo_user", "chosen"),
    [
        (("nobody", "alice", "postgres", "pgassay"), "alice", "pgassay"),
        (("nobody", "alice", "postgres"), "alice", "postgres"),
        (("nobody", "alice"), "alice", "alice"),
        (("nobody", "alice"), "root", "nobody"),
        (("nobody",), "", "nobody"),
    ],
)
def test_root_drops_to_the_best_account_there_is(
    names: tuple[str, ...], sudo_user: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _known(monkeypatch, *names)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    account = accounts.choose({"SUDO_USER": sudo_user})
    assert account.name == chosen
    assert account.uid != 0
    assert f'"{chosen}"' in accounts.describe(account)


def test_root_alone_in_the_world_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _known(monkeypatch)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(BenchError, match="no unprivileged account"):
        accounts.choose({})


def test_everyone_else_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: object())
    account = accounts.choose({})
    assert (account.name, account.uid) == (None, 1234)
    assert "1234" in accounts.describe(account)


def test_a_user_without_an_entry_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.setattr("os.geteuid", lambda: 1234)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(BenchError, match="1234 has no entry"):
        accounts.choose({})


def test_the_closed_directory_on_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getgrouplist", lambda name, gid: [gid])
    closed = tmp_path / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    barrier = accounts.barrier(closed / "inner", STRANGER)
    assert barrier is not None
    assert (closed / "inner").is_relative_to(barrier)
    with pytest.raises(BenchError, match='may not enter "'):
        accounts.require_reach(closed / "inner", STRANGER)
    assert accounts.barrier(Path("/usr/lib"), STRANGER) is None


def test_an_account_that_is_ourselves_reaches_what_we_reach(tmp_path: Path) -> None:
    accounts.require_reach(tmp_path, Account(None, os.geteuid(), os.getegid()))
    assert accounts.barrier(tmp_path, Account(None, os.geteuid(), os.getegid())) is None
