"""One phase of the protocol as a pgbench of its own, as published: its command line, and what it printed.

`pgbench --no-vacuum --transactions 100 --report-per-command --file …`; with each probe's own latency a log is kept
beside (pgbench's, in microseconds, without a client library's own time).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.places import Endpoint
from pgassay.bench.running import Completed
from pgassay.load.pgbench.command import connection

PROBE = "select random from random where random=(select random()::real);"
SCAN = "select count(data) from random;"
SCRIPTS: Mapping[str, str] = {"idx": PROBE, "seq": SCAN}

_STATEMENT = re.compile(r"^\s+(\d+(?:\.\d+)?)\s+(?:\d+\s+){0,2}select\b", re.MULTILINE)


@dataclass(frozen=True)
class Phase:
    """`name` is `idx1`, `seq`, `idx2` or `warmup`; so many transactions, or seconds."""

    name: str
    transactions: int | None = None
    seconds: int | None = None
    each: bool = False

    @property
    def script(self) -> str:
        """Which of the two statements it runs."""
        return "seq" if self.name == "seq" else "idx"


@dataclass(frozen=True)
class Outcome:
    """The statement's mean latency as pgbench tells it, each transaction's own if asked, and what went wrong."""

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
    arguments += ["-T", str(phase.seconds)] if phase.seconds else ["-t", str(phase.transactions)]
    if phase.each:
        arguments += ["-l", f"--log-prefix={folder / phase.name}_log"]
    return arguments + connection(endpoint)


def outcome(phase: Phase, done: Completed, log: str) -> Outcome:
    """What a phase yielded."""
    if done.status != 0:
        lines = done.stderr.strip().splitlines()
        return Outcome(None, (), {"aborted": f"{phase.name}: {lines[-1] if lines else f'status {done.status}'}"})
    found = _STATEMENT.search(done.stdout)
    if found is None:
        return Outcome(None, (), {"no_summary": f"{phase.name}: pgbench printed no statement latency"})
    return Outcome(float(found[1]), latencies_ms(log))


def latencies_ms(log: str) -> tuple[float, ...]:
    """The third column of pgbench's per-transaction log, in ms (manual, "Per-Transaction Logging")."""
    return tuple(int(line.split()[2]) / 1000 for line in log.splitlines() if len(line.split()) >= 6)
