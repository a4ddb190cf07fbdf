"""Types of the Rust core. Each concept has a section here and a file of its own under crates/python/src/."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Required, TypeAlias, TypedDict, final, overload, type_check_only

import numpy as np
from numpy.typing import NDArray

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

# ---- Flash model (flash/); descriptions are checked key by key, `ValueError` says which value and why ----

__all__ += ["FlashDrive", "FlashInput", "FlashOutOfSpaceError", "FlashTrace", "flash_is_steady"]
__all__ += ["flash_theory", "write_flash_trace"]
__all__ += ["DRIVE_CODECS", "DRIVE_PRESETS", "DRIVE_STORES", "FLASH_KINDS", "GC_POLICIES", "GC_STREAMS"]
__all__ += ["FLASH_PROFILES", "TIMING_PROFILES", "DescriptionError", "DriveDescription"]

DRIVE_PRESETS: tuple[str, ...]  # names of `DriveDescription.preset`
DRIVE_CODECS: tuple[str, ...]  # the usual ones; zstd-1 to zstd-19 and deflate-1 to deflate-12 exist
DRIVE_STORES: tuple[str, ...]  # where an emulated drive keeps contents; the usual one first, as in the next
FLASH_KINDS: tuple[str, ...]
GC_POLICIES: tuple[str, ...]
GC_STREAMS: tuple[str, ...]
TIMING_PROFILES: tuple[str, ...]  # devices whose service times are known by name
FLASH_PROFILES: tuple[str, ...]  # those of them whose times come from flash

class DescriptionError(ValueError):
    """A drive that cannot be: which key, what is wrong with its value, what is accepted. ``hint`` may be empty."""

    hint: str

@final
class DriveDescription:
    """One drive as it is described: the tables ``drive``, ``timing``, ``emulation``. Immutable; equal by what is said.

    Sizes may be written as PostgreSQL has them (``"16GB"``), shares as per cent (``"7%"``). The tables ``input``,
    ``run`` and ``life`` may be there and are left to ``pgassay drive simulate``. Methods raise ``DescriptionError``.
    """

    def __new__(cls, document: Mapping[str, object]) -> DriveDescription: ...
    @staticmethod
    def preset(name: str) -> DriveDescription:
        """One of ``DRIVE_PRESETS``, without a capacity."""

    def replace(self, changes: Mapping[str, object]) -> DriveDescription:
        """Values by key (``"drive.policy"``, ``"emulation.codec"`` …), and ``"timing"`` as a table (None: none)."""

    def with_capacity(self, capacity_bytes: int) -> DriveDescription:
        """With another capacity for the host; where more is promised than there is flash, the flash stays."""

    def check_emulated(self) -> None:
        """Refuses what ``pgassay-drive`` would refuse; the capacity must be known. Nothing is made."""

    def configuration(self, name: str, directory: str | os.PathLike[str]) -> dict[str, Any]:
        """What ``pgassay-drive serve --config`` takes; a store in a file lies in ``directory``."""

    def tables(self) -> dict[str, dict[str, Any]]:
        """What is said, in bytes, shares and words; ``timing`` only where there are service times."""

    def table_bytes_per_block(self, user_bytes: int, compressed_to: float) -> tuple[float, float]:
        """Bytes of memory for each 4096 bytes of ``user_bytes``: of the model's tables, and at most of a snapshot of
        them, where blocks compress to ``compressed_to`` of their size on average."""

    @property
    def kind(self) -> str:
        """One of ``FLASH_KINDS``."""

    @property
    def policy(self) -> str:
        """One of ``GC_POLICIES``."""

    @property
    def over_provisioning(self) -> float:
        """T/U − 1, however it is given; of pools, that of all together."""

    @property
    def granularity_bytes(self) -> int:
        """What the size of a compressed block is rounded up to."""

    @property
    def pages_per_block(self) -> int | None:
        """Pages of 4096 bytes in a superblock, where that is said."""

    @property
    def has_shape(self) -> bool:
        """Whether pages of a superblock, channels, dies … are said."""

    @property
    def user_bytes(self) -> int | None:
        """The capacity that over-provisioning refers to."""

    @property
    def capacity_bytes(self) -> int | None:
        """What the host sees; None where it is left open."""

    @property
    def codec(self) -> str:
        """The codec's name; ``"none"`` for a normal drive unless one is given."""

    @property
    def store(self) -> str:
        """One of ``DRIVE_STORES``."""

    @property
    def store_bytes(self) -> int | None:
        """Room for contents, where that is said."""

    @property
    def profile(self) -> str | None:
        """One of ``TIMING_PROFILES``; None of a drive without service times."""

class FlashOutOfSpaceError(ValueError):
    """A compressing drive has no physical space left for a write."""

@type_check_only
class FlashDriveDescription(TypedDict, total=False):
    """A modelled drive; only ``user_bytes`` has no default. docs/drives.md says what each key means."""

    kind: Literal["page-mapped", "compressing"]
    user_bytes: Required[int]
    over_provisioning: float
    spare_of_physical: float
    pages_per_block: int
    channels: int
    dies_per_channel: int
    planes_per_die: int
    flash_pages_per_block: int
    flash_page_bytes: int
    reserve_blocks: int
    policy: Literal["greedy", "cost-benefit", "fifo", "d-choices", "random"]
    choices: int
    gc_stream: Literal["with-host", "own", "per-handle"]
    handles: int
    wear_levelling_threshold: int | None
    pools: Sequence[tuple[float, float]]
    logical_bytes: int
    granularity_bytes: int
    straddling: bool
    throttle_from: float
    reject_from: float
    throttled_bytes_per_second: int
    seed: int

@type_check_only
class FlashSizes(TypedDict, total=False):
    """Bytes of a 4096-byte block after compression; exactly one of the first four keys."""

    bytes: int
    between: Sequence[int]
    quantiles: Sequence[Sequence[float]]
    weights: Sequence[Sequence[float]]
    up_to: float

@type_check_only
class FlashComponent(TypedDict, total=False):
    """A part of a load: a range of blocks, how it is written, how its blocks compress (from hottest to coldest)."""

    share_of_writes: float
    first_block: int
    blocks: int
    pattern: Literal["uniform", "sequential", "zipf", "hot-cold"]
    exponent: float
    hot_blocks: float
    hot_writes: float
    scattered: bool
    sizes: Sequence[FlashSizes]
    redraw_sizes: bool
    handle: int

@type_check_only
class FlashServiceTimes(TypedDict, total=False):
    """What operations take; defaults in docs/drives.md."""

    profile: str
    read_ns: int
    program_ns: int
    erase_ns: int
    channel_bytes_per_second: int
    pages_per_program: int
    controller_ns: int
    write_buffer_bytes: int
    reads_first: bool
    gc_pacing: Literal["paced", "burst"]
    link_bytes_per_second: int
    compression_bytes_per_second: int
    decompression_bytes_per_second: int
    power_loss_protection: bool
    erase_every: int

@type_check_only
class FlashCounters(TypedDict):
    """Counts since the drive was made, in bytes unless the name says otherwise."""

    host_bytes_written: int
    compressed_bytes_written: int
    gc_bytes_written: int
    wear_levelling_bytes_written: int
    padding_bytes_written: int
    nand_bytes_written: int
    host_bytes_trimmed: int
    blocks_erased: int
    throttled_writes: int
    rejected_writes: int

@type_check_only
class FlashWearLeveling(TypedDict):
    """Erase counts over all blocks."""

    min: int
    max: int
    avg: float

@type_check_only
class FlashHalves(TypedDict):
    """A counter of 128 bits as nvme-cli prints it: ``hi`` times 2^64, and ``lo``."""

    hi: int
    lo: int

@type_check_only
class FlashHealth(TypedDict):
    """The log page, under the names that nvme-cli prints."""

    host_bytes_written: int
    nand_bytes_written: int
    physical_media_units_written: FlashHalves
    gc_bytes_written: int
    compression_ratio: int
    physical_usage_ratio: int
    wear_leveling: FlashWearLeveling
    percentage_used: int
    free_blocks: int

@type_check_only
class FlashLatencies(TypedDict):
    """A latency distribution; quantiles within 1 %. The histogram holds (highest latency in ns, requests)."""

    count: int
    mean_ns: float
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int
    histogram: list[tuple[int, int]]

@type_check_only
class FlashTimingReport(TypedDict):
    """A run against the virtual clock; ``…s_ns`` after ``dies`` are die time, summed over the dies."""

    reads: FlashLatencies | None
    writes: FlashLatencies | None
    duration_ns: int
    drained_ns: int
    stalled_writes: int
    dies: int
    host_reads_ns: int
    gc_reads_ns: int
    programs_ns: int
    erases_ns: int

@type_check_only
class FlashTraceArrays(TypedDict):
    """All records of a trace; ``compressed_bytes`` has one entry a block written, in the order of the records."""

    time_ns: NDArray[np.uint64]
    operation: NDArray[np.uint8]
    stream: NDArray[np.uint8]
    first_block: NDArray[np.uint32]
    blocks: NDArray[np.uint32]
    compressed_bytes: NDArray[np.uint16]

@final
class FlashInput:
    """An endless load by formula; the same seed gives the same writes."""

    def __new__(cls, logical_blocks: int, components: Sequence[FlashComponent], seed: int = 1) -> FlashInput: ...
    def batch(self, writes: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.uint8]]:
        """The next writes: blocks, bytes after compression, placement handles."""

    def popularity(self, granularity_bytes: int = 1) -> list[tuple[float, float, float]] | None:
        """Classes of equally popular blocks: (blocks, share of the writes, mean bytes in whole granules); None if
        writes depend on each other or components overlap."""

@final
class FlashDrive:
    """A modelled drive. Writes refused for want of space raise ``FlashOutOfSpaceError``."""

    def __new__(cls, description: FlashDriveDescription, timing: FlashServiceTimes | None = None) -> FlashDrive:
        """A fresh drive; ``timing`` with a profile's service times also gives it that profile's shape, unless it has
        one of its own. Raises ``DescriptionError`` for what cannot be."""

    def write(
        self,
        lbas: NDArray[np.uint32],
        compressed_bytes: NDArray[np.uint16] | None = None,
    ) -> None:
        """Writes blocks in order, each with its bytes after compression (4096)."""

    def apply(self, load: FlashInput, writes: int) -> None:
        """Writes the next ``writes`` blocks of a load."""

    def fill(self, load: FlashInput, used_share: float = 1.0) -> None:
        """Writes each block of a share of the drive once, in the sizes of a load."""

    def age_by_theory(self, load: FlashInput, used_share: float = 1.0, seed: int = 1) -> None:
        """Lays the data down once, as equilibrium under uniform writes would. The drive must be fresh. Pools are taken
        as one drive, and padding at the ends of flash pages as if all extents of a page were of one size."""

    def time(
        self,
        load: FlashInput,
        requests: int,
        *,
        service: FlashServiceTimes | None = None,
        read_share: float = 0.0,
        per_second: float | None = None,
        queue_depth: int = 32,
        seed: int = 1,
    ) -> FlashTimingReport:
        """Single-block requests against the clock: at random times, or without a rate ``queue_depth`` under way."""

    def counters(self) -> FlashCounters: ...
    def health(self, rated_cycles: int = 3000) -> FlashHealth: ...
    def drive_writes_per_day(
        self, write_amplification: float, *, rated_cycles: int = 3000, years: float = 5.0
    ) -> float: ...
    @property
    def logical_blocks(self) -> int: ...
    @property
    def usable_bytes(self) -> int: ...
    @property
    def physical_bytes(self) -> int: ...
    @property
    def user_bytes(self) -> int: ...
    @property
    def free_blocks(self) -> int: ...
    @property
    def pages_per_block(self) -> int: ...
    @property
    def alpha(self) -> float:
        """Usable flash over logical capacity: alpha in the formulas."""

@final
class FlashTrace:
    """A recorded load, opened through its index; ``ValueError`` says where a damaged one is damaged."""

    OPERATIONS: Final[list[str]]
    def __new__(cls, path: str | os.PathLike[str]) -> FlashTrace: ...
    def arrays(self) -> FlashTraceArrays: ...
    @property
    def records(self) -> int: ...
    @property
    def written_blocks(self) -> int: ...
    @property
    def codec(self) -> str: ...
    @property
    def codec_level(self) -> int: ...
    @property
    def drive_blocks(self) -> int: ...

def write_flash_trace(
    path: str | os.PathLike[str],
    *,
    drive_blocks: int,
    time_ns: NDArray[np.uint64],
    operation: NDArray[np.uint8],
    first_block: NDArray[np.uint32],
    blocks: NDArray[np.uint32],
    compressed_bytes: NDArray[np.uint16],
    stream: NDArray[np.uint8] | None = None,
    codec: str = "synthetic",
    codec_level: int = 0,
) -> None:
    """Writes a trace; ``operation`` holds indices into ``FlashTrace.OPERATIONS``."""

def flash_is_steady(windows: NDArray[np.float64], wave: float, stretch: float, tolerance: float) -> bool:
    """Whether the mean of write amplification stopped moving: ``windows`` (contiguous, each of as many host writes)
    begin where ageing began; ``wave``, a turn of the flash, and ``stretch`` are in windows.

    The first third at least is left out, and the two stretches after it are compared. Each has three waves at least and
    is no shorter than ``stretch``. Steady means that both ends of the 90 % interval of the difference of their means
    are shown to lie within ``tolerance`` times the mean. docs/drives.md has the method."""

def flash_theory(
    policy: str,
    alpha: float,
    pages_per_block: int,
    classes: Sequence[tuple[float, float, float]],
    *,
    choices: int = 2,
    compressing: bool = False,
    separated: Sequence[float] | None = None,
) -> float | None:
    """Write amplification by formula, for classes as of ``FlashInput.popularity``; None where there is no formula."""

# ---- PostgreSQL's server log (server_log/) ----

__all__ += ["ServerLogReader", "normalize_statement", "summarize_server_logs"]

_ServerLogEvent: TypeAlias = tuple[int, str, str, str, str, str, list[str | None], float | None]

@final
class ServerLogReader:
    """Iterates over the events of logs: time_us, session, database, user, kind, text, parameters, duration_ms.

    ``prefixes`` are settings of log_line_prefix, for stderr; where none fits, those of managed services are tried. The
    format, and what the log is wrapped in, are known by the first lines unless ``log_format`` says ``stderr``,
    ``csv``, ``json`` or what it is wrapped in: ``cnpg``, ``cloudsql``, ``azure``, ``docker``, ``journald``, ``cri``,
    ``heroku``, ``syslog``. Times are the server's wall clock. ``OSError`` names a file that cannot be read,
    ``ValueError`` a prefix with an unknown escape, or an unknown format.
    """

    def __new__(
        cls, paths: Sequence[str | os.PathLike[str]], prefixes: Sequence[str], *, log_format: str | None = None
    ) -> ServerLogReader: ...
    def __iter__(self) -> ServerLogReader: ...
    def __next__(self) -> _ServerLogEvent: ...
    @property
    def unread(self) -> int:
        """Records with another prefix, and damaged ones."""

    @property
    def foreign(self) -> int:
        """Records that seem to be events in a language that is not read."""

    @property
    def doubtful(self) -> int:
        """Records with a statement or its values that may lack lines, or have lines of others in them: not used."""

    @property
    def torn(self) -> int:
        """Logs whose last record is not whole, or may not be: its further lines would stand behind the end."""

    @property
    def plans_unread(self) -> int:
        """Entries of auto_explain of which the end of the statement cannot be told."""

def summarize_server_logs(
    paths: Sequence[str | os.PathLike[str]],
    prefixes: Sequence[str],
    *,
    log_format: str | None = None,
    database: str = "",
    keep_values: bool = False,
    beside: Callable[[_ServerLogEvent], object] | None = None,
    most_bytes: int | None = None,
) -> bytes:
    """All that a capture takes of logs, as JSON; memory does not grow with their size.

    Files are read by the times of their first events. gzip, bzip2, xz and zstd, known by the first bytes, are unpacked
    by the program of that name. Of each file no more than ``most_bytes`` are read.

    A statement that auto_explain alone reports has no calls; ``planned`` says that the values are auto_explain's.
    ``beside`` gets each event of ``database``'s sessions as it is read, a capture's own left out; what it raises ends
    the reading.
    """

def normalize_statement(statement: str) -> tuple[str, list[int | None]]:
    """The text with ``$1``, ``$2`` … for each constant and parameter, and the number that each had (None: constant)."""

# ---- Compressibility (compressibility/) ----

__all__ += ["relay_tables", "scan_blocks", "stored_bytes"]

def stored_bytes(data: bytes, codec: str) -> NDArray[np.uint16]:
    """What a drive stores for each 4 KiB block: 0 for zeros, 4096 for what does not shrink; ``ValueError``."""

def scan_blocks(
    paths: Sequence[str | os.PathLike[str]],
    files: NDArray[np.uint32],
    offsets: NDArray[np.uint64],
    lengths: NDArray[np.uint32],
    *,
    codecs: Sequence[str],
    granularities: Sequence[int],
    threads: int | None = None,
) -> NDArray[np.uint64]:
    """A row a chunk: blocks, blocks of zeros, bytes stored for each codec and (innermost) granularity.

    A file that is gone counts as empty; another that cannot be read is an ``OSError`` with its name.
    """

def relay_tables(
    paths: Sequence[str | os.PathLike[str]],
    tables: NDArray[np.uint32],
    files: NDArray[np.uint32],
    offsets: NDArray[np.uint64],
    lengths: NDArray[np.uint32],
    *,
    page_bytes: int,
    fillfactors: Sequence[int],
    codecs: Sequence[str],
    granularities: Sequence[int],
    threads: int | None = None,
) -> NDArray[np.uint64]:
    """Lays out samples of heaps again. A row a table and (innermost) fillfactor: pages read, rows in them that are not
    known to be dead, pages filled, rows in these, then as ``scan_blocks``."""
