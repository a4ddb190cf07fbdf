"""sysbench's oltp_* tests as a load: the real program makes the load, its tables are filled by COPY.

The packaged sysbench (1.0.20) has traps that are dealt with here. It refuses --create_table_options, so tables are made
empty here, get their options from the table factors, and are then filled by COPY; one connection fills one table, so
that its rows lie in order of `id` as sysbench's do. It dies of SIGSEGV when tables are missing, and prints a single
percentile, so its histogram is asked for, which has them all. Errors go to the same stream as results, and the program
may die between them: a FATAL line makes a run aborted, a text without the totals is no run. `run` never raises for what
the load does to the server: what went wrong is a problem of the result, under a code.

Names and defaults are sysbench's own (`sysbench --help`, `sysbench oltp_read_write help`), except that a run lasts 60 s
if nothing else is asked. The scenario has a word of its own, not `load.script`, since it names one of sysbench's tests
and never a file of the user's; `hot_points` is ours. `protocol` keeps pgbench's words: `prepared` is sysbench's
--db-ps-mode=auto, `simple` is `disable`. The endpoint is given in full, for sysbench's defaults (localhost, user
sbtest) never fit.

Outputs of 0.4 to 1.1 are read (sysbench manual, "General command line options"). 1.1 has "time elapsed" for "total
time". 0.4 and 0.5 print no queries, so qps is requests and other operations, and call failed transactions deadlocks.
tps and qps are sysbench's own, without the transactions that it gave up and began again (deadlocks, serialization
failures, duplicate keys). Latencies run from the event's start; with a rate, from when it left the queue. Others'
scripts that sysbench plays (sysbench-tpcc) are read by the same functions.

Content rules of oltp_common.lua: `id` from 1 in order, `k` random in 1 … rows by --rand-type, `c` ten and `pad` five
groups of eleven random digits between dashes. The same seed gives the same rows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pgassay.errors import UsageError
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.factor import Stage
from pgassay.interfaces.kinds import SWITCH, Kind, choice, whole
from pgassay.interfaces.load import BaseLoad, Driver, LoadResult, Moment
from pgassay.interfaces.options import answer_to, option, rows_of
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.probe import Sample
from pgassay.interfaces.running import Completed
from pgassay.interfaces.server import Server
from pgassay.load import bulk, program
from pgassay.load import responses as shared
from pgassay.load.bulk import Field, integers, pack
from pgassay.load.options import OTHER_LOAD, CountedOptions, RatedOptions, RemoteOptions, ThreadedOptions
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_number
from pgassay.untrusted import REAL, WHOLE

CHUNK_ROWS = 5_000
SPECIAL_PERCENT = 1
SPECIAL_SHARE = 0.75
ITERATIONS = 12
"""--rand-spec-pct, --rand-spec-res and --rand-spec-iter as they are by default."""
PARETO_H = 0.2
GROUP = 11
C_GROUPS, PAD_GROUPS = 10, 5
_SEED = 20
_WIDTH = (C_GROUPS + PAD_GROUPS) * (GROUP + 1)
COLUMNS = ("id", "k", "c", "pad")


def chunks(rows: int, table: int, distribution: str) -> Iterator[bytes]:
    """All rows of the table of this number, some thousands at a time."""
    # The texts 0000 … 9999, four digits in each number: a quarter of the random numbers do for all digits.
    quads = np.frombuffer("".join(f"{number:04d}" for number in range(10_000)).encode(), np.uint32)
    width = C_GROUPS * (GROUP + 1)  # the blank that pads CHAR(120) is sent along
    for first in range(1, rows + 1, CHUNK_ROWS):
        count = min(CHUNK_ROWS, rows - first + 1)
        random = np.random.Generator(np.random.SFC64([_SEED, table, first]))
        k = picked(random, count, rows, distribution)
        groups = digit_groups(random, count, quads)
        ids = integers(np.arange(first, first + count))
        yield pack([ids, integers(k), Field(groups[:, :width]), Field(groups[:, width:])])


def digit_groups(random: np.random.Generator, count: int, quads: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """`count` rows of fifteen groups of random digits with a dash after each, a blank after the tenth and the last."""
    digits = C_GROUPS * GROUP + PAD_GROUPS * GROUP
    drawn = random.integers(0, 10_000, (count, -(-digits // 4)), np.uint16)
    text = quads[drawn].view(np.uint8)[:, :digits].reshape(count, C_GROUPS + PAD_GROUPS, GROUP)
    groups = np.full((count, C_GROUPS + PAD_GROUPS, GROUP + 1), ord("-"), np.uint8)
    groups[:, :, :GROUP] = text
    groups[:, (C_GROUPS - 1, -1), -1] = ord(" ")
    return groups.reshape(count, _WIDTH)


def picked(random: np.random.Generator, count: int, rows: int, distribution: str) -> npt.NDArray[np.int64]:
    """Numbers in 1 … rows as sysbench's --rand-type draws them (sb_rand.c of 1.0)."""
    span = rows - 1
    found: npt.NDArray[np.int64]
    if distribution == "uniform":
        found = random.integers(1, rows + 1, count)
    elif distribution == "gaussian":
        found = 1 + _bell(random, count, span)
    elif distribution == "pareto":
        exponent = np.log(PARETO_H) / np.log(1 - PARETO_H)
        found = 1 + np.floor(rows * random.random(count) ** exponent).astype(np.int64)
    else:
        central = max(1, span * SPECIAL_PERCENT // 100)
        found = 1 + span // 2 - span * SPECIAL_PERCENT // 200 + random.integers(0, central, count)
        bell = random.random(count) >= SPECIAL_SHARE
        found[bell] = 1 + _bell(random, int(bell.sum()), span)
    return found


def _bell(random: np.random.Generator, count: int, span: int) -> npt.NDArray[np.int64]:
    """The mean of a dozen uniform numbers, which is what sysbench calls gaussian."""
    mean = random.random((count, ITERATIONS), np.float32).mean(axis=1, dtype=np.float64)
    found: npt.NDArray[np.int64] = (mean * (span + 1)).astype(np.int64)
    return found


PROGRAM = "sysbench"
SYSBENCH_HINT = "it is the package sysbench: apt install sysbench, dnf install sysbench (EPEL)"
PERCENTILE = 99
"""The one percentile that sysbench reports each second."""
STATEMENTS = {
    "oltp_read_write": 9,
    "oltp_read_only": 5,
    "oltp_write_only": 4,
    "oltp_point_select": 1,
    "oltp_insert": 1,
    "oltp_delete": 1,
    "oltp_update_index": 1,
    "oltp_update_non_index": 1,
    "hot_points": 1,
}
"""Each scenario with the statements that its sessions prepare for each table, without BEGIN and COMMIT."""
SCENARIOS = tuple(STATEMENTS)
HOT_POINTS = Path(__file__).with_name("hot_points.lua")
DISTRIBUTIONS = ("special", "uniform", "gaussian", "pareto")
PROTOCOLS = {"prepared": "auto", "simple": "disable"}
"""The word of `load.protocol` to sysbench's --db-ps-mode."""
ROWS_MAX = 2**31 - 1
"""`id` is an INTEGER."""
BYTES_PER_ROW = 300
"""Heap (about 220 as filled), both indexes, and what a load adds."""
_SESSION_BYTES, _TABLE_BYTES, _STATEMENT_BYTES = 2 << 20, 10 << 10, 18 << 10
"""Of a session, of each table that it has opened, and of each statement that it keeps for a table, with its plan. On
200 tables PostgreSQL 15 took, private and changed: 4.9 MB (insert), 6.6 (delete), 7.3 (update), 15.6 (write_only),
21.8 (read_only) and 32.6 MB (read_write) a session."""
_SEED_MODULUS = 2**31 - 1
"""sysbench takes a signed 32-bit seed, and one of 0 would mean the time of day."""
_TABLES = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^sbtest[0-9]+$'"
_INDEXES = (
    "SELECT CASE WHEN count(*) > 0 THEN 'on' ELSE 'off' END"
    " FROM pg_class WHERE relkind = 'i' AND relname ~ '^k_[0-9]+$'"
)


def _parse_rows(name: str, text: str) -> int:
    rows = whole().parse(name, text)
    if rows > ROWS_MAX:
        raise UsageError(
            f'"{name}" = {rows} is more than the {ROWS_MAX} that an INTEGER key can number', "raise load.tables"
        )
    return rows


@dataclass(frozen=True, kw_only=True)
class SysbenchClientOptions(RemoteOptions, ThreadedOptions, CountedOptions):
    """How sysbench plays a test, its own or others' scripts; `transactions` prevail over `duration_s`."""

    turns = OTHER_LOAD
    protocol: str = option(choice(*PROTOCOLS), default="prepared", summary="sysbench --db-ps-mode: prepared or simple")


@dataclass(frozen=True, kw_only=True)
class SysbenchOptions(SysbenchClientOptions, RatedOptions):
    driver = "sysbench"
    turns = OTHER_LOAD

    tables: int = option(
        whole(), default=1, stage=Stage.DATA, summary="sysbench --tables: sbtest1 …", read_back=answer_to(_TABLES)
    )
    rows: int = option(
        Kind(_parse_rows, str, f"a whole number from 1 to {ROWS_MAX}"),
        default=10_000,
        stage=Stage.DATA,
        summary="sysbench --table_size: rows of each table (about 220 bytes)",
        read_back=rows_of("sbtest1"),
        size=ModelSize(1, data="row of a table"),
    )
    secondary_index: bool = option(
        SWITCH,
        default=True,
        stage=Stage.DATA,
        summary="sysbench --create_secondary: an index on k in addition to the primary key",
        read_back=answer_to(_INDEXES),
    )
    scenario: str = option(choice(*SCENARIOS), default="oltp_read_write", summary="which of sysbench's tests is run")
    distribution: str = option(
        choice(*DISTRIBUTIONS), default="special", summary="sysbench --rand-type: which rows are picked"
    )

    @property
    def table_names(self) -> tuple[str, ...]:
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    @property
    def files(self) -> tuple[Path, ...]:
        """The scenario as a file of ours; empty for one of sysbench's own."""
        return (HOT_POINTS,) if self.scenario == HOT_POINTS.stem else ()

    @property
    def session_bytes(self) -> int:
        statements = STATEMENTS[self.scenario] if self.protocol == "prepared" else 0
        return _SESSION_BYTES + self.tables * (_TABLE_BYTES + statements * _STATEMENT_BYTES)

    def estimated_bytes(self) -> int:
        return self.tables * self.rows * BYTES_PER_ROW


def run_command(endpoint: Endpoint, options: SysbenchOptions, seed: int) -> list[str]:
    command = [
        PROGRAM,
        *map(str, options.files or (options.scenario,)),
        *client_arguments(endpoint, options, seed),
        f"--tables={options.tables}",
        f"--table_size={options.rows}",
        f"--create_secondary={'on' if options.secondary_index else 'off'}",
        f"--rand-type={options.distribution}",
    ]
    if options.rate_tps is not None:
        command += [f"--rate={format_number(options.rate_tps)}"]
    return [*command, "run"]


def client_arguments(endpoint: Endpoint, options: SysbenchClientOptions, seed: int) -> list[str]:
    """The arguments that every test takes: where the server is, how long to play, and to report everything."""
    return [
        "--db-driver=pgsql",
        f"--pgsql-host={endpoint.host}",
        f"--pgsql-port={endpoint.port}",
        f"--pgsql-user={endpoint.user}",
        f"--pgsql-db={endpoint.database}",
        f"--db-ps-mode={PROTOCOLS[options.protocol]}",
        f"--threads={options.threads}",
        f"--rand-seed={seed % _SEED_MODULUS + 1}",
        "--report-interval=1",
        f"--percentile={PERCENTILE}",
        "--histogram=on",
        f"--time={options.duration_s if options.transactions is None else 0}",
        f"--events={(options.transactions or 0) * options.threads}",
    ]


_THREADS = re.compile(rf"^Number of threads: ({WHOLE})$", re.MULTILINE)
_STATEMENTS = re.compile(rf"^ *(read|write|other): +({WHOLE})$", re.MULTILINE)
_TRANSACTIONS = re.compile(rf"^ *transactions: +({WHOLE}) +\(({REAL}) per sec\.\)$", re.MULTILINE)
_QUERIES = re.compile(rf"^ *queries: +({WHOLE}) +\(({REAL}) per sec\.\)$", re.MULTILINE)
_OLD_QUERIES = re.compile(
    rf"^ *(?:read/write requests|other operations): +{WHOLE} +\(({REAL}) per sec\.\)$", re.MULTILINE
)
_IGNORED = re.compile(rf"^ *(?:ignored errors|deadlocks): +({WHOLE}) ", re.MULTILINE)
_TIME = re.compile(rf"^ *(?:total time|time elapsed): +({REAL})s$", re.MULTILINE)
_LATENCY = re.compile(
    rf"^ *(min|avg|max|(?:approx\. +)?({WHOLE})(?:st|nd|rd|th)? percentile): +({REAL}) *(ms|s)?$", re.MULTILINE
)
_BUCKET = re.compile(rf"^ +({REAL}) \|\**\s+({WHOLE})$", re.MULTILINE)
_FATAL = re.compile(r"^FATAL: (.*)$", re.MULTILINE)
_SECOND = re.compile(
    rf"^\[ ({WHOLE})s \] thds: {WHOLE} tps: ({REAL}) qps: ({REAL}) \(r/w/o: {REAL}/({REAL})/{REAL}\)"
    rf" lat \(ms,({WHOLE})%\): ({REAL}) err/s:? ({REAL})",
    re.MULTILINE,
)
_OLD_SECOND = re.compile(
    rf"^\[ *({WHOLE})s\] threads: {WHOLE}, tps: ({REAL}), reads(?:/s)?: ({REAL}), writes(?:/s)?: ({REAL}),"
    rf" response time: ({REAL})ms \(({WHOLE})%\)(?:, errors: ({REAL}))?",
    re.MULTILINE,
)
_NAMES = {"min": "latency_min_ms", "avg": "latency_ms", "max": "latency_max_ms"}
_LOWER, _HIGHER = Better.LOWER, Better.HIGHER
_DIFFERENCE = Scale.DIFFERENCE

RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", _HIGHER),
    Response("qps", "statements per second", "1/s", _HIGHER),
    Response("latency_ms", "mean latency", "ms", _LOWER),
    *shared.LATENCIES,
    Response("failed_share", "share of transactions that failed and were begun again", "share", _LOWER, _DIFFERENCE),
    Response("deletes_per_second", "rows that oltp_delete really deleted, per second", "1/s", _HIGHER, _DIFFERENCE),
    Response("empty_delete_share", "share of oltp_delete's deletes that found no row", "share", _LOWER, _DIFFERENCE),
)


@dataclass(frozen=True)
class Totals:
    """A whole run. `latencies` in ms by name; `write` are statements that changed a row, where sysbench knows."""

    threads: int | None
    transactions: int
    tps: float
    qps: float
    read: int
    write: int
    other: int
    ignored_errors: int
    seconds: float
    latencies: Mapping[str, float]
    histogram: tuple[tuple[float, int], ...] = field(default=())
    """Latency in ms (the middle of a bucket) and count, in rising order; empty where --histogram was off."""


@dataclass(frozen=True)
class Second:
    """One interval that ended `elapsed_s` after the start; `latency_ms` is the asked `percentile`, None if off."""

    elapsed_s: int
    tps: float
    qps: float
    writes: float
    percentile: int
    latency_ms: float | None
    errors: float


def parse_totals(text: str) -> Totals | None:
    """The totals of a database test; None where they are not (cut short, or another test)."""
    total, queries, seconds = _TRANSACTIONS.search(text), _QUERIES.search(text), _TIME.search(text)
    older = [float(rate) for rate in _OLD_QUERIES.findall(text)]
    if total is None or seconds is None or not (queries or older):
        return None
    statements = {match[1]: int(match[2]) for match in _STATEMENTS.finditer(text)}
    threads, ignored = _THREADS.search(text), _IGNORED.search(text)
    after = text.partition("Latency histogram (values are in milliseconds)")[2]
    buckets = after.partition("SQL statistics:")[0]
    return Totals(
        threads=int(threads[1]) if threads else None,
        transactions=int(total[1]),
        tps=float(total[2]),
        qps=float(queries[2]) if queries else sum(older),
        read=statements.get("read", 0),
        write=statements.get("write", 0),
        other=statements.get("other", 0),
        ignored_errors=int(ignored[1]) if ignored else 0,
        seconds=float(seconds[1]),
        latencies=_latencies(text),
        histogram=tuple((float(match[1]), int(match[2])) for match in _BUCKET.finditer(buckets)),
    )


def ended_without_database(text: str) -> bool:
    """Is it the whole output of another test (cpu, fileio …)?"""
    return _TIME.search(text) is not None and _TRANSACTIONS.search(text) is None


def first_fatal(text: str) -> str | None:
    match = _FATAL.search(text)
    return match[1] if match else None


def parse_seconds(text: str) -> tuple[Second, ...]:
    """Every whole interval line, in order; of 0.5 without queries other than reads and writes, as it prints no more."""
    found = []
    for at, tps, reads, writes, latency, percentile, errors in _OLD_SECOND.findall(text):
        qps = float(reads) + float(writes)
        found.append(
            Second(int(at), float(tps), qps, float(writes), int(percentile), float(latency), float(errors or 0))
        )
    for at, tps, qps, writes, percentile, latency, errors in () if found else _SECOND.findall(text):
        latency_ms = float(latency) if percentile != "0" else None
        found.append(Second(int(at), float(tps), float(qps), float(writes), int(percentile), latency_ms, float(errors)))
    return tuple(found)


def quantile_ms(histogram: Sequence[tuple[float, int]], share: float) -> float | None:
    """The bucket that holds this share of all transactions, as sysbench takes its own percentile; None when empty."""
    wanted = share * sum(count for _, count in histogram)
    reached = 0
    for value, count in histogram:
        reached += count
        if reached >= wanted:
            return value
    return None


def _latencies(text: str) -> dict[str, float]:
    block = re.split(r"Latency \(ms\):|response time:\n|per-request statistics:\n", text)[-1].partition(
        "Threads fairness:"
    )[0]
    return {
        _NAMES.get(match[1]) or f"latency_p{match[2]}_ms": float(match[3]) * (1000.0 if match[4] == "s" else 1.0)
        for match in _LATENCY.finditer(block)
    }


def of_totals(totals: Totals, scenario: str) -> dict[str, float | None]:
    """Every response; what oltp_delete alone has is None for the others."""
    due = totals.transactions + totals.ignored_errors
    found: dict[str, float | None] = {
        "tps": totals.tps,
        "qps": totals.qps,
        "latency_ms": totals.latencies.get("latency_ms"),
        "latency_max_ms": totals.latencies.get("latency_max_ms"),
        "failed_share": totals.ignored_errors / due if due else None,
        **{name: quantile_ms(totals.histogram, share) for name, share in shared.QUANTILES.items()},
    }
    statements = totals.write + totals.other
    if scenario == "oltp_delete" and statements and totals.seconds:
        # One DELETE a transaction, outside BEGIN: sysbench counts one that found no row as "other".
        found["deletes_per_second"] = totals.write / totals.seconds
        found["empty_delete_share"] = totals.other / statements
    return shared.complete(RESPONSES, found)


def result(
    run: program.Run, responses: Sequence[Response], scenario: str, timed_s: int | None, source: str
) -> LoadResult:
    done, totals = run.done, parse_totals(run.done.stdout)
    short = program.short(PROGRAM, timed_s, run.ended[0] - run.began[0])
    return LoadResult(
        status=done.status,
        began=run.began,
        ended=run.ended,
        transactions=totals.transactions if totals else 0,
        responses=shared.complete(responses, of_totals(totals, scenario) if totals else {}),
        series=series(done.stdout, run.began, run.ended[0], source),
        problems=run.problems or problems_of(done, totals) or short,
        read_back={"load.threads": str(totals.threads)} if totals and totals.threads else {},
        elsewhere=done.elsewhere,
    )


def problems_of(done: Completed, totals: Totals | None) -> dict[str, str]:
    text = f"{done.stdout}\n{done.stderr}"
    fatal = first_fatal(text)
    if done.status < 0:
        died = f"sysbench was ended by signal {-done.status}"
        return {"killed": f"{died}: {fatal}" if fatal else died}
    if fatal:
        return {"aborted": fatal}
    if done.status:
        lines = [line for line in text.strip().splitlines() if line.strip()]
        return {"refused": lines[-1] if lines else "no message"}
    if totals is None:
        return {"no_summary": "sysbench's output has no totals"}
    return {} if totals.transactions else {"no_transactions": "no transaction was processed"}


def series(text: str, began: Moment, finished_ns: int, source: str) -> tuple[Sample, ...]:
    """Samples at the end of each second, counted from the start of the program."""
    samples = []
    for second in parse_seconds(text):
        moment = began[0] + second.elapsed_s * 10**9, began[1] + second.elapsed_s * 10**9
        if moment[0] > finished_ns:
            break
        samples += [
            Sample(*moment, source, "tps", "1/s", second.tps),
            Sample(*moment, source, "qps", "1/s", second.qps),
            Sample(*moment, source, "writes", "1/s", second.writes),
            Sample(*moment, source, f"latency_p{second.percentile}_ms", "ms", second.latency_ms),
            Sample(*moment, source, "failed", "1/s", second.errors),
        ]
    return tuple(samples)


TABLE = (
    "CREATE TABLE {name} (id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL,"
    " pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
)
INDEX = "CREATE INDEX k_{number} ON {name} (k)"


class SysbenchLoad(BaseLoad[SysbenchOptions]):
    responses = RESPONSES

    def check(self) -> None:
        program.check(self.options.cores, self.options.host)

    def data_key(self) -> Mapping[str, str]:
        return {
            "tables": str(self.options.tables),
            "rows": str(self.options.rows),
            "secondary_index": str(self.options.secondary_index),
            "distribution": self.options.distribution,
        }

    def create(self, server: Server) -> None:
        for number, name in enumerate(self.options.table_names, start=1):
            server.execute(f"DROP TABLE IF EXISTS {name}")
            server.execute(TABLE.format(name=name))
            if self.options.secondary_index:
                server.execute(INDEX.format(number=number, name=name))

    def fill(self, server: Server) -> None:
        """Fill all tables in parallel, build the indexes, set the sequences, VACUUM ANALYZE; raises `LoadError`."""

        options = self.options
        dropped = bulk.drop_indexes(server, options.table_names)
        tables = [
            bulk.Table(name, COLUMNS, partial(chunks, options.rows, number, options.distribution))
            for number, name in enumerate(options.table_names, start=1)
        ]
        bulk.copy_all(server.endpoint, tables)
        after = "SELECT setval('{0}_id_seq', {1})", "VACUUM (ANALYZE) {0}"
        works = [[*again, *(sql.format(table, options.rows) for sql in after)] for table, again in dropped.items()]
        bulk.run_all(server.endpoint, works)

    def run(self, server: Server, folder: Path, seed: int) -> LoadResult:
        folder.mkdir(parents=True, exist_ok=True)
        options, timed_s = self.options, self.options.timed_s
        now = self.tools.clock.monotonic_ns(), self.tools.clock.wall_ns()
        problems = program.problem(options.cores, server) or _problems_before(server, options)
        run = program.Run(Completed((PROGRAM,), 1, "", ""), problems, now, now)
        if not run.problems:
            command = run_command(server.client_endpoint, options, seed)
            run = program.run(self.tools, server, options, command, folder, PROGRAM, timed_s, files=options.files)
        return result(run, RESPONSES, options.scenario, timed_s, self.name)


def _problems_before(server: Server, options: SysbenchOptions) -> dict[str, str]:
    """What would make sysbench die of SIGSEGV without a message: tables that do not exist."""
    names = "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NULL"
    try:
        missing = [str(name) for (name,) in server.query(names, [list(options.table_names)])]
    except BenchError as error:
        return {"aborted": error.message}
    return {"missing_tables": f"there is no {', '.join(missing[:3])}"} if missing else {}


DRIVER = Driver(
    SysbenchOptions,
    SysbenchLoad,
    "the oltp_* tests of the installed sysbench",
    program=PROGRAM,
    program_hint=SYSBENCH_HINT,
)
