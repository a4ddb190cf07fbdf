"""The load of a capture as pgbench scripts: a statement or a transaction each, by how often it ran; pure.

Values are drawn from what ANALYZE found (manual, "Row Estimation Examples"). Whole numbers that lie close together
(keys) are drawn by pgbench itself, each time again. Of all other columns only real values are used: values between two
bounds of a histogram would mostly not exist. Where values are text, a script holds the statement many times, each with
other values, and one of them is drawn.

An INSERT that meets a row that is there already does nothing; one that can meet none stays as it is, since ON CONFLICT
costs WAL. What cannot be played is named by its reason.

`share` is the part of the table's rows that a call of the source returned or changed, None where that is not known.
Statistics hold at most some hundred values of a column, so a share below one of these is reached by going on: between
the last two bounds for a threshold, by longer prefixes for a pattern.

A kind of transaction of the log is one script: BEGIN, its statements with the client's pauses, END. The values of one
transaction belong together. Where the capture has samples of whole transactions, one of them is played; else each value
is drawn as for a statement alone, and parameters that were equal in the source's transactions (the customer's number in
two statements) are drawn once. A new key is new, and goes to all places that shared it.

Where the log tells transactions, kind k with n_k of them in the log has the weight of its script

    n_k · min over its statements s of C_s ÷ max(N_s, L_s), rounded down

C_s are the calls of pg_stat_statements, L_s those of the log, N_s those within transactions of the log. A statement
alone gets the calls that are left, so the calls of each statement agree with the source's whatever the log holds.
"""

import json
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import reduce
from itertools import accumulate, pairwise
from math import ceil, isfinite, log
from random import Random

from pgassay.capture.format import Capture, Column, Load, Statement, Table, Transaction, View
from pgassay.capture.parameters import Parsed, Role, Use, is_text, neutral_value, parse
from pgassay.capture.privacy import STRIPPED, is_query
from pgassay.capture.reads import HIDDEN
from pgassay.outgoing import visible

INTEGERS = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}
"""The integer types with their greatest values."""
_DENSE = 0.5
"""The least share of the numbers between the least and the greatest that must occur."""
_BUCKETS = 20
_STRAIGHT = 0.02
"""A histogram whose bounds lie this close to a straight line is drawn as one even range."""
_PARTS = 1_000_000
_FRESH_SPAN = 1_000_000_000


@dataclass(frozen=True)
class Values:
    """Real values with their shares of the column, which add up to 1; false where nothing is known."""

    values: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.values)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.values, self.shares, strict=True)

    def sample(self, count: int, random: Random) -> list[str]:
        """`count` values in random order, each as often as its share says: evenly spaced along the distribution."""
        ends = list(accumulate(self.shares))
        start = random.random()
        found = [
            self.values[min(bisect_left(ends, (n + start) / count * ends[-1]), len(ends) - 1)] for n in range(count)
        ]
        random.shuffle(found)
        return found


def values_of(column: Column) -> Values:
    """The values that the statistics know: common ones, and a histogram's bounds for the rest."""
    common = sum(column.common_shares) if column.common_values else 0.0
    rest = max(0.0, 1.0 - common - (column.null_share or 0.0)) if column.histogram else 0.0
    shares = [
        *column.common_shares[: len(column.common_values)],
        *(rest / len(column.histogram) for _ in column.histogram),
    ]
    total = sum(shares)
    if total <= 0:
        return Values()
    return Values((*column.common_values, *column.histogram), tuple(share / total for share in shares))


def dense_range(column: Column, rows: float | None) -> tuple[int, int] | None:
    """The least and the greatest of a column of whole numbers that lie close together; None for any other column."""
    if column.type not in INTEGERS or column.n_distinct is None or len(column.histogram) < 2:
        return None
    known = [int(value) for value in (*column.histogram, *column.common_values)]
    least, most = min(known), max(known)
    return (least, most) if column.distinct(rows or 0.0) >= _DENSE * (most - least + 1) else None


def integer_lines(name: str, column: Column) -> list[str]:
    r"""The lines of a pgbench script that set `name` to a value of a dense column: `\set p1 random(1, 1000)`."""
    bounds = [int(value) for value in column.histogram]
    span, last = bounds[-1] - bounds[0], len(bounds) - 1
    if all(abs((each - bounds[0]) - span * n / last) <= _STRAIGHT * span for n, each in enumerate(bounds)):
        bounds, last = [bounds[0], bounds[-1]], 1
    buckets = min(_BUCKETS, last)
    chosen = (bounds[round(n * last / buckets)] for n in range(buckets + 1))
    ranges = [f"random({low}, {high})" for low, high in pairwise(chosen)]
    lines = [f"\\set {name} {ranges[0]}"]
    if buckets > 1:
        cases = " ".join(f"WHEN :{name}_b = {n} THEN {each}" for n, each in enumerate(ranges[:-1]))
        lines = [f"\\set {name}_b random(0, {buckets - 1})", f"\\set {name} CASE {cases} ELSE {ranges[-1]} END"]
    common = list(zip(column.common_values, column.common_shares, strict=False))
    if not common:
        return lines
    not_null = 1.0 - (column.null_share or 0.0)
    ends = accumulate(share / not_null for _, share in common)
    cases = " ".join(
        f"WHEN :{name}_u <= {round(end * _PARTS)} THEN {int(value)}"
        for (value, _), end in zip(common, ends, strict=True)
    )
    return [*lines, f"\\set {name}_u random(1, {_PARTS})", f"\\set {name} CASE {cases} ELSE :{name} END"]


def literal(value: str) -> str:
    r"""A constant of SQL that means the same to the server, to pgbench and to our player.

    Colons would be variables, and quotes, backslashes and line ends differ between readers of scripts, so each of
    these is written by its number: `E'12\x3a30'` (manual, "String Constants with C-Style Escapes").
    """

    def escaped(character: str) -> str:
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return "E'" + "".join(each if each.isprintable() and each not in "':\\" else escaped(each) for each in value) + "'"


_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")
_ALIKE = log(2.0)
"""Candidates whose share differs by less than this factor from the best are drawn alike."""
_PREFIX = 3
"""Letters of a pattern where the rows show none: what a search while typing begins with."""
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
    known = []
    for value, share in values_of(column):
        with suppress(ValueError, OverflowError):  # infinity, years that only PostgreSQL has
            if isfinite(number := number_of(value)):
                known.append((number, share))
    if not known:
        return None
    known.sort()
    numbers = [number for number, _ in known]
    ends = [0.0, *accumulate(share for _, share in known[1:])]
    if ends[-1] <= 0:
        return text_of(numbers[0])
    wanted = place * ends[-1]
    for (low, high), (start, end) in zip(pairwise(numbers), pairwise(ends), strict=True):
        if wanted <= end:
            return text_of(low + (high - low) * (wanted - start) / (end - start) if end > start else high)
    return text_of(numbers[-1])


def _reader(column: Column) -> tuple[Callable[[str], float], Callable[[float], str]] | None:
    """How values of a type with a scale become numbers, and numbers values."""
    kind = column.type.partition("(")[0]
    if kind in INTEGERS:
        return float, lambda number: str(round(number))
    if kind in _NUMBERS:
        places = max((len(value.partition(".")[2]) for value in column.histogram), default=2)
        return float, lambda number: f"{number:.{min(places, 6)}f}"
    if kind == "date":
        return (
            lambda value: float(date.fromisoformat(value).toordinal()),
            lambda number: date.fromordinal(round(number)).isoformat(),
        )
    if kind.startswith("timestamp"):
        zone = "+00" if column.type.endswith("with time zone") else ""
        return _seconds, lambda number: datetime.fromtimestamp(number, UTC).isoformat(" ", "seconds")[:19] + zone
    return None


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
    """Arrays of as many values as the rows that came back are of, the fewest where there are none."""
    length = _FEWEST
    if share is not None and rows and column.n_distinct:
        length = max(1, min(most, round(share * column.distinct(rows))))
    dense = dense_range(column, rows)
    if dense is not None:
        return [array_text(str(random.randint(*dense)) for _ in range(length)) for _ in range(count)]
    values = values_of(column)
    return [array_text(values.sample(length, random)) for _ in range(count)] if values else []


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
    found: defaultdict[str, float] = defaultdict(float)
    for value, share in values_of(column):
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
    values = values_of(column)
    special, any_letter = (r"[^\w \-@]", ".") if form.startswith("^") else (r"[%_\\]", "_")
    begun = (value[: _long(value, values, share)] for value in values.sample(count, random)) if values else ()
    return [form.replace("{}", re.sub(special, any_letter, each)) for each in begun]


def _long(value: str, pairs: Iterable[tuple[str, float]], share: float | None) -> int:
    """How many letters of a value have about `share` of all values begin so; beyond what the sample can tell each
    letter leaves as small a part as the ones before did."""
    if share is None:
        return min(_PREFIX, len(value))
    alike, before = list(pairs), 1.0
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
    for document, own in values_of(column):
        with suppress(ValueError):
            for keys, value in _leaves(json.loads(document)):
                found[keys, json.dumps(value)] += own
    if role is Role.PART:
        parts = {
            json.dumps(reduce(lambda inner, key: {key: inner}, reversed(keys), json.loads(value))): own
            for (keys, value), own in found.items()
        }
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
        said = {value: json.loads(value) for value in by_keys[keys]}  # as `->>` returns it
        drawn[number] = [
            said[value] if isinstance(said[value], str) else value
            for value in aimed(by_keys[keys], share, count, random)
        ]
    return drawn


TUPLES = 64
"""How many tuples of values a script has where they are text."""
LIST_MAX = 100
"""The most values of a list whose length the server does not report."""
RANGE_SHARE = 0.05
"""The share of a table that a range is taken to cover where the rows returned do not show it: an aggregate's."""
_VARIABLE = re.compile(r"(?<!:):(?=\w)")
_FRESH_TEXT = ("text", "character varying", "character")


class CannotDrawError(Exception):
    """A statement that cannot be played; its text is the reason."""


def script(capture: Capture, statement: Statement, random: Random) -> str:
    """The pgbench script of one statement; raises `CannotDrawError` with the reason where it cannot be played."""
    parsed, values = prepared(capture, statement, random)
    chosen = [f"\\set chosen random(1, {len(values.tuples)})"] if values.tuples else []
    sent = body(parsed, values, "chosen")
    return "\n".join([*comments(statement, values), *values.lines, *chosen, *sent]) + "\n"


def prepared(
    capture: Capture, statement: Statement, random: Random, prefix: str = "p"
) -> tuple[Parsed, "StatementValues"]:
    """The statement parsed, and its values; variables of the script begin with `prefix`. Raises `CannotDrawError`."""
    if statement.text in ("", HIDDEN):
        raise CannotDrawError("its text is not part of the capture")
    if not is_query(statement.text):
        raise CannotDrawError("a utility statement is not played")
    # Not called are volatile functions whose language reaches out of the database, and all where an extension might.
    reaching = capture.source.extensions.keys() & _REACHING
    called = set() if reaching else {each.name for each in capture.functions if each.trusted}
    refused = [name for name in capture.volatile_functions if name not in called]
    known: tuple[Table | View, ...] = (*capture.tables, *capture.views)
    parsed = parse(statement.text, known, refused, capture.source.search_paths, capture.functions)
    if parsed.refused:
        raise CannotDrawError(parsed.refused)
    if STRIPPED in parsed.text:
        raise CannotDrawError("it holds literals, which are not part of the capture (--with-literals)")
    if _VARIABLE.search(parsed.text):
        raise CannotDrawError("it holds a colon that pgbench would take for a variable")
    observed = _observed(statement, parsed, prefix)
    return parsed, observed or _Drawing(statement, parsed, prefix, random).draw()


_REACHING = frozenset(("dblink", "http", "pg_net", "plsh", "aws_lambda", "aws_s3", "pg_cron", "pgsql_http"))
"""Extensions by which any function can reach other servers."""


def comments(statement: Statement, values: "StatementValues", before: str = "") -> list[str]:
    """The statement and what stands for each parameter, a line each, whatever the names of tables and columns hold."""
    text = statement.text.replace("\n", " ")[:200]
    said = (f"${number}: {how}" for number, how in sorted(values.said.items()))
    return [f"-- {visible(each, keep='')}" for each in (f"{before}{text}", *said)]


def body(parsed: Parsed, values: "StatementValues", chosen: str) -> list[str]:
    """The lines that send the statement; the variable `chosen` picks one of several tuples."""
    if not values.tuples:
        return [_sql(parsed, values.inline) + ";"]
    lines = []
    for number, each in enumerate(values.tuples, start=1):
        word = "if" if number == 1 else "elif"
        lines += [f"\\{word} :{chosen} = {number}", _sql(parsed, {**values.inline, **each}) + ";"]
    return [*lines, "\\endif"]


@dataclass
class StatementValues:
    """What stands for each parameter: `inline` the same text each time, `tuples` texts that are drawn together.

    `lines` set the variables; `fresh` are parameters that get a new key.
    """

    prefix: str = "p"
    lines: list[str] = field(default_factory=list)
    inline: dict[int, str] = field(default_factory=dict)
    tuples: list[dict[int, str]] = field(default_factory=list)
    said: dict[int, str] = field(default_factory=dict)
    fresh: set[int] = field(default_factory=set)

    def name(self, number: int) -> str:
        return f"{self.prefix}{number}"


def _observed(statement: Statement, parsed: Parsed, prefix: str) -> StatementValues | None:
    """Real values from a log; None where the capture has none."""
    numbers = sorted(parsed.uses)
    tuples = [
        {number: "NULL" if each[number - 1] is None else literal(str(each[number - 1])) for number in numbers}
        for each in statement.parameters
        if numbers and len(each) >= numbers[-1]
    ]
    if not tuples:
        return None
    found = StatementValues(prefix, said=dict.fromkeys(numbers, "as observed"))
    for number, use in parsed.uses.items():
        if use.role is Role.ASSIGNED and use.column is not None and use.column.unique:
            with suppress(CannotDrawError):  # of another type: an INSERT of a key that is there does nothing
                draw_fresh(number, use.column, found, f"{use.column.name}: a new key, since the observed one is there")
    kept = ({number: text for number, text in each.items() if number not in found.inline} for each in tuples)
    found.tuples = [each for each in kept if each]
    return found


_WITHIN = (Role.ARRAY, Role.PART, Role.KEY, Role.MEMBER, Role.PATTERN, Role.WORD)
_AIMED = (Role.LOWER, Role.UPPER, Role.ARRAY, Role.PART, Role.MEMBER, Role.PATTERN, Role.WORD)
"""What may choose few rows or many, and so is drawn by how many came back."""


class _Drawing:
    """Values for the parameters of one statement, drawn from statistics into `found`; raises `CannotDrawError`."""

    def __init__(self, statement: Statement, parsed: Parsed, prefix: str, random: Random) -> None:
        self._statement, self._parsed, self._random = statement, parsed, random
        self._texts: dict[int, list[str]] = {}
        self.found = StatementValues(prefix)

    def draw(self) -> StatementValues:
        uses = self._parsed.uses
        taken = set[int]()
        for low, lower in sorted(uses.items()):  # pairs that bound the same column from below and above
            for high, upper in sorted(uses.items()) if lower.role is Role.LOWER else ():
                same = upper.role is Role.UPPER and (upper.table, upper.column) == (lower.table, lower.column)
                if same and high not in taken:
                    self._draw_range(low, high)
                    taken.add(high)
                    break
        for number, use in sorted(uses.items()):
            if number in self.found.said:
                continue
            if number in self._parsed.lists and use.role is Role.EQUAL:
                self._draw_list(number, use)
            elif use.role in (Role.LOWER, Role.UPPER) and (use.made != "{}" or not self._parsed.limited):
                self._draw_bound(number, use)
            elif use.role in _WITHIN:
                self._draw_within(number, use)
            else:
                self._draw_value(number, use)
        texts = self._texts
        self.found.tuples = [{number: texts[number][n] for number in texts} for n in range(TUPLES)] if texts else []
        return self.found

    def _share_of(self, use: Use) -> float | None:
        """The share of its table that this parameter chooses: of the rows that a call returned or changed on average,
        what values that are compared leave, to equal parts where several such parameters choose. None where rows do
        not tell."""
        rows, uses, filters = use.table.rows if use.table else None, self._parsed.uses, self._parsed.filters
        if not rows or self._parsed.aggregates or self._parsed.limited:
            return None
        choosing = [each for number, each in uses.items() if number in filters and each.table == use.table]
        share = self._statement.rows / self._statement.calls / rows
        for column in {each.column for each in choosing if each.role is Role.EQUAL}:
            share *= 1.0 if column is None else column.distinct(rows) or 1.0
        parts = {(each.column, each.path) for each in choosing if each.role in _AIMED}
        return min(1.0, float(share ** (1 / max(1, len(parts)))))

    def _range_share(self, use: Use) -> tuple[float, str]:
        known = self._share_of(use)
        return (RANGE_SHARE, "assumed") if known is None else (known, "by the rows that it returned")

    def _draw_bound(self, number: int, use: Use) -> None:
        """One end of a range: so far from the other end of the column as the rows that came back are of."""
        table, column = _of(use)
        share, how = self._range_share(use)
        places = (min(1.0, share * self._random.uniform(0.5, 1.5)) for _ in range(TUPLES))
        sides = [1.0 - each if use.role is Role.LOWER else each for each in places]
        self._texts[number] = _at(table, use, column, sides)
        self.found.said[number] = f"{use.role.value} a value of {table.name}.{column.name}, {share:.3g} of it ({how})"

    def _draw_range(self, low: int, high: int) -> None:
        found, use = self.found, self._parsed.uses[low]
        table, column = _of(use)
        share, how = self._range_share(use)
        found.said[low] = found.said[high] = f"a range of {table.name}.{column.name}, {share:.3g} of it ({how})"
        dense = dense_range(column, table.rows)
        if dense is not None:
            width = max(0, round((dense[1] - dense[0] + 1) * share) - 1)
            start, end = found.name(low), found.name(high)
            found.lines += [f"\\set {start} random({dense[0]}, {max(dense[0], dense[1] - width)})"]
            found.lines += [f"\\set {end} :{start} + {width}"]
            found.inline |= {low: f"(:{start})", high: f"(:{end})"}
            return
        starts = [self._random.uniform(0.0, max(0.0, 1.0 - share)) for _ in range(TUPLES)]
        self._texts[low] = _at(table, use, column, starts)
        self._texts[high] = _at(table, self._parsed.uses[high], column, [min(1.0, start + share) for start in starts])

    def _draw_within(self, number: int, use: Use) -> None:
        """An array of values, a part of one, a pattern that matches it: of as many rows as came back."""
        table, column = _of(use)
        share, rows, random, uses = self._share_of(use), table.rows, self._random, self._parsed.uses
        if use.role is Role.ARRAY:
            drawn = {number: arrays(column, share, rows, TUPLES, LIST_MAX, random)}
        elif use.role is Role.PATTERN:
            blocks = (self._statement.blocks_hit + self._statement.blocks_read) / self._statement.calls
            whole = table.pages > 1 and blocks >= table.pages / 2
            form = "%{}%" if whole and use.made == "{}%" else use.made
            drawn = {number: patterns(column, share, form, TUPLES, random)}
        elif use.role is Role.WORD:
            columns = (column,) if words(column) else table.columns
            drawn = {number: aimed(words(*columns), share, TUPLES, random)}
        elif column.type.endswith("[]"):
            drawn = {number: elements(column, share, use.made, TUPLES, random)}
        else:
            compared = any(other.role is Role.MEMBER and other.path == use.path for other in uses.values())
            drawn = members(column, share, number, use.path, use.role, compared, TUPLES, random)
        if not drawn or not all(drawn.values()):
            raise CannotDrawError(_no_statistics(table, column))
        for each, values in drawn.items():
            sent = [array_text([value]) for value in values] if uses[each].made == "array" else values
            self._texts[each] = [literal(value) for value in sent]
            self.found.said[each] = f"{uses[each].role.value} {table.name}.{column.name}: {len(set(values))} of them"

    def _draw_list(self, number: int, use: Use) -> None:
        """A list of constants, of which PostgreSQL 18 shows the first: as many as the rows that came back are of."""
        table, column = _of(use)
        found, rows = self.found, table.rows
        count, how = 2, "the fewest that are written so"
        if not (self._parsed.aggregates or self._parsed.limited) and rows and column.n_distinct:
            rows_a_call = self._statement.rows / self._statement.calls
            count = max(2, min(LIST_MAX, round(rows_a_call * column.distinct(rows) / rows)))
            how = "by the rows that it returned"
        found.said[number] = f"a list of {count} values of {table.name}.{column.name} ({how})"
        if dense_range(column, rows) is not None:
            names = [f"{found.name(number)}_{n}" for n in range(1, count + 1)]
            found.lines += [line for name in names for line in integer_lines(name, column)]
            found.inline[number] = ", ".join(f"(:{name})" for name in names)
            return
        values = values_of(column)
        if not values:
            raise CannotDrawError(_no_statistics(table, column))
        self._texts[number] = [", ".join(map(literal, values.sample(count, self._random))) for _ in range(TUPLES)]

    def _draw_value(self, number: int, use: Use) -> None:
        found = self.found
        if use.role is Role.UNKNOWN:
            raise CannotDrawError(f"the value of ${number} is not known: {use.reason}")
        if use.role in (Role.LIMIT, Role.OFFSET, Role.CONSTANT):
            rows = max(1, ceil(self._statement.rows / self._statement.calls))
            found.inline[number], found.said[number] = {
                Role.LIMIT: (str(rows), "the rows that it returned, on average"),
                Role.OFFSET: ("0", "the first rows"),
                Role.CONSTANT: (use.text, "a constant that chooses no rows"),
            }[use.role]
            return
        table, column = _of(use)
        where = f"{use.role.value} {table.name}.{column.name}"
        if use.role is Role.ADDED:
            found.inline[number], found.said[number] = use.text, where
            return
        if use.role is Role.ASSIGNED and column.unique:
            draw_fresh(number, column, found, f"{where}: a new key")
            return
        if use.made == "{}" and dense_range(column, table.rows) is not None:
            found.lines += integer_lines(found.name(number), column)
            found.inline[number], found.said[number] = f"(:{found.name(number)})", f"{where}: drawn each time"
            return
        values = values_of(column)
        if values:
            drawn = values.sample(TUPLES, self._random)
            self._texts[number] = [use.made.replace("{}", literal(each)) for each in drawn]
            found.said[number] = f"{where}: one of {len(set(self._texts[number]))} values"
        elif use.role is Role.VALUE or (use.role is Role.ASSIGNED and not column.not_null):
            found.inline[number], found.said[number] = "NULL", f"{where}: nothing else is known of it"
        elif use.role is Role.ASSIGNED and (text := _made_up(column)):
            found.inline[number], found.said[number] = text, f"{where}: made up, since nothing is known of its values"
        else:
            raise CannotDrawError(_no_statistics(table, column))


def _made_up(column: Column) -> str:
    if not is_text(column.type):
        return neutral_value(column.type)
    length = column.type.partition("(")[2].rstrip(")")
    width = min(column.width_bytes or 32, int(length or 1 << 20))
    return f"left(repeat(md5(random()::text), {ceil(width / 32)}), {width})"


def draw_fresh(number: int, column: Column, found: StatementValues, said: str) -> None:
    """Let a parameter of a unique column be a key that is not there: of whole numbers one above all that it holds."""
    name = found.name(number)
    if column.type in INTEGERS:
        greatest = max((int(value) for value in (*column.histogram, *column.common_values)), default=0)
        most = min(greatest + _FRESH_SPAN, INTEGERS[column.type])
        found.lines.append(f"\\set {name} random({min(greatest + 1, most)}, {most})")
        found.inline[number] = f"(:{name})"
    elif column.type == "uuid":
        found.inline[number] = "gen_random_uuid()"
    elif column.type.partition("(")[0] in _FRESH_TEXT:
        length = column.type.partition("(")[2].rstrip(")")
        found.inline[number] = f"left(md5(random()::text), {length or column.width_bytes or 32})"
    else:
        raise CannotDrawError(f"a new key of type {column.type} cannot be made for {column.name}")
    found.said[number] = said
    found.fresh.add(number)


def _of(use: Use) -> tuple[Table, Column]:
    if use.table is None or use.column is None:
        raise CannotDrawError(use.reason or "its column is not known")
    return use.table, use.column


def _at(table: Table, use: Use, column: Column, places: Iterable[float]) -> list[str]:
    """The values at these places of the column's distribution, as SQL."""
    values = [quantile(column, place) for place in places]
    if None in values:
        raise CannotDrawError(_no_statistics(table, column))
    return [use.made.replace("{}", literal(value)) for value in values if value is not None]


def _no_statistics(table: Table, column: Column) -> str:
    return f"nothing is known of the values of {table.name}.{column.name}: run ANALYZE, and capture them"


def _sql(parsed: Parsed, values: Mapping[int, str]) -> str:
    pieces, done = [], 0
    for start, end, number in parsed.places:
        text, value = parsed.text[start:end], values[number]
        if not text.startswith("$"):  # `interval $1`, of which an expression is the whole
            value = f"interval {value}" if value.endswith("'") else f"{value}::interval"
        pieces += [parsed.text[done:start], value]
        done = end
    sql = "".join([*pieces, parsed.text[done:]])
    if not parsed.may_meet_key:
        return sql
    at = sql.lower().rfind(" returning ")
    return f"{sql} ON CONFLICT DO NOTHING" if at < 0 else f"{sql[:at]} ON CONFLICT DO NOTHING{sql[at:]}"


PAUSE_US_LEAST, PAUSE_US_MOST = 50, 1_000_000
"""Shorter pauses are the way to the server and back, which is played anyway; a longer one would outlast a window."""


@dataclass
class _Part:
    statement: Statement
    parsed: Parsed
    values: StatementValues


def pause_us(kind: Transaction) -> int:
    """The client's mean pause before each statement and the end, as it is played."""
    ended = kind.commits + kind.rollbacks
    mean_us = kind.pause_ms * 1e3 / (ended * (len(kind.statements) + 1)) if ended else 0.0
    return min(PAUSE_US_MOST, round(mean_us)) if mean_us >= PAUSE_US_LEAST else 0


def transaction_script(
    capture: Capture, kind: Transaction, known: Mapping[int, Statement], random: Random, *, rolls_back: bool = False
) -> str:
    """The script; raises `CannotDrawError` where one of its statements cannot be played."""
    parts = []
    for n, query_id in enumerate(kind.statements):
        statement = known[query_id]
        observed = tuple(values[n] for values in kind.parameters)
        given = replace(statement, parameters=observed or statement.parameters)
        try:
            parsed, values = prepared(capture, given, random, f"s{n + 1}_p")
        except CannotDrawError as error:
            raise CannotDrawError(f"of its statement {n + 1}: {error}") from None
        parts.append(_Part(statement, parsed, values))
    for group in kind.shared:
        _share(parts, group)
    ended = kind.commits + kind.rollbacks
    head = [f"-- {len(parts)} statements in one transaction, {ended} in the log"]
    for n, part in enumerate(parts, start=1):
        head += comments(part.statement, part.values, f"{n}: ")
    lines = [line for part in parts for line in part.values.lines]
    counts = sorted({len(part.values.tuples) for part in parts if part.values.tuples})
    lines += [f"\\set chosen_{count} random(1, {count})" for count in counts]
    pause = [f"\\sleep {pause_us(kind)} us"] if pause_us(kind) else []
    sent = [
        line
        for part in parts
        for line in (*pause, *body(part.parsed, part.values, f"chosen_{len(part.values.tuples)}"))
    ]
    return "\n".join([*head, *lines, "BEGIN;", *sent, *pause, "ROLLBACK;" if rolls_back else "END;"]) + "\n"


def _share(parts: Sequence[_Part], group: Sequence[tuple[int, int]]) -> None:
    """Give all parameters of a group the value of one of them: a new key, else one that is drawn each time."""
    members: dict[tuple[int, int], str] = {}  # the types of those that may: no limits, ranges, lists and unknown ones
    for n, number in group:
        use = parts[n].parsed.uses.get(number) if n < len(parts) else None
        if use is None or use.column is None or number in parts[n].parsed.lists:
            continue
        if use.role in (Role.EQUAL, Role.OTHER, Role.ASSIGNED):
            members[n, number] = use.column.type
    if len(members) < 2:
        return

    def rank(member: tuple[int, int]) -> int:
        values, number = parts[member[0]].values, member[1]
        drawn_by_us = values.inline.get(number, "").startswith("(:")
        return 0 if drawn_by_us and number in values.fresh else 1 if drawn_by_us else 2

    leader = min(members, key=rank)
    source, number = parts[leader[0]], leader[1]
    for n, other in members:
        alike = {members[leader], members[n, other]}
        if (n, other) != leader and (len(alike) == 1 or alike <= set(INTEGERS)):
            _take(parts[n].values, other, source.values, number, f"the same as ${number} of statement {leader[0] + 1}")


def _take(mine: StatementValues, number: int, theirs: StatementValues, other: int, how: str) -> None:
    inline = theirs.inline.get(other, "")
    if inline.startswith("(:"):
        mine.inline[number] = inline
        mine.tuples = [each for kept in mine.tuples if (each := {n: v for n, v in kept.items() if n != number})]
    elif theirs.tuples and other in theirs.tuples[0] and len(mine.tuples) in (0, len(theirs.tuples)):
        mine.inline.pop(number, None)
        own = mine.tuples or [{} for _ in theirs.tuples]
        mine.tuples = [{**kept, number: each[other]} for kept, each in zip(own, theirs.tuples, strict=True)]
    else:
        return  # a text that the server makes again each time: nothing here knows it
    name = mine.name(number)
    mine.lines = [line for line in mine.lines if line.split()[1] != name and not line.split()[1].startswith(f"{name}_")]
    mine.said[number] = how


SCRIPTS_MAX = 120
"""pgbench takes 128 scripts at most."""
TRANSACTIONS_MAX = 40
"""Scripts of transactions; each kind may have two, for COMMIT and ROLLBACK."""
FAILS = "it fails here: "
"""How the reason begins of a statement that was tried."""
BRIEF = 60
"""As many characters of a statement name it."""
PLAYED_LEAST = 0.5
"""The least share of the source's time, or of its calls where no time is known, that a question is asked about."""
_MISSING = 3
"""As many statements that are not played are named where that is too little."""
_CONTROL = {
    "begin": "BEGIN",
    "start": "BEGIN",
    "commit": "END",
    "end": "END",
    "rollback": "ROLLBACK",
    "abort": "ROLLBACK",
}


@dataclass(frozen=True)
class CapturedScript:
    """A script, the statements that it plays once each in order, and how often it is drawn (0: tried, not played).

    A `transaction` has BEGIN and END; `pause_ms` are the pauses in it. The head of the text says how values are drawn.
    """

    statements: tuple[Statement, ...]
    name: str
    text: str
    weight: int
    transaction: bool = False
    pause_ms: float = 0.0

    @property
    def label(self) -> str:
        """What a report calls it: the statement, or all of them."""
        texts = [each.text for each in self.statements]
        if not self.transaction:
            return texts[0]
        return "; ".join(["BEGIN", *texts, "ROLLBACK" if self.name.endswith("r") else "END"])

    @property
    def mean_ms(self) -> float:
        """How long it took in the source, by the mean of each statement."""
        return sum(each.exec_ms / each.calls for each in self.statements) + self.pause_ms


@dataclass(frozen=True)
class UnplayedStatement:
    """A statement that is not played, why, and its share of the time of all statements; of the calls where no time is
    known."""

    statement: Statement
    reason: str
    time_share: float


_UPKEEP = ("vacuum", "analyze", "reindex", "cluster", "checkpoint")


@dataclass(frozen=True)
class ScriptedLoad:
    """The whole load: its scripts, what is missing from it, and why kinds of transactions are not played as such."""

    tried: tuple[CapturedScript, ...]
    unplayed: tuple[UnplayedStatement, ...]
    taken_apart: tuple[tuple[Transaction, str], ...] = ()
    timed: bool = True
    """Does the source tell how long its statements took?"""

    @property
    def played(self) -> tuple[CapturedScript, ...]:
        return tuple(each for each in self.tried if each.weight)

    @property
    def time_share(self) -> float:
        """The share of the source's time (of its calls where no time is known) in statements that are played."""
        return 1.0 - sum(each.time_share for each in self.unplayed)

    @property
    def too_little(self) -> str:
        """Where less is played than an answer needs: how much, and what takes most of the rest; else empty.

        It is the share of the application alone, without what keeps a database in order (VACUUM, ANALYZE, …).
        """
        upkeep = sum(each.time_share for each in self.unplayed if each.statement.text.lower().startswith(_UPKEEP))
        share = self.time_share / (1.0 - upkeep) if self.played and upkeep < 1.0 else 0.0
        if share >= PLAYED_LEAST:
            return ""
        what = "time" if self.timed else "calls"
        missing = [
            f"{each.time_share:.1%}: {brief(each.statement)}: {each.reason}" for each in self.unplayed[:_MISSING]
        ]
        return (
            f"{share:.1%} of the source's {what} can be played, so the answer"
            f" would be about another load; not played, {'; '.join(missing) or 'the capture has no statements'}"
        )

    def without(self, failed: Mapping[str, str], load: Load) -> "ScriptedLoad":
        """The same without scripts that failed, by name with the reason: a transaction's calls go to its statements."""
        kept = [each for each in self.tried if each.name not in failed]
        scripts = _weighted(kept)
        lost = [
            UnplayedStatement(each.statements[0], f"{FAILS}{failed[each.name]}", share)
            for each in self.tried
            if each.name in failed and not each.transaction
            if (share := _time_share(load, each.statements[0], _left(each.statements[0], kept))) > 0
        ]
        unplayed = sorted((*self.unplayed, *lost), key=lambda each: -each.time_share)
        return replace(self, tried=scripts, unplayed=tuple(unplayed))


def brief(statement: Statement) -> str:
    """The beginning of its text; its identifier where the text is not known."""
    return " ".join(statement.text.split())[:BRIEF] or f"statement {statement.query_id}"


def scripted(capture: Capture) -> ScriptedLoad:
    """The load of a capture; raises `PgassayError` where the parser is not installed."""
    load = capture.load
    if load is None:
        return ScriptedLoad((), ())
    within, apart = _transactions(capture, load)
    singles: list[CapturedScript] = []
    reasons: dict[int, str] = {}
    for statement in load.statements:
        if control_of(statement.text):
            continue  # a transaction's script has its own, and a statement alone is committed, too
        try:
            text = script(capture, statement, Random(f"0 {statement.query_id}"))
        except CannotDrawError as error:
            reasons[statement.query_id] = str(error)
            continue
        if len(singles) + len(within) < SCRIPTS_MAX:
            singles.append(CapturedScript((statement,), f"{len(singles) + 1:03d}", text, statement.calls))
        else:
            reasons[statement.query_id] = f"{SCRIPTS_MAX} others take more time, and pgbench takes no more scripts"
    unplayed = tuple(
        UnplayedStatement(each, reasons[each.query_id], _time_share(load, each, _left(each, within)))
        for each in load.statements
        if each.query_id in reasons
    )
    return ScriptedLoad(_weighted((*singles, *within)), unplayed, apart, timed=load.exec_ms > 0)


def _time_share(load: Load, statement: Statement, calls: int) -> float:
    """What so many calls of a statement are of all time; of all calls where the source does not say the time."""
    if load.exec_ms > 0:
        return calls * statement.exec_ms / statement.calls / load.exec_ms
    return calls / (sum(each.calls for each in load.statements) or 1)


def control_of(text: str) -> str:
    """`BEGIN`, `END` or `ROLLBACK` for a statement that begins or ends a transaction; empty for any other."""
    words = text.lower().rstrip("; ").split()
    whole = len(words) == 1 or (len(words) > 1 and words[1] in ("transaction", "work", "isolation", "read", "and"))
    return _CONTROL.get(words[0], "") if words and whole else ""


def kind_weights(load: Load, kinds: Sequence[Transaction]) -> list[tuple[int, int]]:
    """How often each kind is drawn with COMMIT and with ROLLBACK; see the head of this module."""
    calls = {each.query_id: each for each in load.statements}
    within: Counter[int] = Counter()
    for kind in kinds:
        for query_id in kind.statements:
            within[query_id] += kind.commits + kind.rollbacks

    def weight(ended: int, kind: Transaction) -> int:
        return min(ended * calls[s].calls // max(within[s], calls[s].logged_calls) for s in kind.statements)

    return [(weight(kind.commits, kind), weight(kind.rollbacks, kind)) for kind in kinds]


def _transactions(capture: Capture, load: Load) -> tuple[list[CapturedScript], tuple[tuple[Transaction, str], ...]]:
    known = {each.query_id: each for each in load.statements}
    logged = load.logged.transactions if load.logged is not None else ()
    kinds = [each for each in logged if each.statements and all(s in known for s in each.statements)]
    weights = kind_weights(load, kinds)
    scripts: list[CapturedScript] = []
    apart: list[tuple[Transaction, str]] = []
    for n in sorted(range(len(kinds)), key=lambda n: -sum(weights[n]) * len(kinds[n].statements)):
        kind = kinds[n]
        made = [(weight, rolls_back) for weight, rolls_back in zip(weights[n], (False, True), strict=True) if weight]
        try:
            if not made:
                raise CannotDrawError("it is too rare")
            if len(scripts) + len(made) > TRANSACTIONS_MAX:
                raise CannotDrawError(f"{TRANSACTIONS_MAX} scripts of others make more calls")
            for weight, rolls_back in made:
                text = transaction_script(capture, kind, known, Random(f"0 {n}"), rolls_back=rolls_back)
                name = f"t{n + 1:03d}{'r' if rolls_back else ''}"
                pause_ms = pause_us(kind) * (len(kind.statements) + 1) / 1e3
                statements = tuple(known[s] for s in kind.statements)
                scripts.append(CapturedScript(statements, name, text, weight, transaction=True, pause_ms=pause_ms))
        except CannotDrawError as error:
            apart.append((kind, str(error)))
    return scripts, tuple(apart)


def _left(statement: Statement, scripts: Iterable[CapturedScript]) -> int:
    """Its calls that no transaction plays."""
    within = (each.weight * each.statements.count(statement) for each in scripts if each.transaction)
    return max(0, statement.calls - sum(within))


def _weighted(scripts: Sequence[CapturedScript]) -> tuple[CapturedScript, ...]:
    """Statements alone with the calls that are left to them."""
    return tuple(
        each if each.transaction else replace(each, weight=_left(each.statements[0], scripts)) for each in scripts
    )
