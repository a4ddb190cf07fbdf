"""For which questions servers may take turns in slices; pure.

Taking turns answers a question only if what the factor changes shows within seconds of a server's own work, and if
the servers of a block may differ in it while all of them live. One table says so for every factor, with the reason;
docs/statistics.md shows it, and why speeds are not adjusted by a covariate instead.
Hu and Wager 2022 (carry-over in switchback experiments) says why effects that outlive a slice are not seen.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from pgassay.study.model import Study

_MINUTES = "shows over minutes of a server's life, a slice lasts seconds"
_BY_CLOCK = "works by the wall clock, which goes on while a server stands still"
_MACHINE = "the machine has one value at a time, and the servers of a block live at once"
_DRIVE = "a drive goes on with its own work while its server stands still, and remembers for longer than a slice"
_CACHES = "what caches hold shows over minutes, and the servers of a block share the page cache"
_WINDOW = "is done around a window, which slices do not have"
_OTHER_LOAD = "belongs to a load that cannot be played in slices"
_LOG = "a log has one schedule: what a slow server owes at the end of a slice would not be carried into the next one"


@dataclass(frozen=True)
class Rule:
    """What holds for the factors of a pattern: why not, or empty where it is valid."""

    pattern: str
    alternating: str = ""
    """Why servers that differ in it cannot take turns."""
    note: str = ""
    """What must hold where it is valid."""


_MEMORY = "memory must hold the data of all servers of a block"
_RULES = (
    ("server.checkpoint_* server.max_wal_size server.min_wal_size server.autovacuum* server.vacuum_*", _MINUTES, ""),
    ("server.bgwriter_* server.archive_*", _BY_CLOCK, ""),
    ("server.idle_session_timeout", "ends connections that stand still between slices", ""),
    ("server.shared_buffers", _CACHES, ""),
    ("server.huge_page*", "huge pages that one server has taken are missing to the other", ""),
    ("server.*", "", "settings of the CPU path, the planner, the WAL and commits; also wal_compression"),
    ("table.fillfactor table.*.fillfactor index.fillfactor", "", "at the age that the data have (load.age)"),
    ("schema.change init.copy_*", "", _MEMORY),
    ("init.data_checksums", "", ""),
    ("init.wal_segment_size", "a WAL file of many megabytes is made at once and can outlast a slice", ""),
    ("build.* postgres.version", "", "memory must hold all servers of a block"),
    ("drive.*", _DRIVE, ""),
    ("host.*", _MACHINE, ""),
    ("load.driver", "the servers of a block are compared under one load", ""),
    ("load.age", "", "all levels are prepared beforehand"),
    ("load.row_* load.scale load.warehouses load.init", "", _MEMORY),
    ("load.rate", "what waits at the end of a slice is not carried into the next one", ""),
    (
        "load.cache load.checkpoint load.duration load.warmup load.transactions load.count load.cuts load.recovery"
        " load.recovery_limit load.vacuum load.page_space load.compressibility load.maintenance load.yardstick",
        _WINDOW, "",
    ),
    ("load.host", "", "a worker reaches the servers of a block by a port each, and none of its threads is paired"),
    ("load.keep_log", _WINDOW, ""),
    (
        "load.clients load.cores load.jobs load.latency_limit load.max_tries load.protocol load.script load.variables",
        "", "",
    ),
    ("load.log load.log_prefix load.log_database load.speed load.sessions load.failures", _LOG, ""),
    (
        "load.depth load.direct load.distribution load.engine load.file_size load.io_size load.lua load.method"
        " load.pattern load.probes load.rows load.scenario load.secondary_index load.size load.tables load.threads"
        " load.tool",
        _OTHER_LOAD, "",
    ),
)  # fmt: skip
RULES = tuple(Rule(pattern, refusal, note) for patterns, refusal, note in _RULES for pattern in patterns.split())
"""The first that fits a factor's name decides."""


def rule_of(factor: str) -> Rule | None:
    """The rule for a factor's name; None for a factor of another package, about which nothing is known."""
    return next((each for each in RULES if fnmatchcase(factor, each.pattern)), None)


def alternation_refusals(study: Study) -> tuple[str, ...]:
    """Why this study's treatments cannot take turns in slices, a sentence for each factor; empty if they can.

    Conditions and covariates vary within a block, too; only what treatments differ in must show within a slice, but a
    machine or a drive has one value at a time for all of them.
    """
    found = [why for name, levels in study.factors.items() if len(set(levels)) > 1 and (why := _refused(name))]
    for name in (*study.conditions, *study.covariates):
        rule = rule_of(name)
        if rule is None or rule.alternating in (_MACHINE, _DRIVE, _OTHER_LOAD, _LOG):
            found.append(_refused(name))
    rate = study.fixed.get("load.rate")
    if rate is not None and rate.canonical != "none":
        found.append(_refused("load.rate"))
    return tuple(found)


def _refused(name: str) -> str:
    rule = rule_of(name)
    if rule is None:
        return f"{name}: it is not known how soon it shows"
    return f"{name}: {rule.alternating}" if rule.alternating else ""
