"""Which load drivers there are: pgassay's own, and those of other packages (entry points of group `pgassay.loads`).

A driver is one `Driver` object that says all that others need to know of it; the lab asks nobody else. What makes the
load is imported when a load is made, so that naming the drivers costs nothing.
"""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay import plugins
from pgassay.bench import messages as bench_messages
from pgassay.bench.factor import Factor, Readable, Setup, Stage
from pgassay.bench.load import BoundLoad, Driver, LoadOptions, LoadResult, Tools
from pgassay.bench.options import Option, OptionFactor, factors_of
from pgassay.bench.server import Server
from pgassay.errors import UsageError
from pgassay.load import go_tpc, messages, sysbench_tpcc
from pgassay.load.cacheprobe import DRIVER as CACHEPROBE
from pgassay.load.fio import DRIVER as FIO
from pgassay.load.pgbench import DRIVER as PGBENCH
from pgassay.load.sysbench import DRIVER as SYSBENCH
from pgassay.load.tpcc import DRIVER as TPCC
from pgassay.study.levels import Level

BUILT_IN: tuple[Driver[Any], ...] = (
    PGBENCH,
    SYSBENCH,
    CACHEPROBE,
    FIO,
    TPCC,
    go_tpc.DRIVER,
    sysbench_tpcc.DRIVER,
)
DEFAULT = PGBENCH.name
_PREFIX = "load."
_DRIVER = "driver"


def known() -> tuple[Driver[Any], ...]:
    """Every driver that can be used; broken plug-ins are left out (see `find`)."""
    return (*BUILT_IN, *_plugins().objects.values())


def find(name: str) -> Driver[Any]:
    """The driver of that name.

    Raises `PluginError` if there is none and a plug-in is broken (it may be the one), `UsageError` otherwise.
    """
    for driver in known():
        if driver.name == name:
            return driver
    _plugins().required()
    raise bench_messages.not_a_choice(f"{_PREFIX}{_DRIVER}", name, [driver.name for driver in known()])


def options_of(levels: Mapping[str, str]) -> LoadOptions:
    """The typed options for these texts of levels (names without `load.`), of the driver that `driver` names.

    Raises `UsageError` for an option that is another driver's, for a text that is not accepted, and for options that
    contradict each other.
    """
    driver = find(levels.get(_DRIVER, DEFAULT))
    own = {name: text for name, text in levels.items() if name != _DRIVER}
    for name in own:
        if not driver.takes(name):
            raise _foreign(name, driver)
    options: LoadOptions = driver.options.from_levels(own)
    return options


def make(options: LoadOptions, tools: Tools) -> BoundLoad:
    """The load that takes these options."""
    return find(options.driver).make(options, tools)


def require_program(name: str) -> None:
    """Raise `UsageError` if the driver's program is not installed: known before any PostgreSQL is built for it."""
    driver = find(name)
    if driver.program and shutil.which(driver.program) is None:
        raise messages.no_program(driver.program, driver.program_hint)


def factors() -> tuple[Factor, ...]:
    """The options of all drivers as factors, `load.driver` first; an option that several drivers have is one factor."""
    found: dict[str, dict[Option, list[str]]] = {}
    for driver in known():
        for each in factors_of(driver.options):
            found.setdefault(each.pattern, {}).setdefault(each.option, []).append(driver.name)
    return (DriverFactor(), *(_merged(declared) for declared in found.values()))


class DriverFactor(Factor):
    """`load.driver`: the program that makes the load."""

    pattern = f"{_PREFIX}{_DRIVER}"
    stage = Stage.DATA
    summary = "the program that makes the load"
    default = DEFAULT

    @property
    def accepts(self) -> str:  # type: ignore[override]
        """The names of all drivers."""
        return ", ".join(driver.name for driver in known())

    def parse(self, name: str, typed: str) -> Level:
        """The name of a driver; raises `UsageError`, or `PluginError` where a plug-in is broken."""
        if not typed.strip():
            raise bench_messages.no_value(name)
        return Level(typed, find(typed.strip()).name)

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """Ask for this driver."""
        setup.load[_DRIVER] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """Nothing can tell but the result itself."""
        return None


@dataclass(frozen=True)
class SharedFactor(OptionFactor):
    """An option that drivers declare differently: with other defaults, or other words.

    Which driver a study has is not known when a level is parsed, so each declaration is tried in turn; the driver's own
    decides when its options are made.
    """

    others: tuple[Option, ...] = ()
    defaults: str = ""

    @property
    def default(self) -> str:  # type: ignore[override]
        """The default of each driver."""
        return self.defaults

    def parse(self, name: str, typed: str) -> Level:
        """The level in canonical form by the first declaration that takes it; raises the first one's `UsageError`."""
        try:
            return super().parse(name, typed)
        except UsageError:
            for other in self.others:
                try:
                    return Level(typed, other.kind.canonical(name, typed))
                except UsageError:
                    continue
            raise

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """By the first declaration that can tell."""
        found = (each.read_back(name, level, readable) for each in (self.option, *self.others))
        return next((text for text in found if text is not None), None)


def _merged(declared: Mapping[Option, list[str]]) -> OptionFactor:
    first, *others = declared
    if not others:
        return OptionFactor(first, LoadOptions.namespace)
    texts: dict[str, list[str]] = {}
    for option, drivers in declared.items():
        texts.setdefault(option.default_text or "none", []).extend(drivers)
    usual = max(texts, key=lambda text: len(texts[text]))
    rare = [f"{text} ({', '.join(drivers)})" for text, drivers in texts.items() if text != usual]
    return SharedFactor(first, LoadOptions.namespace, tuple(others), "; ".join((usual, *rare)))


def _foreign(name: str, driver: Driver[Any]) -> UsageError:
    owners = [other.name for other in known() if other.takes(name)]
    return messages.foreign_option(
        f"{_PREFIX}{name}", driver.name, owners, [each.pattern for each in driver.own_factors]
    )


def _plugins() -> plugins.Loaded[Driver[Any]]:
    return plugins.load(plugins.Group.LOADS, Driver, [driver.name for driver in BUILT_IN])


class UnboundLoad:
    """A driver whose options come with each call, as texts: for the lab until it holds typed ones."""

    def __init__(self, driver: Driver[Any], tools: Tools) -> None:
        self._driver = driver
        self._tools = tools
        self.name = driver.name
        self.responses = driver.make(driver.options(), tools).responses

    def _bound(self, levels: Mapping[str, str]) -> BoundLoad:
        own = {name: text for name, text in levels.items() if name != _DRIVER and self._driver.takes(name)}
        load: BoundLoad = self._driver.make(self._driver.options.from_levels(own), self._tools)
        return load

    def check(self, options: Mapping[str, str]) -> None:
        """As `Load.check`."""
        self._bound(options).check()

    def data_key(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """As `Load.data_key`."""
        return self._bound(options).data_key()

    def estimated_bytes(self, options: Mapping[str, str]) -> int:
        """As `Load.estimated_bytes`."""
        return self._bound(options).estimated_bytes()

    def create(self, server: Server, options: Mapping[str, str]) -> None:
        """As `Load.create`."""
        self._bound(options).create(server)

    def fill(self, server: Server, options: Mapping[str, str]) -> None:
        """As `Load.fill`."""
        self._bound(options).fill(server)

    def age(self, server: Server, options: Mapping[str, str]) -> None:
        """As `Load.age`."""
        self._bound(options).age(server)

    def verify(self, server: Server, options: Mapping[str, str]) -> Mapping[str, str]:
        """As `Load.verify`."""
        return self._bound(options).verify(server)

    def run(self, server: Server, options: Mapping[str, str], output: Path, seed: int) -> LoadResult:
        """As `Load.run`."""
        return self._bound(options).run(server, output, seed)


def refuse_foreign(name: str, factors: Iterable[str]) -> None:
    """Raise `UsageError` for the first `load.*` among these factor names that this driver does not know."""
    driver = find(name)
    for factor in factors:
        option = factor.removeprefix(_PREFIX)
        if option != factor and not driver.takes(option):
            raise _foreign(option, driver)
