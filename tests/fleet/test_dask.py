"""A real scheduler and real workers, on loopback and over TLS: fakes first, then PostgreSQL."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgassay.cli import main
from pgassay.fleet import FleetError, certificates
from pgassay.fleet.blocks import Bench, FleetRunLoop
from pgassay.fleet.dask_executor import DaskExecutor, Terms, connect, names
from pgassay.lab.runner import Watcher
from pgassay.lab.trial_state import HostState
from pgassay.record.check import check
from pgassay.record.directory import RunDirectory
from pgassay.record.reading import Run
from pgassay.study.findings import Severity
from pgassay.testing import real
from tests.fleet import fake_worker
from tests.fleet.namespaces import awaited, end
from tests.lab.simulation import RUN, ending, header, simulate

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
READY_S = 300.0


def free_port() -> int:
    """One that nobody has, and that the kernel gives to no connection before the scheduler takes it."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(10_000, first), 100):
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


@contextmanager
def started(*command: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A program that is ended, and waited for, on every way out."""
    search = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    process = subprocess.Popen(
        [sys.executable, "-m", *command], env={**os.environ, **search, **environment}, stdout=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        end(process)


@contextmanager
def fleet(folder: Path, names: tuple[str, ...], **environment: str) -> Iterator[str]:
    """A scheduler and its workers over TLS on loopback; yields the address."""
    head = certificates.find(folder, "head")
    address = f"tls://127.0.0.1:{free_port()}"
    tls = ["--tls-ca-file", str(head.authority), "--tls-cert", str(head.certificate), "--tls-key", str(head.key)]
    with ExitStack() as stack:
        stack.enter_context(
            started("distributed.cli.dask_scheduler", "--host", address, "--no-dashboard", "--dashboard-address",
                    "127.0.0.1:0", *tls)
        )  # fmt: skip
        for name in names:
            words = ("fleet", "worker", address, "--certs", str(folder), "--name", name)
            stack.enter_context(started("pgassay", *words, **environment))
        yield address


@dataclass
class Listener(Watcher):
    """Keeps what it is told of the hosts."""

    told: list[HostState]

    def hosts(self, states: Sequence[HostState]) -> None:
        self.told.extend(states)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    certificates.make(tmp_path / "certs", 2)
    return tmp_path / "certs"


def test_a_study_of_fakes_over_two_workers_one_of_which_dies(tmp_path: Path, folder: Path) -> None:
    dies = tmp_path / "dies"
    dies.touch()
    simulation = simulate(tmp_path)
    with ExitStack() as stack:
        address = stack.enter_context(fleet(folder, ("h1", "h2", "h3")))
        client = stack.enter_context(
            connect(certificates.parse_address(address), certificates.find(folder, "head"), READY_S)
        )
        terms = Terms(3, shared_machine=True, wait_s=READY_S)
        executor = DaskExecutor(client, terms, Bench("simulated", str(dies)).job, fake_worker.work)
        assert set(executor.gather()) == {"h1", "h2", "h3"}
        disk, clock = simulation.machine.disk, simulation.machine.clock
        run = stack.enter_context(RunDirectory.create(RUN, header(), "", {}, disk, clock.wall_ns))
        FleetRunLoop(simulation.resolved(), run, Watcher(), [], executor=executor).conduct()
    assert not dies.exists()
    found = ending(simulation)
    assert {trial.host for trial in found.trials} <= {"h1", "h2", "h3"}
    assert len({(trial.block, trial.host) for trial in found.trials}) == len({trial.block for trial in found.trials})


def test_a_block_that_hangs_is_told_and_begun_on_a_spare_host(tmp_path: Path, folder: Path) -> None:
    hangs = tmp_path / fake_worker.HANGS
    hangs.touch()
    simulation = simulate(tmp_path)
    told: list[HostState] = []
    with ExitStack() as stack:
        address = stack.enter_context(fleet(folder, ("h1", "h2", "h3")))
        client = stack.enter_context(
            connect(certificates.parse_address(address), certificates.find(folder, "head"), READY_S)
        )
        terms = Terms(2, shared_machine=True, wait_s=READY_S, spare=1)
        executor = DaskExecutor(client, terms, Bench("simulated", str(hangs)).job, fake_worker.work)
        assert set(executor.gather()) == {"h1", "h2", "h3"}
        disk, clock = simulation.machine.disk, simulation.machine.clock
        run = stack.enter_context(RunDirectory.create(RUN, header(), "", {}, disk, clock.wall_ns))
        FleetRunLoop(simulation.resolved(), run, Listener(told), [], executor=executor).conduct()
        until = time.monotonic() + READY_S
        while not hangs.with_suffix(".over").exists() and time.monotonic() < until:
            time.sleep(0.1)
    assert hangs.with_suffix(".over").exists()
    late = hangs.with_suffix(".over").read_text(encoding="utf-8")
    assert late in {each.host for each in told if each.late and each.block == 3}
    found = ending(simulation)
    assert {trial.host for trial in found.trials if trial.block == 3} < {"h1", "h2", "h3"} - {late}
    assert {each.host for each in told} == {"h1", "h2", "h3"}


@pytest.mark.timeout(600)
def test_a_host_that_cannot_do_what_others_do_is_left_out(tmp_path: Path, folder: Path) -> None:
    simulation = simulate(tmp_path)
    told: list[HostState] = []
    with ExitStack() as stack:
        address = stack.enter_context(fleet(folder, ("h1", "h2", "h3")))
        client = stack.enter_context(
            connect(certificates.parse_address(address), certificates.find(folder, "head"), READY_S)
        )
        bench = Bench("simulated", fake_worker.FAILS)
        executor = DaskExecutor(client, Terms(3, shared_machine=True, wait_s=READY_S), bench.job, fake_worker.work)
        executor.gather()
        disk, clock = simulation.machine.disk, simulation.machine.clock
        run = stack.enter_context(RunDirectory.create(RUN, header(), "", {}, disk, clock.wall_ns))
        FleetRunLoop(simulation.resolved(), run, Listener(told), [], executor=executor).conduct()
        assert executor.within_reach() == {"h2", "h3"}
    assert {each.failed for each in told if each.host == "h1"} >= {"no space left on device"}
    assert {trial.host for trial in ending(simulation).trials} == {"h2", "h3"}


def test_nobody_comes_in_without_a_certificate_of_the_fleet(tmp_path: Path, folder: Path) -> None:
    certificates.make(tmp_path / "others", 2)
    with fleet(folder, ()) as address:
        parsed = certificates.parse_address(address)
        with connect(parsed, certificates.find(folder, "head"), READY_S) as client:
            executor = DaskExecutor(client, Terms(1, wait_s=1.0), Bench("none", "").job)
            with pytest.raises(FleetError, match="0 of 1 hosts came"):
                executor.gather()
        with pytest.raises(FleetError, match="no scheduler answers"):
            connect(parsed, certificates.find(tmp_path / "others", "head"), 5.0)
        with pytest.raises(FleetError, match="no scheduler answers"):
            connect(certificates.parse_address(address.replace("tls", "tcp")), None, 5.0)


@pytest.mark.system
def test_real_servers_on_two_workers_and_a_head_that_is_killed(place: Path, folder: Path) -> None:
    real.installation()
    out, data = place / "run", place / "data"
    data.mkdir(mode=0o755)
    study = [
        "--levels", "table.fillfactor=100,50", "--set", "load.duration=2s", "--set", "load.warmup=0s", "--set",
        "load.scale=1", "--blocks", "5..5", "--pairing", "sequential",
    ]  # fmt: skip
    with fleet(folder, ("h1", "h2"), PGASSAY_DATA_DIR=str(data)) as address:
        with connect(certificates.parse_address(address), certificates.find(folder, "head"), READY_S) as client:
            awaited("the workers are there", lambda: len(names(client)) == 2, READY_S)  # a head waits for a minute
        where = ["--on", address, "--certs", str(folder), "--hosts", "2", "--shared-machine", "--allow-busy",
                 "--allow-volatile"]  # fmt: skip
        command = ["pgassay", "run", "fillfactor", "--quick", *study, *where, "--out", str(out)]
        with started(*command, "--data-dir", str(data)) as head:
            until = time.monotonic() + 800.0
            while not list(out.glob("trials/[0-9]*")) and head.poll() is None and time.monotonic() < until:
                time.sleep(0.2)
            head.send_signal(signal.SIGKILL)
        assert list(out.glob("trials/[0-9]*"))
        assert main(["resume", str(out), *where, "--quiet"]) == 0
    run = Run.open(out)
    assert [each for each in check(out) if each.severity is Severity.ERROR] == []
    assert run.journal[-1].kind == "finished"
    assert {trial.host for trial in run.trials} == {"h1", "h2"}
    assert len({(trial.block, trial.host) for trial in run.trials}) == 5
    assert len({(trial.block, trial.arm) for trial in run.trials if trial.attempt == 1}) == 10
    assert set(run.host["fleet"]) == {"h1", "h2"}
