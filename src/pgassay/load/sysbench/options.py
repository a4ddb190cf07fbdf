"""The options of a sysbench load as checked values, read from the canonical texts of the `load.*` levels.

Names and defaults are sysbench's own (`sysbench oltp_read_write help`), except that a run lasts 60 s where nothing else
is said. `protocol` keeps pgbench's words: `prepared` is sysbench's --db-ps-mode=auto, `simple` is `disable`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.load import messages, values

SCENARIOS = (
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_insert",
    "oltp_delete",
    "oltp_update_index",
    "oltp_update_non_index",
)
DISTRIBUTIONS = ("special", "uniform", "gaussian", "pareto")
PROTOCOLS = {"prepared": "auto", "simple": "disable"}
"""The word of `load.protocol` to sysbench's --db-ps-mode."""
ROWS_MAX = 2**31 - 1
"""`id` is an INTEGER."""

DEFAULTS: Mapping[str, str] = {
    "scenario": "oltp_read_write",
    "protocol": "prepared",
    "threads": "1",
    "tables": "1",
    "rows": "10000",
    "secondary_index": "on",
    "distribution": "special",
    "duration": "60s",
    "transactions": "none",
    "rate": "none",
}


@dataclass(frozen=True, kw_only=True)
class Played:
    """What every test that sysbench plays takes, its own and others' scripts.

    Exactly one of `duration_s` and `transactions` (of each thread) is set; the latter prevails.
    """

    protocol: str
    threads: int
    duration_s: int | None
    transactions: int | None

    @property
    def ps_mode(self) -> str:
        """sysbench's word for the protocol."""
        return PROTOCOLS[self.protocol]


@dataclass(frozen=True, kw_only=True)
class Options(Played):
    """A load by sysbench's own oltp_* tests."""

    scenario: str
    tables: int
    rows: int
    secondary_index: bool
    distribution: str
    rate_tps: float | None

    @property
    def table_names(self) -> tuple[str, ...]:
        """`sbtest1` and on."""
        return tuple(f"sbtest{number}" for number in range(1, self.tables + 1))


def read_options(levels: Mapping[str, str]) -> Options:
    """The options for these levels (names without `load.`); raises `UsageError`."""
    given = {**DEFAULTS, **levels}
    for option, words in (("scenario", SCENARIOS), ("protocol", tuple(PROTOCOLS)), ("distribution", DISTRIBUTIONS)):
        if given[option] not in words:
            raise messages.not_a_choice(f"load.{option}", given[option], words)
    rows = values.parse_count("load.rows", given["rows"])
    if rows > ROWS_MAX:
        raise messages.too_many_rows("load.rows", rows, ROWS_MAX)
    transactions = values.parse_optional_count("load.transactions", given["transactions"])
    return Options(
        scenario=given["scenario"],
        protocol=given["protocol"],
        threads=values.parse_count("load.threads", given["threads"]),
        tables=values.parse_count("load.tables", given["tables"]),
        rows=rows,
        secondary_index=values.parse_switch("load.secondary_index", given["secondary_index"]),
        distribution=given["distribution"],
        duration_s=None if transactions else values.parse_seconds("load.duration", given["duration"]),
        transactions=transactions,
        rate_tps=values.parse_rate("load.rate", given["rate"]),
    )
