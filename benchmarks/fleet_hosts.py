"""Wall time to the end of a run over one to eight hosts: at least 0.8 of linear.

python -m benchmarks.fleet_hosts [--blocks 48] [--block-s 4] [--prepare-s 0] [--hosts 1,2,4,8]

In five minutes on a quiet machine: --blocks 32 (240 s of blocks; the rest is for starting schedulers and workers).

Emulated: a host is a real worker behind a real Dask scheduler on this machine, which reads a block of fakes that was
made before the clock began, and gives it after a fixed time; the head, the parcels, the record and the decisions are
the product's. (Hosts that make their fakes themselves want a processor of their own each, which eight of them on two
cores have not.) `--prepare-s` is what a host's first block takes beside: each host makes its data, so a short run over
many hosts cannot be linear. The run ends after a fixed number of blocks, since the number that a verdict takes does not
depend on who runs them. Printed too is how long the head itself worked: that is no host's time while hosts have blocks.
"""

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from distributed import Client, get_worker

from pgassay.fleet import addresses, inbox
from pgassay.fleet.blocks import BlockOrder
from pgassay.fleet.dask_crew import DaskCrew, Terms, connect
from pgassay.fleet.head import FleetConductor
from pgassay.fleet.job import Bench, Job, Jobs
from pgassay.fleet.task import Shipped
from pgassay.lab.runner import Watcher
from pgassay.record.directory import RunDirectory
from pgassay.record.disk import RealDisk
from tests.fleet.fleet_of_fakes import hosted
from tests.fleet.namespaces import end
from tests.lab.simulation import RUN, header, simulate, study_of

GOAL = 0.8
ROOT = Path(__file__).parents[1]
WAIT_S = 120.0
_PREPARED: list[str] = []


def work(job: bytes) -> Shipped:
    """A block that takes as long as the job's document says: seconds, those of a first block, where blocks are."""
    started = time.monotonic()
    order = msgspec.json.decode(job, type=Job)
    block_s, prepare_s, folder = order.bench.document.split(maxsplit=2)
    seconds = float(block_s) + (0.0 if _PREPARED else float(prepare_s))
    _PREPARED.append(order.bench.study)
    came = inbox.read(RealDisk(), Path(folder) / str(order.block), order.block)
    time.sleep(max(0.0, started + seconds - time.monotonic()))
    return str(get_worker().name), [(each.arm, each.attempt, each.sha256, each.data) for each in came.parcels]


def _made(folder: Path, blocks: int) -> None:
    """All blocks of the run, as a host would have sent them."""
    for block in range(1, blocks + 1):
        with TemporaryDirectory() as place:
            came = hosted(Path(place), study=_study(blocks))(BlockOrder(block, header().seed), "made")
        inbox.write(RealDisk(), folder / str(block), came)


def _study(blocks: int):  # type: ignore[no-untyped-def]
    return study_of(
        factors={"table.fillfactor": ["100", "90"]},
        design={"blocks": {"min": blocks, "max": blocks}, "budget": "100h"},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print; 1 where more hosts gain less than the goal."""
    parser = argparse.ArgumentParser(prog="benchmarks.fleet_hosts", description=__doc__)
    parser.add_argument("--blocks", type=int, default=48)
    parser.add_argument("--block-s", type=float, default=4.0)
    parser.add_argument("--prepare-s", type=float, default=0.0)
    parser.add_argument("--hosts", default="1,2,4,8")
    asked = parser.parse_args(arguments)
    counts = [int(each) for each in asked.hosts.split(",")]
    print(f"{asked.blocks} blocks of {asked.block_s:g} s, a host's first {asked.prepare_s:g} s longer")
    alone_s = asked.blocks * asked.block_s + asked.prepare_s
    print(f"hosts  wall s  of linear  head s   (linear: {alone_s:g} s ÷ hosts)")
    worst = 1.0
    with TemporaryDirectory() as folder:
        _made(Path(folder), asked.blocks)
        document = f"{asked.block_s} {asked.prepare_s} {folder}"
        for count in counts:
            with fleet(count) as client, TemporaryDirectory() as place:
                seconds, worked_s = _run(client, count, document, Path(place), asked.blocks)
            share = alone_s / count / seconds
            worst = min(worst, share)
            print(f"{count:5}  {seconds:6.1f}  {share:9.3f}  {worked_s:6.1f}", flush=True)
    print(f"least {worst:.3f}, goal {GOAL}")
    return int(worst < GOAL)


@contextmanager
def fleet(hosts: int) -> Iterator[Client]:
    """A client of so many workers on this machine, over loopback; ended on every way out."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{found.getsockname()[1]}"
    with ExitStack() as stack:
        words = ("--host", address, "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        stack.enter_context(_started("distributed.cli.dask_scheduler", *words))
        for number in range(1, hosts + 1):
            stack.enter_context(_started("pgassay", "worker", address, "--name", f"h{number}"))
        yield stack.enter_context(connect(addresses.parse(address), None, WAIT_S))


@contextmanager
def _started(*words: str) -> Iterator[None]:
    search = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.Popen(
        [sys.executable, "-m", *words], env={**os.environ, "PYTHONPATH": search},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        end(process)


def _imported() -> None:
    """On a worker: that this module is there now is all that is wanted; a real host imports in a bench of its own."""


def _run(client: Client, count: int, document: str, place: Path, blocks: int) -> tuple[float, float]:
    """Seconds from the first order to the end of a run, and how long the head's own process worked in them."""
    simulation = simulate(place, study=_study(blocks))
    crew = DaskCrew(
        client, Terms(count, shared_machine=True, wait_s=WAIT_S), Jobs(Bench("simulated", document)).of, work
    )
    crew.gather()
    client.run(_imported)
    disk, clock = simulation.machine.disk, simulation.machine.clock
    with RunDirectory.create(RUN, header(), "", {}, disk, clock.wall_ns) as run:
        started, worked = time.perf_counter(), time.process_time()
        FleetConductor(simulation.resolved(), run, Watcher(), [], crew=crew).conduct()
        seconds, worked_s = time.perf_counter() - started, time.process_time() - worked
        done = len({entry.data["block"] for entry in run.journal.entries if entry.kind == "trial_started"})
    if done != blocks:
        raise SystemExit(f"{done} of {blocks} blocks were run")
    return seconds, worked_s


if __name__ == "__main__":
    sys.exit(main())
