"""Whatever executes a user's or a stranger's text runs under the unprivileged account, and knows nothing of root's.

Each program is given text that starts a shell: it notes its account, rights, variables and open files. Before, loads
and psql ran as root with all of its environment.
"""

import os
import pwd
import stat
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pgassay.children import PATH, which
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.interfaces.load import Tools
from pgassay.interfaces.server import Server
from pgassay.load import program
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.player import PlayedLoad, PlayedScript, Player
from pgassay.testing import real
from tests.load.loads import pgbench, sysbench_tpcc
from tests.load.test_pgbench_runs import BASE
from tests.security.attackers import as_account, nobody

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to leave"),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]
SECRETS = ("PLANTED_TOKEN", "PGPASSWORD", "LD_LIBRARY_PATH", "PYTHONPATH", "SSH_AUTH_SOCK")
KNOWN = {"PATH", "LC_ALL", "HOME", "USER", "LOGNAME", "PGASSAY_LAB", "PWD", "SHLVL", "_", "OLDPWD"}
OF_LIBPQ = {"PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGSYSCONFDIR", "PGLOCALEDIR"}
OF_A_SERVER = {"PG_OOM_ADJUST_FILE", "PG_OOM_ADJUST_VALUE", "PGDATA", "PGLOCALEDIR", "PGSYSCONFDIR"} | {
    f"LC_{name}" for name in ("COLLATE", "CTYPE", "MESSAGES", "MONETARY", "NUMERIC", "TIME")
}


class Probe:
    """A script that notes who runs it, in a directory of the account."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._notes = folder / "notes"
        self._file = folder / "probe.sh"
        self._file.write_text(
            f"exec 9>&- >>{self._notes}; id -u; id -G; umask; grep -E '^(NoNewPrivs|Cap)' /proc/self/status; env\n"
        )
        self._file.chmod(0o755)

    @property
    def command(self) -> str:
        """What the text starts."""
        return f"sh {self._file}"

    def require_unprivileged(self, *more: set[str]) -> None:
        """It was started, without rights and without anything of ours."""
        uid, groups, umask, *lines = self._notes.read_text().splitlines()
        account = choose()
        assert int(uid) == account.uid != 0
        assert "0" not in groups.split()
        assert int(umask, 8) == 0o077
        facts = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        assert facts.pop("NoNewPrivs") == "1"
        assert {name: int(value, 16) for name, value in facts.items()} == dict.fromkeys(
            ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0
        )
        variables = dict(line.split("=", 1) for line in lines if "=" in line)
        assert variables["PATH"] == PATH
        assert variables["HOME"] == pwd.getpwuid(account.uid).pw_dir
        assert set(variables) - KNOWN - set().union(*more) == set()


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Probe]:
    for name in SECRETS:
        monkeypatch.setenv(name, "/planted")
    with real.private_folder() as folder:
        yield Probe(folder)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with real.server() as (started, _):
        yield started


@pytest.mark.parametrize("how", ["\\shell {}", "\\setshell one {} && echo 1"])
def test_pgbench_starts_no_shell_of_roots(how: str, probe: Probe, server: Server, tmp_path: Path) -> None:
    script = tmp_path / "hostile.sql"
    script.write_text(f"{how.format(probe.command)}\nSELECT 1;\n")
    script.chmod(0o600)
    levels = {"script": str(script), "transactions": "1", "clients": "1", "jobs": "1"}
    found = pgbench(levels).run(server, tmp_path / "out", 1)
    assert found.transactions == 1, found.problems
    probe.require_unprivileged(OF_LIBPQ)
    assert (tmp_path / "out" / "pgbench.out").stat().st_uid == 0
    assert "/tmp/pgassay-load" not in (tmp_path / "out" / "pgbench.out").read_text()


def test_psql_starts_no_shell_of_roots(probe: Probe, server: Server, tmp_path: Path) -> None:
    script = tmp_path / "init.sql"
    script.write_text(f"\\! {probe.command}\nCREATE TABLE IF NOT EXISTS made (i int);\n")
    load = pgbench({**BASE, "init": str(script)})
    load.create(server)
    assert server.query("SELECT to_regclass('made') IS NOT NULL")[0][0]
    probe.require_unprivileged(OF_LIBPQ)


def test_a_server_starts_no_shell_of_roots(probe: Probe, server: Server) -> None:
    server.execute(f"COPY (SELECT 1) TO PROGRAM '{probe.command}'")
    probe.require_unprivileged(OF_A_SERVER)


def test_fio_starts_no_shell_of_roots(probe: Probe, server: Server, tmp_path: Path) -> None:
    if which("fio") is None:
        pytest.skip("fio is not installed")
    # The name leads to a place where fio's shell may write what the command prints; else it does not start it.
    named = f"--name={probe.folder}/x"
    words = ["fio", named, "--ioengine=null", "--size=4k", f"--exec_prerun={probe.command}"]
    tools = Tools(real.installation().bindir, real.runner(), SystemClock())
    run = program.run(tools, server, PgbenchOptions(), words, tmp_path, "fio", 5)
    assert (run.done.status, run.problems) == (0, {})
    probe.require_unprivileged(OF_LIBPQ)


def test_sysbench_starts_no_shell_of_roots(probe: Probe, server: Server, tmp_path: Path) -> None:
    if which("sysbench") is None:
        pytest.skip("sysbench is not installed")
    folder = tmp_path / "lua"
    folder.mkdir()
    (folder / "tpcc_common.lua").write_text(f"os.execute('{probe.command}')\n")
    (folder / "tpcc.lua").write_text("require('tpcc_common')\nfunction event() end\n")
    levels = {"lua": str(folder), "warehouses": "1", "threads": "1", "duration": "1s"}
    sysbench_tpcc(levels).run(server, tmp_path / "out", 1)
    probe.require_unprivileged(OF_LIBPQ, {"LUA_PATH"})


def test_the_player_runs_as_nobody_of_importance(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "x")
    load = PlayedLoad((PlayedScript("one", "SELECT 1;"),))
    with Player(load, server.endpoint, real.runner(), SystemClock()) as playing:
        status = Path(f"/proc/{playing.pid}/status").read_text()
        variables = Path(f"/proc/{playing.pid}/environ").read_bytes()
        assert playing.play(transactions=1).transactions == 1
    assert f"Uid:\t{choose().uid}\t" in status
    assert "NoNewPrivs:\t1\n" in status
    assert b"PLANTED_TOKEN" not in variables


def test_only_standard_descriptors_are_open() -> None:
    with Path("/etc/passwd").open("rb") as ours:
        os.set_inheritable(ours.fileno(), True)
        said = real.runner().run(["sh", "-c", "ls /proc/$$/fd"])
    assert set(said.stdout.split()) == {"0", "1", "2"}


def test_what_a_program_leaves_is_taken_without_following_it(tmp_path: Path) -> None:
    """Links, second names, pipes, other people's names: only its own regular files come home."""
    secret, out = tmp_path / "secret", tmp_path / "out"
    secret.write_text("root's")
    out.mkdir()
    (out / "result").write_text("ours")
    hostile = (
        f"cd {out}; echo good >log; ln -s {secret} stolen; ln -s /etc/shadow shadow; mkfifo pipe; mkdir deep;"
        " echo forged >result; echo twice >first; ln first second; chmod 4755 log; truncate -s 8G holes;"
        " echo two >\"$(printf 'a\\nb')\"; echo red >\"$(printf 'a\\033[31mb')\""
    )
    running = real.runner().start(["sh", "-c", hostile], stdout=out / "said", stderr=out / "said", output=out)
    assert running.wait(60).status == 0
    assert {each.name for each in out.iterdir()} == {"log", "result", "said"}
    assert (out / "log").read_text() == "good\n"
    facts = (out / "log").stat()
    assert (facts.st_uid, stat.S_IMODE(facts.st_mode) & 0o7000) == (0, 0)
    assert (out / "result").read_text() == "ours"


def test_what_grows_while_it_is_taken_is_taken_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may leave another behind, which makes holes of its file after that was looked at."""
    out, looked = tmp_path / "out", os.lseek
    out.mkdir()
    running = real.runner().start(
        ["sh", "-c", f"echo good >{out}/log"], stdout=out / "said", stderr=out / "said", output=out
    )
    theirs = running.place(out / "log")

    def looked_at(descriptor: int, place: int, how: int) -> int:
        found = looked(descriptor, place, how)
        if how == os.SEEK_HOLE:
            as_account(choose(), lambda: os.truncate(theirs, 64 << 20))
        return found

    monkeypatch.setattr(os, "lseek", looked_at)
    assert running.wait(60).status == 0
    assert (out / "log").read_bytes() == b"good\n"


@pytest.mark.parametrize("group", ["its own", "the servers'"])
def test_no_other_account_reaches_what_a_program_reads_and_writes(tmp_path: Path, group: str) -> None:
    """pgbench's logs lie in /tmp while it runs: nobody else can list, read, swap or plant there."""
    out, script = tmp_path / "out", tmp_path / "script.sql"
    out.mkdir()
    script.write_text("SELECT 'secret';\n")
    script.chmod(0o600)
    words = ["sh", "-c", f"cat {script} >{out}/log; echo ready >{out}/ready; sleep 600"]
    running = real.runner().start(words, stdout=out / "said", stderr=out / "said", files=[script], output=out)
    try:
        theirs = running.place(out)
        deadline = time.monotonic() + 120
        while not (theirs / "ready").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        copies = [each for each in (theirs.parent / "in").rglob("*.sql")]
        assert (theirs / "log").read_text() == script.read_text() == copies[0].read_text()
        other = nobody() if group == "its own" else replace(nobody(), gid=choose().gid)
        attempts = [
            lambda: list(theirs.parent.iterdir()),
            lambda: list(theirs.iterdir()),
            lambda: (theirs / "log").read_text(),
            lambda: (theirs / "log").open("a").close(),
            lambda: (theirs / "log").unlink(),
            lambda: (theirs / "planted").touch(),
            lambda: (theirs.parent / "planted").touch(),
            lambda: theirs.rename(theirs.with_name("moved")),
            lambda: theirs.parent.rename(theirs.parent.with_name("pgassay-moved")),
            lambda: copies[0].read_text(),
            lambda: copies[0].unlink(),
            lambda: os.link(copies[0], theirs.parent.parent / "pgassay-second-name"),
        ]
        for number, attempt in enumerate(attempts):

            def refused(attempt: Callable[[], object] = attempt, number: int = number) -> None:
                with pytest.raises(PermissionError):
                    print(number, attempt())

            as_account(other, refused)
    finally:
        running.terminate()
    assert (out / "log").read_text() == script.read_text()


def test_what_root_needs_rights_for_keeps_them() -> None:
    said = real.runner().run(["id", "-u"], privileged="a test")
    assert said.stdout == "0\n"


def test_an_ordinary_users_programs_gain_and_inherit_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inner part runs as nobody, by the system's Python: ours may lie where nobody cannot enter."""
    python = which("python3", {"PATH": "/usr/bin:/bin"})
    if python is None:
        pytest.skip("the system has no python3 for the launcher")
    monkeypatch.setenv("PLANTED_TOKEN", "x")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            nobody = pwd.getpwnam("nobody")
            os.setgroups([])
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            sys.executable = python
            said = LocalRunner(choose()).run(["sh", "-c", "id -u; grep NoNewPrivs /proc/self/status; env"])
            os.write(writing, f"{said.stdout}{said.stderr}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        uid, rights, *variables = pipe.read().splitlines()
    os.waitpid(child, 0)
    assert int(uid) == pwd.getpwnam("nobody").pw_uid
    assert rights == "NoNewPrivs:\t1"
    assert {line.split("=")[0] for line in variables} - KNOWN == set()
