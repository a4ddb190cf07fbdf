"""Types of the Rust core. Each concept has a section here and a file of its own under crates/python/src/."""

import os
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, final, overload

__all__ = ["__version__"]

__version__: Final[str]

# ---- Latency sketch (latency_sketch/) ----

__all__ += ["LatencySketch"]

@final
class LatencySketch:
    """Latencies in whole microseconds: exact moments, quantiles within ``RELATIVE_ERROR``; merging is associative.

    ``ValueError`` for a latency above ``MAX_LATENCY_US``, a quantile outside 0 … 1, or bytes that are no sketch.
    """

    RELATIVE_ERROR: Final[float]
    MAX_LATENCY_US: Final[int]
    def __new__(cls) -> LatencySketch: ...
    def record(self, latency_us: int, count: int = 1) -> None: ...
    def merge(self, other: LatencySketch) -> None: ...
    def quantile(self, q: float) -> float | None:
        """The nearest-rank quantile (the ⌈q·n⌉-th smallest) in µs; 0 and 1 are exact; None when empty."""

    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> LatencySketch: ...
    @property
    def count(self) -> int: ...
    @property
    def sum_us(self) -> int: ...
    @property
    def min_us(self) -> int | None: ...
    @property
    def max_us(self) -> int | None: ...
    @property
    def mean_us(self) -> float | None: ...
    @property
    def stddev_us(self) -> float | None:
        """Population standard deviation, as pgbench prints it."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

# ---- pgbench per-transaction log (pgbench_log/) ----

__all__ += ["PgbenchLog", "PgbenchLogError", "PgbenchSeries", "PgbenchTotals", "read_pgbench_logs"]

class PgbenchLogError(ValueError):
    """A line that is not pgbench's, or times too far apart (then all four are None)."""

    path: str | None
    line_number: int | None
    text: str | None
    reason: str | None

_CountName: TypeAlias = Literal["wall_ns", "transactions", "failed", "skipped", "retried", "retries", "latency_sum_us"]
_ValueName: TypeAlias = Literal[
    "offset_s",
    "latency_mean_us",
    "latency_max_us",
    "latency_p50_us",
    "latency_p95_us",
    "latency_p99_us",
    "lag_mean_us",
]

@final
class PgbenchSeries:
    """One row for every interval from the first to the last, empty ones too (counts 0, values NaN).

    The first and last interval are usually partial. Columns are memoryviews of int64 or float64 in row order, which
    ``numpy.asarray`` takes without a copy. ``wall_ns`` and ``offset_s`` are the starts of the intervals;
    ``lag_mean_us`` is there only with ``has_lag``. Latencies and lags are those of the successful transactions.
    """

    def __len__(self) -> int: ...
    @property
    def names(self) -> list[_CountName | _ValueName]: ...
    @overload
    def __getitem__(self, name: _CountName, /) -> memoryview[int]: ...
    @overload
    def __getitem__(self, name: _ValueName, /) -> memoryview[float]: ...
    def columns(self) -> dict[str, memoryview[int] | memoryview[float]]: ...
    def script_transactions(self) -> dict[int, memoryview[int]]:
        """Successful transactions an interval of every script that occurs, by its number."""

@final
class PgbenchTotals:
    """Counts by outcome and the latencies of the successful transactions, over any number of intervals."""

    @property
    def transactions(self) -> int:
        """Successful ones."""

    @property
    def failed(self) -> int:
        """For any reason; the reasons below are known only with --failures-detailed."""

    @property
    def serialization_failures(self) -> int: ...
    @property
    def deadlock_failures(self) -> int: ...
    @property
    def other_failures(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    @property
    def retried(self) -> int:
        """Transactions tried more than once, failed ones included."""

    @property
    def retries(self) -> int: ...
    @property
    def lag_mean_us(self) -> float | None: ...
    @property
    def lag_max_us(self) -> int | None: ...
    @property
    def latency(self) -> LatencySketch: ...

@final
class PgbenchLog:
    """What the logs of one pgbench run say together; memory follows the length of the run, not the size of the logs."""

    @property
    def start_us(self) -> int | None:
        """Where ``offset_s`` counts from, µs since the epoch: as given, else the start of the first interval."""

    @property
    def interval_us(self) -> int: ...
    @property
    def first_us(self) -> int | None:
        """The end of the first transaction, µs since the epoch; None without one."""

    @property
    def last_us(self) -> int | None: ...
    @property
    def lines(self) -> int: ...
    @property
    def torn_paths(self) -> list[str]:
        """Files whose last line has no newline (pgbench was killed, or still writes); that line is not counted."""

    @property
    def series(self) -> PgbenchSeries: ...
    @property
    def totals(self) -> PgbenchTotals: ...
    @property
    def scripts(self) -> dict[int, PgbenchTotals]: ...
    def window(self, first: int, stop: int, script: int | None = None) -> PgbenchTotals:
        """Rows ``first`` up to, not including, ``stop`` of the series together; ``IndexError`` outside it."""

def read_pgbench_logs(
    paths: Sequence[str | os.PathLike[str]],
    *,
    start_us: int | None = None,
    has_lag: bool = False,
    has_retries: bool = False,
    interval_s: float = 1.0,
    threads: int | None = None,
) -> PgbenchLog:
    """Reads the per-transaction logs (``pgbench -l``) of one run, one file a thread, in one pass without the GIL.

    ``has_lag``: pgbench ran with ``--rate``; ``has_retries``: with ``--max-tries`` other than 1 (the two columns look
    alike, so the log cannot tell). Intervals count from ``start_us`` (transactions before it get negative offsets), or
    are whole ones since the epoch, as pgbench's own ``--aggregate-interval`` has them. ``threads``: as many as cores.

    Raises ``OSError`` (``FileNotFoundError`` …) for a file that cannot be read, ``PgbenchLogError`` for a malformed
    line or for times more than a week of seconds (604800 intervals) apart, ``ValueError`` for bad arguments.
    """
