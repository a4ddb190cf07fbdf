"""What a PostgreSQL says of its settings without a server: default, limits, unit, and when a change takes effect.

`postgres --describe-config` has names, contexts, groups and limits (src/backend/utils/misc/help_config.c); of numbers
and booleans it prints no default, since nothing is initialised yet, and no unit. `postgres -C` on an empty
configuration gives the default, in base units; the complaint about a value below the least one names the unit.
Settings that it does not describe (of extensions, and those that no sample file has) are not found.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.errors import SettingError
from pgassay.bench.places import Account
from pgassay.bench.running import Runner
from pgassay.postgres import ownership, settings
from pgassay.postgres.settings import as_options, in_base_unit
from pgassay.study.units import BYTES_PER_UNIT, format_bytes, format_number

_KINDS = {"BOOLEAN": "bool", "INTEGER": "integer", "REAL": "real", "ENUM": "enum", "STRING": "string"}
_NUMBERS = ("integer", "real")
_OUTSIDE = re.compile(r"\S+?(?: (\S+))? is outside the valid range")
_BASE = re.compile(r"(\d*)([A-Za-z]+)")
_HUGE = 1e15
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Described:
    """A setting as this PostgreSQL has it; `default` as a configuration file takes it, limits in base units."""

    name: str
    kind: str
    context: str
    group: str
    default: str
    unit: str | None = None
    low: float | None = None
    high: float | None = None

    @property
    def apply(self) -> str:
        """How a change takes effect."""
        return "restart" if self.context == "postmaster" else "reload"

    @property
    def limits(self) -> str:
        """From least to greatest, as a reader sees it; empty for what is no number."""
        if self.low is None or self.high is None:
            return ""
        return f"{in_words(self.low, self.unit)} to {in_words(self.high, self.unit)}"

    def within(self, value: str) -> bool:
        """Does a value lie within the limits? Words are the server's to judge."""
        if self.low is None or self.high is None:
            return True
        amount = in_base_unit(value, self.unit)
        return amount is not None and self.low <= amount <= self.high


def in_words(amount: float, unit: str | None) -> str:
    """So many base units, as a configuration file takes them: 16384 of `8kB` are `128MB`."""
    base = _BASE.fullmatch(unit or "")
    if base is None or amount <= 0:
        return format_number(amount) if abs(amount) < _HUGE else f"{amount:g}"
    if base[2] in BYTES_PER_UNIT:
        return format_bytes(int(amount * int(base[1] or 1) * BYTES_PER_UNIT[base[2]]))
    return f"{format_number(amount * int(base[1] or 1))}{base[2]}"


def describe(runner: Runner, account: Account, bindir: Path, names: Collection[str]) -> Mapping[str, Described]:
    """Those of these settings that this PostgreSQL describes; two short programs for each, and no server."""
    wanted = {each.lower(): each for each in names}
    if not wanted:
        return {}
    outcome = runner.run([str(bindir / "postgres"), "--describe-config"], timeout_s=_TIMEOUT_S)
    rows = [line.split("\t") for line in outcome.stdout.splitlines() if line.count("\t") >= 6]
    with ownership.empty_configuration(account) as scratch:
        asking = _Asking(runner, bindir, scratch)
        return {wanted[row[0].lower()]: asking.described(row) for row in rows if row[0].lower() in wanted}


@dataclass(frozen=True)
class _Asking:
    """Programs of one PostgreSQL and a directory with an empty configuration."""

    runner: Runner
    bindir: Path
    scratch: Path

    def described(self, row: list[str]) -> Described:
        """A line of --describe-config: name, context, group, kind, a default of words, limits."""
        name, context, group, kind, told, *limits = row
        kind = _KINDS.get(kind, kind)
        default = told if kind == "string" else self._default(name, told)
        if kind not in _NUMBERS:
            return Described(name, kind, context.lower(), group, default)
        low, high = float(limits[0]), float(limits[1])
        unit = self._unit(name, low, kind)
        number = float(default)
        return Described(name, kind, context.lower(), group, in_words(number, unit), unit, low, high)

    def _default(self, name: str, otherwise: str) -> str:
        try:
            return settings.ask(self.runner, self.bindir, self.scratch, {}, name)
        except SettingError:
            return otherwise

    def _unit(self, name: str, low: float, kind: str) -> str | None:
        """By the complaint of a value below the least one; None for none, and for what has no least one."""
        below = f"{low - 1:.0f}" if kind == "integer" else repr(low - 1)
        command = [
            str(self.bindir / "postgres"), "-D", str(self.scratch), *as_options({name: below}), "-C", name,
        ]  # fmt: skip
        outcome = self.runner.run(command, timeout_s=_TIMEOUT_S)
        found = _OUTSIDE.search(outcome.stderr)
        return found[1] if found else None
