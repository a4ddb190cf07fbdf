"""What a capture costs the server while it watches: its share of the server's CPU, and the load's speed beside it.

A private server under pgbench, by pairs of stretches: one is watched by `pgassay capture --data none`, the other not,
the first side changing. The share is what the capture says itself: the processor time of its session (proc(5), in steps
of 10 ms) of that of all the server's processes. The project's goal is at most 1 %.

    python -m benchmarks.capture_cost [--scale 10] [--seconds 30] [--pairs 4] [--clients 2] [--statements 500]

`--statements` different statements are run first, so that pg_stat_statements is as full as an application's.
"""

import argparse
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from math import log
from pathlib import Path
from threading import Thread

from benchmarks.private_server import Bench, serving
from benchmarks.ratios import interval
from pgassay.cli import main as pgassay

SETTINGS = {"shared_preload_libraries": "pg_stat_statements", "fsync": "off", "max_connections": "100"}


def stretch(bench: Bench, clients: int, seconds: float, watch: Path | None) -> float:
    """Transactions a second; with `watch` a capture goes on meanwhile, and stands there."""
    endpoint = bench.server.endpoint
    words = [str(bench.installation.bindir / "pgbench"), "-n", "-M", "prepared", "-c", str(clients), "-j", "2"]
    where = ["-h", str(endpoint.socket_directory), "-p", str(endpoint.port), "-U", endpoint.user, endpoint.database]
    found: list[str] = []
    player = Thread(target=lambda: found.append(bench.runner.run([*words, "-T", str(round(seconds)), *where]).stdout))
    player.start()
    if watch is not None:
        window = f"{max(1, round(seconds) - 2)}s"
        with redirect_stdout(StringIO()):
            status = pgassay(["capture", endpoint.conninfo(), "--for", window, "--data", "none", "--out", str(watch)])
        if status:
            raise SystemExit(status)
    player.join()
    told = found[0].split()
    return float(told[told.index("tps") + 2])


def main(words: Sequence[str] | None = None) -> None:
    """Print the shares and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--statements", type=int, default=500)
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args(words)
    shares, speeds = list[float](), list[float]()
    with serving(given.directory, "capture-cost", SETTINGS) as bench:
        program = str(bench.installation.bindir / "pgbench")
        bench.runner.run([program, "-i", "-q", "-s", str(given.scale)], environment=bench.server.endpoint.environment())
        bench.server.execute("CREATE EXTENSION pg_stat_statements")
        for number in range(given.statements):
            bench.server.query(f"SELECT aid AS a{number} FROM pgbench_accounts WHERE aid = {number}")
        for pair in range(given.pairs):
            path = bench.directory / f"{pair}.capture"
            tps: dict[bool, float] = {}
            for watched in (pair % 2 == 0, pair % 2 == 1):
                tps[watched] = stretch(bench, given.clients, given.seconds, path if watched else None)
            cost = json.loads((path / "capture.json").read_text())["cost"]
            shares.append(cost["cpu_ms"] / cost["server_cpu_ms"])
            speeds.append(log(tps[True] / tps[False]))
            print(f"pair {pair}: {cost['cpu_ms']:.0f} of {cost['server_cpu_ms']:.0f} ms of CPU", flush=True)
    mean = sum(shares) / len(shares)
    mean = sum(shares) / len(shares)
    print(f"share of the server's CPU: {mean:.3%} on average, {max(shares):.3%} at most (goal: at most 1 %)")
    print(f"tps with a capture / without: {interval(speeds)}")


if __name__ == "__main__":
    main()
