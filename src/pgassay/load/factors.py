"""The factors of a load: each is one line here, with its parser, its stage and how pgbench echoes it.

What the loaded data depend on (`scale`, `age`, `init`, `driver`) is of the data stage and part of a snapshot's key; all
else is of the run stage. `cache`, `checkpoint` and `vacuum` are asked for here and done by the lab.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pgassay.bench.factor import Factor, Readable, Setup, Stage
from pgassay.load import messages, values
from pgassay.load.pgbench.options import PROTOCOLS
from pgassay.load.pgbench.scripts import parse_scripts, show_scripts
from pgassay.study.levels import Level

DRIVERS = ("pgbench",)
CACHES = ("cold", "warm", "prewarmed")
CHECKPOINTS = ("cycle", "wal", "none")

Canonical = Callable[[str, str], str]
"""From a factor's name and the typed text to the canonical text; raises `UsageError`."""


@dataclass(frozen=True)
class LoadFactor(Factor):
    """A `load.NAME` factor: writes its canonical level into the setup's load options."""

    option: str
    canonical: Canonical
    summary: str = ""
    stage: Stage = Stage.RUN
    sql: str | None = None
    """A query that reads the level back from the data (for the data stage); else the load's own echo is asked."""
    optional: bool = False

    @property
    def pattern(self) -> str:  # type: ignore[override]
        """`load.NAME`."""
        return f"load.{self.option}"

    def parse(self, name: str, typed: str) -> Level:
        """The level in canonical form; raises `UsageError`."""
        if not typed.strip():
            raise messages.no_value(name)
        return Level(typed, self.canonical(name, typed))

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """Ask the load for it; the level `none` of an optional one asks for nothing."""
        if not (self.optional and level.canonical == values.NONE):
            setup.load[self.option] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """What the data say, or the program's echo; None where neither does."""
        if readable.load_result is not None:
            return readable.load_result.read_back.get(self.pattern)
        if self.sql is None:
            return None
        found = readable.server.query(self.sql)
        return None if not found or found[0][0] is None else str(found[0][0])


def _count(name: str, typed: str) -> str:
    return str(values.parse_count(name, typed))


def _optional_count(name: str, typed: str) -> str:
    count = values.parse_optional_count(name, typed)
    return values.NONE if count is None else str(count)


def _length(name: str, typed: str) -> str:
    return values.show_seconds(values.parse_seconds(name, typed))


def _warmup(name: str, typed: str) -> str:
    return values.show_seconds(values.parse_seconds(name, typed, least=0))


def _rate(name: str, typed: str) -> str:
    return values.show_rate(values.parse_rate(name, typed))


def _limit(name: str, typed: str) -> str:
    return values.show_limit(values.parse_limit_ms(name, typed))


def _multiple(name: str, typed: str) -> str:
    return values.show_multiple(values.parse_multiple(name, typed))


def _path(name: str, typed: str) -> str:
    return values.show_path(values.parse_path(name, typed))


def _script(name: str, typed: str) -> str:
    return show_scripts(parse_scripts(typed))


def _switch(name: str, typed: str) -> str:
    return "on" if values.parse_switch(name, typed) else "off"


def _choice(*choices: str) -> Canonical:
    def canonical(name: str, typed: str) -> str:
        word = typed.strip()
        if word not in choices:
            raise messages.not_a_choice(name, typed, choices)
        return word

    return canonical


_SCALE_SQL = (
    "SELECT CASE WHEN to_regclass('pgbench_branches') IS NOT NULL THEN (SELECT count(*) FROM pgbench_branches) END"
)

FACTORS: tuple[Factor, ...] = (
    LoadFactor("driver", _choice(*DRIVERS), "the program that makes the load", Stage.DATA),
    LoadFactor("scale", _count, "pgbench -s: 100 000 accounts (about 15 MB) each", Stage.DATA, _SCALE_SQL),
    LoadFactor("age", _multiple, "updates of every row before the snapshot: none, 2x …", Stage.DATA),
    LoadFactor("init", _path, "your own schema and data: SQL for psql or a dump for pg_restore", Stage.DATA),
    LoadFactor("script", _script, "tpcb-like, simple-update, select-only, or files with weights: a.sql@3,b.sql@1"),
    LoadFactor("protocol", _choice(*PROTOCOLS), "pgbench -M"),
    LoadFactor("clients", _count, "pgbench -c: concurrent connections"),
    LoadFactor("jobs", _count, "pgbench -j: threads of the program"),
    LoadFactor("duration", _length, "pgbench -T: length of the measured window"),
    LoadFactor(
        "transactions", _optional_count, "pgbench -t: transactions of each client (equal work) instead of a duration"
    ),
    LoadFactor("rate", _rate, "pgbench -R: transactions per second offered, open loop; none for as many as possible"),
    LoadFactor("latency_limit", _limit, "pgbench -L: slower transactions count as late, or are skipped at a rate"),
    LoadFactor("max_tries", _count, "pgbench --max-tries: tries after serialization failures and deadlocks"),
    LoadFactor("warmup", _warmup, "length of a run of its own before the window"),
    LoadFactor("cache", _choice(*CACHES), "the cache state that a window starts from"),
    LoadFactor(
        "checkpoint", _choice(*CHECKPOINTS), "whole checkpoint cycles by time or by WAL, or the burst after one"
    ),
    LoadFactor("vacuum", _switch, "VACUUM before the window"),
    LoadFactor("keep_log", _switch, "keep pgbench's per-transaction log, compressed"),
)
