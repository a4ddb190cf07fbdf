"""What measuring costs: server CPU per transaction and tps under the lab with all probes ÷ bare pgbench.

usage: python -m benchmarks.harness_overhead [--rounds N] [--seconds N] [--scale N] [--data-dir DIR]

One server on one cluster; rounds are interleaved, their order turns. Bare: pgbench by itself with the same options as
the lab gives it (-n -N -M prepared -P 1 -l, the same clients, jobs and seed). The lab: all that a trial does, every
probe once a second and at the edges. For information also against pgbench without -P 1 -l: what its own log costs. The
server's CPU is read from its process tree around the load. Goals: CPU ≤ 1.02; tps ≥ 0.98 within its interval.
"""

import argparse
import math
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.ratios import bounds
from pgassay.drive.options import DriveOptions
from pgassay.interfaces.probe import Target
from pgassay.interfaces.server import Server
from pgassay.interfaces.store import Needs
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.pgbench.output import parse_summary
from pgassay.probe.procfs import ProcessTree
from pgassay.probe.registry import every_probe
from pgassay.probe.sampler import Sampler

Figures = tuple[float, float]
"""tps and server CPU µs per transaction."""


class Pair:
    """Both ways of running the same load on one server."""

    def __init__(self, bench: Workbench, server: Server, directory: Path, options: dict[str, str]) -> None:
        self._bench = bench
        self._server = server
        self._directory = directory
        self._options = options
        self._tree = ProcessTree("process_tree", server.postmaster_pid, bench.clock)

    def bare(self, seed: int) -> Figures:
        """pgbench by itself, with the lab's options."""
        return self._pgbench(seed, ["-P", "1", "-l"])

    def without_log(self, seed: int) -> Figures:
        """pgbench by itself, without progress and log."""
        return self._pgbench(seed, [])

    def _pgbench(self, seed: int, extra: list[str]) -> Figures:
        options = self._options
        program = self._bench.installation().bindir / "pgbench"
        command = [str(program), "-n", "-N", "-M", options["protocol"], "-c", options["clients"], "-j", options["jobs"]]
        command += ["-T", options["duration"].removesuffix("s"), f"--random-seed={seed}", *extra]
        with tempfile.TemporaryDirectory() as output:
            before = self._cpu_us()
            done = subprocess.run(
                command,
                env=self._server.endpoint.environment(),
                cwd=output,
                check=True,
                capture_output=True,
                text=True,
            )
            used = self._cpu_us() - before
        summary = parse_summary(done.stdout)
        assert summary.tps is not None, done.stdout
        return summary.tps, used / summary.processed

    def under_the_lab(self, seed: int) -> Figures:
        load = self._bench.load(PgbenchOptions.from_levels(self._options), self._bench.installation())
        target = Target(self._server, self._directory, self._bench.clock)
        sampler = Sampler(every_probe().open(target), self._bench.clock)
        with tempfile.TemporaryDirectory() as output:
            sampler.start()
            sampler.read_all()
            before = self._cpu_us()
            result = load.run(self._server, Path(output), seed)
            used = self._cpu_us() - before
            sampler.read_all()
            sampler.close()
        tps = result.responses["tps"]
        assert tps is not None, result.problems
        return tps, used / result.transactions

    def _cpu_us(self) -> float:
        while self._server.query("SELECT 1 FROM pg_stat_activity WHERE application_name = 'pgbench'"):
            time.sleep(0.01)
        time.sleep(0.1)  # the postmaster has reaped what ended, so that nobody's time falls between two looks
        (reading,) = self._tree.read()
        user, system = reading.values["user_us"], reading.values["system_us"]
        assert user is not None, "the server is gone"
        assert system is not None, "the server is gone"
        return user + system


def ratio_line(name: str, ratios: list[float], goal: str) -> str:
    low, middle, high = bounds([math.log(ratio) for ratio in ratios])
    return (
        f"{name}: ratio {middle:.4f}, 95 % interval [{low:.4f}, {high:.4f}], median {statistics.median(ratios):.4f}"
        f" over {len(ratios)} rounds (goal {goal})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    options = {
        "script": "simple-update",
        "protocol": "prepared",
        "scale": str(arguments.scale),
        "clients": "4",
        "jobs": "2",
        "duration": f"{arguments.seconds}s",
        "warmup": "0s",
    }
    with Workbench(BenchOptions(data_directory=arguments.data_dir)) as bench:
        environment, drive, installation = (
            bench.environment(),
            bench.environment().drive(DriveOptions(), Needs()),
            bench.installation(),
        )
        workspace = drive.workspace("overhead")
        installation.initialize(workspace, {})
        settings = {"shared_buffers": "512MB", "max_wal_size": "8GB", "checkpoint_timeout": "1h"}
        server = installation.start(workspace, settings, environment.socket_directory)
        try:
            load = bench.load(PgbenchOptions.from_levels(options), installation)
            load.create(server)
            load.fill(server)
            pair = Pair(bench, server, workspace, options)
            pair.bare(1)  # warms the caches, not counted
            ways = {"lab": pair.under_the_lab, "bare": pair.bare, "without log": pair.without_log}
            rounds: list[dict[str, Figures]] = []
            for number in range(arguments.rounds):
                figures: dict[str, Figures] = {}
                turned = [*ways][number % len(ways) :] + [*ways][: number % len(ways)]
                for name in turned:
                    server.execute("CHECKPOINT")
                    figures[name] = ways[name](100 + number)
                rounds.append(figures)
                shown = {name: f"{tps:.0f} tps, {cpu:.1f} us" for name, (tps, cpu) in figures.items()}
                print(f"round {number + 1}: {shown}", flush=True)
        finally:
            server.stop()
            drive.discard(workspace)
    for other, goals in (("bare", ("<= 1.02", ">= 0.98")), ("without log", ("for information",) * 2)):
        for index, name in ((1, "server CPU per transaction"), (0, "transactions per second")):
            ratios = [figures["lab"][index] / figures[other][index] for figures in rounds]
            print(ratio_line(f"{name}, lab ÷ {other}", ratios, goals[1 - index]))


if __name__ == "__main__":
    main()
