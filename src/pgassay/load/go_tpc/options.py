"""The options of a go-tpc load as checked values, from the canonical texts of the `load.*` levels."""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.load import values

DEFAULTS: Mapping[str, str] = {"warehouses": "1", "threads": "1", "duration": "60s", "transactions": values.NONE}


@dataclass(frozen=True)
class Options:
    """A go-tpc load. Exactly one of `duration_s` and `transactions` (of each thread) is set; the latter prevails."""

    warehouses: int
    threads: int
    duration_s: int | None
    transactions: int | None


def read_options(levels: Mapping[str, str]) -> Options:
    """The options for these levels (names without `load.`); raises `UsageError`."""
    given = {**DEFAULTS, **levels}
    transactions = values.parse_optional_count("load.transactions", given["transactions"])
    return Options(
        values.parse_count("load.warehouses", given["warehouses"]),
        values.parse_count("load.threads", given["threads"]),
        None if transactions else values.parse_seconds("load.duration", given["duration"]),
        transactions,
    )
