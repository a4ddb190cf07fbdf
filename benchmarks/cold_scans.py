"""Cold scans against dd on the same file, and what a client adds to a page that is read at random.

The table, the query and the settings are those of a study's `--quick`, except shared_buffers: of io-method, 20 rows a
page and with checksums, or of random-page-cost, fewer rows and without checksums. Two questions:

- How fast is a sequential scan of what no cache holds, as the study measures it (pgbench's latency of one transaction,
  the page cache dropped before), against `dd iflag=direct bs=1M` on the table's own file? The sides of a pair come in
  random order. A third side, the same scan with the file in the page cache, shows how fast the server could be at all.
- What does the client add? The length of a window, less the server's own time for its statements (by its log), over
  that time, which is spent on pages: the share of a page at random. pgbench's window is its latency.
  Windows: the study's range by an index scan, played by pgbench and by our player; and one row a transaction, played.

    python -m benchmarks.cold_scans [--study io-method] [--pairs 10] [--shared-buffers 16MB,512MB] [--directory DIR]
                                    [--pg-bindir DIR]…

Each PostgreSQL from 18 on has a server for worker (its default) and one for sync, and for io_uring where it has that.
"""

import argparse
import itertools
import random
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path
from statistics import fmean, median

from benchmarks.private_server import SETTINGS, Bench, serving
from benchmarks.ratios import interval
from pgassay.host.storage import PageCache
from pgassay.interfaces.load import Tools
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.player import PlayedLoad, Player
from pgassay.study import builtin

TABLE = "pgassay_rows"
SCANS = {"sequential": "enable_seqscan", "index": "enable_indexscan"}
PROBES = 2000
SINCE_AIO = 18
STATEMENTS = "pg_stat_statements"
DURATION = re.compile(r".* duration: ([\d.]+) ms  [^:]*: SELECT count\(\*\), sum\(length\(body\)\)")
"""In the log, of a message of either protocol (manual, "log_min_duration_statement")."""


@dataclass
class Case:
    """A server with the study's table, and what was measured on it."""

    name: str
    bench: Bench
    file: Path
    load: PgbenchLoad
    width: int
    mb_per_s: dict[str, list[float]] = field(default_factory=dict)
    ratios: list[float] = field(default_factory=list)
    read_to: int = 0
    """How far the server's log was read."""

    def plan(self, scan: str) -> None:
        """Leave new sessions one way to read."""
        for setting in ("enable_seqscan", "enable_bitmapscan", "enable_indexscan"):
            value = "on" if setting == SCANS[scan] else "off"
            self.bench.server.execute(f"ALTER DATABASE {self.bench.server.endpoint.database} SET {setting} = {value}")

    def pgbench_ms(self) -> float:
        """One transaction, as a trial of the study has it; raises `SystemExit` where its plan is another."""
        with tempfile.TemporaryDirectory(dir=self.bench.directory) as output:
            found = self.load.run(self.bench.server, Path(output) / "out", random.randrange(1 << 30))
        latency_ms = found.responses["latency_ms"]
        if found.problems or latency_ms is None:
            raise SystemExit(f"pgbench failed on {self.name}: {dict(found.problems)}")
        return latency_ms

    def cold_scan(self) -> float:
        """MB/s of the table through the server."""
        PageCache().make_cold(self.bench.directory / "data")
        return self.file.stat().st_size / 1000 / self.pgbench_ms()

    def warm_scan(self) -> float:
        """The same from the page cache."""
        PageCache().make_warm(self.bench.directory / "data")
        return self.file.stat().st_size / 1000 / self.pgbench_ms()

    def dd(self) -> float:
        """MB/s by dd's own clock."""
        words = ["dd", f"if={self.file}", "of=/dev/null", "iflag=direct", "bs=1M"]
        done = subprocess.run(words, check=True, capture_output=True, text=True, env={"LC_ALL": "C"})
        amount, _, seconds, _ = done.stderr.splitlines()[-1].split(", ")
        return int(amount.split()[0]) / 1e6 / float(seconds.split()[0])

    def player(self, width: int) -> Player:
        """The study's script, connected; the range is so many rows wide."""
        (script,) = self.load.played(1, 1).scripts
        variables = {**dict(self.load.options.variables or ()), "width": str(width)}
        load = PlayedLoad((script,), protocol="prepared" if width == 1 else "simple", seed=1, variables=variables)
        return Player(load, self.bench.server.endpoint, self.bench.runner, self.bench.clock)

    def served(self) -> tuple[float, int]:
        """The server's milliseconds for the script's statements since the last question, and the pages they read."""
        server = self.bench.server
        ((pages,),) = server.query(
            f"SELECT sum(shared_blks_read)::int8 FROM {STATEMENTS}"
            f" WHERE query LIKE '%{TABLE} WHERE%' AND query NOT LIKE '%{STATEMENTS}%'"
        )
        server.query(f"SELECT {STATEMENTS}_reset()")
        with (self.bench.directory / "sockets" / f"server-{server.endpoint.port}.log").open(encoding="utf-8") as log:
            log.seek(self.read_to)
            spent_ms = sum(float(found[1]) for found in map(DURATION.match, log.readlines()) if found)
            self.read_to = log.tell()
        return spent_ms, int(pages or 0)


@dataclass
class Added:
    """What a client adds to the server's time, over windows."""

    shares: list[float] = field(default_factory=list)
    added_us: list[float] = field(default_factory=list)
    page_us: list[float] = field(default_factory=list)

    def add(self, window_ms: float, served: tuple[float, int]) -> None:
        """One window."""
        spent_ms, pages = served
        if not pages:
            raise SystemExit("a window read no page: name a smaller size of shared_buffers first")
        self.shares.append((window_ms - spent_ms) / spent_ms)
        self.added_us.append((window_ms - spent_ms) * 1000 / pages)
        self.page_us.append(spent_ms * 1000 / pages)

    def __str__(self) -> str:
        return (
            f"a page {median(self.page_us):.1f} µs, the client adds {median(self.added_us):.2f} µs a page:"
            f" {median(self.shares):.2%} (mean {fmean(self.shares):.2%}, most {max(self.shares):.2%})"
            f" over {len(self.shares)} windows"
        )


def levels_of(name: str) -> dict[str, str]:
    """What the study `--quick` holds equal, and the widest range of its variables."""
    document = tomllib.loads(builtin.find(name)[1])
    quick = document["quick"]
    load = {f"load.{option}": level for option, level in {**document["load"], **quick.get("load", {})}.items()}
    if "load.variables" in quick["conditions"]:
        *_, load["load.variables"] = quick["conditions"]["load.variables"]
    return {each: str(level) for each, level in {**document["fixed"], **quick["fixed"], **load}.items()}


def of(stage: str, levels: Mapping[str, str]) -> dict[str, str]:
    """The levels of one namespace, without it."""
    return {name.removeprefix(f"{stage}."): level for name, level in levels.items() if name.startswith(f"{stage}.")}


def cases(
    stack: ExitStack, levels: Mapping[str, str], within: Path | None, bindirs: Sequence[Path | None], buffers: str
) -> Iterator[Case]:
    """A server for each PostgreSQL, size of shared_buffers and I/O method, with its table."""
    for bindir, size in itertools.product(bindirs, buffers.split(",")):
        case = made(stack, levels, within, bindir, {"shared_buffers": size})
        yield case
        if case.bench.installation.version.major >= SINCE_AIO:  # that one had the default, worker
            ((known,),) = case.bench.server.query("SELECT enumvals FROM pg_settings WHERE name = 'io_method'")
            for method in known:
                if method != "worker":
                    yield made(stack, levels, within, bindir, {"shared_buffers": size, "io_method": method})


def made(
    stack: ExitStack, levels: Mapping[str, str], within: Path | None, bindir: Path | None, more: Mapping[str, str]
) -> Case:
    """A server that was started again after the table was made, so that its buffers are empty, as a trial's are."""
    wanted = {**of("server", levels), **more, "shared_preload_libraries": STATEMENTS}
    wanted["synchronize_seqscans"] = "off"  # a trial is its server's first scan
    init = of("init", levels)
    bench = stack.enter_context(serving(within, "cold-scans", wanted, bindir=bindir, init=init))
    server = bench.server
    server.execute(f"CREATE EXTENSION {STATEMENTS}")
    for statement in levels["schema.change"].split("; "):
        server.execute(statement)
    server.execute(f"VACUUM (ANALYZE) {TABLE}")
    ((path,),) = server.query(f"SELECT pg_relation_filepath('{TABLE}')")
    server.stop()
    data = bench.directory / "data"
    server = bench.installation.start(data, {**SETTINGS, **wanted}, bench.directory / "sockets")
    stack.callback(server.stop)
    options = PgbenchOptions.from_levels(
        {name: level for name, level in of("load", levels).items() if name != "driver"}
    )
    load = PgbenchLoad(options, Tools(bench.installation.bindir, bench.runner, bench.clock))
    width = int(dict(options.variables or ())["width"])
    name = f"{bench.installation.version} {more.get('io_method', 'default')} {more['shared_buffers']}"
    return Case(name, replace(bench, server=server), data / path, load, width)


def scans(every: Sequence[Case], pairs: int) -> None:
    """Pairs on each server in turn; prints a line for each."""
    for case in every:
        case.plan("sequential")
        case.warm_scan()
    for _ in range(pairs):
        for case in every:
            sides: list[tuple[str, Callable[[], float]]] = [("scan", case.cold_scan), ("dd", case.dd)]
            random.shuffle(sides)
            found = {name: side() for name, side in sides}
            case.ratios.append(log(found["scan"] / found["dd"]))
            for name, value in {**found, "warm": case.warm_scan()}.items():
                case.mb_per_s.setdefault(name, []).append(value)
    for case in every:
        speeds = ", ".join(f"{name} {median(values):.0f}" for name, values in case.mb_per_s.items())
        print(f"{case.name:20} cold scan / dd {interval(case.ratios)}; MB/s: {speeds}", flush=True)


def clients(every: Sequence[Case], windows: int) -> None:
    """Windows on each server in turn; prints three lines for each."""
    found = {case.name: {each: Added() for each in ("range, pgbench", "range, player", "one row, player")}
             for case in every}  # fmt: skip
    cpu_us: dict[str, list[float]] = {case.name: [] for case in every}
    for case in every:
        case.plan("index")
        case.bench.server.execute(
            f"ALTER DATABASE {case.bench.server.endpoint.database} SET log_min_duration_statement = 0"
        )
    for _ in range(windows):
        for case in every:
            added = found[case.name]
            PageCache().make_cold(case.bench.directory / "data")
            case.served()
            added["range, pgbench"].add(case.pgbench_ms(), case.served())
            for name, width, count in (("range, player", case.width, 1), ("one row, player", 1, PROBES)):
                with case.player(width) as playing:
                    PageCache().make_cold(case.bench.directory / "data")
                    case.served()
                    played = playing.play(transactions=count)
                    if played.aborted:
                        raise SystemExit(f"the player failed on {case.name}: {played.aborted[0]}")
                    served = case.served()
                    added[name].add((played.drained_ns - played.opened_ns) / 1e6, served)
                    if count > 1:
                        cpu_us[case.name].append(played.cpu_ns / 1000 / served[1])
    for case in every:
        for name, each in found[case.name].items():
            print(f"{case.name:20} {name:16} {each}", flush=True)
        print(f"{case.name:20} one row, player: its own CPU {median(cpu_us[case.name]):.2f} µs a page", flush=True)


def main(words: Sequence[str] | None = None) -> None:
    """Both questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", choices=("io-method", "random-page-cost"), default="io-method")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--shared-buffers", default="16MB,512MB", help="a list; clients under the first")
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--pg-bindir", type=Path, action="append")
    given = parser.parse_args(words)
    with ExitStack() as stack:
        every = list(
            cases(stack, levels_of(given.study), given.directory, given.pg_bindir or [None], given.shared_buffers)
        )
        scans(every, given.pairs)
        small = given.shared_buffers.split(",")[0]  # larger ones keep what the windows before have read
        clients([case for case in every if case.name.endswith(f" {small}")], given.pairs)


if __name__ == "__main__":
    main()
