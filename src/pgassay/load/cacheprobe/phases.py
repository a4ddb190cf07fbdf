"""One phase of the protocol, on a connection of its own: by our player, or by a pgbench as published.

The player reads its clock around each statement. pgbench (`--no-vacuum --transactions 100 --report-per-command --file
…`) reads it lazily, so that some probes seem to take no time: its log is kept beside, and such probes are counted. What
the phases yield together: times, blocks read and hit, and where heap and index were.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.places import Endpoint
from pgassay.bench.running import Completed
from pgassay.bench.slices import LatencyHistogram, Slice
from pgassay.load import responses as shared
from pgassay.load.pgbench.options import connection
from pgassay.study.responses import Better, Response, Scale

PROBE = "select random from random where random=(select random()::real);"
SCAN = "select count(data) from random;"
SCRIPTS: Mapping[str, str] = {"idx": PROBE, "seq": SCAN}

_STATEMENT = re.compile(r"^\s+(\d+(?:\.\d+)?)\s+(?:\d+\s+){0,2}select\b", re.MULTILINE)
_LOWER = Better.LOWER
_NEITHER = Better.NEITHER
_DIFFERENCE = Scale.DIFFERENCE

MOMENTS = {"warm": "before the first probes", "scan": "right after the scan"}
RELATIONS = ("heap", "index")
TRIMMED = 0.9
"""A stall of the scheduler takes as long as a hundred probes: the percentiles show the slowest tenth instead."""
BLOCKS = ("heap_blks_read", "heap_blks_hit", "idx_blks_read", "idx_blks_hit")

_TIMES = (
    Response("idx1_ms", "mean latency of index probes before the scan (idx1)", "ms", _LOWER),
    Response("seq_ms", "time of the sequential scan (seq)", "ms", _LOWER),
    Response("idx2_ms", "mean latency of index probes after the scan (idx2)", "ms", _LOWER),
    Response("idx1_trimmed_ms", "latency of index probes before the scan (idx1, slowest tenth left out)", "ms", _LOWER),
    Response("idx2_trimmed_ms", "latency of index probes after the scan (idx2, slowest tenth left out)", "ms", _LOWER),
    Response("idx2_slowdown", "latency of index probes after the scan ÷ before (idx2 ÷ idx1)", "ratio", _LOWER),
    Response("probes_ms", "mean latency of all index probes, before and after the scan", "ms", _LOWER),
    *(
        Response(f"idx{number}_{name}_ms", f"{title} of the index probes {when} the scan", "ms", _LOWER)
        for number, when in ((1, "before"), (2, "after"))
        for name, title in (("p50", "median"), ("p95", "95th percentile"), ("max", "greatest"), ("first", "first"))
    ),
)
_COUNTS = (
    *(Response(name, name, "blocks", _NEITHER, _DIFFERENCE) for name in BLOCKS),
    Response("table_bytes", "size of the table", "B", _NEITHER),
    Response("index_bytes", "size of its index", "B", _NEITHER),
    Response("huge_pages", "huge pages of the machine", "count", _NEITHER, _DIFFERENCE),
)
_SHARES = tuple(
    Response(
        f"{relation}_{place}_{moment}_share",
        f"share of the {relation} in {title}, {when}",
        "share",
        _NEITHER,
        _DIFFERENCE,
    )
    for relation in RELATIONS
    for place, title in (("page_cache", "the page cache"), ("buffers", "shared_buffers"))
    for moment, when in MOMENTS.items()
)

RESPONSES: tuple[Response, ...] = (*_TIMES, shared.IMPOSSIBLE, *_COUNTS, *_SHARES)


@dataclass(frozen=True)
class Phase:
    """`name` is `idx1`, `seq`, `idx2` or `warmup`; so many transactions, or seconds."""

    name: str
    transactions: int | None = None
    seconds: int | None = None

    @property
    def script(self) -> str:
        """Which of the two statements it runs."""
        return "seq" if self.name == "seq" else "idx"


@dataclass(frozen=True)
class Outcome:
    """The statement's mean latency, each transaction's own in the order of time or of size, and what went wrong.

    The first of `each_ms` is always the connection's first probe.
    """

    mean_ms: float | None
    each_ms: tuple[float, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)


def command(program: Path, endpoint: Endpoint, phase: Phase, folder: Path) -> list[str]:
    """The arguments; scripts and logs lie in `folder`."""
    arguments = [
        str(program),
        "-n",
        "-M",
        "simple",
        "-c",
        "1",
        "-j",
        "1",
        "-r",
        "-f",
        str(folder / f"{phase.script}.sql"),
    ]
    if phase.seconds:
        return [*arguments, "-T", str(phase.seconds), *connection(endpoint)]
    logged = ["-l", f"--log-prefix={folder / phase.name}_log"]
    return [*arguments, "-t", str(phase.transactions), *logged, *connection(endpoint)]


def outcome(phase: Phase, done: Completed, log: str) -> Outcome:
    """The latencies that a finished pgbench printed and logged (`log` is its text), or why there are none."""
    if done.status != 0:
        lines = done.stderr.strip().splitlines()
        return Outcome(None, (), {"aborted": f"{phase.name}: {lines[-1] if lines else f'status {done.status}'}"})
    found = _STATEMENT.search(done.stdout)
    if found is None:
        return Outcome(None, (), {"no_summary": f"{phase.name}: pgbench printed no statement latency"})
    return Outcome(float(found[1]), latencies_ms(log))


def played(phase: Phase, slices: Sequence[Slice]) -> Outcome:
    """The latencies of the first transaction's slice and of the slice of all others, to 0.1 %; the mean is exact."""
    aborted = [why for each in slices for why in each.aborted]
    if aborted:
        return Outcome(None, (), {"aborted": f"{phase.name}: {aborted[0]}"})
    latencies = sum((each.latencies for each in slices), LatencyHistogram())
    each_ms = tuple(
        min(edge_ns, each.latencies.most_ns) / 1e6
        for each in slices
        for edge_ns, count in each.latencies.buckets
        for _ in range(count)
    )
    return Outcome(latencies.sum_ns / latencies.count / 1e6 if latencies.count else None, each_ms)


def latencies_ms(log: str) -> tuple[float, ...]:
    """The third column of pgbench's per-transaction log, in ms (manual, "Per-Transaction Logging")."""
    return tuple(int(line.split()[2]) / 1000 for line in log.splitlines() if len(line.split()) >= 6)


def of_phase(name: str, mean_ms: float | None, each_ms: Sequence[float]) -> dict[str, float | None]:
    """`idx1_ms` and its percentiles. The first probe of a connection reads the catalogs, so it is reported separately.

    Without each probe's own latency the mean is that of all of them, as published.
    """
    first, rest = (each_ms[0], sorted(each_ms[1:])) if len(each_ms) > 1 else (None, [])
    if not rest:
        return {f"{name}_ms": mean_ms}
    return {
        f"{name}_ms": _mean(rest),
        f"{name}_trimmed_ms": _mean(rest[: max(1, round(TRIMMED * len(rest)))]),
        f"{name}_p50_ms": rest[len(rest) // 2],
        f"{name}_p95_ms": rest[min(len(rest) - 1, int(0.95 * len(rest)))],
        f"{name}_max_ms": rest[-1],
        f"{name}_first_ms": first,
    }


def impossible(each_ms: Sequence[float]) -> float | None:
    """The share of probes that no answer can have been so quick for; None without a probe."""
    return sum(each * 1000 <= shared.IMPOSSIBLE_US for each in each_ms) / len(each_ms) if each_ms else None


def derived(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it is missing, with what follows from the others."""
    one, two = (found.get(f"idx{number}_trimmed_ms") or found.get(f"idx{number}_ms") for number in (1, 2))
    more: dict[str, float | None] = {}
    if one and two is not None:
        more = {"idx2_slowdown": two / one, "probes_ms": (one + two) / 2}
    return shared.complete(RESPONSES, {**found, **more})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
