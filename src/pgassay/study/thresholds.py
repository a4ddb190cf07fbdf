"""Thresholds: what counts for a user, as k6 writes it: a response, a relation, and a value or a change.

`latency_p99_ms < 5 ms` is about the value itself, `database_bytes < +30 %` (with a sign) about the change against the
baseline. A study file has them in `[decide]`, the command line as `--weigh`. What a response is called, and in which
unit it is measured, is known only when the load and the probes have declared it: parsing and resolving are two steps.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any

from pgassay.errors import UsageError, did_you_mean
from pgassay.study.responses import Response, Scale, full_name
from pgassay.study.units import BYTES_PER_UNIT, MS_PER_UNIT, wrong_type

_CONDITION = re.compile(r"(<=|>=|<|>)\s*([+-]?)\s*(\d[\d,]*(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*(.*)")
_WHOLE = re.compile(r"([^<>=]+?)\s*((?:<|>).*)")
_SPACE = ("physical_bytes", "database_bytes", "table_bytes")
"""What "space" means: the first that the study names, else the size of the database."""
_POINTS = ("points", "point", "percentage points")
_RATES = ("", "1/s", "/s", "per second", "tps")


class Relation(StrEnum):
    """How a value has to lie to its threshold."""

    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="

    @property
    def bounds_above(self) -> bool:
        return self in (Relation.BELOW, Relation.AT_MOST)

    def holds(self, value: float, bound: float) -> bool:
        return {
            Relation.BELOW: value < bound,
            Relation.AT_MOST: value <= bound,
            Relation.ABOVE: value > bound,
            Relation.AT_LEAST: value >= bound,
        }[self]


@dataclass(frozen=True)
class Threshold:
    """A threshold as it was typed: `name` means a response, `number` has its sign, `change` says that one was typed."""

    name: str
    condition: str
    relation: Relation
    number: float
    unit: str
    change: bool

    @property
    def text(self) -> str:
        return f"{self.name} {self.condition}"


@dataclass(frozen=True)
class Limit:
    """A threshold on a response that is measured.

    `value` is in the response's unit; of a change it is a ratio (1.3 is +30 %) or a difference, as effects are.
    """

    text: str
    response: Response
    relation: Relation
    value: float
    change: bool


def split(text: str) -> tuple[str, str]:
    """`p99_ms < 5 ms` as `p99_ms` and `< 5 ms`; raises `UsageError`."""
    found = _WHOLE.fullmatch(text.strip())
    if found is None:
        raise _not_a_threshold(text)
    parse(found[1], found[2])
    return found[1], found[2]


def parse(name: str, condition: str) -> Threshold:
    """One threshold; raises `UsageError` where it cannot be read."""
    found = _CONDITION.fullmatch(condition.strip())
    if found is None or not name.strip():
        raise _not_a_threshold(f"{name} {condition}".strip())
    relation, sign, digits, unit = found.groups()
    number = float(digits.replace(",", "")) * (-1.0 if sign == "-" else 1.0)
    if number in (inf, -inf):
        raise _not_a_threshold(f"{name} {condition}")
    return Threshold(name.strip(), condition.strip(), Relation(relation), number, unit.strip(), bool(sign))


def parse_table(table: Mapping[str, Any]) -> tuple[Threshold, ...]:
    """`[decide]`: a response to its condition, or to a list of them."""
    found = []
    for name, value in table.items():
        for condition in value if isinstance(value, list) else [value]:
            if not isinstance(condition, str):
                raise wrong_type("[decide]", name, 'a condition such as "< 5 ms", or a list of them', value)
            found.append(parse(name, condition))
    return tuple(found)


def resolve(
    thresholds: Iterable[Threshold], responses: Sequence[Response], named: Sequence[str], *, compared: bool
) -> tuple[Limit, ...]:
    """The thresholds on declared responses; those `named` by the study are meant first.

    `compared` says whether there is a baseline to change against. Raises `UsageError` for an unknown response, a wrong
    unit, a change without a baseline, and thresholds that no value can meet together.
    """
    limits = []
    for each in thresholds:
        response = _response(each.name, responses, named)
        if each.change and not compared:
            raise UsageError(
                f'the threshold "{each.text}" is a change, and this study has no baseline',
                "give a value without a sign, or vary a factor",
            )
        limits.append(Limit(each.text, response, each.relation, _value(each, response), each.change))
    for upper in limits:
        for lower in limits:
            same = upper.response.name == lower.response.name and upper.change == lower.change
            if not (same and upper.relation.bounds_above and not lower.relation.bounds_above):
                continue
            touching = upper.relation is Relation.AT_MOST and lower.relation is Relation.AT_LEAST
            if lower.value > upper.value or (lower.value == upper.value and not touching):
                raise UsageError(f'no value can meet both "{lower.text}" and "{upper.text}"', "remove one of them")
    return tuple(limits)


def _response(name: str, responses: Sequence[Response], named: Sequence[str]) -> Response:
    """By name, title, short name (`cpu`, see `responses.full_name`) or an unmistakable part of the name (`server_cpu`).

    A part of the study's own responses is meant first; `space` is what the study says of it.
    """
    word = name.casefold()
    exact = [each for each in responses if word in (each.name, each.title.casefold())]
    if exact:
        return exact[0]
    own = [each for each in responses if each.name in named]
    if word == "space":
        own = [each for each in own if each.name in _SPACE] or [e for e in responses if e.name == "database_bytes"]
        found = own[:1]
    else:
        short = [each for each in responses if each.name == full_name(word)]
        found = _alike(word, own) or short or _alike(word, responses)
    if len(found) == 1:
        return found[0]
    known = [each.name for each in responses]
    first = [each.name for each in own] or known
    if found:
        raise UsageError(
            f'the response "{name}" of a threshold may be several', f"name one of: {', '.join([e.name for e in found])}"
        )
    raise UsageError(
        f'the response "{name}" of a threshold is not measured',
        did_you_mean(name, known, f"this study asks for: {', '.join(first)}"),
    )


def _alike(word: str, responses: Iterable[Response]) -> list[Response]:
    parts = f"_{re.sub(r'[^a-z0-9]+', '_', word).strip('_')}_"
    return [each for each in responses if parts != "__" and parts in f"_{each.name}_"]


def _value(threshold: Threshold, response: Response) -> float:
    number, unit = threshold.number, threshold.unit
    if threshold.change and response.scale is Scale.RATIO:
        if unit != "%" or number <= -100.0:
            raise _threshold_unit(threshold.text, response.name, 'a change in per cent, such as "< +30 %"')
        return 1.0 + number / 100.0
    if response.unit == "share":
        wanted = _POINTS if threshold.change else ("%", "")
        if unit not in wanted:
            example = '"> +10 points"' if threshold.change else '"> 90 %"'
            raise _threshold_unit(threshold.text, response.name, f"percentage points or per cent, as in {example}")
        return number / 100.0 if unit else number
    if unit == "%":
        raise _threshold_unit(
            threshold.text, response.name,
            f'a sign for a change against the baseline, such as "{threshold.relation} +{abs(number):g} %"'
            if response.scale is Scale.RATIO else f"{response.unit}: it may be 0, so there is no change in per cent",
        )  # fmt: skip
    return number * _factor(threshold, response)


def _factor(threshold: Threshold, response: Response) -> float:
    """What one of the typed unit is in the response's; without a unit it is the response's own."""
    unit = threshold.unit.replace("µ", "u")
    if unit in ("", response.unit):
        return 1.0
    times, sizes = MS_PER_UNIT, {**BYTES_PER_UNIT, "bytes": 1}
    if response.unit in times:
        if unit in times:
            return times[unit] / times[response.unit]
        raise _threshold_unit(threshold.text, response.name, f"a time in {', '.join(times)}")
    if response.unit in sizes:
        if unit in sizes:
            return float(sizes[unit])
        raise _threshold_unit(threshold.text, response.name, f"a size in {', '.join(BYTES_PER_UNIT)}")
    if response.unit == "1/s" and unit in _RATES:
        return 1.0
    raise _threshold_unit(threshold.text, response.name, f"a number of {response.unit}, without a unit")


def _not_a_threshold(text: str) -> UsageError:
    return UsageError(
        f'"{text}" is not a threshold', 'write it as "latency_p99_ms < 5 ms" or, for a change, "database_bytes < +30 %"'
    )


def _threshold_unit(text: str, response: str, wanted: str) -> UsageError:
    return UsageError(f'the threshold "{text}" does not fit the response {response}', f"give {wanted}")
