"""What emulated drives cost a real PostgreSQL: `python -m benchmarks.drive_pgbench prepare|measure|remove DIRECTORY`.

`pgbench -N -M prepared -c 4 -j 2` on four clusters of one make: on csd (zstd-1), on ssd (no codec), on an image (the
same loop device and file system over a file) and in the host's own directory. Slices of all four alternate in random
order, each between two CHECKPOINTs that are not timed. Ratios are means of the blocks' logarithms with 95 % (t over
blocks): transactions per second, and the CPU time of server and drive's program per transaction, which means something
on a busy machine, too. As root.
"""

import argparse
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ratios import interval
from pgassay.drive.block.daemon import SocketControl
from pgassay.drive.root import NAME
from pgassay.host.accounts import choose
from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.interfaces.load import Tools
from pgassay.interfaces.server import Server
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.postgres.find import Finder
from pgassay.postgres.installation import LocalInstallation
from pgassay.postgres.ownership import private_directory
from pgassay.probe.procfs import ProcessTree

EMULATED = ("csd", "ssd")
KINDS = (*EMULATED, "image", "directory")
AIMS = (("csd", "image", 0.9), ("csd", "directory", 0.95), ("ssd", "image", 0.95))
"""One kind's transactions per second over another's, at least."""
SETTINGS = {
    "shared_buffers": "256MB", "checkpoint_timeout": "1h", "max_wal_size": "2GB", "min_wal_size": "2GB",
    "autovacuum": "off",
}  # fmt: skip
"""WAL files are there from the first slices on; nothing of an idle server's works beside another's slice."""


@dataclass(frozen=True)
class Slice:
    """What one of them yielded: transactions per second, and CPU time in microseconds per transaction."""

    tps: float
    server_us: float
    daemon_us: float
    machine_us: float

    def cpu_us(self) -> float:
        """Of the server and the drive's program."""
        return self.server_us + self.daemon_us


@dataclass
class Running:
    """A server on its drive."""

    server: Server
    control: SocketControl | None

    def daemon_us(self) -> float:
        """CPU time of the drive's program so far."""
        return 0.0 if self.control is None else float(self.control.ask("stats")["daemon_cpu_ns"]) / 1e3


def drive_command(directory: Path, *words: str) -> Any:
    """`pgassay drive …`, its answer."""
    command = [sys.executable, "-m", "pgassay", "drive", *words, "--data-dir", str(directory), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def place(directory: Path, kind: str) -> Path:
    """Where a cluster lies."""
    if kind == "directory":
        return directory / kind
    listed = drive_command(directory, "list")["drives"]
    return Path(next(each["mounted_at"] for each in listed if each["name"] == kind)) / "cluster"


def installation() -> LocalInstallation:
    """The PostgreSQL that is found."""
    account = choose()
    return Finder(LocalRunner(account), SystemClock(), account, os.environ).find()


@contextmanager
def serving(directory: Path, kind: str) -> Iterator[Running]:
    """The server of one kind, with a socket directory of its own."""
    account = choose()
    cluster = place(directory, kind)
    home = directory / NAME / "drives" / kind
    with private_directory(account) as sockets:
        server = installation().start(cluster, SETTINGS, sockets)
        try:
            yield Running(server, SocketControl(home) if kind in EMULATED else None)
        finally:
            server.stop()


def prepare(given: argparse.Namespace) -> None:
    """Drives, clusters, rows."""
    account = choose()
    given.directory.mkdir(parents=True, exist_ok=True)
    given.directory.chmod(0o755)
    tools = Tools(installation().bindir, LocalRunner(account), SystemClock())
    load = PgbenchLoad(PgbenchOptions(scale=given.scale), tools)
    for kind in KINDS:
        if kind != "directory":
            drive_command(given.directory, "create", kind, kind, "--capacity", given.capacity)
        cluster = place(given.directory, kind)
        cluster.mkdir(mode=0o700)
        shutil.chown(cluster, account.uid, account.gid)
        installation().initialize(cluster, {})
        with serving(given.directory, kind) as running:
            load.create(running.server)
            load.fill(running.server)
        print(f"{kind}: ready in {cluster}", flush=True)


def busy_us() -> float:
    """CPU time that the machine has worked, all cores."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
    return (user + nice + system + irq + softirq) * 1e6 / os.sysconf("SC_CLK_TCK")


def one_slice(running: Running, seconds: int, seed: int) -> Slice:
    """One run of pgbench, after a CHECKPOINT and before one."""
    running.server.execute("CHECKPOINT")
    endpoint = running.server.endpoint
    tree = ProcessTree("server", running.server.postmaster_pid, SystemClock())

    def look() -> tuple[float, float, float]:
        (reading,) = tree.read()
        cpu = [reading.values[name] for name in ("user_us", "system_us")]
        return sum(each for each in cpu if each is not None), running.daemon_us(), busy_us()

    before = look()
    done = subprocess.run(
        [
            str(installation().bindir / "pgbench"), "-N", "-M", "prepared", "-c", "4", "-j", "2", "-n", "-T",
            str(seconds), f"--random-seed={seed}", "-h", str(endpoint.socket_directory), "-p", str(endpoint.port),
            "-U", endpoint.user, endpoint.database,
        ],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    after = look()
    running.server.execute("CHECKPOINT")
    count = int(re.findall(r"actually processed: (\d+)", done)[0])
    tps = float(re.findall(r"tps = ([\d.]+)", done)[0])
    server, daemon, machine = ((end - start) / count for start, end in zip(before, after, strict=True))
    return Slice(tps, server, daemon, machine)


def told(blocks: list[Mapping[str, Slice]]) -> None:
    """Medians, then the ratios that have an aim."""
    for kind in KINDS:
        mine = [block[kind] for block in blocks]
        tps, server, daemon, machine = (
            statistics.median(getattr(each, name) for each in mine)
            for name in ("tps", "server_us", "daemon_us", "machine_us")
        )
        print(f"{kind:<9} {tps:7.0f} tps, CPU per transaction: server {server:5.0f} us, drive's program {daemon:4.0f} "
              f"us, whole machine {machine:5.0f} us")  # fmt: skip
    for kind, other, aim in AIMS:
        tps = [math.log(block[kind].tps / block[other].tps) for block in blocks]
        cpu = [math.log(block[kind].cpu_us() / block[other].cpu_us()) for block in blocks]
        print(f"{kind} / {other}: tps {interval(tps)}, aim {aim}; CPU per transaction {interval(cpu)}")


def measure(given: argparse.Namespace) -> None:
    """All kinds in each block, in random order."""
    blocks: list[Mapping[str, Slice]] = []
    with ExitStack() as stack:
        servers = {kind: stack.enter_context(serving(given.directory, kind)) for kind in KINDS}
        for kind, running in servers.items():
            running.server.query("SELECT count(abalance) FROM pgbench_accounts")
            one_slice(running, 2, seed=1)
            print(f"{kind}: warm", flush=True)
        for number in range(given.blocks):
            order = random.Random(number).sample(KINDS, len(KINDS))
            blocks.append({kind: one_slice(servers[kind], given.seconds, seed=number + 2) for kind in order})
            print("  ".join(f"{kind} {blocks[-1][kind].tps:.0f}" for kind in KINDS), flush=True)
    told(blocks)


def remove(given: argparse.Namespace) -> None:
    """All that `prepare` made."""
    drive_command(given.directory, "destroy", *KINDS[:-1])
    shutil.rmtree(given.directory / "directory")


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("prepare", "measure", "remove"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--scale", type=int, default=50)
    parser.add_argument("--capacity", default="4GB")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=8)
    given = parser.parse_args()
    given.directory = given.directory.absolute()
    {"prepare": prepare, "measure": measure, "remove": remove}[given.part](given)


if __name__ == "__main__":
    main()
