"""A fleet of hosts with links of their own: what is left of a run, and of a host, when one of them fails.

The hosts are network namespaces of this machine (`namespaces`), each with its own PostgreSQL and data directory, so a
cable can be pulled and a host can die; what they measure means nothing beside each other.
"""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pgassay.host import groups
from pgassay.host.changes import FILE as LEDGER
from pgassay.host.changes import GROUP_PREFIX
from pgassay.lab.decisions import replay
from pgassay.record.check import check
from pgassay.record.reading import Run
from pgassay.study.findings import Severity
from pgassay.testing import real
from tests.fleet import namespaces
from tests.fleet.namespaces import WAIT_S, Host, Lab, awaited, joined

pytestmark = [pytest.mark.slow, pytest.mark.system]

SMALL = (
    "--levels", "table.fillfactor=100,50", "--set", "load.duration=2s", "--set", "load.warmup=0s", "--set",
    "load.scale=1", "--pairing", "sequential", "--allow-busy", "--allow-volatile", "--quiet",
)  # fmt: skip
CUT_OFF_S = 60.0
ENOUGH_BLOCKS = 20  # one host alone plays about six of them in a minute: the head dies before the last one


@pytest.fixture
def lab(place: Path) -> Iterator[Lab]:
    real.installation()
    with namespaces.lab(place, 3) as made:
        yield made


def idle(host: Host) -> Callable[[], bool]:
    """Has it no server?"""
    return lambda: not host.servers()


class Fleet:
    """The programs of a lab, each ended on the way out."""

    def __init__(self, lab: Lab, stack: ExitStack) -> None:
        self.lab, self._stack = lab, stack
        self.scheduler = self.keep(lab.scheduler())
        self.workers = {host.name: self.keep(lab.worker(host)) for host in lab.hosts}
        awaited("the workers are there", lambda: all(joined(host) for host in lab.hosts))  # a head waits for a minute

    def keep(self, process: "subprocess.Popen[bytes]") -> "subprocess.Popen[bytes]":
        self._stack.callback(namespaces.end, process)
        return process

    def head(self, *words: str) -> "subprocess.Popen[bytes]":
        """`pgassay` on the head."""
        return self.keep(self.lab.head.start("pgassay", *words, *self.lab.on(), log="head"))


def whole(path: Path, blocks: int) -> Run:
    """The record of a run that has ended: nothing missing, doubled, mixed, or decided otherwise than it says."""
    run = Run.open(path)
    assert [each for each in check(path) if each.severity is Severity.ERROR] == []
    assert run.journal[-1].kind == "finished"
    assert len({(trial.block, trial.host) for trial in run.trials}) == blocks
    assert len({(trial.block, trial.arm, trial.attempt) for trial in run.trials}) == len(run.trials)
    assert {trial.block for trial in run.trials} == set(range(1, blocks + 1))
    return run


@pytest.mark.timeout(1800)
def test_a_killed_worker_a_minute_without_a_cable_and_a_killed_head(lab: Lab, place: Path) -> None:
    out = place / "run"
    first, second, third = lab.hosts
    with ExitStack() as stack:
        fleet = Fleet(lab, stack)
        blocks = str(ENOUGH_BLOCKS)
        words = ("--blocks", f"{blocks}..{blocks}", "--out", str(out))
        head = fleet.head("run", "fillfactor", "--quick", *SMALL, *words)
        awaited("a server on the first host", first.servers)
        fleet.workers[first.name].send_signal(signal.SIGKILL)
        awaited("the killed worker's servers are stopped", lambda: not first.servers())
        awaited("its bench has ended", lambda: not first.processes())
        awaited("a server on the second host", second.servers)
        second.cable("down")
        cut = time.monotonic()
        awaited("the servers of the host that is cut off are stopped", lambda: not second.servers())
        awaited("a minute", lambda: time.monotonic() - cut > CUT_OFF_S)
        second.cable("up")
        awaited("the host that was cut off is back", lambda: joined(second) >= 2)
        awaited("a committed trial", lambda: list(out.glob("trials/[0-9]*")))
        assert head.poll() is None, "the run ended before its head could be killed"
        head.send_signal(signal.SIGKILL)
        head.wait()
        for host in (second, third):
            awaited(f"{host.name} gives back what it held for the head", idle(host))
        before = joined(first)
        fleet.workers[first.name] = fleet.keep(lab.worker(first))
        awaited("the first host is back", lambda: joined(first) > before)
        resumed = fleet.head("resume", str(out), "--allow-busy", "--allow-volatile", "--quiet")
        assert resumed.wait(WAIT_S) == 0, lab.head.said("head")
        found = whole(out, ENOUGH_BLOCKS)
        assert {trial.host for trial in found.trials} <= {host.name for host in lab.hosts}
        assert list(replay(out)) == []
    assert not any(host.processes() for host in (lab.head, *lab.hosts))


LIMITED = """\
[study]
format = 1
title = "Limited"
question = "What does memory do?"
[factors]
"host.memory" = ["256MB", "300MB"]
[load]
driver = "pgbench"
scale = 1
duration = "60s"
[responses]
primary = "tps"
[design]
baseline = { "host.memory" = "256MB" }
pairing = "sequential"
blocks = { min = 5, max = 5 }
"""


@pytest.mark.timeout(900)
def test_a_limit_that_a_host_gave_its_server_goes_when_the_head_is_killed(place: Path) -> None:
    real.installation()
    hierarchy = groups.memory_hierarchy()
    if hierarchy is None:
        pytest.skip("no memory controller")
    study = place / "limited.toml"
    study.write_text(LIMITED, encoding="utf-8")
    with namespaces.lab(place, 1) as lab, ExitStack() as stack:
        (host,) = lab.hosts
        fleet = Fleet(lab, stack)
        head = fleet.head("run", str(study), "--allow-busy", "--allow-volatile", "--quiet", "--out", str(place / "run"))

        def limited() -> list[Path]:
            made = (hierarchy.top.glob(f"{GROUP_PREFIX}{bench}-*") for bench in host.processes())
            return [each for some in made for each in some]

        awaited("a server under a limit", lambda: (host.servers() and limited()) or head.poll() is not None)
        assert head.poll() is None, lab.head.said("head")
        (group,) = limited()
        ledger = host.folder / "state" / LEDGER
        assert str(group) in ledger.read_text(encoding="utf-8")
        head.send_signal(signal.SIGKILL)
        head.wait()
        awaited("the server is stopped", idle(host))
        awaited("its group is gone", lambda: not group.exists())
        awaited("nothing is owed", lambda: not ledger.exists())
        assert fleet.workers[host.name].poll() is None, "it waits for another head"


@pytest.mark.timeout(1500)
def test_a_host_whose_disk_is_full_is_left_out(lab: Lab, place: Path) -> None:
    out = place / "run"
    image = place / "image"
    with image.open("wb") as file:
        file.truncate(48 << 20)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    if subprocess.run(["mount", "-o", "loop", image, lab.hosts[0].data], check=False).returncode != 0:
        pytest.skip("this machine mounts no loop device")
    try:
        with ExitStack() as stack:
            fleet = Fleet(lab, stack)
            words = ("--blocks", "5..5", "--mixed-hosts", "--out", str(out))
            assert fleet.head("run", "fillfactor", "--quick", *SMALL, *words).wait(WAIT_S) == 0
            assert fleet.workers["h1"].wait(WAIT_S) == 0
            assert {trial.host for trial in whole(out, 5).trials} == {"h2", "h3"}
    finally:
        subprocess.run(["umount", str(lab.hosts[0].data)], check=True)


@pytest.mark.timeout(900)
def test_a_killed_scheduler_leaves_no_server_and_workers_find_the_next_one(lab: Lab, place: Path) -> None:
    host = lab.hosts[0]
    with ExitStack() as stack:
        fleet = Fleet(lab, stack)
        head = fleet.head("run", "fillfactor", "--quick", *SMALL, "--blocks", "5..5", "--out", str(place / "run"))
        awaited("a server", host.servers)
        fleet.scheduler.send_signal(signal.SIGKILL)
        for each in lab.hosts:
            awaited(f"{each.name} gives back what it held", idle(each))
        namespaces.end(head)
        assert fleet.workers[host.name].poll() is None
        scheduler = fleet.keep(lab.scheduler())
        awaited("the workers are back", lambda: all(joined(each) >= 2 for each in lab.hosts))
        namespaces.end(scheduler)
        awaited("they end with a scheduler that is ended", lambda: not any(each.processes() for each in lab.hosts))
        assert {each.wait(WAIT_S) for each in fleet.workers.values()} == {0}
