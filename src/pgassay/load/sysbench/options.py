"""The options of a sysbench load, each declared once, and the command line that they make; pure.

Names and defaults are sysbench's own (`sysbench --help`, `sysbench oltp_read_write help`), except that a run lasts 60 s
if nothing else is asked. The scenario has a word of its own, not `load.script`, since it names one of sysbench's tests
and never a file. `protocol` keeps pgbench's words: `prepared` is sysbench's --db-ps-mode=auto, `simple` is `disable`.

The endpoint is given in full, for sysbench's defaults (localhost, user sbtest) never fit. The histogram is asked for
since only it holds every percentile.
"""

from dataclasses import dataclass

from pgassay.bench.factor import Stage
from pgassay.bench.kinds import SWITCH, Kind, choice, whole
from pgassay.bench.options import answer_to, option, rows_of
from pgassay.bench.places import Endpoint
from pgassay.load import messages
from pgassay.load.options import CountedOptions, RatedOptions, RemoteOptions, ThreadedOptions
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_number

PROGRAM = "sysbench"
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
}
"""Each scenario with the statements that its sessions prepare for each table, without BEGIN and COMMIT."""
SCENARIOS = tuple(STATEMENTS)
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
        raise messages.too_many_rows(name, rows, ROWS_MAX)
    return rows


@dataclass(frozen=True, kw_only=True)
class SysbenchClientOptions(RemoteOptions, ThreadedOptions, CountedOptions):
    """How sysbench plays a test, its own or others' scripts; `transactions` prevail over `duration_s`."""

    protocol: str = option(choice(*PROTOCOLS), default="prepared", summary="sysbench --db-ps-mode: prepared or simple")

    @property
    def ps_mode(self) -> str:
        """sysbench's word for the protocol."""
        return PROTOCOLS[self.protocol]


@dataclass(frozen=True, kw_only=True)
class SysbenchOptions(SysbenchClientOptions, RatedOptions):
    """A load by sysbench's own oltp_* tests."""

    driver = "sysbench"

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
        """The names of the tables: `sbtest1`, `sbtest2` …"""
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))

    @property
    def session_bytes(self) -> int:
        """By its tables and the statements that it prepares for each."""
        statements = STATEMENTS[self.scenario] if self.protocol == "prepared" else 0
        return _SESSION_BYTES + self.tables * (_TABLE_BYTES + statements * _STATEMENT_BYTES)

    def estimated_bytes(self) -> int:
        """By the number of rows."""
        return self.tables * self.rows * BYTES_PER_ROW


def run_command(program: str, endpoint: Endpoint, options: SysbenchOptions, seed: int) -> list[str]:
    """The arguments of the measured run."""
    command = [
        program,
        options.scenario,
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
        f"--db-ps-mode={options.ps_mode}",
        f"--threads={options.threads}",
        f"--rand-seed={seed % _SEED_MODULUS + 1}",
        "--report-interval=1",
        f"--percentile={PERCENTILE}",
        "--histogram=on",
        *_length(options),
    ]


def _length(options: SysbenchClientOptions) -> list[str]:
    """A time, or as many events as all threads' transactions."""
    if options.transactions is None:
        return [f"--time={options.duration_s}", "--events=0"]
    return ["--time=0", f"--events={options.transactions * options.threads}"]
