"""A captured statement as a pgbench script, with a value for each of its parameters; pure.

Where values are text, a script holds the statement many times, each with other real values, and one of them is drawn.
An INSERT that meets a row that is there already does nothing; one that can meet none stays as it is, since ON CONFLICT
costs WAL. What cannot be played is named by its reason. Scripts of several statements are made of the same parts
(`transactions`).
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from random import Random

from pgassay.capture import draws, neutral, within
from pgassay.capture.format import Capture, Column, Statement, Table, View
from pgassay.capture.parameters import Parsed, Role, Use, parse
from pgassay.capture.privacy import STRIPPED, is_query
from pgassay.capture.statements import HIDDEN
from pgassay.outgoing import visible

TUPLES = 64
"""How many tuples of values a script has where they are text."""
LIST_MAX = 100
"""The most values of a list whose length the server does not tell."""
RANGE_SHARE = 0.05
"""The share of a table that a range is taken to cover where the rows that were returned do not tell: an aggregate's."""
_VARIABLE = re.compile(r"(?<!:):(?=\w)")
_FRESH_TEXT = ("text", "character varying", "character")


class CannotDrawError(Exception):
    """A statement that cannot be played; its text is the reason."""


def script(capture: Capture, statement: Statement, random: Random) -> str:
    """The pgbench script of one statement; raises `CannotDrawError` with the reason where it cannot be played."""
    parsed, values = prepared(capture, statement, random)
    head = [f"-- {said_of(statement)}", *said(values)]
    chosen = [f"\\set chosen random(1, {len(values.tuples)})"] if values.tuples else []
    return "\n".join([*head, *values.lines, *chosen, *body(parsed, values, "chosen")]) + "\n"


def prepared(
    capture: Capture, statement: Statement, random: Random, prefix: str = "p"
) -> tuple[Parsed, "StatementValues"]:
    """The statement parsed, and its values; variables of the script begin with `prefix`. Raises `CannotDrawError`."""
    if statement.text in ("", HIDDEN):
        raise CannotDrawError("its text is not part of the capture")
    if not is_query(statement.text):
        raise CannotDrawError("a utility statement is not played")
    known: tuple[Table | View, ...] = (*capture.tables, *capture.views)
    parsed = parse(statement.text, known, _refused(capture), capture.source.search_paths, capture.functions)
    if parsed.refused:
        raise CannotDrawError(parsed.refused)
    if STRIPPED in parsed.text:
        raise CannotDrawError("it holds literals, which are not part of the capture (--with-literals)")
    if _VARIABLE.search(parsed.text):
        raise CannotDrawError("it holds a colon that pgbench would take for a variable")
    found = StatementValues(prefix)
    if not _observed(statement, parsed, found):
        found = StatementValues(prefix)
        _drawn(statement, parsed, found, random)
    return parsed, found


def _refused(capture: Capture) -> list[str]:
    """Functions that are not called: volatile ones where the data are not the server's own, since nothing tells what
    they would do with others; those whose language reaches out of the database; all volatile ones where they might
    reach out by an extension."""
    real = capture.data.kind not in ("none", "synthetic") and not capture.source.extensions.keys() & _REACHING
    played = {each.name for each in capture.functions if each.trusted} if real else set()
    return [name for name in capture.volatile_functions if name not in played]


_REACHING = frozenset(("dblink", "http", "pg_net", "plsh", "aws_lambda", "aws_s3", "pg_cron", "pgsql_http"))
"""Extensions by which any function can reach other servers."""


def said_of(statement: Statement) -> str:
    """Its text for a comment."""
    return visible(statement.text.replace("\n", " ")[:200], keep="")


def said(values: "StatementValues") -> list[str]:
    """What stands for each parameter, as comments: of a line each, whatever the names of tables and columns hold."""
    return [visible(f"-- ${number}: {how}", keep="") for number, how in sorted(values.said.items())]


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
        """The variable of a parameter."""
        return f"{self.prefix}{number}"


def _observed(statement: Statement, parsed: Parsed, found: StatementValues) -> bool:
    """Real values from a log; False where the capture has none."""
    numbers = sorted(parsed.uses)
    if not numbers or not statement.parameters:
        return False
    tuples = [
        {number: "NULL" if each[number - 1] is None else draws.literal(str(each[number - 1])) for number in numbers}
        for each in statement.parameters
        if len(each) >= numbers[-1]
    ]
    if not tuples:
        return False
    found.tuples, found.said = tuples, dict.fromkeys(numbers, "as observed")
    for number, use in parsed.uses.items():
        if use.role is Role.ASSIGNED and use.column is not None and use.column.unique:
            with suppress(CannotDrawError):  # of another type: an INSERT of a key that is there does nothing
                _draw_fresh(number, use.column, found, f"{use.column.name}: a new key, since the observed one is there")
    for each in tuples:
        for number in found.inline:
            del each[number]
    found.tuples = [each for each in tuples if each]
    return True


def _drawn(statement: Statement, parsed: Parsed, found: StatementValues, random: Random) -> None:
    texts: dict[int, list[str]] = {}
    for low, high in _ranges(parsed.uses):
        _draw_range(statement, parsed, (low, high), found, texts, random)
    for number, use in sorted(parsed.uses.items()):
        if number in found.said:
            continue
        if number in parsed.lists and use.role is Role.EQUAL:
            _draw_list(statement, parsed, number, found, texts, random)
        elif use.role in (Role.LOWER, Role.UPPER) and (use.made != "{}" or not parsed.limited):
            _draw_bound(statement, parsed, number, found, texts, random)
        elif use.role in _WITHIN:
            _draw_within(statement, parsed, number, found, texts, random)
        else:
            _draw(statement, number, use, found, texts, random)
    found.tuples = [{number: texts[number][n] for number in texts} for n in range(TUPLES)] if texts else []


_WITHIN = (Role.ARRAY, Role.PART, Role.KEY, Role.MEMBER, Role.PATTERN, Role.WORD)


_AIMED = (Role.LOWER, Role.UPPER, Role.ARRAY, Role.PART, Role.MEMBER, Role.PATTERN, Role.WORD)
"""What may choose few rows or many, and so is drawn by how many came back."""


def _share_of(statement: Statement, parsed: Parsed, use: Use) -> float | None:
    """The share of its table that this parameter chooses: of the rows that a call returned or changed on average, what
    values that are compared leave, to equal parts where several such parameters choose. None where rows do not tell."""
    rows = use.table.rows if use.table else None
    if not rows or parsed.aggregates or parsed.limited:
        return None
    choosing = [each for number, each in parsed.uses.items() if number in parsed.filters and each.table == use.table]
    share = statement.rows / statement.calls / rows
    for column in {each.column for each in choosing if each.role is Role.EQUAL}:
        distinct = column.n_distinct or 1.0 if column is not None else 1.0
        share *= distinct if distinct > 0 else -distinct * rows
    parts = {(each.column, each.path) for each in choosing if each.role in _AIMED}
    return min(1.0, float(share ** (1 / max(1, len(parts)))))


def _range_share(statement: Statement, parsed: Parsed, use: Use) -> tuple[float, str]:
    """The share of its column that a range covers, and how that is known."""
    known = _share_of(statement, parsed, use)
    return (RANGE_SHARE, "assumed") if known is None else (known, "by the rows that it returned")


def _draw_bound(
    statement: Statement,
    parsed: Parsed,
    number: int,
    found: StatementValues,
    texts: dict[int, list[str]],
    random: Random,
) -> None:
    """One end of a range: so far from the other end of the column as the rows that came back are of."""
    use = parsed.uses[number]
    table, column = _of(use)
    share, how = _range_share(statement, parsed, use)
    values = [within.quantile(column, _side(use, share * random.uniform(0.5, 1.5))) for _ in range(TUPLES)]
    if any(each is None for each in values):
        raise CannotDrawError(_no_statistics(table, column))
    texts[number] = [use.made.replace("{}", draws.literal(each)) for each in values if each is not None]
    found.said[number] = f"{use.role.value} a value of {table}.{column.name}, {share:.3g} of it ({how})"


def _side(use: Use, share: float) -> float:
    return max(0.0, 1.0 - share) if use.role is Role.LOWER else min(1.0, share)


def _draw_within(
    statement: Statement,
    parsed: Parsed,
    number: int,
    found: StatementValues,
    texts: dict[int, list[str]],
    random: Random,
) -> None:
    """An array of values, a part of one, a pattern that matches it: of as many rows as came back."""
    use = parsed.uses[number]
    table, column = _of(use)
    share, rows = _share_of(statement, parsed, use), use.table.rows if use.table else None
    drawn: dict[int, list[str]] | None = None
    if use.role is Role.ARRAY:
        drawn = {number: within.arrays(column, share, rows, TUPLES, LIST_MAX, random)}
    elif use.role is Role.PATTERN:
        blocks = (statement.blocks_hit + statement.blocks_read) / statement.calls
        whole = use.table is not None and use.table.pages > 1 and blocks >= use.table.pages / 2
        form = "%{}%" if whole and use.made == "{}%" else use.made
        drawn = {number: within.patterns(column, share, form, TUPLES, random)}
    elif use.role is Role.WORD:
        columns = (column,) if within.words(column) or use.table is None else use.table.columns
        drawn = {number: within.aimed(within.words(*columns), share, TUPLES, random)}
    elif column.type.endswith("[]"):
        drawn = {number: within.elements(column, share, use.made, TUPLES, random)}
    else:
        paths = [other.path for other in parsed.uses.values() if other.role is Role.MEMBER and other.path == use.path]
        drawn = within.members(column, share, number, use.path, use.role, bool(paths), TUPLES, random)
    if not drawn or not all(drawn.values()):
        raise CannotDrawError(_no_statistics(table, column))
    for each, values in drawn.items():
        sent = [within.array_text([value]) for value in values] if parsed.uses[each].made == "array" else values
        texts[each] = [draws.literal(value) for value in sent]
        found.said[each] = f"{parsed.uses[each].role.value} {table}.{column.name}: {len(set(values))} of them"


def _ranges(uses: Mapping[int, Use]) -> list[tuple[int, int]]:
    """Pairs of parameters that bound the same column from below and above."""
    pairs, taken = [], set()
    for number, use in sorted(uses.items()):
        if use.role is not Role.LOWER:
            continue
        for other, upper in sorted(uses.items()):
            same = upper.role is Role.UPPER and (upper.table, upper.column) == (use.table, use.column)
            if same and other not in taken:
                pairs.append((number, other))
                taken.add(other)
                break
    return pairs


def _draw_range(
    statement: Statement,
    parsed: Parsed,
    pair: tuple[int, int],
    found: StatementValues,
    texts: dict[int, list[str]],
    random: Random,
) -> None:
    low, high = pair
    use = parsed.uses[low]
    table, column = _of(use)
    share, how = _range_share(statement, parsed, use)
    found.said[low] = found.said[high] = f"a range of {table}.{column.name}, {share:.3g} of it ({how})"
    dense = draws.dense_range(column, use.table.rows if use.table else None)
    if dense is not None:
        width = max(0, round((dense[1] - dense[0] + 1) * share) - 1)
        start, end = found.name(low), found.name(high)
        found.lines += [f"\\set {start} random({dense[0]}, {max(dense[0], dense[1] - width)})"]
        found.lines += [f"\\set {end} :{start} + {width}"]
        found.inline |= {low: f"(:{start})", high: f"(:{end})"}
        return
    starts = [random.uniform(0.0, max(0.0, 1.0 - share)) for _ in range(TUPLES)]
    for each, places in ((low, starts), (high, [min(1.0, start + share) for start in starts])):
        values = [value for place in places if (value := within.quantile(column, place)) is not None]
        if len(values) < TUPLES:
            raise CannotDrawError(_no_statistics(table, column))
        texts[each] = [parsed.uses[each].made.replace("{}", draws.literal(value)) for value in values]


def _draw_list(
    statement: Statement,
    parsed: Parsed,
    number: int,
    found: StatementValues,
    texts: dict[int, list[str]],
    random: Random,
) -> None:
    """A list of constants, of which PostgreSQL 18 shows the first: as many as the rows that came back are of."""
    use = parsed.uses[number]
    table, column = _of(use)
    rows = use.table.rows if use.table else None
    count, how = 2, "the fewest that are written so"
    if not (parsed.aggregates or parsed.limited) and rows and column.n_distinct:
        distinct = column.n_distinct if column.n_distinct > 0 else -column.n_distinct * rows
        count = max(2, min(LIST_MAX, round(statement.rows / statement.calls * distinct / rows)))
        how = "by the rows that it returned"
    found.said[number] = f"a list of {count} values of {table}.{column.name} ({how})"
    if draws.dense_range(column, rows) is not None:
        names = [f"{found.name(number)}_{n}" for n in range(1, count + 1)]
        found.lines += [line for name in names for line in draws.integer_lines(name, column)]
        found.inline[number] = ", ".join(f"(:{name})" for name in names)
        return
    values = draws.values_of(column)
    if values is None:
        raise CannotDrawError(_no_statistics(table, column))
    texts[number] = [", ".join(map(draws.literal, values.sample(count, random))) for _ in range(TUPLES)]


def _draw(
    statement: Statement, number: int, use: Use, found: StatementValues, texts: dict[int, list[str]], random: Random
) -> None:
    if use.role is Role.UNKNOWN:
        raise CannotDrawError(f"the value of ${number} is not known: {use.reason}")
    if use.role in (Role.LIMIT, Role.OFFSET, Role.CONSTANT):
        rows = max(1, ceil(statement.rows / statement.calls))
        found.inline[number], found.said[number] = {
            Role.LIMIT: (str(rows), "the rows that it returned, on average"),
            Role.OFFSET: ("0", "the first rows"),
            Role.CONSTANT: (use.text, "a constant that chooses no rows"),
        }[use.role]
        return
    table, column = _of(use)
    where = f"{use.role.value} {table}.{column.name}"
    if use.role is Role.ADDED:
        found.inline[number], found.said[number] = use.text, where
        return
    if use.role is Role.ASSIGNED and column.unique:
        _draw_fresh(number, column, found, f"{where}: a new key")
        return
    if use.made == "{}" and draws.dense_range(column, use.table.rows if use.table else None) is not None:
        found.lines += draws.integer_lines(found.name(number), column)
        found.inline[number], found.said[number] = f"(:{found.name(number)})", f"{where}: drawn each time"
        return
    values = draws.values_of(column)
    if values is None and (use.role is Role.VALUE or (use.role is Role.ASSIGNED and not column.not_null)):
        found.inline[number], found.said[number] = "NULL", f"{where}: nothing else is known of it"
        return
    if values is None and use.role is Role.ASSIGNED and (text := _made_up(column)):
        found.inline[number], found.said[number] = text, f"{where}: made up, since nothing is known of its values"
        return
    if values is None:
        raise CannotDrawError(_no_statistics(table, column))
    texts[number] = [use.made.replace("{}", draws.literal(each)) for each in values.sample(TUPLES, random)]
    found.said[number] = f"{where}: one of {len(set(texts[number]))} values"


def _made_up(column: Column) -> str:
    """A value as wide as those of a column; empty for a type of the user's."""
    if not neutral.is_text(column.type):
        return neutral.of(column.type)
    length = column.type.partition("(")[2].rstrip(")")
    width = min(column.width_bytes or 32, int(length or 1 << 20))
    return f"left(repeat(md5(random()::text), {ceil(width / 32)}), {width})"


def _draw_fresh(number: int, column: Column, found: StatementValues, said: str) -> None:
    found.said[number] = said
    found.fresh.add(number)
    if column.type in draws.INTEGERS:
        found.lines += draws.fresh_lines(found.name(number), column)
        found.inline[number] = f"(:{found.name(number)})"
    elif column.type == "uuid":
        found.inline[number] = "gen_random_uuid()"
    elif column.type.partition("(")[0] in _FRESH_TEXT:
        length = column.type.partition("(")[2].rstrip(")")
        found.inline[number] = f"left(md5(random()::text), {length or column.width_bytes or 32})"
    else:
        raise CannotDrawError(f"a new key of type {column.type} cannot be made for {column.name}")


def _of(use: Use) -> tuple[str, Column]:
    if use.table is None or use.column is None:
        raise CannotDrawError(use.reason or "its column is not known")
    return use.table.name, use.column


def _no_statistics(table: str, column: Column) -> str:
    return f"nothing is known of the values of {table}.{column.name}: run ANALYZE, and capture them"


def _sql(parsed: Parsed, values: Mapping[int, str]) -> str:
    pieces, done = [], 0
    for start, end, number in parsed.places:
        pieces += [parsed.text[done:start], _in_place(parsed.text[start:end], values[number])]
        done = end
    pieces.append(parsed.text[done:])
    if parsed.inserts and not (parsed.resolves_conflicts or parsed.meets_no_key):
        return _with_conflict_clause("".join(pieces))
    return "".join(pieces)


def _in_place(text: str, value: str) -> str:
    """A value for `$1`, or for `interval $1`, of which an expression is the whole."""
    if text.startswith("$"):
        return value
    return f"interval {value}" if value.endswith("'") else f"{value}::interval"


def _with_conflict_clause(sql: str) -> str:
    """`ON CONFLICT DO NOTHING` before RETURNING, or at the end."""
    before, returning, after = _split_returning(sql)
    return f"{before} ON CONFLICT DO NOTHING{returning}{after}"


def _split_returning(sql: str) -> Sequence[str]:
    at = sql.lower().rfind(" returning ")
    return (sql, "", "") if at < 0 else (sql[:at], sql[at : at + 11], sql[at + 11 :])
