"""Which load drivers there are: pgassay's own, and those of other packages (entry points of group `pgassay.loads`).

A driver is one `Driver` object that says all that others need to know of it. numpy and psycopg are imported when data
are loaded, so that naming the drivers costs nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pgassay import plugins
from pgassay.errors import UsageError
from pgassay.interfaces.factor import Factor, Readable, SetupDraft, Stage, Turns
from pgassay.interfaces.kinds import no_value, not_a_choice
from pgassay.interfaces.load import Driver, Load, LoadOptions, Tools
from pgassay.interfaces.options import Option, OptionFactor, factors_of
from pgassay.load import cacheprobe, fio, replay, sysbench, tpcc
from pgassay.load.pgbench import driver as pgbench
from pgassay.study.levels import Level

BUILT_IN: tuple[Driver[Any], ...] = (
    *(module.DRIVER for module in (pgbench, sysbench, cacheprobe, fio, tpcc)),
    tpcc.SYSBENCH_DRIVER,
    replay.DRIVER,
)
DEFAULT = pgbench.DRIVER.name
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
    raise not_a_choice(f"{_PREFIX}{_DRIVER}", name, [driver.name for driver in known()])


def options_of(levels: Mapping[str, str]) -> LoadOptions:
    """The typed options for these texts of levels (names without `load.`), of the driver that `driver` names.

    Raises `UsageError` for an option that is another driver's, for a text that is not accepted, and for options that
    contradict each other.
    """
    driver = find(levels.get(_DRIVER, DEFAULT))
    own = {name: text for name, text in levels.items() if name != _DRIVER}
    for name in own:
        if not driver.takes(name):
            owners = " and ".join(other.name for other in known() if other.takes(name))
            raise UsageError(
                f'"{_PREFIX}{name}" is not an option of the load "{driver.name}", but of {owners}',
                f"{driver.name} takes: {', '.join(each.pattern for each in driver.own_factors)}",
            )
    options: LoadOptions = driver.options.from_levels(own)
    return options


def make(options: LoadOptions, tools: Tools) -> Load:
    return find(options.driver).make(options, tools)


def require_program(name: str) -> None:
    """Raise `UsageError` if the program of the driver of that name is not installed."""
    find(name).require_program()


def installed(name: str) -> bool:
    """Can the driver of that name be used here as it is, without a word on where its parts are?"""
    driver = find(name)
    try:
        driver.require_program()
        driver.require_scripts()
    except UsageError:
        return False
    return True


def factors() -> tuple[Factor, ...]:
    """The options of all drivers as factors, `load.driver` first; an option that several drivers have is one factor."""
    found: dict[str, dict[Option, list[str]]] = {}
    for driver in known():
        for each in factors_of(driver.options):
            found.setdefault(each.pattern, {}).setdefault(each.option, []).append(driver.name)
    return (DriverFactor(), *map(_merged, found.values()))


class DriverFactor(Factor):
    pattern = f"{_PREFIX}{_DRIVER}"
    stage = Stage.DATA
    summary = "the program that makes the load"
    default = DEFAULT
    in_turns = Turns("the servers of a block are compared under one load")

    @property
    def accepts(self) -> str:  # type: ignore[override]
        return ", ".join(driver.name for driver in known())

    def parse(self, name: str, typed: str) -> Level:
        """The name of a driver; raises `UsageError`, or `PluginError` where a plug-in is broken."""
        if not typed.strip():
            raise no_value(name)
        return Level(typed, find(typed.strip()).name)

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        setup.load[_DRIVER] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """Nothing can show it but the result itself."""
        return None


class SharedFactor(OptionFactor):
    """An option that drivers declare differently: with other defaults, or other words.

    Which driver a study has is not known when a level is parsed, so each declaration is tried in turn; the driver's own
    decides when its options are made.
    """

    def __init__(self, option: Option, owner: str, others: Sequence[Option], default: str) -> None:
        super().__init__(option, owner)
        self.others, self.default = others, default

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
    return SharedFactor(first, LoadOptions.namespace, others, "; ".join((usual, *rare)))


def _plugins() -> plugins.Loaded[Driver[Any]]:
    return plugins.load(plugins.Group.LOADS, Driver, [driver.name for driver in BUILT_IN])
