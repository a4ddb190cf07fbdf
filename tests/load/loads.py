"""Loads from the texts of their levels, as tests write them."""

from collections.abc import Mapping
from pathlib import Path

from pgassay.host.runner import SystemClock
from pgassay.interfaces.load import Tools
from pgassay.interfaces.running import Clock, Runner
from pgassay.load.cacheprobe import CacheprobeLoad, CacheprobeOptions
from pgassay.load.fio import FioLoad, FioOptions
from pgassay.load.pgbench.driver import PgbenchLoad
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.sysbench import SysbenchLoad, SysbenchOptions
from pgassay.load.tpcc import SysbenchTpccLoad, SysbenchTpccOptions, TpccLoad, TpccOptions
from pgassay.testing import real
from pgassay.testing.fakes import FakeClock
from tests.fakes.runner import FakeRunner


def real_tools(bindir: Path | None = None) -> Tools:
    """The real PostgreSQL's programs, or those of another folder."""
    return Tools(bindir or real.installation().bindir, real.runner(), SystemClock())


def fake_tools(runner: Runner | None = None, clock: Clock | None = None, bindir: Path = Path("/nowhere")) -> Tools:
    """No program is there unless the runner is given some."""
    return Tools(bindir, runner or FakeRunner(), clock or FakeClock())


def pgbench(levels: Mapping[str, str], tools: Tools | None = None) -> PgbenchLoad:
    return PgbenchLoad(PgbenchOptions.from_levels(levels), tools or real_tools())


def sysbench(levels: Mapping[str, str], tools: Tools | None = None) -> SysbenchLoad:
    return SysbenchLoad(SysbenchOptions.from_levels(levels), tools or real_tools())


def cacheprobe(levels: Mapping[str, str], tools: Tools | None = None) -> CacheprobeLoad:
    return CacheprobeLoad(CacheprobeOptions.from_levels(levels), tools or real_tools())


def fio(levels: Mapping[str, str], tools: Tools | None = None) -> FioLoad:
    return FioLoad(FioOptions.from_levels(levels), tools or real_tools())


def tpcc(levels: Mapping[str, str], tools: Tools | None = None) -> TpccLoad:
    return TpccLoad(TpccOptions.from_levels(levels), tools or real_tools())


def sysbench_tpcc(levels: Mapping[str, str], tools: Tools | None = None) -> SysbenchTpccLoad:
    return SysbenchTpccLoad(SysbenchTpccOptions.from_levels(levels), tools or real_tools())
