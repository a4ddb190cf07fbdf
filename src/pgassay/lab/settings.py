"""With which settings a trial's server starts: the study's own, those that pin its regime, and those counted in blocks.

What the user sets or varies is never overridden. Everything that is pinned is in the record as effectively configured.

While the page size varies, "default configuration" is not one configuration, because some settings are counted in
blocks. Plain defaults give a server of 2 kB pages a quarter of the bytes (or four times the WAL buffers) of one of
8 kB. So they are pinned to the bytes of a stock server of 8 kB pages, unless the study says `defaults = "plain"`.
Defaults and limits: PostgreSQL's manual, "Server Configuration", and guc_tables.c.

What one arm asks of every room is made into typed values once, of its levels (`Setup`), and read by name nowhere else.
Only PostgreSQL's own vocabulary stays name to value: its settings, and the options of initdb.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil

from pgassay.drive.options import DriveOptions
from pgassay.errors import UsageError
from pgassay.interfaces.factor import SetupDraft
from pgassay.interfaces.load import LoadOptions
from pgassay.load import drivers
from pgassay.postgres.builds.recipe import DEFAULT_BLOCK_BYTES
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.installation import COPY_DATABASE
from pgassay.study.levels import Level
from pgassay.study.model import PLAIN, Study
from pgassay.study.units import format_bytes, parse_memory, parse_whole, split_quantity
from pgassay.study.work import BURST, CYCLES_WANTED, UNPINNED, WORK


@dataclass(frozen=True)
class Setup:
    """The programs, settings, load and drives of one arm."""

    version: str
    """Which installed PostgreSQL serves: `17` or `17.5`; empty for any."""
    server: str
    """Which of several servers of the user's serves; empty where there are not several."""
    build: BuildRequest | None
    """The PostgreSQL that is to be built; None to take one that is installed."""
    init_options: Mapping[str, str]
    settings: Mapping[str, str]
    """What the study sets, GUC to value, before the regime is pinned."""
    load: LoadOptions
    drive: DriveOptions
    memory_bytes: int | None
    """What the server may have; None where no host factor limits it."""
    table_fillfactor: int
    """Percent to which rows fill the pages of every table."""

    @property
    def block_bytes(self) -> int:
        return self.build.block_bytes if self.build else DEFAULT_BLOCK_BYTES

    @property
    def copied_database(self) -> str:
        """The database of a user's own server of which databases of ours are copies; empty for data of the load's."""
        return self.init_options.get(COPY_DATABASE, "")

    @classmethod
    def of(cls, draft: SetupDraft) -> "Setup":
        """Of what the factors wrote; raises `UsageError` for options that are not known or do not go together."""
        made = cls(
            version=draft.version,
            server=draft.server,
            build=BuildRequest.from_levels(draft.build) if draft.build else None,
            init_options=dict(draft.init_options),
            settings=dict(draft.settings),
            load=replace(drivers.options_of(draft.load), memory_bytes=draft.memory_bytes),
            drive=DriveOptions.from_levels(draft.drive),
            memory_bytes=draft.memory_bytes,
            table_fillfactor=draft.table_fillfactor,
        )
        others = [f"init.{name}" for name in made.init_options if name != COPY_DATABASE]
        loaded = [f"load.{name}" for name in ("init", "age") if getattr(made.load, name, None)]
        if made.copied_database and (others or loaded):
            raise UsageError(
                f'"{[*others, *loaded][0]}" and "init.{COPY_DATABASE}" cannot be used together',
                "a copy has the data and the cluster of its database",
            )
        return made


PREPARING: Mapping[str, str] = {
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "checkpoint_timeout": "1h",
    "maintenance_work_mem": "256MB",
    "autovacuum": "off",
    "fsync": "off",
}
"""Settings while a snapshot is made: nothing is measured then, and the snapshot is synced to disk when it is taken."""
_TIMEOUT_MIN_S = 30
"""The least checkpoint_timeout that PostgreSQL takes."""
_SLACK_S = 2
_TIMED_WAL = "16GB"
"""Enough WAL that time, not volume, starts the checkpoints."""
_SHORT_WAL = "128MB"
_SEGMENTS_MIN = 4
"""max_wal_size must hold at least two WAL files; four leave something to fill between two checkpoints."""
_BURST_TIMEOUT = "1h"
COUNTING: Mapping[str, str] = {"jit": "off", "autovacuum": "off", "fsync": "off"}
"""Where instructions are counted: no code is made meanwhile, nothing begins by a clock, and nobody waits for a disk."""
_CONNECTIONS_DEFAULT = 100
_CONNECTIONS_SPARE = 20
"""For our own sessions and the superuser's reserve."""
CONNECTIONS_OURS = 5
"""Of the lab and its probes; the least that must be left besides the load's."""

BLOCK_SIZE = "build.block_size"
WAL_BLOCK_SIZE = "build.wal_block_size"
STOCK_BYTES = 8192
"""The page of a stock server."""

_KB, _MB, _GB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True)
class Counted:
    """A setting counted in data pages: its bytes on a stock server, and the fewest and most blocks it may have."""

    stock_bytes: int
    blocks_min: int
    blocks_max: int


COUNTED: Mapping[str, Counted] = {
    "effective_cache_size": Counted(4 * _GB, 1, 2**31 - 1),
    "temp_buffers": Counted(8 * _MB, 100, 2**30 - 1),
    "checkpoint_flush_after": Counted(256 * _KB, 0, 256),
    "bgwriter_flush_after": Counted(512 * _KB, 0, 256),
    "backend_flush_after": Counted(0, 0, 256),
}
"""Pinned while the page size varies. shared_buffers has a default in bytes (initdb tries sizes) and is pinned too."""

PER_PAGE: Mapping[str, int] = {"bgwriter_lru_maxpages": 100, "vacuum_cost_limit": 200}
"""Numbers of pages (and of what one round of vacuum may spend on pages): scaled, so that the bytes stay the same.

The limit stands for vacuum_cost_page_hit, _miss and _dirty, which are whole numbers and cannot become a quarter.
"""

IN_BLOCKS = (
    "shared_buffers", "wal_buffers", "wal_writer_flush_after", "min_parallel_table_scan_size",
    "min_parallel_index_scan_size", "io_combine_limit", "io_max_combine_limit", "commit_timestamp_buffers",
    "multixact_member_buffers", "multixact_offset_buffers", "notify_buffers", "serializable_buffers",
    "subtransaction_buffers", "transaction_buffers", *COUNTED,
)  # fmt: skip
"""A bare number for one of these means another size under every page size."""

DIRECT_IO_BYTES = 4096
"""PG_IO_ALIGN_SIZE: direct I/O of PostgreSQL goes by 4 kB."""
_DIRECT_IO = "server.debug_io_direct"
STOCK_SHARED_BUFFERS, STOCK_MIN_WAL = "128MB", "80MB"
_WAL_BUFFERS_MIN, _WAL_BUFFERS_MAX = 64 * _KB, 16 * _MB
"""XLOGChooseNumBuffers: a thirty-second of shared_buffers, at least 8 blocks of 8 kB, at most a segment of WAL."""


def mode_of(options: LoadOptions) -> str:
    """What a load's options mean for its checkpoints: their own word, or `work`."""
    if options.count:
        return BURST
    return WORK if options.checkpoint == "cycle" and options.transactions is not None else options.checkpoint


def pinned_by_regime(mode: str, duration_s: float | None, settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that make a window of `duration_s` span whole cycles; what the user sets or varies is left alone."""
    if mode == UNPINNED:
        return {}
    if mode == "cycle":
        timeout_s = max(_TIMEOUT_MIN_S, int(((duration_s or 0.0) - _SLACK_S) // CYCLES_WANTED))
        wanted = {"checkpoint_timeout": f"{timeout_s}s", "max_wal_size": _TIMED_WAL}
    elif mode == "wal":
        wanted = {"checkpoint_timeout": _BURST_TIMEOUT, "max_wal_size": _SHORT_WAL, "checkpoint_warning": "0"}
    else:
        wanted = {"checkpoint_timeout": _BURST_TIMEOUT, "max_wal_size": _TIMED_WAL}
    return {name: value for name, value in wanted.items() if name not in settings}


def holding(wal_size: str, init_options: Mapping[str, str]) -> str:
    """At least `wal_size` for max_wal_size, or more where initdb was asked for large WAL files."""
    segment = init_options.get("wal_segment_size")
    least = _SEGMENTS_MIN * parse_memory(segment) if segment else 0
    return wal_size if least <= parse_memory(wal_size) else format_bytes(least)


def settings_of(study: Study, setup: Setup, pins: Callable[[str], bool] = lambda name: True) -> dict[str, str]:
    """With what an arm's server starts, GUC to value; of what the study leaves open those that `pins` allows."""
    pinned = pinned_by_regime(mode_of(setup.load), setup.load.timed_s, setup.settings)
    if "max_wal_size" in pinned:
        pinned["max_wal_size"] = holding(pinned["max_wal_size"], setup.init_options)
    pinned = {**pinned_in_bytes(study, setup), **pinned}
    if setup.load.count:
        pinned |= {name: value for name, value in COUNTING.items() if name not in setup.settings}
    needed = setup.load.connections + _CONNECTIONS_SPARE
    if needed > _CONNECTIONS_DEFAULT and "max_connections" not in setup.settings:
        pinned["max_connections"] = str(needed)
    return {**setup.settings, **{name: value for name, value in pinned.items() if pins(name)}}


def require_connections(setup: Setup) -> None:
    """Raise `UsageError` where the study's own max_connections leaves none for the load or for us."""
    given = parse_whole(setup.settings.get("max_connections", ""))
    needed = setup.load.connections + CONNECTIONS_OURS
    if given is not None and given < needed:
        raise UsageError(
            f'"server.max_connections" = {given} is too small for a load of {setup.load.connections} connections',
            f"set it to at least {needed}, or leave it out: pgassay then makes it large enough",
        )


def sizes_of(study: Study, name: str) -> tuple[int, ...]:
    """The sizes that a build factor takes in this study, in bytes, smallest first; the stock size if it has none."""
    found = {parse_memory(level.canonical) for level in _levels(study, name)}
    return tuple(sorted(found)) or (STOCK_BYTES,)


def block_size_varies(study: Study) -> bool:
    return len(sizes_of(study, BLOCK_SIZE)) > 1 or len(sizes_of(study, WAL_BLOCK_SIZE)) > 1


def check_block_counts(study: Study) -> None:
    """Raise `UsageError` for direct I/O below its least block, and for a bare number where the page size varies."""
    for arm in study.arms:
        _check_direct_io(study.levels_of(arm))
    if not block_size_varies(study):
        return
    names = {name for arm in study.arms for name in study.levels_of(arm)}
    for name in sorted(names):
        setting = name.removeprefix("server.")
        if not name.startswith("server.") or setting.lower() not in IN_BLOCKS:
            continue
        for level in _levels(study, name):
            quantity = split_quantity(level.typed)
            if quantity is not None and not quantity[1] and quantity[0] not in (-1, 0):
                raise UsageError(
                    f'"{name}" = {level.typed} counts blocks, whose size this study varies',
                    f'give it a unit, so that it means the same for every page size: "{name}" = "64MB"',
                )


def _check_direct_io(levels: Mapping[str, Level]) -> None:
    """PostgreSQL refuses it too, but only once that server is built (check_debug_io_direct, from 16 on)."""
    asked = levels.get(_DIRECT_IO)
    words = {word.strip() for word in asked.typed.split(",")} if asked else set()
    for word, name in (("data", BLOCK_SIZE), ("wal", WAL_BLOCK_SIZE), ("wal_init", WAL_BLOCK_SIZE)):
        size = levels.get(name)
        if word in words and size is not None and parse_memory(size.canonical) < DIRECT_IO_BYTES:
            raise UsageError(
                f'"server.debug_io_direct" = {word} does not work with "{name}" = {size.typed}',
                f"direct I/O needs blocks of at least 4kB: leave out the smaller ones with --levels {name}=4kB,8kB",
            )


def pinned_in_bytes(study: Study, setup: Setup) -> dict[str, str]:
    """The settings that make the page size the only difference; empty if it does not vary or defaults stay plain."""
    if not block_size_varies(study) or study.design.defaults == PLAIN:
        return {}
    given = {name.lower(): value for name, value in setup.settings.items()}
    sizes = sizes_of(study, BLOCK_SIZE)
    buffers = given.get("shared_buffers", "")
    quantity = split_quantity(buffers)
    total = parse_memory(buffers if quantity and quantity[1] else STOCK_SHARED_BUFFERS)
    within = max(_WAL_BUFFERS_MIN, min(_WAL_BUFFERS_MAX, total // 32))
    wal_buffers = format_bytes(within // _WAL_BUFFERS_MIN * _WAL_BUFFERS_MIN)
    wanted = {"shared_buffers": STOCK_SHARED_BUFFERS, "wal_buffers": wal_buffers}
    wanted |= {name: format_bytes(common_bytes(each, sizes)) for name, each in COUNTED.items()}
    wanted |= {name: str(number * STOCK_BYTES // setup.block_bytes) for name, number in PER_PAGE.items()}
    return {name: value for name, value in wanted.items() if name not in given}


def common_bytes(counted: Counted, sizes: Iterable[int]) -> int:
    """The stock server's bytes, or the nearest that every page size of the study allows."""
    smallest, largest = min(sizes), max(sizes)
    within = max(counted.blocks_min * largest, min(counted.stock_bytes, counted.blocks_max * smallest))
    return within // largest * largest


def describe_defaults(study: Study) -> str:
    """For plan and report: what was pinned, or that nothing was; empty when no block size varies."""
    if not block_size_varies(study):
        return ""
    if study.design.defaults == PLAIN:
        return "plain defaults: settings counted in blocks differ in bytes between the treatments"
    return (
        "pinned in bytes as on a stock server of 8kB pages, since their defaults are counted in blocks: shared_buffers,"
        f" wal_buffers, {', '.join(COUNTED)}; scaled with the page: {', '.join(PER_PAGE)}"
    )


def _levels(study: Study, name: str) -> tuple[Level, ...]:
    found = {level.canonical: level for arm in study.arms if (level := study.levels_of(arm).get(name))}
    return tuple(found.values())


MEMORY = "host.memory"
"""The factor that limits it."""
SERVER_BYTES = 24 * _MB
"""Of the server itself: its processes without a client, and shared memory that is no buffer."""


def process_bytes(load: LoadOptions) -> int:
    """What a server's processes take of its memory under this load, besides what it caches; whole megabytes.

    It does not shrink with the data, so a scale model gives it to each trial on top of `host.memory`. Where it had to
    come out of the limit, the kernel ended the servers of a model of 70 MB whose sessions had opened 200 tables each,
    and with one allowance for all arms a session of one thread had the memory of 32.
    """
    return SERVER_BYTES + ceil(load.connections * load.session_bytes / _MB) * _MB
