"""How partitioning is written: `orders BY RANGE (created_at) INTO 12`, after CREATE TABLE … PARTITION BY; pure.

The clause is the manual's ("CREATE TABLE"), with columns alone. What follows takes the place of a list of bounds, since
these come from the data: so many partitions of about as many rows (INTO), or one for each step (EVERY '1 month').
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from pgassay.bench.kinds import NONE
from pgassay.postgres.partitioning import messages

PARTITIONS_MAX = 1000
"""The planner looks at each partition that it cannot rule out, and sessions keep a lock on each."""
_NAME = r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)'
_WHOLE = re.compile(
    rf"(?P<table>{_NAME}(?:\.{_NAME})?)\s+(?:PARTITION\s+)?BY\s+(?P<method>RANGE|LIST|HASH)\s*\((?P<columns>[^()]*)\)"
    r"(?:\s+INTO\s+(?P<into>-?\d+)(?:\s+PARTITIONS)?|\s+EVERY\s+(?:(?P<number>\d+(?:\.\d+)?)|'(?P<step>[^']+)'))?",
    re.IGNORECASE,
)
_NAMES = re.compile(_NAME)
_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


class Method(StrEnum):
    """PostgreSQL's three."""

    RANGE = "RANGE"
    LIST = "LIST"
    HASH = "HASH"


@dataclass(frozen=True)
class Partitioning:
    """One table's: by which columns, into how many partitions or by which step (a number, or an interval's words).

    Names are as the server has them, without quotes. A LIST with neither has a partition for each value.
    """

    schema: str
    table: str
    method: Method
    columns: tuple[str, ...]
    into: int | None = None
    step: str = ""
    is_interval: bool = False

    @property
    def name(self) -> str:
        """The table, with its schema where that was given, quoted where that is needed."""
        return ".".join(shown(each) for each in (self.schema, self.table) if each)

    @property
    def clause(self) -> str:
        """What stands behind PARTITION BY; every name is quoted."""
        return f"{self.method} ({', '.join(map(quoted, self.columns))})"

    def __str__(self) -> str:
        """In canonical form, which `parse` takes too."""
        text = f"{self.name} BY {self.method} ({', '.join(map(shown, self.columns))})"
        if self.into is not None:
            return f"{text} INTO {self.into}"
        if self.step:
            return f"{text} EVERY '{self.step}'" if self.is_interval else f"{text} EVERY {self.step}"
        return text


def quoted(name: str) -> str:
    """An identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def shown(name: str) -> str:
    """An identifier for people: quoted where it would be read as another one."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def parse(text: str) -> tuple[Partitioning, ...]:
    """Of one table, or of several with semicolons between them; none for `none`. Raises `UsageError`."""
    if text.strip() == NONE:
        return ()
    parts = [part.strip() for part in text.split(";") if part.strip()]
    found = tuple(map(_one, parts or [text]))
    tables = [each.name for each in found]
    if twice := next((name for name in tables if tables.count(name) > 1), None):
        raise messages.partitioned_twice(twice)
    return found


def _one(text: str) -> Partitioning:
    found = _WHOLE.fullmatch(text.strip())
    if found is None:
        raise messages.not_a_partitioning(text)
    method = Method(found["method"].upper())
    columns = [each.strip() for each in found["columns"].split(",")]
    if not all(map(_NAMES.fullmatch, columns)):
        raise messages.only_columns(text)
    names = tuple(map(_folded, columns))
    into = None if found["into"] is None else int(found["into"])
    step = found["number"] or found["step"] or ""
    if len(names) > 1 and method is not Method.HASH:
        raise messages.one_column(text, method)
    if into is not None and not 2 <= into <= PARTITIONS_MAX:
        raise messages.partitions_out_of_range(text, into, PARTITIONS_MAX)
    if (method is Method.HASH and into is None) or (method is Method.RANGE and into is None and not step):
        raise messages.no_count(text, method)
    if step and method is not Method.RANGE:
        raise messages.only_ranges_have_steps(text, method)
    if found["number"] and float(step) == 0:
        raise messages.no_step(text)
    schema, table = ("", *_NAMES.findall(found["table"]))[-2:]
    return Partitioning(_folded(schema), _folded(table), method, names, into, step, bool(found["step"]))


def _folded(name: str) -> str:
    """As the server reads it: small letters, unless it is quoted."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
