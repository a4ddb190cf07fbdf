"""A worker under an unprivileged account of its own: it keeps to its data directory, and gives everything back.

The account is `nobody`, which owns next to nothing on any machine: what it owns afterwards is the worker's. What it may
not enter on the way to Python or to these sources (a home of root's) is opened to it in its own mount namespace only.
"""

import os
import pwd
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from pgassay.host import accounts
from pgassay.interfaces.places import Account
from pgassay.record.check import check
from pgassay.record.reading import Run
from pgassay.study.findings import Severity
from pgassay.testing import real
from tests.fleet import namespaces
from tests.fleet.namespaces import ROOT, WAIT_S, awaited, joined
from tests.fleet.test_namespaces import SMALL

NAME = "nobody"
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/var/lib", "/var/cache", "/var/log", "/home", "/mnt")
"""Where an account without a home may leave anything."""
OPENED = r"""mkdir "$KEPT" && mount --bind "$NEEDED" "$KEPT" && mount -t tmpfs -o mode=755 tmpfs "$CLOSED" &&
mkdir -p "$NEEDED" && mount --bind "$KEPT" "$NEEDED" && umount "$KEPT" && rmdir "$KEPT"
"""
AS_NOBODY = r"""cd /
exec env -u PGASSAY_STATE_DIR -u TMPDIR setpriv --reuid "$ACCOUNT" --regid "$GROUP" --clear-groups --no-new-privs "$@"
"""


def owned(account: Account, home: Path, but: Path) -> set[str]:
    """The files of an account, also in its home, and what of System V's memory is its own; not those below `but`."""
    found = set()
    for place in (*PLACES, str(home)):
        for folder, names, files in os.walk(place):
            names[:] = [each for each in names if Path(folder, each) != but]
            for name in (*names, *files):
                with suppress(OSError):  # others' files come and go meanwhile
                    if Path(folder, name).lstat().st_uid == account.uid:
                        found.add(str(Path(folder, name)))
    for line in Path("/proc/sysvipc/shm").read_text(encoding="ascii").splitlines()[1:]:
        if int(line.split()[7]) == account.uid:  # key, shmid, perms, size, cpid, lpid, nattch, uid
            found.add(f"shared memory {line.split()[1]}")
    return found


def running(account: Account) -> set[str]:
    """The programs of an account, wherever they run."""
    found = set()
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if each.stat().st_uid == account.uid:
                words = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.add(f"{each.name} {words}")
    return found


def opened(account: Account, kept: Path) -> tuple[str, dict[str, str]]:
    """What opens the way to Python to the account where it is closed; its words and its environment."""
    needed = Path(sys.base_prefix).resolve()
    closed = accounts.barrier(needed, account)
    for other in (Path(sys.prefix), ROOT):
        if accounts.barrier(other, account) is not None:
            pytest.skip(f"{NAME} may not enter {other}")
    if closed is None:
        return "", {}
    if closed == needed:
        pytest.skip(f"{NAME} may not enter {needed}")
    return OPENED, {"KEPT": str(kept), "NEEDED": str(needed), "CLOSED": str(closed)}


def servers_of(account: Account) -> Callable[[], bool]:
    """Has it one?"""
    return lambda: any("postgres" in each and " -D " in each for each in running(account))


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(900)
def test_a_worker_under_an_account_of_its_own_leaves_files_in_its_data_directory_alone(place: Path) -> None:
    real.installation()
    namespaces.require()
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    try:
        entry = pwd.getpwnam(NAME)
    except KeyError:
        pytest.skip(f"there is no account {NAME}")
    account = Account(NAME, entry.pw_uid, entry.pw_gid)
    if running(account):
        pytest.skip(f"{NAME} runs programs of its own here")
    out, home = place / "run", place / "home"
    home.mkdir()
    with namespaces.lab(place, 1) as lab, ExitStack() as stack:
        (host,) = lab.hosts
        shutil.copytree(lab.certs, home / "certs")
        for each in (host.data, home, home / "certs", *(home / "certs").iterdir()):
            os.chown(each, account.uid, account.gid)
        words, environment = opened(account, place / "kept")
        before, closed = owned(account, home, host.data), set(host.folder.iterdir())
        stack.callback(namespaces.end, lab.scheduler())
        worker = host.enter(
            "sh", "-ec", words + AS_NOBODY, "sh", sys.executable, "-m", "pgassay", "fleet", "worker", lab.address,
            "--certs", str(home / "certs"), "--name", host.name,
            ACCOUNT=str(account.uid), GROUP=str(account.gid), HOME=str(home),
            **environment,
        )  # fmt: skip
        stack.callback(namespaces.end, worker)
        awaited("the worker is there", lambda: joined(host) or worker.poll() is not None)
        assert worker.poll() is None, host.said()
        head = lab.head.start(
            "pgassay", "run", "fillfactor", "--quick", *SMALL, "--blocks", "2..2", *lab.on(), "--out", str(out),
            log="head",
        )  # fmt: skip
        stack.callback(namespaces.end, head)
        awaited("a server of the account", lambda: servers_of(account)() or head.poll())  # or the head has failed
        assert head.wait(WAIT_S) == 0, lab.head.said("head")
        namespaces.end(worker)
        assert worker.returncode == 0, host.said()
        awaited("nothing of the account's runs", lambda: not running(account))
        notes = home / ".local"  # of temporary places, which it gave back: a lock is left
        assert {each for each in owned(account, home, host.data) if not Path(each).is_relative_to(notes)} == before
        assert [each.name for each in notes.rglob("*") if each.is_file()] == [".lock"]
        assert set(host.folder.iterdir()) == {*closed, host.folder / "log"}
        assert {each.lstat().st_uid for each in host.data.rglob("*")} <= {account.uid}
    run = Run.open(out)
    assert [each for each in check(out) if each.severity is Severity.ERROR] == []
    assert {(trial.block, trial.host) for trial in run.trials} == {(1, host.name), (2, host.name)}
