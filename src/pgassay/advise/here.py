"""What this machine, this PostgreSQL and this load can try: settings that they bar, and levels that are refused.

Everything here is asked before the first trial.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pgassay.advise import messages
from pgassay.advise.knowledge import OF_THE_HOST, SERVER, Scale, Setting
from pgassay.advise.question import Question
from pgassay.advise.space import Space
from pgassay.bench.errors import SettingError
from pgassay.bench.factor import Factor
from pgassay.host import huge_pages
from pgassay.lab.catalogue import FactorCatalogue
from pgassay.postgres.described import Described

CheckSettings = Callable[[Mapping[str, str]], None]
"""Raises for the first setting or value that PostgreSQL refuses; see `bench.server.Installation`."""
_FIXED = "internal"
_SECTIONS = {
    "Autovacuum": "runtime-config-vacuum", "Vacuuming": "runtime-config-vacuum",
    "Client Connection Defaults": "runtime-config-client",
    "Connections and Authentication": "runtime-config-connection",
    "Error Handling": "runtime-config-error-handling", "Lock Management": "runtime-config-locks",
    "Process Title": "runtime-config-logging", "Query Tuning": "runtime-config-query",
    "Replication": "runtime-config-replication", "Reporting and Logging": "runtime-config-logging",
    "Resource Usage": "runtime-config-resource", "Statistics": "runtime-config-statistics",
    "Version and Platform Compatibility": "runtime-config-compatible", "Write-Ahead Log": "runtime-config-wal",
}  # fmt: skip
"""Of the manual, by the group that PostgreSQL puts a setting into."""
HUGE_PAGES, RESERVED = "huge_pages", "host.huge_pages"
"""PostgreSQL's setting, and the factor by which the lab reserves what the server asks for."""


def barred(
    settings: Iterable[Setting], question: Question, catalogue: FactorCatalogue, root: Path = Path("/")
) -> dict[str, str]:
    """What cannot be tried here, with the reason; raises `UsageError` for a factor that there is not."""
    every = tuple(settings)
    names = {each.name for each in every}
    found: dict[str, str] = {}
    for each in every:
        if each.factor in question.held:
            found[each.name] = messages.held(each.factor)
        elif each.name.startswith(OF_THE_HOST):
            found[each.name] = factor_of(each, catalogue).unavailable(each.factor) or ""
        elif each.name.startswith("table.") and "scale" not in question.load:
            found[each.name] = messages.tables_of_its_own()
        elif each.name == HUGE_PAGES and (RESERVED in names or RESERVED in question.held):
            found[each.name] = messages.set_by(RESERVED)
        elif each.name == HUGE_PAGES and not huge_pages.available(root):
            found[each.name] = messages.no_huge_pages(RESERVED, root=os.geteuid() == 0)
    return {name: why for name, why in found.items() if why}


def stranger(described: Described) -> Setting:
    """A setting that we know nothing of, by what this PostgreSQL says of it; raises `UsageError` for one that is fixed.

    A boolean has its two levels; of anything else the space says what to try.
    """
    if described.context == _FIXED:
        raise messages.not_to_be_set(described.name, described.context)
    levels = ("on", "off") if described.kind == "bool" else ()
    section = _SECTIONS.get(described.group.split(" / ")[0], "runtime-config")
    return Setting(described.name, described.default, Scale.ENUM, levels=levels, apply=described.apply, section=section)


def built(settings: Iterable[Setting], major: int, check: CheckSettings) -> tuple[Setting, ...]:
    """The settings without the levels that this PostgreSQL was not built with; `check` raises for what it refuses."""

    def has(name: str, level: str) -> bool:
        try:
            check({name: level})
        except SettingError:
            return False
        return True

    def with_its_levels(setting: Setting) -> Setting:
        if not setting.built or not setting.since <= major <= setting.until:
            return setting
        return replace(setting, levels=tuple(each for each in setting.levels if has(setting.name, each)))

    return tuple(map(with_its_levels, settings))


def require_levels(
    space: Space, catalogue: FactorCatalogue, described: Mapping[str, Described], check: CheckSettings
) -> None:
    """Raise for a level that its factor or this PostgreSQL does not accept, or that this machine cannot have.

    `described` are the settings whose levels the user gave: numbers must lie within PostgreSQL's limits, of words it is
    asked itself. Raises `UsageError`, or `SettingError` in PostgreSQL's words.
    """
    for dimension in space.dimensions:
        name, setting = dimension.setting.factor, described.get(dimension.name)
        if not name.startswith(SERVER):
            factor = factor_of(dimension.setting, catalogue)
            for each in dimension.levels:
                factor.require_here(name, factor.parse(name, each))
        elif setting is not None:
            for each in dimension.levels:
                if not setting.within(each):
                    raise messages.outside(dimension.name, each, setting.limits)
                if not setting.limits:
                    check({dimension.name: each})


def factor_of(setting: Setting, catalogue: FactorCatalogue) -> Factor:
    """What applies a dimension; raises `UsageError` where there is nothing of that name."""
    found = catalogue.find(setting.factor)
    if found is None:
        namespace = setting.factor.partition(".")[0]
        raise messages.unknown_factor(setting.factor, [e for e in catalogue.names() if e.startswith(f"{namespace}.")])
    return found
