"""Do two values of a setting mean the same to PostgreSQL? Pure; the rules are those of its own parser.

A number without a unit counts the setting's base unit (`pg_settings.unit`, which may be a block: `8kB`); a fraction is
rounded to the next smaller unit, then to a whole base unit (src/backend/utils/misc/guc.c, convert_to_base_unit).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.errors import UsageError
from pgassay.study.units import BYTES_PER_UNIT, MS_PER_UNIT, canonical, parse_boolean, split_quantity


@dataclass(frozen=True)
class Setting:
    """A row of pg_settings: the value in base units, its unit (None for none), its type, where it came from."""

    name: str
    value: str
    unit: str | None
    kind: str
    source: str
    context: str


def in_base_unit(typed: str, unit: str | None) -> float | None:
    """The number of base units that `typed` stands for; None if it is no quantity of this kind."""
    quantity = split_quantity(typed)
    if quantity is None:
        return None
    number, given = quantity
    if not given:
        return number
    base = re.fullmatch(r"(\d*)([A-Za-z]+)", unit or "")
    if not base:
        return None
    table: Mapping[str, float] = BYTES_PER_UNIT if base[2] in BYTES_PER_UNIT else MS_PER_UNIT
    if given not in table:
        return None
    smaller = [size for size in table.values() if size < table[given]]
    step = max(smaller, default=0.0)
    amount = number * table[given]
    if step:
        amount = round(amount / step) * step
    return amount / (int(base[1] or 1) * table[base[2]])


def same(typed: str, setting: Setting) -> bool:
    """Does the server's value mean what was typed? Enumerations may have aliases that this cannot know."""
    if setting.kind == "bool":
        try:
            return parse_boolean(typed) == parse_boolean(setting.value)
        except UsageError:
            return False
    if setting.kind in ("integer", "real"):
        wanted = in_base_unit(typed, setting.unit)
        if wanted is None:
            return False
        found = float(setting.value)
        if setting.kind == "integer":
            return round(wanted) == found
        return abs(wanted - found) <= 1e-5 * max(abs(wanted), abs(found))  # pg_settings prints six digits.
    if setting.kind == "enum":
        return typed.strip().lower() == setting.value.lower() or _word(typed) == _word(setting.value)
    return typed == setting.value


def _word(text: str) -> str:
    """A boolean word as on or off, anything else as it stands."""
    return canonical(text) if text.strip().isalpha() else text
