"""Two promises of the tpcc load: a million order lines a minute and core when filling, and no bottleneck in pgbench.

Filling is counted in CPU time of the server and of ourselves, which others on the machine do not spoil (the clock's
time beside it); it includes every table, index and ANALYZE. A run's CPU is pgbench's against the server's.

    python -m benchmarks.tpcc [--warehouses 2] [--seconds 20] [--rounds 3] [--directory DIR]
"""

import argparse
import os
import resource
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.private_server import serving
from pgassay.bench.load import Tools
from pgassay.bench.server import Server
from pgassay.load import bulk
from pgassay.load.tpcc.driver import TpccLoad
from pgassay.load.tpcc.options import TpccOptions

_SECONDS_PER_TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cpu:
    """CPU seconds so far: of the server with all its processes, of ourselves, and of the programs that we ran."""

    server: float
    ours: float
    programs: float

    def since(self, before: "Cpu") -> "Cpu":
        """What was used in between."""
        return Cpu(self.server - before.server, self.ours - before.ours, self.programs - before.programs)


def cpu(server: Server) -> Cpu:
    """Read it now; a backend's time passes to the postmaster when it ends."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number, parent = int(path.parent.name), int(words[1])
        if server.postmaster_pid in (number, parent):
            ticks += sum(map(int, words[11:15] if number == server.postmaster_pid else words[11:13]))
    ours, programs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cpu(ticks * _SECONDS_PER_TICK, ours.ru_utime + ours.ru_stime, programs.ru_utime + programs.ru_stime)


def fill(load: TpccLoad, server: Server) -> float:
    """Fill once; prints the rates and returns order lines per minute of CPU."""
    load.create(server)
    before, began = cpu(server), time.perf_counter()
    load.fill(server)
    elapsed_s, used = time.perf_counter() - began, cpu(server).since(before)
    lines = int(server.query("SELECT count(*) FROM order_line")[0][0])
    rate = lines / (used.server + used.ours) * 60
    by_clock = lines / elapsed_s * 60 / bulk.workers()
    print(
        f"filled {lines} order lines in {elapsed_s:.1f} s: {by_clock / 1e6:.1f} million a minute and core by the clock,"
        f" {rate / 1e6:.1f} by CPU ({used.server:.1f} s server, {used.ours:.1f} s client)"
    )
    return rate


def play(load: TpccLoad, server: Server, output: Path, seed: int) -> float:
    """Run the mix once; prints and returns pgbench's CPU as a share of the server's."""
    before = cpu(server)
    result = load.run(server, output, seed)
    used = cpu(server).since(before)
    share = used.programs / used.server
    tps = result.responses["tps"] or 0.0
    broken = dict(result.problems) | dict(load.verify(server))
    assert not broken, broken
    print(f"ran {tps:.0f} tps: pgbench {used.programs:.2f} s, server {used.server:.2f} s of CPU: {share:.1%}")
    return share


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--warehouses", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=Path, default=None, help="where the cluster lies (default: temporary)")
    given = parser.parse_args()
    options = TpccOptions(warehouses=given.warehouses, clients=4, jobs=2, duration_s=given.seconds)
    with serving(given.directory, "tpcc") as bench:
        load = TpccLoad(options, Tools(bench.installation.bindir, bench.runner, bench.clock))
        print(f"PostgreSQL {bench.installation.version}, {given.warehouses} warehouses, {bulk.workers()} cores")
        rates = [fill(load, bench.server) for _ in range(given.rounds)]
        outputs = [bench.directory / f"run-{seed}" for seed in range(given.rounds)]
        shares = [play(load, bench.server, output, seed) for seed, output in enumerate(outputs)]
    print(f"order lines per minute and core (CPU): {statistics.median(rates):,.0f}")
    print(f"ratio, pgbench's CPU ÷ the server's: {statistics.median(shares):.3f}")


if __name__ == "__main__":
    main()
