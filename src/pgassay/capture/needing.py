"""What of a dump needs extensions that are not here, by the dependencies in its table of contents; pure.

pg_dump writes down of each object which others it needs, an extension in the place of its own functions, types and
operators, and `pg_restore --list --verbose` shows them. An index, a view, a function or a foreign table can be left
out: what then fails of the load is named when it is tried. A table cannot: without a column's type or its default the
data would not be loaded.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_ENTRY = re.compile(r"(\d+); \d+ \d+ (.*)")
_NEEDS = re.compile(r";\s*depends on:((?: \d+)+)")
_DATA = ("TABLE DATA ", "TABLE ATTACH ")
"""Not tables, though their lines begin like those."""
_OF_AN_OBJECT = ("EXTENSION ", "COMMENT ", "TABLE DATA ", "SECURITY LABEL ")
"""Named by the object that they belong to."""


@dataclass(frozen=True)
class Needing:
    """The lines of a table of contents that need extensions which are missing."""

    extensions: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    tables: Mapping[str, tuple[str, ...]] | None = None
    """Tables by the extension that they need: what cannot be left out."""

    @property
    def objects(self) -> tuple[str, ...]:
        """What of the user's own is left out, in words: `INDEX public orders_note`."""
        entries = (_described(line) for line in self.lines)
        return tuple(" ".join(each.split()[:-1]) for each in entries if not each.startswith(_OF_AN_OBJECT))


def needing(contents: Iterable[str], extensions: Iterable[str]) -> Needing:
    """What needs one of these extensions; `contents` are lines of pg_restore's verbose list."""
    entries: dict[str, str] = {}
    needs: dict[str, set[str]] = {}
    number = ""
    for line in contents:
        if entry := _ENTRY.match(line):
            number = entry[1]
            entries[number] = line
        elif told := _NEEDS.match(line):
            needs[number] = set(told[1].split())
    names = tuple(extensions)
    by_name = {name: _dependents(entries, needs, name) for name in names}
    tables = {
        name: tuple(_table(entries[each]) for each in entries if each in found and _is_table(entries[each]))
        for name, found in by_name.items()
    }
    everything = set().union(*by_name.values())
    return Needing(
        names,
        tuple(line for each, line in entries.items() if each in everything),
        {name: found for name, found in tables.items() if found},
    )


def _dependents(entries: Mapping[str, str], needs: Mapping[str, set[str]], extension: str) -> set[str]:
    """The extension's own entry, and all that need it or what needs it."""
    found = {each for each, line in entries.items() if _described(line).split() == ["EXTENSION", "-", extension]}
    while more := {each for each, needed in needs.items() if each not in found and needed & found}:
        found |= more
    return found


def _described(line: str) -> str:
    """`217; 1259 16597 TABLE public orders app` as `TABLE public orders app`."""
    entry = _ENTRY.match(line)
    return entry[2] if entry else ""


def _is_table(line: str) -> bool:
    described = _described(line)
    return described.startswith("TABLE ") and not described.startswith(_DATA)


def _table(line: str) -> str:
    return ".".join(_described(line).split()[1:-1])
