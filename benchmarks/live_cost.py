"""What the live page costs: CPU of its server without and with a viewer, and the load's tps with a viewer ÷ without.

A private server runs pgbench -N with fsync off, which keeps all cores busy: whatever else computes takes from its tps.
Beside it a run is held open whose trial tells of itself once a second, as under the lab, and `pgassay serve` shows it.
There are two kinds of viewer. `events` reads what the server sends and draws nothing: that is what a page costs this
machine where the browser is on another one (`ssh -L`), and the goals are for it: ≤ 1 % of a core without a viewer, tps
≥ 0.99 with one. `browser` is a headless Chromium on the same cores, mostly its own drawing (needs the packages of the
tests); its ratio tells whether to watch from elsewhere.

The viewer comes and goes during one run of pgbench, since two runs differ by far more than the goal, and neighbouring
windows are compared, the order turning from pair to pair. Transactions are counted by their ids (pg_current_snapshot),
so a window needs no whole seconds of pgbench's report: many short pairs tell more than few long ones, since what else
wanders on a machine wanders slowly. 110 pairs of `events` take 10 minutes; of `browser`, whose page is drawn first, 40.

    python -m benchmarks.live_cost [--viewer events|browser] [--pairs 110] [--seconds 2] [--idle 20] [--scale 10]
        [--directory DIR]
"""

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from math import ceil, log
from pathlib import Path
from statistics import fmean

import psycopg

from benchmarks.player import Case, pgbench
from benchmarks.private_server import Bench, serving
from benchmarks.ratios import interval
from pgassay.probe.procfs import ProcessTree
from pgassay.record import live_sample
from pgassay.record.directory import RunDirectory
from pgassay.record.live_sample import LiveSample
from pgassay.testing.planted import make_run

SETTLE_S = {"events": 0.5, "browser": 4.0}
"""Connected, told what there is, and the page drawn."""
WARM_UP_S = 10.0
Told = Callable[[], bool]
"""Have events of both kinds come?"""
Viewers = Callable[[], AbstractContextManager[Told]]


@dataclass(frozen=True)
class Span:
    """A window: its transactions a second, and what the page's server used in it as a share of a core."""

    watched: bool
    tps: float
    server_share: float
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

        def notify() -> None:
            second = 0
            while not over.wait(1):
                second += 1
                now = time.monotonic_ns()
                for source, values in (
                    ("wal", {"wal_bytes": second * 1e6}),
                    ("diskstats", {"written_bytes": second * 1e6, "read_bytes": second * 1e5}),
                    ("waits", {"looks": second * 10.0, "lock": second * 5.0, "cpu": second * 20.0}),
                ):
                    live_sample.append(staging, LiveSample(now, time.time_ns(), source, values))

        teller = threading.Thread(target=notify)
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
def reading(address: str) -> Iterator[Viewers]:
    """Viewers that read the events and draw nothing; they have shown the token once, as a page that is open has."""
    browser = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
    )
    browser.open(address).close()

    @contextmanager
    def viewer() -> Iterator[Told]:
        stream: HTTPResponse = browser.open(address.partition("live?")[0] + "events", timeout=60)
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

    yield viewer


@contextmanager
def looking(address: str) -> Iterator[Viewers]:
    """Viewers that are a page in a headless Chromium; between them it shows an empty page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1400, "height": 2000})

        @contextmanager
        def viewer() -> Iterator[Told]:
            page.goto(address)
            try:
                yield lambda: page.locator("#seconds svg").count() > 0
            finally:
                page.goto("about:blank")

        try:
            yield viewer
        finally:
            browser.close()


def measure(bench: Bench, pages: Pages, viewers: Viewers, given: argparse.Namespace) -> None:
    """Prints four lines."""
    before = pages.cpu_s()
    time.sleep(given.idle)
    print(f"server without a viewer: {(pages.cpu_s() - before) / given.idle:.2%} of a core (goal ≤ 1 %)", flush=True)
    before = pages.cpu_s()
    with viewers() as told:
        time.sleep(given.idle / 2)
        if not told():
            raise SystemExit("the page's server told its viewer nothing")
    print(f"the first answer, with loading what it needs: {pages.cpu_s() - before:.1f} s of CPU", flush=True)
    length_s = ceil(given.pairs * 2 * (SETTLE_S[given.viewer] + given.seconds) * 1.5 + WARM_UP_S) + 60
    command = pgbench(bench, Case("-N", "prepared", 4), given.scale, length_s)
    with ThreadPoolExecutor(1) as pool, psycopg.connect(bench.server.endpoint.conninfo(), autocommit=True) as asked:
        running = pool.submit(bench.runner.run, command)
        try:
            time.sleep(WARM_UP_S)
            spans = [
                visit(asked, pages, viewers() if watched else nullcontext(lambda: True), watched, given)
                for pair in range(given.pairs)
                for watched in (pair % 2 == 0, pair % 2 != 0)
                if not running.done()
            ]
        finally:
            asked.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pgbench'")
    ratios = neighbours(spans)
    silent = sum(not span.told for span in spans)
    if silent > len(spans) / 10:
        raise SystemExit(f"{silent} of {len(spans)} windows had a viewer who was told nothing")
    for watched, words in ((True, "with"), (False, "without")):
        shares = fmean(span.server_share for span in spans if span.watched == watched)
        print(f"server {words} a viewer, under load: {shares:.2%} of a core")
    over = f"over {len(ratios)} pairs, {silent} left out for want of events"
    goal = " (goal ≥ 0.99)" if given.viewer == "events" else ""
    print(f"tps with a viewer ({given.viewer}) ÷ without: ratio {interval(ratios)} {over}{goal}")


def visit(
    asked: psycopg.Connection,
    pages: Pages,
    viewer: AbstractContextManager[Told],
    watched: bool,
    given: argparse.Namespace,
) -> Span:
    """One window."""
    with viewer as told:
        time.sleep(SETTLE_S[given.viewer])
        cpu_s, transactions, start_s = pages.cpu_s(), transaction_id(asked), time.monotonic()
        time.sleep(given.seconds)
        count, passed_s = transaction_id(asked) - transactions, time.monotonic() - start_s
        return Span(watched, count / passed_s, (pages.cpu_s() - cpu_s) / passed_s, told())


def transaction_id(asked: psycopg.Connection) -> int:
    """The next one: each transaction that writes has taken one."""
    row = asked.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
    assert row is not None
    return int(row[0])


def neighbours(spans: Sequence[Span]) -> list[float]:
    """Of each pair of windows the logarithm of tps with a viewer ÷ without.

    Pairs whose viewer was told nothing are left out: on a busy machine the first event may come too late.
    """
    ratios = []
    for pair in zip(spans[::2], spans[1::2], strict=False):
        watched, alone = sorted(pair, key=lambda span: not span.watched)
        if watched.told and min(watched.tps, alone.tps) > 0:
            ratios.append(log(watched.tps / alone.tps))
    return ratios


def main(words: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("pairs", 110), ("seconds", 2), ("idle", 20), ("scale", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--viewer", choices=tuple(SETTLE_S), default="events")
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args(words)
    with serving(given.directory, "live") as bench:
        program = str(bench.installation.bindir / "pgbench")
        endpoint = bench.server.endpoint
        bench.runner.run([program, "-i", "-q", "-s", str(given.scale)], environment=endpoint.environment())
        run = make_run(bench.directory / "run", finished=False).path
        with telling(run), shown(bench, run) as pages:
            time.sleep(2)
            with (reading if given.viewer == "events" else looking)(pages.address) as viewers:
                measure(bench, pages, viewers, given)


if __name__ == "__main__":
    main()
