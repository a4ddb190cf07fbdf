"""What the authors of a published study found, as data beside the study, so that a run can be compared with it.

A claim names a response, a treatment, what it was compared with, and the range of the effect that reproduces it. It
may divide the response by another one of the same trial (`per`), compare conditions (`against`), and hold one change
against the same change elsewhere (`than`).
Published tables are kept as rows of text, shown beside one's own figures (of the row's `treatment`, or of single cells)
and never computed with.
"""

from collections.abc import Iterable
from typing import Any

from pgassay.errors import UsageError, did_you_mean
from pgassay.study.model import Claim, Published, PublishedFigure
from pgassay.study.quantities import typed
from pgassay.study.tables import unknown_key, wrong_type
from pgassay.study.units import parse_time_s

_BOUNDS = ("low", "high", "magnitude")
_CONDITIONS = ("data_of_memory", "window")
_KEYS = (
    "text", "source", "response", "treatment", "against", "than", "each", *_BOUNDS, "published", "untestable",
    "otherwise", "per", *_CONDITIONS,
)  # fmt: skip
_BESIDE = ("treatment", "response", "figures")
_FIGURE = ("response", "treatment", "against", "per", "named", "unmeasured")


def parse_claims(value: object) -> tuple[Claim, ...]:
    """`[[claims]]` tables as claims; raises `UsageError`."""
    return tuple(_claim(each) for each in _tables("claims", value))


def require_factors(claims: Iterable[Claim], names: Iterable[str]) -> None:
    """Raise `UsageError` for a claim at each level of what is no factor of its study: it would be one claim unseen."""
    known = tuple(dict.fromkeys(names))
    for claim in claims:
        if claim.each and claim.each not in known:
            raise _each_of_no_factor(claim.text, claim.each, known)


def parse_published(value: object) -> tuple[Published, ...]:
    """`[[published]]` tables as rows of text; `treatment`, `response` and `figures` are no columns of them."""
    return tuple(_published(row) for row in _tables("published", value))


def _published(row: dict[str, Any]) -> Published:
    cells = {key: typed(cell) for key, cell in row.items() if key not in _BESIDE}
    figures = row.get("figures", {})
    if not isinstance(figures, dict):
        raise wrong_type("[[published]]", "figures", "a table of columns", figures)
    found = []
    for column, said in figures.items():
        if column not in cells:
            raise unknown_key("figures of [[published]]", column, cells)
        for each in said if isinstance(said, list) else [said]:
            found.append(_figure(column, each))
    return Published(
        cells, _levels(row.get("treatment", {}), "[[published]]"), str(row.get("response", "")), tuple(found)
    )


def _figure(column: str, table: object) -> PublishedFigure:
    where = "figures of [[published]]"
    if not isinstance(table, dict):
        raise wrong_type(where, column, "a table, or a list of tables", table)
    for key in table:
        if key not in _FIGURE:
            raise unknown_key(where, key, _FIGURE)
    if bool(table.get("response")) == bool(table.get("unmeasured")):
        raise UsageError(f'figure "{column}" of [[published]] needs "response", or "unmeasured" with the reason')
    return PublishedFigure(
        column,
        response=str(table.get("response", "")),
        treatment=_levels(table.get("treatment", {}), where),
        against=_levels(table.get("against", {}), where),
        per=str(table.get("per", "")),
        named=str(table.get("named", "")),
        unmeasured=str(table.get("unmeasured", "")),
    )


def _tables(key: str, value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise wrong_type("the study file", key, "a list of tables", value)
    return value


def _claim(table: dict[str, Any]) -> Claim:
    for key in table:
        if key not in _KEYS:
            raise unknown_key("[[claims]]", key, _KEYS)
    for key in ("text", "source"):
        if key not in table:
            raise UsageError(f'missing key "{key}" in [[claims]]')
    for key in _BOUNDS:
        bound = table.get(key)
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float)):
            raise wrong_type("[[claims]]", key, "a number", bound)
    low, high, magnitude = (table.get(key) for key in _BOUNDS)
    if magnitude is not None and ((low is not None and magnitude < low) or (high is not None and magnitude > high)):
        raise UsageError(f'magnitude {magnitude:g} of claim "{table["text"]!s}" is outside its own low and high')
    than = table.get("than", ())
    than = tuple(_levels(each) for each in (than if isinstance(than, list | tuple) else [than]))
    if than and not table.get("against"):
        raise UsageError(
            f'claim "{table["text"]!s}" has "than", which needs "against": a change is held against the same elsewhere'
        )
    return Claim(
        text=str(table["text"]),
        source=str(table["source"]),
        response=str(table.get("response", "")),
        treatment=_levels(table.get("treatment", {})),
        against=_levels(table.get("against", {})),
        low=low,
        high=high,
        magnitude=magnitude,
        published=str(table.get("published", "")),
        untestable=str(table.get("untestable", "")),
        otherwise=str(table.get("otherwise", "")),
        per=str(table.get("per", "")),
        than=than,
        each=str(table.get("each", "")),
        data_of_memory=_data_of_memory(table.get("data_of_memory")),
        window_s=parse_time_s(str(table["window"])) if "window" in table else None,
    )


def _data_of_memory(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise wrong_type("[[claims]]", "data_of_memory", "a number above 0", value)
    return float(value)


def _levels(value: object, where: str = "[[claims]]") -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong_type(where, "treatment", "a table of levels", value)
    return {name: typed(level) for name, level in value.items()}


def _each_of_no_factor(text: str, name: str, known: Iterable[str]) -> UsageError:
    """A claim is made at each level of what the study neither varies nor holds."""
    words = list(known)
    hint = did_you_mean(name, words, f"factors of this study: {', '.join(words)}")
    return UsageError(f'claim "{text}" has each = "{name}", which is no factor of this study', hint)
