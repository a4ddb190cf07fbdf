"""Which load drivers there are, how each is made, and which options it knows.

A new driver is one entry here and one module `load/NAME/factors.py`; the lab asks nobody else. A driver's own modules
are imported when it is made, so that naming the drivers costs nothing.
"""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pgassay.bench.factor import Factor
from pgassay.bench.load import Load
from pgassay.bench.running import Clock, Runner
from pgassay.errors import UsageError
from pgassay.load import messages
from pgassay.load.cacheprobe.factors import FACTORS as CACHEPROBE
from pgassay.load.file_hashes import FileHashes
from pgassay.load.fio.factors import FACTORS as FIO
from pgassay.load.go_tpc.factors import FACTORS as GO_TPC
from pgassay.load.pgbench.factors import FACTORS as PGBENCH
from pgassay.load.shared_factors import EVERY
from pgassay.load.sysbench.factors import FACTORS as SYSBENCH
from pgassay.load.sysbench_tpcc.factors import FACTORS as SYSBENCH_TPCC
from pgassay.load.tpcc.factors import FACTORS as TPCC

DEFAULT = "pgbench"
_PREFIX = "load."


@dataclass(frozen=True)
class Tools:
    """What drivers are made from: PostgreSQL's programs, who starts programs, the time, and hashes of users' files."""

    bindir: Path
    runner: Runner
    clock: Clock
    hashes: FileHashes = field(default_factory=FileHashes)


@dataclass(frozen=True)
class Driver:
    """A driver by name: how it is made, and its options besides those that every driver has."""

    name: str
    summary: str
    make: Callable[[Tools], Load]
    factors: tuple[Factor, ...]
    timed: bool = True
    """Does its window last a given time? Else it ends when its work is done."""
    program: str = ""
    """What must be installed beside PostgreSQL, and the error where it is not."""
    missing: Callable[[str], UsageError] = messages.no_program

    def knows(self, option: str) -> bool:
        """Does it understand this option (`clients`, without the prefix)?"""
        return option == "driver" or any(each.pattern == f"{_PREFIX}{option}" for each in (*EVERY, *self.factors))


def _pgbench(tools: Tools) -> Load:
    from pgassay.load.pgbench.driver import PgbenchLoad

    return PgbenchLoad(tools.bindir, tools.runner, tools.clock, tools.hashes)


def _sysbench(tools: Tools) -> Load:
    from pgassay.load.sysbench.driver import SysbenchLoad

    return SysbenchLoad(tools.runner, tools.clock)


def _cacheprobe(tools: Tools) -> Load:
    from pgassay.load.cacheprobe.driver import CacheprobeLoad

    return CacheprobeLoad(tools.bindir, tools.runner, tools.clock)


def _fio(tools: Tools) -> Load:
    from pgassay.load.fio.driver import FioLoad

    return FioLoad(tools.runner, tools.clock)


def _tpcc(tools: Tools) -> Load:
    from pgassay.load.tpcc.driver import TpccLoad

    return TpccLoad(tools.bindir, tools.runner, tools.clock)


def _go_tpc(tools: Tools) -> Load:
    from pgassay.load.go_tpc.driver import GoTpcLoad

    return GoTpcLoad(tools.runner, tools.clock)


def _sysbench_tpcc(tools: Tools) -> Load:
    from pgassay.load.sysbench_tpcc.driver import SysbenchTpccLoad

    return SysbenchTpccLoad(tools.runner, tools.clock)


DRIVERS: tuple[Driver, ...] = (
    Driver("pgbench", "PostgreSQL's own benchmark, or your scripts in it", _pgbench, PGBENCH),
    Driver(
        "sysbench",
        "the oltp_* tests of the installed sysbench",
        _sysbench,
        SYSBENCH,
        program="sysbench",
        missing=messages.no_sysbench,
    ),
    Driver("cacheprobe", "index probes around a scan that washes the caches", _cacheprobe, CACHEPROBE, timed=False),
    Driver("fio", "no database: what the drive under it can do by itself", _fio, FIO),
    Driver("tpcc", "nine tables and five transactions like TPC-C's, not audited, played by pgbench", _tpcc, TPCC),
    Driver(
        "go-tpc",
        "the same tables under the installed go-tpc, not audited",
        _go_tpc,
        GO_TPC,
        program="go-tpc",
        missing=messages.no_go_tpc,
    ),
    Driver(
        "sysbench-tpcc",
        "the same under sysbench with Percona's scripts, not audited",
        _sysbench_tpcc,
        SYSBENCH_TPCC,
        program="sysbench",
        missing=messages.no_sysbench,
    ),
)


def find(name: str) -> Driver:
    """The driver of that name; `KeyError` for another, since `load.driver` takes only these."""
    return {driver.name: driver for driver in DRIVERS}[name]


def require_program(name: str) -> None:
    """Raise `UsageError` if the driver's program is not installed: known before any PostgreSQL is built for it."""
    driver = find(name)
    if driver.program and shutil.which(driver.program) is None:
        raise driver.missing(driver.program)


def refuse_foreign(name: str, factors: Iterable[str]) -> None:
    """Raise `UsageError` for the first `load.*` among these factor names that this driver does not know."""
    driver = find(name)
    for factor in factors:
        option = factor.removeprefix(_PREFIX)
        if option != factor and not driver.knows(option):
            owners = [other.name for other in DRIVERS if other.knows(option)]
            raise messages.foreign_option(factor, name, owners, [each.pattern for each in driver.factors])
