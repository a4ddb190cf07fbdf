"""The machine's facts as rows for a reader: the record keeps them nested, a page wants `cpu.model: …`."""

from collections.abc import Iterator, Mapping
from typing import Any

DEPTH_MAX = 6


def host_rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every leaf of the facts with its path, in the record's order; empty ones left out."""
    return [(name, text) for name, text in _leaves(facts, "", 0) if text not in ("", "None")]


def _leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and depth < DEPTH_MAX:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]", depth + 1)
    elif isinstance(value, list):
        yield path, ", ".join(map(str, value))
    else:
        yield path, str(value)
