"""Two servers of somebody's by `pgassay compare --server A=DSN --server B=DSN`: equal ones, and one that is slower.

usage: python -m benchmarks.two_servers [--planted 3] [--minutes 10] [--pairs 400] [--directory DIR] [--keep DIR]
             [OPTION OF COMPARE …]

Both are private servers that run pgbench's select-only. The slower one logs a share of its statements
(log_statement_sample_rate). How much that costs is measured first, on one server while the other is idle, in some
windows with it and in others not, with the same connections: the truth. Printed of each comparison: verdict, effect
with its interval, the spread of a block, and the minutes that it took. What follows the options goes to `compare`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from math import log
from pathlib import Path
from statistics import fmean

from benchmarks.player import Case, text_of
from benchmarks.private_server import Bench, serving
from benchmarks.ratios import bounds, interval
from pgassay.analysis.effects import Effect
from pgassay.load.player import PlayedLoad, PlayedScript, Player
from pgassay.record.reading import Run
from pgassay.report.findings import Findings

PLANTED = "log_statement_sample_rate"
SETTINGS = {"log_min_duration_sample": "0", PLANTED: "0", "fsync": "on"}
"""As a user's servers, they sync what they write: else the kernel would write it back in the other one's window."""
SCALE, CLIENTS, THREADS = 5, 4, 2
LOAD = ("-S", "-s", str(SCALE), "-c", str(CLIENTS), "-j", str(THREADS), "-T", "6", "--set", "load.warmup=1s")
TRIED, TRIED_PAIRS = 0.2, 40
"""A share of logged statements, and in how many pairs of windows it is tried before the planted one is chosen."""
WINDOW_MS, SETTLE_MS = 250, 50


def plant(bench: Bench, share: float) -> None:
    """The server logs this share of its statements from now on."""
    with bench.server.endpoint.connect(autocommit=True) as session:  # one that stayed would be another client
        session.execute(f"ALTER SYSTEM SET {PLANTED} = {share:.4f}".encode())
        session.execute("SELECT pg_reload_conf()")


def slower_by(bench: Bench, player: Player, share: float, pairs: int) -> list[float]:
    """ln(tps with it / without it) of each pair of neighbouring windows; their order turns from pair to pair."""
    found = []
    for number in range(pairs):
        tps = {}
        for planted in (share, 0.0) if number % 2 else (0.0, share):
            plant(bench, planted)
            player.play(duration_ms=SETTLE_MS)
            tps[planted] = player.play(duration_ms=WINDOW_MS).tps
        found.append(log(tps[share] / tps[0.0]))
    return found


def learn(bench: Bench, planted: float, pairs: int) -> tuple[float, list[float]]:
    """The share of statements to log for this slow-down, and by how much it slows the load down, pair by pair."""
    case = Case("-S", "prepared", CLIENTS)
    program = str(bench.installation.bindir / "pgbench")
    bench.runner.run([program, "-i", "-q", "-s", str(SCALE)], environment=bench.server.endpoint.environment())
    script = PlayedScript("select-only", text_of(bench, case))
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    variables = {"scale": str(SCALE)}
    load = PlayedLoad((script,), CLIENTS, THREADS, case.protocol, seed=1, variables=variables, pair_on=cpus)
    with Player(load, bench.server.endpoint, bench.runner, bench.clock) as player:
        player.play(duration_ms=2000)
        share = TRIED * log(1 - planted) / fmean(slower_by(bench, player, TRIED, TRIED_PAIRS))
        if not 0 < share <= 1:
            raise SystemExit(f"{TRIED_PAIRS} pairs of windows do not show what logging costs here")
        found = slower_by(bench, player, share, pairs)
    plant(bench, 0.0)
    return share, found


def compare(first: Bench, second: Bench, run: Path, minutes: float, more: Sequence[str]) -> Effect:
    """The comparison, as a user asks for it."""
    named = [
        word
        for name, bench in (("A", first), ("B", second))
        for word in ("--server", f"{name}={bench.server.endpoint.conninfo()}")
    ]
    command = [sys.executable, "-m", "pgassay", "compare", *named, "--i-own", *LOAD, "--resolution", "3%"]
    command += ["--blocks", "5..100", "--budget", f"{minutes:g}min", "--out", str(run), *more]
    began_s = time.monotonic()
    owed = {**os.environ, "PGASSAY_STATE_DIR": str(first.directory / "state")}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=owed)
    if done.returncode:
        raise SystemExit(f"compare ended with {done.returncode}: {done.stdout}")
    (judged,) = Findings(Run.open(run)).verdicts
    effect = judged.effect
    print(
        f"{run.name}: {judged.verdict.text}; B/A = {effect.estimate:.4f} [{effect.low:.4f}, {effect.high:.4f}],"
        f" spread of a block {100 * effect.spread:.2g} %, {effect.blocks} blocks"
        f" in {(time.monotonic() - began_s) / 60:.1f} min",
        flush=True,
    )
    return effect


def main(words: Sequence[str] | None = None) -> None:
    """Make both, learn the truth, compare them twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planted", type=float, default=3.0, help="how much slower one is, in per cent")
    parser.add_argument("--minutes", type=float, default=10.0, help="the budget of each comparison")
    parser.add_argument("--pairs", type=int, default=400, help="of windows, for the truth")
    parser.add_argument("--directory", type=Path, help="where the clusters are; the system's temporary directory")
    parser.add_argument("--keep", type=Path, help="the records stay here")
    parser.add_argument("--only", choices=("equal", "planted"), help="one comparison instead of both")
    given, more = parser.parse_known_args(words)
    with ExitStack() as held:
        first, second = (held.enter_context(serving(given.directory, f"server-{name}", SETTINGS)) for name in "ab")
        runs = given.keep or Path(held.enter_context(tempfile.TemporaryDirectory(prefix="two-servers-")))
        if given.only != "planted":
            compare(first, second, runs / "equal", given.minutes, more)
        if given.only != "equal":
            share, found = learn(second, given.planted / 100, given.pairs)
            print(
                f"planted: {100 * share:.3g} % of statements are logged; slower/usual = {interval(found)}", flush=True
            )
            plant(second, share)
            effect = compare(first, second, runs / "planted", given.minutes, more)
            print(f"the truth is in the interval: {effect.low <= bounds(found)[1] <= effect.high}")


if __name__ == "__main__":
    main()
