"""The installed go-tpc as a load: its five TPC-C transactions on tables that we fill, over the private Unix socket.

Its own `prepare` knows no table options and takes seven times as long, and its `check` hangs on PostgreSQL for minutes;
so tables are filled by COPY as for the tpcc load, and the consistency conditions are asked as there. TPC-C-like, not
audited.

go-tpc knows hosts and ports only, but hands `--conn-params` to its PostgreSQL driver (lib/pq, "Connection String
Parameters"), which takes a directory as host for a Unix socket. So there is no TCP, and no password to keep. With
`--output json` it prints an array a line, each element one kind of transaction, all values as texts, with lines of
other words between. Its histogram has one significant digit and nothing below 1 ms, so percentiles are coarse; means
come from sums and are not. See `go-tpc tpcc run --help`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from pgassay.bench.counters import Sample
from pgassay.bench.load import Driver, LoadResult, Moment
from pgassay.bench.places import Endpoint
from pgassay.bench.running import Completed
from pgassay.bench.server import Server
from pgassay.load import messages, program
from pgassay.load import responses as shared
from pgassay.load.options import CountedOptions, ThreadedOptions, WarehouseOptions
from pgassay.load.tpcc.options import BY_TYPE, WEIGHTS
from pgassay.load.tpcc.tables import TpccTables
from pgassay.study.responses import Better, Response, Scale

PROGRAM = "go-tpc"
INTERVAL_S = 1
_ERROR = "_ERR"
_SUMMARY, _CURRENT = "[Summary]", "[Current]"
_FAILED = ("failed to", "panic:", "Error:", "execute run failed", "unknown ")
RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", Better.LOWER),
    Response("failed_share", "share of transactions that failed", "share", Better.LOWER, Scale.DIFFERENCE),
    *BY_TYPE,
)


@dataclass(frozen=True, kw_only=True)
class GoTpcOptions(WarehouseOptions, ThreadedOptions, CountedOptions):
    """A go-tpc load; `transactions` of each thread prevail over `duration_s`."""

    driver = "go-tpc"


class GoTpcLoad(TpccTables[GoTpcOptions]):
    """The go-tpc that is installed."""

    responses = RESPONSES

    def check(self) -> None:
        """Refuse CPUs that are not there."""
        program.check(self.options.cores)

    def run(self, server: Server, folder: Path, seed: int) -> LoadResult:
        """Run it; the raw output goes to `folder`. go-tpc takes no seed."""
        options, clock = self.options, self.tools.clock
        folder.mkdir(parents=True, exist_ok=True)
        began = clock.monotonic_ns(), clock.wall_ns()
        arguments = run_command(PROGRAM, server.endpoint, options)
        done, problems = Completed((PROGRAM,), 1, "", ""), program.problem(options.cores, server)
        if not problems:
            placement = program.place(options.cores, server)
            done, problems = program.watch(
                self.tools.runner, clock, server, arguments, folder, PROGRAM, options.timed_s, placement=placement
            )
        ended = clock.monotonic_ns(), clock.wall_ns()
        output = parse(done.stdout)
        problems = problems or _problems(done, output)
        problems = problems or program.short(PROGRAM, options.timed_s, ended[0] - began[0])
        return LoadResult(
            status=done.status,
            began=began,
            ended=ended,
            transactions=count_committed(output.summary),
            responses=of_run(output, options.threads),
            series=_series(output, began, ended[0]),
            problems=problems,
        )


DRIVER = Driver(
    GoTpcOptions,
    GoTpcLoad,
    "the same tables under the installed go-tpc, not audited",
    program=PROGRAM,
    program_hint=messages.GO_TPC_HINT,
)


def run_command(program: str, endpoint: Endpoint, options: GoTpcOptions) -> list[str]:
    """The arguments of the measured run. go-tpc draws its own random numbers and takes no seed."""
    socket = urlencode({"host": str(endpoint.socket_directory), "sslmode": "disable"})
    if options.transactions is None:
        length = f"--time={options.duration_s}s"
    else:
        length = f"--count={options.transactions * options.threads}"  # all threads share it
    return [
        program,
        "tpcc",
        "run",
        "--driver=postgres",
        f"--targets=:{endpoint.port}",
        f"--conn-params={socket}",
        f"--user={endpoint.user}",
        f"--db={endpoint.database}",
        f"--warehouses={options.warehouses}",
        f"--threads={options.threads}",
        length,
        f"--interval={INTERVAL_S}s",
        "--output=json",
        "--ignore-error",
    ]


@dataclass(frozen=True)
class Operation:
    """One kind of transaction over a stretch of the run. `name` as go-tpc has it (NEW_ORDER); `failed` ones apart."""

    name: str
    failed: bool
    count: int
    per_minute: float
    average_ms: float
    p90_ms: float


@dataclass(frozen=True)
class Output:
    """A whole run: `seconds` are its intervals in order, `summary` is empty if it never came to its end."""

    seconds: tuple[tuple[Operation, ...], ...]
    summary: tuple[Operation, ...]
    new_orders_per_minute: float | None


def parse(text: str) -> Output:
    """All lines that are JSON arrays of objects; the others are passed over."""
    seconds: list[tuple[Operation, ...]] = []
    summary: tuple[Operation, ...] = ()
    rate: float | None = None
    for rows in _arrays(text):
        prefix = str(rows[0].get("Prefix", "")).strip()
        if "tpmC" in rows[0]:
            rate = _number(rows[0]["tpmC"])
        elif prefix == _SUMMARY:
            summary = _operations(rows)
        elif prefix == _CURRENT:
            seconds.append(_operations(rows))
    return Output(tuple(seconds), summary, rate)


def first_failure(text: str) -> str | None:
    """The first line about a failure that is not a transaction's own; None if there is none."""
    for line in text.splitlines():
        if any(sign in line for sign in _FAILED) and not line.startswith("["):
            return line.strip()
    return None


def count_committed(operations: Sequence[Operation]) -> int:
    """Transactions that ended as they should."""
    return sum(each.count for each in operations if not each.failed)


def count_failed(operations: Sequence[Operation], threads: int) -> int:
    """Transactions that failed; at the end every thread may have one under way, which go-tpc counts as failed."""
    return max(0, sum(each.count for each in operations if each.failed) - threads)


def _arrays(text: str) -> list[list[Mapping[str, Any]]]:
    found = []
    for line in text.splitlines():
        if line.startswith("[{"):
            try:
                rows = json.loads(line)
            except ValueError:
                continue  # cut short with the program
            if all(isinstance(row, dict) for row in rows):
                found.append(rows)
    return found


def _operations(rows: Sequence[Mapping[str, Any]]) -> tuple[Operation, ...]:
    return tuple(
        Operation(
            name=str(row.get("Operation", "")).removesuffix(_ERROR),
            failed=str(row.get("Operation", "")).endswith(_ERROR),
            count=int(_number(row.get("Count")) or 0),
            per_minute=_number(row.get("TPM")) or 0.0,
            average_ms=_number(row.get("Avg(ms)")) or 0.0,
            p90_ms=_number(row.get("90th(ms)")) or 0.0,
        )
        for row in rows
    )


def _number(text: object) -> float | None:
    try:
        return float(str(text))
    except ValueError:
        return None


def of_run(output: Output, threads: int) -> dict[str, float | None]:
    """Every response; None where the run has no summary."""
    done = [each for each in output.summary if not each.failed]
    count, lost = count_committed(output.summary), count_failed(output.summary, threads)
    found: dict[str, float | None] = {"new_orders_per_minute": output.new_orders_per_minute}
    if count:
        found["tps"] = sum(each.per_minute for each in done) / 60
        found["latency_ms"] = sum(each.average_ms * each.count for each in done) / count
        found["failed_share"] = lost / (count + lost)
    for name in WEIGHTS:
        mine = next((each for each in done if each.name == name.upper()), None)
        if mine is not None:
            found[f"{name}_tps"] = mine.per_minute / 60
            found[f"{name}_latency_ms"] = mine.average_ms
            found[f"{name}_latency_p90_ms"] = mine.p90_ms
    return shared.complete(RESPONSES, found)


def _problems(done: Completed, output: Output) -> dict[str, str]:
    """What exit status and output say; go-tpc may fail with status 0."""
    failure = first_failure(f"{done.stdout}\n{done.stderr}")
    if done.status < 0:
        return {"killed": f"go-tpc was ended by signal {-done.status}"}
    if done.status or not output.summary:
        lines = [line for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
        return {"aborted": failure or (lines[-1].strip() if lines else "no message")}
    return {} if count_committed(output.summary) else {"no_transactions": failure or "no transaction was processed"}


def _series(output: Output, began: Moment, finished_ns: int) -> tuple[Sample, ...]:
    """Samples at the end of each interval, counted from the start of the program."""
    samples = []
    for number, operations in enumerate(output.seconds, start=1):
        passed_ns = number * INTERVAL_S * 10**9
        if began[0] + passed_ns > finished_ns:
            break
        rate = sum(each.per_minute for each in operations if not each.failed) / 60
        samples.append(Sample(began[0] + passed_ns, began[1] + passed_ns, PROGRAM, "tps", "1/s", rate))
    return tuple(samples)
