"""Plug-ins: what other people's packages add to pgassay, found by Python's entry points.

A package names its factor, load, probe, kind of drive, report section, importer or command in its pyproject.toml
(`[project.entry-points."pgassay.loads"]`), and pgassay finds it once the package is installed. A registry loads what
its own group holds, so a broken plug-in stops only the commands that need it, and stops those with a message.

What we lack ourselves is here, too: pgassay is on no package index, so `pip install "pgassay[live]"` finds nothing, and
the packages of an extra are named one by one, the same for a wheel, a checkout and pipx.

See the Python packaging user guide, "Creating and discovering plugins".
"""

import shlex
import sys
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points, requires
from importlib.util import find_spec
from typing import Generic, TypeVar

from pgassay.errors import PgassayError

T = TypeVar("T")


class Group(StrEnum):
    """What a plug-in adds; the value is the name of the entry points' group."""

    FACTORS = "pgassay.factors"
    LOADS = "pgassay.loads"
    PROBES = "pgassay.probes"
    DRIVES = "pgassay.drives"
    SECTIONS = "pgassay.sections"
    IMPORTERS = "pgassay.importers"
    COMMANDS = "pgassay.commands"

    @property
    def noun(self) -> str:
        """One member of the group, for messages: `factor`, `load` …"""
        return self.removeprefix("pgassay.").removesuffix("s")


class PluginError(PgassayError):
    """A plug-in that cannot be imported, is of the wrong type, or takes a name that something else has."""


@dataclass(frozen=True)
class Plugin:
    """One entry point of an installed package; nothing of the package is imported before `load`."""

    group: Group
    name: str
    target: str
    """Where the object is, as `module:attribute`."""
    package: str
    """Name of the distribution, as pip knows it."""
    version: str
    others: tuple[str, ...] = ()
    """Other installed packages with a plug-in of this name in this group."""

    @property
    def origin(self) -> str:
        return f"package {self.package} {self.version}"

    def load(self, kind: type[T]) -> T:
        """Import the object; raises `PluginError` for whatever the import raises, and if it is no `kind`."""
        if self.others:
            raise self._error(f"the name is also taken by {' and '.join(self.others)}")
        try:
            found: object = EntryPoint(self.name, self.target, self.group).load()
        except (Exception, SystemExit) as error:
            raise self._error(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__) from error
        if not isinstance(found, kind):
            wanted = f"{kind.__module__}.{kind.__qualname__}"
            raise self._error(f'"{self.target}" is of type {type(found).__qualname__}, not {wanted}')
        return found

    def name_taken(self) -> PluginError:
        """The error for a plug-in that has the name of something built in."""
        return self._error(f"pgassay has a {self.group.noun} of this name")

    def _error(self, reason: str) -> PluginError:
        return PluginError(
            f'{self.group.noun} "{self.name}" of {self.origin} cannot be used: {reason}',
            f"update or remove the package: pip install --upgrade {self.package}, or pip uninstall {self.package}",
        )


@dataclass(frozen=True)
class Loaded(Generic[T]):
    """The plug-ins of one group: the objects by the plug-in's name, and the errors of those that are broken."""

    objects: dict[str, T]
    broken: tuple[PluginError, ...] = ()

    def required(self) -> dict[str, T]:
        """The objects, for a command that cannot go on without any of them; raises the first `PluginError`."""
        if self.broken:
            raise self.broken[0]
        return self.objects


def installed(group: Group) -> tuple[Plugin, ...]:
    """The plug-ins of a group, sorted by name, without importing any of them."""
    return tuple(plugin for plugin in _installed(tuple(sys.path)) if plugin.group is group)


def load(group: Group, kind: type[T], taken: Collection[str] = ()) -> Loaded[T]:
    """Import all plug-ins of a group; each must be a `kind`, and none may have one of the names in `taken`."""
    objects: dict[str, T] = {}
    broken: list[PluginError] = []
    for plugin in installed(group):
        try:
            if plugin.name in taken:
                raise plugin.name_taken()
            objects[plugin.name] = plugin.load(kind)
        except PluginError as error:
            broken.append(error)
    return Loaded(objects, tuple(broken))


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> tuple[Plugin, ...]:
    """All groups at once: reading every package's metadata takes milliseconds, and registries ask one after another.

    `path` is the key of the cache: what is installed depends on it.
    """
    plugins: dict[tuple[Group, str], list[EntryPoint]] = {}
    for group in Group:
        for point in entry_points(group=group):
            plugins.setdefault((group, point.name), []).append(point)
    found = []
    for (group, name), points in sorted(plugins.items()):
        package, *others = (each.dist.name if each.dist else "unknown" for each in points)
        version = points[0].dist.version if points[0].dist else "unknown"
        found.append(Plugin(group, name, points[0].value, package, version, tuple(others)))
    return tuple(found)


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra here; raises `LookupError` where there is no such extra.

    An environment without pip (uv's, the Debian package's) takes packages from another Python's pip.
    """
    asked = [line.partition(";") for line in requires("pgassay") or ()]
    packages = [each.strip() for each, _, marker in asked if marker.replace('"', "'").strip() == f"extra == '{extra}'"]
    if not packages:
        raise LookupError(extra)
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else ["python3", "-m", "pip", "--python", sys.executable]
    return shlex.join([*pip, "install", *packages])
