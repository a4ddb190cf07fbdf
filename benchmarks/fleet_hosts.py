"""Wall time to the end of a run over one to eight hosts: at least 0.8 of linear.

python -m benchmarks.fleet_hosts [--blocks 48] [--block-s 4] [--prepare-s 0] [--hosts 1,2,4,8]

Emulated: a host is a real worker behind a real Dask scheduler on this machine, whose blocks are of fakes and take a
fixed time; the head, the parcels, the record and the decisions are the product's. `--prepare-s` is what a host's first
block takes beside: each host makes its data, so a short run over many hosts cannot be linear. The run ends after a
fixed number of blocks, since the number that a verdict takes does not depend on who runs them.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from distributed import Client, get_worker

from benchmarks.local_fleet import fleet
from pgassay.fleet.dask_crew import DaskCrew, Terms
from pgassay.fleet.head import FleetConductor
from pgassay.fleet.job import Job, Jobs
from pgassay.fleet.task import Shipped
from pgassay.lab.runner import Watcher
from pgassay.record.directory import RunDirectory
from tests.fleet.fleet_of_fakes import hosted
from tests.lab.simulation import RUN, header, simulate, study_of

GOAL = 0.8
_PREPARED: list[str] = []


def work(job: bytes) -> Shipped:
    """A block of fakes that takes as long as the job's document says: seconds, and those of a host's first block."""
    started = time.monotonic()
    order = msgspec.json.decode(job, type=Job)
    blocks, block_s, prepare_s = order.document.split()
    seconds = float(block_s) + (0.0 if _PREPARED else float(prepare_s))
    _PREPARED.append(order.study)
    with TemporaryDirectory() as place:
        came = hosted(Path(place), study=_study(int(blocks)))(order.order, str(get_worker().name))
    time.sleep(max(0.0, started + seconds - time.monotonic()))
    return came.host, [(each.arm, each.attempt, each.sha256, each.data) for each in came.parcels]


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
    document = f"{asked.blocks} {asked.block_s} {asked.prepare_s}"
    counts = [int(each) for each in asked.hosts.split(",")]
    print(f"{asked.blocks} blocks of {asked.block_s:g} s, a host's first {asked.prepare_s:g} s longer")
    alone_s = asked.blocks * asked.block_s + asked.prepare_s
    print(f"hosts  wall s  of linear   (linear: {alone_s:g} s ÷ hosts)")
    worst = 1.0
    for count in counts:
        with fleet([()] * count) as client, TemporaryDirectory() as place:
            seconds = _run(client, count, document, Path(place), asked.blocks)
        share = alone_s / count / seconds
        worst = min(worst, share)
        print(f"{count:5}  {seconds:6.1f}  {share:9.3f}", flush=True)
    print(f"least {worst:.3f}, goal {GOAL}")
    return int(worst < GOAL)


def _run(client: Client, count: int, document: str, place: Path, blocks: int) -> float:
    """Seconds from the first order to the end of a run."""
    simulation = simulate(place, study=_study(blocks))
    crew = DaskCrew(client, Terms(count, shared_machine=True), Jobs("simulated", document).of, work)
    crew.gather()
    disk, clock = simulation.machine.disk, simulation.machine.clock
    with RunDirectory.create(RUN, header(), "", {}, disk, clock.wall_ns) as run:
        started = time.perf_counter()
        FleetConductor(simulation.resolved(), run, Watcher(), [], crew=crew).conduct()
        seconds = time.perf_counter() - started
        done = len({entry.data["block"] for entry in run.journal.entries if entry.kind == "trial_started"})
    if done != blocks:
        raise SystemExit(f"{done} of {blocks} blocks were run")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
