"""What the live page costs: CPU of its server without and with a viewer, and the load's tps with a viewer ÷ without.

A private server runs pgbench -N; beside it a run is held open whose trial tells of itself once a second, as under the
lab, and `pgassay serve` shows it. The viewer reads the events and draws nothing: its browser may be on another machine.
The viewer comes and goes during one run of pgbench, since two runs differ by far more than the goal; neighbouring
windows are compared. Goals: ≤ 1 % of a core without a viewer; tps ≥ 0.99.

    python -m benchmarks.live_cost [--pairs 40] [--seconds 3] [--idle 30] [--scale 10] [--select-only] [--directory DIR]
"""

import argparse
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from math import ceil, log
from pathlib import Path
from statistics import fmean

from benchmarks.player import Case, pgbench
from benchmarks.private_server import Bench, serving
from benchmarks.ratios import interval
from pgassay.load.pgbench.output import parse_progress
from pgassay.probe.processes import ProcessTree
from pgassay.record import glance
from pgassay.record.directory import RunDirectory
from pgassay.record.glance import Glance
from pgassay.testing.planted import make_run

SETTLE_S = 1.5
"""Connected, and told what there is."""
WARM_UP_S = 10.0


@dataclass(frozen=True)
class Span:
    """A window, by the wall clock, with what the page's server used in it."""

    watched: bool
    start_s: float
    end_s: float
    cpu_s: float
    told: bool = True
    """Whether events of both kinds came, where there was a viewer."""


@dataclass(frozen=True)
class Pages:
    """The page's server: its process, and where the events are."""

    tree: ProcessTree
    address: str

    def cpu_s(self) -> float:
        """What it has used so far."""
        (reading,) = self.tree.read()
        return sum(reading.values[name] or 0.0 for name in ("user_us", "system_us")) / 1e6


@contextmanager
def telling(run: Path) -> Iterator[None]:
    """A run that is written: a trial under way that tells of each second."""
    over = threading.Event()
    with RunDirectory.open(run) as directory:
        directory.resumed()
        number = directory.next_number
        directory.begin_trial(number, {"block": 9, "attempt": 1, "arm": "table.fillfactor=75"})
        (staging,) = (run / "trials").glob(".staging-*")

        def tell() -> None:
            second = 0
            while not over.wait(1):
                second += 1
                now = time.monotonic_ns()
                for source, values in (
                    ("wal", {"wal_bytes": second * 1e6}),
                    ("diskstats", {"written_bytes": second * 1e6, "read_bytes": second * 1e5}),
                    ("waits", {"looks": second * 10.0, "lock": second * 5.0, "cpu": second * 20.0}),
                ):
                    glance.append(staging, Glance(now, time.time_ns(), source, values))

        teller = threading.Thread(target=tell)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()


@contextmanager
def shown(bench: Bench, run: Path) -> Iterator[Pages]:
    """`pgassay serve` of the run, ready and at rest."""
    command = [sys.executable, "-m", "pgassay", "serve", str(run), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            text += served.stdout.readline()
        try:
            yield Pages(ProcessTree("serve", served.pid, bench.clock), str(json.loads(text)["url"]))
        finally:
            served.terminate()


@contextmanager
def viewer(pages: Pages) -> Iterator[Callable[[], bool]]:
    """Somebody who reads the events, until the end; gives a call that says whether both kinds have come."""
    browser = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
    )
    browser.open(pages.address).close()
    stream: HTTPResponse = browser.open(pages.address.partition("live?")[0] + "events", timeout=60)
    seen: set[bytes] = set()
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            seen.add(stream.readline())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield lambda: {b"event: progress\n", b"event: seconds\n"} <= seen
    finally:
        over.set()
        reader.join()
        stream.close()


def measure(bench: Bench, pages: Pages, given: argparse.Namespace) -> None:
    """Prints four lines."""
    before = pages.cpu_s()
    time.sleep(given.idle)
    print(f"server without a viewer: {(pages.cpu_s() - before) / given.idle:.2%} of a core (goal ≤ 1 %)", flush=True)
    before = pages.cpu_s()
    with viewer(pages) as came:
        time.sleep(given.idle / 2)
        if not came():
            raise SystemExit("the page's server told its viewer nothing")
    print(f"the first answer, with loading what it needs: {pages.cpu_s() - before:.1f} s of CPU", flush=True)
    length_s = ceil(given.pairs * 2 * (SETTLE_S + given.seconds + 1)) + 10
    command = pgbench(bench, Case(given.load, "prepared", 4), length_s, "-P", "1", "--progress-timestamp")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(bench.runner.run, command)
        time.sleep(WARM_UP_S)
        spans = [span for pair in range(given.pairs) for span in visits(pages, given.seconds, pair % 2 == 0)]
        told = parse_progress(running.result().stderr)
    shares = [span.cpu_s / (span.end_s - span.start_s) for span in spans if span.watched]
    ratios = neighbours(spans, {second.elapsed_s: second.tps for second in told})
    silent = sum(not span.told for span in spans)
    if silent > len(spans) / 10:
        raise SystemExit(f"{silent} of {len(spans)} windows had a viewer who was told nothing")
    print(f"server with a viewer: {sum(shares) / len(shares):.2%} of a core")
    over = f"over {len(ratios)} pairs, {silent} left out for want of events"
    print(f"tps with a viewer ÷ without: ratio {interval(ratios)} {over} (goal ≥ 0.99)")


def visits(pages: Pages, seconds: float, watched_first: bool) -> Iterator[Span]:
    """A window with a viewer and one without, in this order or the other."""
    for watched in (watched_first, not watched_first):
        with viewer(pages) if watched else nullcontext(lambda: True) as told:
            time.sleep(SETTLE_S)
            before, start_s = pages.cpu_s(), time.time()
            time.sleep(seconds)
            yield Span(watched, start_s, time.time(), pages.cpu_s() - before, told())


def neighbours(spans: Sequence[Span], tps: Mapping[float, float]) -> list[float]:
    """Of each pair of windows the logarithm of tps with a viewer ÷ without, by the seconds that lie wholly in them.

    `tps` has the end of each second, as pgbench tells it. Pairs without a whole second on both sides are left out, and
    those whose viewer was told nothing: on a busy machine the first event may come too late.
    """
    ratios = []
    for pair in zip(spans[::2], spans[1::2], strict=True):
        means = {}
        for span in pair:
            inside = [value for end_s, value in tps.items() if span.start_s <= end_s - 1 and end_s <= span.end_s]
            if inside and span.told:
                means[span.watched] = fmean(inside)
        if len(means) == len(pair):
            ratios.append(log(means[True] / means[False]))
    return ratios


def main(words: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("pairs", 40), ("seconds", 3), ("idle", 30), ("scale", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--select-only", dest="load", action="store_const", const="-S", default="-N")
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args(words)
    with serving(given.directory, "live") as bench:
        program = str(bench.installation.bindir / "pgbench")
        endpoint = bench.server.endpoint
        bench.runner.run([program, "-i", "-q", "-s", str(given.scale)], environment=endpoint.environment())
        run = make_run(bench.directory / "run", finished=False).path
        with telling(run), shown(bench, run) as pages:
            time.sleep(2)
            measure(bench, pages, given)


if __name__ == "__main__":
    main()
