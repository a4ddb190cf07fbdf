"""What is known of each setting before anything is measured: the tables of knowledge.toml as values.

Source: PostgreSQL's manual, chapter "Server Configuration".
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from pgassay.errors import UsageError, did_you_mean
from pgassay.study import durability
from pgassay.study.units import parse_time_s

_FILE = Path(__file__).with_name("knowledge.toml")
_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("default", "low", "high", "rule", "apply", "risks", "reason"), str),
    **dict.fromkeys(("since", "until"), int),
    **dict.fromkeys(("quick", "built"), bool),
}
"""Keys of a table that are taken as they are, with their types."""
_KEYS = (*_PLAIN, "scale", "step", "levels", "risk", "window", "nodes", "later")

SERVER = "server."
OF_THE_HOST = "host."
NO_SETTINGS = ("table.", "schema.", OF_THE_HOST)
"""How names begin that are no settings of the server: each level of tables and schema has data of its own, those of the
host are applied before the server starts."""


class Scale(StrEnum):
    """How a setting's levels follow each other."""

    LOG = "log"
    LINEAR = "linear"
    ENUM = "enum"


class Risk(StrEnum):
    """What a setting may cost apart from speed."""

    SAFE = "safe"
    RISKY = "risky"
    DURABILITY = "durability"


@dataclass(frozen=True)
class Setting:
    """A setting as the knowledge file describes it; `low` and `high` may depend on the machine."""

    name: str
    default: str
    scale: Scale
    low: str = ""
    high: str = ""
    step: float = 2.0
    levels: tuple[str, ...] = ()
    rule: str = ""
    apply: str = "reload"
    risk: Risk = Risk.SAFE
    risks: str = ""
    reason: str = ""
    window_s: float = 0.0
    since: int = 0
    until: int = 999
    quick: bool = False
    nodes: int = 1
    """Of what a query may take several times: how often at a time."""
    later: tuple[tuple[int, str], ...] = ()
    """Defaults of later versions, each from a major version on."""
    built: bool = False
    """Does it depend on how PostgreSQL was built which levels there are?"""

    @property
    def factor(self) -> str:
        return factor_name(self.name)

    def of_version(self, major: int) -> "Setting":
        later = [default for version, default in sorted(self.later) if version <= major]
        return replace(self, default=later[-1]) if later else self

    def line(self, value: str) -> str:
        """A line for postgresql.auto.conf; of what is no setting a comment that says so."""
        return f"{self.name} = '{value}'" if self.factor != self.name else f"# no setting: {self.name} = {value}"


def factor_name(name: str) -> str:
    return name if name.startswith(NO_SETTINGS) else f"{SERVER}{name}"


@cache
def known_settings() -> Mapping[str, Setting]:
    """Every setting of the knowledge file, by name, in its order."""
    tables = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {name: setting_of(name, table) for name, table in tables.items()}


def _unknown(name: str) -> Setting:
    """A setting of which nothing is known but what it gives up."""
    found = Setting(name, "", Scale.ENUM)
    if name.startswith(NO_SETTINGS):
        found = replace(found, apply=f"what {name.partition('.')[0]} factors do before the server starts")
    lost = dict.fromkeys(each.text for each in durability.SETTINGS.get(name, {}).values())
    return replace(found, risk=Risk.DURABILITY, risks=next(iter(lost))) if lost else found


def setting_of(name: str, table: Mapping[str, Any], below: Setting | None = None, known: Iterable[str] = ()) -> Setting:
    """A setting from its table, laid over what is known `below`; raises `UsageError` for what cannot be.

    `known` are the names that a mistyped one may stand for.
    """
    for key in table:
        if key not in _KEYS:
            raise UsageError(f'the space says "{key}" of {name}, which means nothing', nearest(key, _KEYS))
    base = below or _unknown(name)
    listed = table.get("levels", base.levels)
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise UsageError(f"levels of {name} must be a list", 'for example levels = ["on", "off"]')
    levels = tuple("on" if each is True else "off" if each is False else str(each) for each in listed)
    scale = table.get("scale", Scale.ENUM if "levels" in table else base.scale)
    risk = table.get("risk", base.risk)
    for key, word, words in (("scale", scale, tuple(Scale)), ("risk", risk, tuple(Risk))):
        if word not in words:
            raise UsageError(f'{key} of {name} cannot be "{word}"', f"give one of: {', '.join(words)}")
    step = table.get("step", base.step)
    if isinstance(step, bool) or not isinstance(step, int | float) or step <= (1.0 if scale == Scale.LOG else 0.0):
        raise UsageError(
            f"step of {name} cannot be {step}", "a log scale takes a factor above 1, a linear one more than 0"
        )
    nodes = table.get("nodes", base.nodes)
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        raise UsageError(f"nodes of {name} cannot be {nodes}", "give how many sorts and hashes a query has at a time")
    later = table.get("later", dict(base.later)).items()
    found = replace(
        base,
        name=name,
        scale=Scale(scale),
        step=float(step),
        levels=levels,
        risk=Risk(risk),
        window_s=parse_time_s(str(table["window"])) if "window" in table else base.window_s,
        nodes=nodes,
        later=tuple((int(version), str(default)) for version, default in later),
        **{key: kind(table[key]) for key, kind in _PLAIN.items() if key in table},
    )
    if not found.default:
        raise UsageError(
            f'"{name}" is not a setting that pgassay or this PostgreSQL describes',
            did_you_mean(name, sorted(known), f'give its default in the space: [{name}] default = "…"'),
        )
    if found.scale is Scale.ENUM and ("low" in table or "high" in table) and not levels:
        raise UsageError(f"{name} has bounds and no scale", 'give scale = "log" or "linear", or list its levels')
    return found


def unknown_setting(name: str, known: Iterable[str]) -> UsageError:
    return UsageError(f'pgassay advise knows no setting "{name}"', nearest(name, known))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """A hint for a mistyped word: the most similar of those that are known, or all of them."""
    names = sorted(known)
    return did_you_mean(word, names, f"there are: {', '.join(names)}")
