"""Values made of a column's: thresholds, arrays, patterns, words, members of JSON, for as many rows as came back.

`share` is the part of the table's rows that a call of the source returned or changed, None where that is not known.
Statistics hold at most some hundred values of a column, so a share below one of these is reached by going on: between
the last two bounds for a threshold, by longer prefixes for a pattern. Pure; the caller knows the statement.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import accumulate, pairwise
from math import ceil, isfinite, log
from random import Random

from pgassay.capture import draws
from pgassay.capture.format import Column
from pgassay.capture.parameters import Role

_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")
_ALIKE = log(2.0)
"""Candidates whose share differs by less than this factor from the best are drawn alike."""
_PREFIX = 3
"""Letters of a pattern where the rows do not tell: what a search while typing begins with."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_FEWEST = 2

Path = tuple[str, ...]


def quantile(column: Column, place: float) -> str | None:
    """The value below which a share of `place` of the column lies; None where nothing is known of its values."""
    read = _reader(column)
    if read is None:  # of another order than ours: the bounds alone are in the column's own
        bounds = column.histogram if len(column.histogram) > 1 else column.common_values
        return bounds[min(len(bounds) - 1, round(place * (len(bounds) - 1)))] if bounds else None
    number_of, text_of = read
    values = draws.values_of(column)
    if values is None:
        return None
    known = sorted(_read(zip(values.values, values.shares, strict=True), number_of))
    if not known:
        return None
    numbers = [number for number, _ in known]
    ends = [0.0, *accumulate(share for _, share in known[1:])]
    if ends[-1] <= 0:
        return text_of(numbers[0])
    wanted = place * ends[-1]
    for (low, high), (start, end) in zip(pairwise(numbers), pairwise(ends), strict=True):
        if wanted <= end:
            return text_of(low + (high - low) * (wanted - start) / (end - start) if end > start else high)
    return text_of(numbers[-1])


def _read(pairs: Iterable[tuple[str, float]], number_of: Callable[[str], float]) -> Iterable[tuple[float, float]]:
    """Values as numbers, without those that are none: infinity, years that only PostgreSQL has."""
    for value, share in pairs:
        with suppress(ValueError, OverflowError):
            if isfinite(number := number_of(value)):
                yield number, share


def _reader(column: Column) -> tuple[Callable[[str], float], Callable[[float], str]] | None:
    """How values of a type with a scale become numbers, and numbers values."""
    kind = column.type.partition("(")[0]
    if kind in draws.INTEGERS:
        return float, lambda number: str(round(number))
    if kind in _NUMBERS:
        places = max((len(value.partition(".")[2]) for value in column.histogram), default=2)
        return float, lambda number: f"{number:.{min(places, 6)}f}"
    if kind == "date":
        return lambda value: float(date.fromisoformat(value).toordinal()), _date
    if kind.startswith("timestamp"):
        zone = "+00" if column.type.endswith("with time zone") else ""
        return _seconds, lambda number: datetime.fromtimestamp(number, UTC).isoformat(" ", "seconds")[:19] + zone
    return None


def _date(number: float) -> str:
    return date.fromordinal(round(number)).isoformat()


def _seconds(value: str) -> float:
    found = datetime.fromisoformat(value)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def aimed(shares: Mapping[str, float], share: float | None, count: int, random: Random) -> list[str]:
    """`count` of the candidates: those that are in about `share` of the rows, or each as often as it is in one."""
    if not shares:
        return []
    if share is None:
        return random.choices(list(shares), list(shares.values()), k=count)
    off = {each: abs(log(max(own, 1e-9) / max(share, 1e-9))) for each, own in shares.items()}
    nearest = min(off.values())
    return random.choices([each for each, far in off.items() if far <= nearest + _ALIKE], k=count)


def arrays(column: Column, share: float | None, rows: float | None, count: int, most: int, random: Random) -> list[str]:
    """Arrays of as many values as the rows that came back are of, the fewest where these do not tell."""
    length = _FEWEST
    if share is not None and rows and column.n_distinct:
        distinct = column.n_distinct if column.n_distinct > 0 else -column.n_distinct * rows
        length = max(1, min(most, round(share * distinct)))
    dense = draws.dense_range(column, rows)
    if dense is not None:
        return [array_text(str(random.randint(*dense)) for _ in range(length)) for _ in range(count)]
    values = draws.values_of(column)
    return [] if values is None else [array_text(values.sample(length, random)) for _ in range(count)]


def array_text(values: Iterable[str]) -> str:
    """An array as PostgreSQL reads it: `{"a","b"}`."""
    quoted = (each.replace("\\", "\\\\").replace('"', '\\"') for each in values)
    return "{" + ",".join(f'"{each}"' for each in quoted) + "}"


_ELEMENT = re.compile(r'("(?:[^"\\]|\\.)*")|([^{},"]+)', re.DOTALL)


def elements_of(text: str) -> list[str]:
    """The elements of an array as PostgreSQL prints it, without nulls."""
    found = _ELEMENT.findall(text)
    return [re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL) or bare for quoted, bare in found if bare != "NULL"]


def elements(column: Column, share: float | None, form: str, count: int, random: Random) -> list[str]:
    """Elements of an array's values: alone where the `form` is `element`, else as an array of one."""
    shares = _shares(column, elements_of)
    found = aimed(shares, share, count, random)
    return found if form == "element" else [array_text([each]) for each in found]


def _shares(column: Column, parts: Callable[[str], Iterable[str]]) -> dict[str, float]:
    """The share of the column's values that have each part."""
    found: defaultdict[str, float] = defaultdict(float)
    values = draws.values_of(column)
    for value, share in zip(values.values, values.shares, strict=True) if values is not None else ():
        for part in dict.fromkeys(parts(value)):
            found[part] += share
    return dict(found)


def words(*columns: Column) -> dict[str, float]:
    """Words with the share of values that have them, of columns of text."""
    found: dict[str, float] = {}
    for column in columns:
        if column.type.partition("(")[0] in ("text", "character varying", "character"):
            for word, share in _shares(column, lambda text: (each.lower() for each in _WORD.findall(text))).items():
                found[word] = max(share, found.get(word, 0.0))
    return found


def patterns(column: Column, share: float | None, form: str, count: int, random: Random) -> list[str]:
    """Beginnings of values in a form such as `{}%`, so long that about `share` of the rows begin so."""
    values = draws.values_of(column)
    if values is None:
        return []
    pairs = list(zip(values.values, values.shares, strict=True))
    special, any_letter = (r"[^\w \-@]", ".") if form.startswith("^") else (r"[%_\\]", "_")
    begun = (value[: _long(value, pairs, share)] for value in values.sample(count, random))
    return [form.replace("{}", re.sub(special, any_letter, each)) for each in begun]


def _long(value: str, pairs: Sequence[tuple[str, float]], share: float | None) -> int:
    """How many letters of a value have about `share` of all values begin so; beyond what the sample can tell each
    letter leaves as small a part as the ones before did."""
    if share is None:
        return min(_PREFIX, len(value))
    alike, before = pairs, 1.0
    shrinks: list[float] = []
    for length in range(1, len(value) + 1):
        alike = [(other, own) for other, own in alike if other[:length] == value[:length]]
        now = sum(own for _, own in alike)
        if now <= share:
            return length
        if len(alike) == 1:
            less = sum(shrinks) / len(shrinks) if shrinks else log(10.0)
            return min(len(value), length + ceil(log(now / max(share, 1e-9)) / max(less, 0.1)))
        if now < before:
            shrinks.append(log(before / now))
        before = now
    return len(value)


def _leaves(value: object, path: Path = ()) -> Iterable[tuple[Path, object]]:
    """The members of a document that hold no others, with the keys that lead there; of a list each element."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, (*path, str(key)))
    elif isinstance(value, list):
        yield from ((path, [each]) for each in value)
    else:
        yield path, value


def _documents(column: Column) -> Iterable[tuple[object, float]]:
    values = draws.values_of(column)
    for value, share in zip(values.values, values.shares, strict=True) if values is not None else ():
        with suppress(ValueError):
            yield json.loads(value), share


def members(
    column: Column,
    share: float | None,
    number: int,
    path: tuple[int, ...],
    role: Role,
    compared: bool,
    count: int,
    random: Random,
) -> dict[int, list[str]]:
    """By parameter: a document that is contained in those of a column (`@>`), a key, or the keys of a `path` with the
    value that is compared with what they lead to. All calls have the same keys, as a statement has.
    """
    found: defaultdict[tuple[Path, str], float] = defaultdict(float)
    for document, own in _documents(column):
        for keys, value in _leaves(document):
            found[keys, json.dumps(value)] += own
    if role is Role.PART:
        parts = {json.dumps(_nested(keys, json.loads(value))): own for (keys, value), own in found.items()}
        return {number: aimed(parts, share, count, random)}
    depth = max(1, len(path))
    by_keys: defaultdict[Path, dict[str, float]] = defaultdict(dict)
    for (keys, value), own in found.items():
        if len(keys) >= depth:
            by_keys[keys[:depth]][value] = by_keys[keys[:depth]].get(value, 0.0) + own
    if not by_keys:
        return {}
    if role is Role.MEMBER or compared:
        off = {
            keys: min(abs(log(max(own, 1e-9) / max(share or own, 1e-9))) for own in values.values())
            for keys, values in by_keys.items()
        }
        keys = min(off, key=lambda each: off[each])
    else:
        keys = max(by_keys, key=lambda each: sum(by_keys[each].values()))
    drawn = {each: [key] * count for each, key in zip(path, keys, strict=False)} or {number: [keys[0]] * count}
    if role is Role.MEMBER:
        drawn[number] = [_said(json.loads(value)) for value in aimed(by_keys[keys], share, count, random)]
    return drawn


def _nested(keys: Path, value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


def _said(value: object) -> str:
    """As `->>` returns it."""
    return value if isinstance(value, str) else json.dumps(value)
