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


RULES: tuple[Rule, ...] = (
    Rule("server.checkpoint_*", alternating=_MINUTES),
    Rule("server.max_wal_size", alternating=_MINUTES),
    Rule("server.min_wal_size", alternating=_MINUTES),
    Rule("server.autovacuum*", alternating=_MINUTES),
    Rule("server.vacuum_*", alternating=_MINUTES),
    Rule("server.bgwriter_*", alternating=_BY_CLOCK),
    Rule("server.archive_*", alternating=_BY_CLOCK),
    Rule("server.idle_session_timeout", alternating="ends connections that stand still between slices"),
    Rule("server.shared_buffers", alternating=_CACHES),
    Rule("server.huge_page*", alternating="huge pages that one server has taken are missing to the other"),
    Rule("server.*", note="settings of the CPU path, the planner, the WAL and commits; also wal_compression"),
    Rule("table.fillfactor", note="at the age that the data have (load.age)"),
    Rule("table.*.fillfactor", note="at the age that the data have (load.age)"),
    Rule("index.fillfactor", note="at the age that the data have (load.age)"),
    Rule("schema.change", note="memory must hold the data of all servers of a block"),
    Rule("init.copy_*", note="memory must hold the data of all servers of a block"),
    Rule("init.data_checksums"),
    Rule("init.wal_segment_size", alternating="a WAL file of many megabytes is made at once and can outlast a slice"),
    Rule("build.*", note="memory must hold all servers of a block"),
    Rule("postgres.version", note="memory must hold all servers of a block"),
    Rule("drive.*", alternating=_DRIVE),
    Rule("host.*", alternating=_MACHINE),
    Rule("load.driver", alternating="the servers of a block are compared under one load"),
    Rule("load.age", note="all levels are prepared beforehand"),
    Rule("load.row_*", note="memory must hold the data of all servers of a block"),
    Rule("load.scale", note="memory must hold the data of all servers of a block"),
    Rule("load.warehouses", note="memory must hold the data of all servers of a block"),
    Rule("load.init", note="memory must hold the data of all servers of a block"),
    Rule("load.rate", alternating="what waits at the end of a slice is not carried into the next one"),
    Rule("load.cache", alternating=_WINDOW),
    Rule("load.checkpoint", alternating=_WINDOW),
    Rule("load.duration", alternating=_WINDOW),
    Rule("load.warmup", alternating=_WINDOW),
    Rule("load.transactions", alternating=_WINDOW),
    Rule("load.count", alternating=_WINDOW),
    Rule("load.cuts", alternating=_WINDOW),
    Rule("load.recovery", alternating=_WINDOW),
    Rule("load.recovery_limit", alternating=_WINDOW),
    Rule("load.vacuum", alternating=_WINDOW),
    Rule("load.page_space", alternating=_WINDOW),
    Rule("load.compressibility", alternating=_WINDOW),
    Rule("load.maintenance", alternating=_WINDOW),
    Rule("load.yardstick", alternating=_WINDOW),
    Rule("load.host", note="a worker reaches the servers of a block by a port each, and none of its threads is paired"),
    Rule("load.keep_log", alternating=_WINDOW),
    *(
        Rule(f"load.{name}")
        for name in ("clients", "cores", "jobs", "latency_limit", "max_tries", "protocol", "script", "variables")
    ),
    *(
        Rule(f"load.{name}", alternating=_LOG)
        for name in ("log", "log_prefix", "log_database", "speed", "sessions", "failures")
    ),
    *(
        Rule(f"load.{name}", alternating=_OTHER_LOAD)
        for name in (
            "depth", "direct", "distribution", "engine", "file_size", "io_size", "lua", "method", "pattern", "probes",
            "rows", "scenario", "secondary_index", "size", "tables", "threads", "tool",
        )
    ),
)  # fmt: skip
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
