"""Typed options from one description: each is a field of a frozen dataclass, declared once by `option(...)`.

From that one line come the typed value that a room and the lab read, the factor that a study varies, the row of
`pgassay studies --factors` and the tables of docs/:

    @dataclass(frozen=True, kw_only=True)
    class MyOptions(Options):
        namespace = "load"
        clients: int = option(whole(), default=1, summary="concurrent connections")
        rate_tps: float | None = option(optional(RATE), name="rate", default=None, unit="1/s", summary="…")

    MyOptions.from_levels({"clients": "8"}).clients     # 8; raises UsageError for what no option takes
    factors_of(MyOptions)                               # load.clients, load.rate

A group of options that is repeated under several names (`drive.data.codec`, `drive.wal.codec`) is a dataclass of its
own, named by `group(...)`; an option of it with the empty name is the group's own (`drive.data`):

    @dataclass(frozen=True, kw_only=True)
    class OneDrive(Options):
        kind: str = option(DRIVE, name="", default="directory", summary="where the clusters live")
        codec: str | None = option(choice("zstd1", "lz4"), default=None, summary="compression")

    @dataclass(frozen=True, kw_only=True)
    class Drives(Options):
        namespace = "drive"
        data: OneDrive = group(OneDrive, default=OneDrive())
        wal: OneDrive | None = group(OneDrive, default=None)     # None unless a level names drive.wal or a part of it
        state: str = option(choice("fresh", "aged"), default="fresh", summary="…")

What belongs together is checked in `__post_init__`, which may raise `UsageError`.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast

from pgassay.errors import UsageError
from pgassay.interfaces.factor import Factor, Readable, SetupDraft, Stage, Turns
from pgassay.interfaces.kinds import NONE, Change, Kind
from pgassay.study.levels import Level
from pgassay.study.scale_model import ModelSize

Value = TypeVar("Value")
Default = TypeVar("Default")
Own = TypeVar("Own", bound="Options")
Function = TypeVar("Function", bound=Callable[..., Any])

ReadBack = Callable[[str, Level, Readable], str | None]
"""From the factor's full name, its level and what can be asked to what really holds; None if nothing can show it."""

_OPTION = "option"
_GROUP = "group"


def echoed(name: str, level: Level, readable: Readable) -> str | None:
    """What the load's program said of this option, if it did: the usual way to read an option back."""
    return None if readable.load_result is None else readable.load_result.read_back.get(name)


def answer_to(sql: str) -> ReadBack:
    """The only value that the server returns for `sql`, which must be the level in canonical form."""
    return lambda name, level, readable: str(readable.server.query(sql)[0][0])


def rows_of(*tables: str) -> ReadBack:
    """The number of rows of the first of these tables that exists; None if none does."""

    def read_back(name: str, level: Level, readable: Readable) -> str | None:
        for table in tables:
            if readable.server.query(f"SELECT to_regclass('{table}')") != [(None,)]:
                return str(readable.server.query(f"SELECT count(*) FROM {table}")[0][0])
        return None

    return read_back


@dataclass(frozen=True)
class Option:
    """One declared option: `name` as a study writes it (without its namespace), and what is said of it.

    `default` is the typed value that holds if nothing is asked. `stage` says when the level takes hold, `unit` in what
    the typed value counts (empty for words), and `scales` whether it is an amount of work or of machine, so that a
    curve over it is a scaling curve.
    """

    name: str
    kind: Kind[Any]
    default: Any
    summary: str
    stage: Stage = Stage.RUN
    unit: str = ""
    read_back: ReadBack = echoed
    scales: bool = False
    size: ModelSize | None = None
    """How a level shrinks in a scale model; None for what is no size."""
    turns: Turns | None = None
    """See `Factor.turns`; where it is None, what the class that declares the option says."""

    @property
    def default_text(self) -> str:
        """The default in canonical form; empty where leaving the option out means what no level can say."""
        if self.default is None:
            return NONE if self.kind.takes_none else ""
        return self.kind.show(self.default)


def option(
    kind: Kind[Value],
    *,
    default: Default,
    summary: str,
    name: str | None = None,
    stage: Stage = Stage.RUN,
    unit: str = "",
    read_back: ReadBack = echoed,
    scales: bool = False,
    size: ModelSize | None = None,
    turns: Turns | None = None,
) -> Value | Default:
    """Declare one field of an `Options` dataclass as an option; `name` is the field's own unless given."""
    own = name if name is not None else _FIELD
    declared = Option(own, kind, default, summary, stage, unit, read_back, scales, size, turns)
    field: Any = dataclasses.field(default=default, metadata={_OPTION: declared})
    return field  # type: ignore[no-any-return]


_FIELD = "\0field"
"""Stands for the field's own name until the class is there."""


def group(of: type[Own], *, default: Default) -> Own | Default:
    """Declare one field of an `Options` dataclass as a group of options, named `FIELD.OPTION`."""
    field: Any = dataclasses.field(default=default, metadata={_GROUP: of})
    return field  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class Options:
    namespace: ClassVar[str] = ""
    """What stands before each option's name in a study, as in `load.clients`."""
    turns: ClassVar[Turns | None] = None
    """Of the options that a class declares itself, where an option does not say it: see `Factor.turns`."""

    @classmethod
    def from_levels(cls: type[Own], levels: Mapping[str, str]) -> Own:
        """The typed value for these texts of levels, by names without the namespace; defaults for all others.

        Raises `UsageError` for a text that is not accepted and for a name that is no option.
        """
        known = [each.pattern for each in factors_of(cls)]
        for name in levels:
            if _full(cls.namespace, name) not in known:
                raise UsageError(
                    f'"{_full(cls.namespace, name)}" is not an option here', f"known options: {', '.join(known)}"
                )
        return _read(cls, cls.namespace, levels)

    def to_levels(self) -> dict[str, str]:
        """The canonical text of each option that is set, by names without the namespace: what `from_levels` takes."""
        return dict(_shown(self, ""))


def _once_a_class(function: Function) -> Function:
    """Keep what a function says of a class: it is asked at every decision of a run, for every arm.

    mypy takes the class of a dataclass for something without a hash, and would refuse `functools.cache` as it is.
    """
    return cast("Function", functools.cache(function))


@_once_a_class
def declared_options(of: type[Options]) -> Mapping[str, Option]:
    """The options of a class by the name of their field, in order; its groups are left out."""
    found = {}
    for field in dataclasses.fields(of):
        declared: Option | None = field.metadata.get(_OPTION)
        if declared is not None:
            owner = next(each for each in of.__mro__ if field.name in inspect.get_annotations(each))
            found[field.name] = dataclasses.replace(
                declared,
                name=field.name if declared.name == _FIELD else declared.name,
                turns=declared.turns or owner.__dict__.get("turns"),
            )
    return MappingProxyType(found)


def _groups(of: type[Options]) -> list[tuple[str, type[Options]]]:
    return [(field.name, field.metadata[_GROUP]) for field in dataclasses.fields(of) if _GROUP in field.metadata]


def _full(namespace: str, name: str) -> str:
    return f"{namespace}.{name}" if namespace and name else namespace or name


def _read(of: type[Own], prefix: str, levels: Mapping[str, str]) -> Own:
    values: dict[str, Any] = {}
    for field, declared in declared_options(of).items():
        if declared.name in levels:
            values[field] = declared.kind.parse(_full(prefix, declared.name), levels[declared.name])
    for name, inner in _groups(of):
        own = {
            each.removeprefix(name).removeprefix("."): text
            for each, text in levels.items()
            if each == name or each.startswith(f"{name}.")
        }
        if own:
            values[name] = _read(inner, _full(prefix, name), own)
    return of(**values)


def _shown(value: Options, prefix: str) -> Iterator[tuple[str, str]]:
    for field, declared in declared_options(type(value)).items():
        own = getattr(value, field)
        if own is not None or declared.default is not None:
            yield _full(prefix, declared.name), declared.kind.show(own)
    for name, _ in _groups(type(value)):
        inner = getattr(value, name)
        if inner is not None:
            yield from _shown(inner, _full(prefix, name))


class OptionFactor(Factor):
    """A declared option as a factor of studies; `owner` is its namespace, with its group's name behind it."""

    def __init__(self, option: Option, owner: str) -> None:
        self.option, self.owner = option, owner
        self.pattern = _full(owner, option.name)
        self.stage, self.summary, self.unit = option.stage, option.summary, option.unit
        self.accepts, self.holds_rows = option.kind.accepts, option.kind.holds_rows
        self.default, self.scales, self.in_turns = option.default_text, option.scales, option.turns

    def size(self, name: str) -> ModelSize | None:
        return self.option.size

    def parse(self, name: str, typed: str) -> Level:
        return Level(typed, self.option.kind.canonical(name, typed))

    def map_paths(self, name: str, level: Level, change: Change) -> Level:
        kind = self.option.kind
        if kind.each_path is None:
            return level
        return Level(level.typed, kind.show(kind.each_path(kind.parse(name, level.canonical), change)))

    def rooted(self, name: str, typed: str) -> str:
        written = self.option.kind.rooted
        return super().rooted(name, typed) if written is None else written(typed)

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """Hand the level to its room; `none` where that is the default asks for nothing."""
        asks_for_nothing = self.option.kind.takes_none and level.canonical == NONE
        if self.option.default is not None or not asks_for_nothing:
            namespace = self.owner.partition(".")[0]
            setup.options(namespace)[name.removeprefix(f"{namespace}.")] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        return self.option.read_back(name, level, readable)


@_once_a_class
def factors_of(of: type[Options]) -> tuple[OptionFactor, ...]:
    """Every option of the class as a factor, those of its groups under the groups' names."""
    return tuple(_factors(of, of.namespace))


def _factors(of: type[Options], owner: str) -> Iterator[OptionFactor]:
    yield from (OptionFactor(declared, owner) for declared in declared_options(of).values())
    for name, group in _groups(of):
        yield from _factors(group, _full(owner, name))
