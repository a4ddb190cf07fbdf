"""Two plans of a statement, on the source and on synthetic data: are they equal, how far are the estimates apart?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any

Plan = Mapping[str, Any]
_SHAPE = (
    "Node Type", "Strategy", "Partial Mode", "Join Type", "Relation Name", "Alias", "Index Name", "Parent Relationship",
)  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """A statement: whether the plans are equal, and the ratio of estimated rows at the node where it is worst.

    Nodes are compared one by one where plans are equal; else the scans of each table, and the whole.
    """

    statement: str
    equal: bool
    worst_ratio: float


def compare(statement: str, source: Plan, synthetic: Plan) -> Compared:
    """The outermost plans of EXPLAIN (FORMAT JSON)."""
    equal = shape(source) == shape(synthetic)
    if equal:
        pairs = list(zip(_rows(source), _rows(synthetic), strict=True))
    else:
        ours, theirs = _by_table(source), _by_table(synthetic)
        pairs = [(ours[name], theirs[name]) for name in sorted(ours.keys() & theirs.keys())]
        pairs.append((source["Plan Rows"], synthetic["Plan Rows"]))
    apart = max(abs(log(max(after, 1) / max(before, 1))) for before, after in pairs)
    return Compared(statement, equal, exp(apart))


def shape(plan: Plan) -> tuple[Any, ...]:
    """The nodes with their tables, indexes and joins, without costs, rows and values."""
    return (*(plan.get(key) for key in _SHAPE), *(shape(child) for child in plan.get("Plans", ())))


def _nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _rows(plan: Plan) -> Iterator[float]:
    return (node["Plan Rows"] for node in _nodes(plan))


def _by_table(plan: Plan) -> dict[str, float]:
    """Rows of the scan of each table by its alias; of a bitmap, the heap's; without scans that another drives."""
    return {
        node["Alias"]: node["Plan Rows"]
        for node in _nodes(plan)
        if "Alias" in node and node.get("Parent Relationship") != "Inner"
    }
