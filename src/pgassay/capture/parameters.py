"""What each parameter of a statement stands for: a column's value, an array of them, a pattern, a limit, a constant.

Statements are parsed by libpg_query, PostgreSQL's own grammar (pglast, an optional dependency). What chooses rows must
come from a column, so that it finds as many as in the source; a parameter that does and has none is `UNKNOWN` with the
reason. What shapes the output alone (the width of `left(body, 200)`, the format of `to_char`, a default) may be any
value of its type: it is `CONSTANT`, and so are arguments of PostgreSQL's functions whose usual values are known
(manual, "Functions and Operators"). Names of columns are looked up among all relations of the statement, which suffices
unless two share a column; names of tables as the server does, by the search_path of the roles that the load is of.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any, ClassVar

from pgassay.capture.format import Column, Function, Table, View
from pgassay.capture.privacy import SQUASHED, require_parser

_BY_TYPE: Mapping[str, str] = {
    **dict.fromkeys(("int2", "int4", "int8", "numeric", "float4", "float8", "money", "oid"), "'1'"),
    **dict.fromkeys(("smallint", "integer", "bigint", "real", "double precision"), "'1'"),
    **dict.fromkeys(("text", "varchar", "bpchar", "character varying", "character", "char", "name", "citext"), "'1'"),
    **dict.fromkeys(("date", "time", "timetz", "timestamp", "timestamptz"), "'now'"),
    **dict.fromkeys(("timestamp with time zone", "timestamp without time zone"), "'now'"),
    **dict.fromkeys(("time with time zone", "time without time zone"), "'now'"),
    **dict.fromkeys(("json", "jsonb"), "'{}'"),
    **dict.fromkeys(("inet", "cidr"), "'127.0.0.1'"),
    **dict.fromkeys(("regconfig", "regdictionary"), "'simple'"),
    "bool": "'true'",
    "boolean": "'true'",
    "interval": "'1 day'",
    "uuid": "'00000000-0000-4000-8000-000000000000'",
    "bytea": "'1'",
    "xml": "'1'",
    "tsquery": "'a'",
    "tsvector": "'a'",
}
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("date_trunc", "date_part", "extract"), ("'day'",)),
    **dict.fromkeys(("timezone",), ("'UTC'",)),
    **dict.fromkeys(("to_char",), ("", "'YYYY-MM-DD'")),
    **dict.fromkeys(("to_date", "to_timestamp"), ("'2025-01-01'", "'YYYY-MM-DD'")),
    **dict.fromkeys(("left", "right", "lpad", "rpad", "repeat"), ("", "'20'")),
    **dict.fromkeys(("substring", "substr", "overlay"), ("", "'1'", "'20'")),
    **dict.fromkeys(("string_agg", "array_to_string", "string_to_array", "regexp_split_to_table"), ("", "','")),
    **dict.fromkeys(("split_part",), ("", "' '", "'1'")),
    **dict.fromkeys(("regexp_replace", "replace", "translate"), ("", "'a'", "'b'", "'g'")),
    **dict.fromkeys(("round", "trunc"), ("", "2")),
    **dict.fromkeys(("ntile", "lag", "lead", "nth_value"), ("", "1")),
    **dict.fromkeys(("percentile_cont", "percentile_disc"), ("'0.5'",)),
    **dict.fromkeys(("to_tsvector", "to_tsquery", "plainto_tsquery", "phraseto_tsquery"), ("'simple'",)),
    **dict.fromkeys(("websearch_to_tsquery", "ts_headline"), ("'simple'",)),
    **dict.fromkeys(("jsonb_set", "jsonb_insert"), ("", "'{a}'", "'1'")),
    **dict.fromkeys(("jsonb_build_object", "json_build_object"), ("'a'", "'1'::text") * 16),
    **dict.fromkeys(("pg_advisory_lock", "pg_advisory_xact_lock"), ("(random() * 1e9)::int",) * 2),
    **dict.fromkeys(("pg_try_advisory_lock", "pg_try_advisory_xact_lock"), ("(random() * 1e9)::int",) * 2),
    **dict.fromkeys(("pg_notify",), ("'pgassay'", "'1'")),
    **dict.fromkeys(("pg_sleep",), ("0",)),
    **dict.fromkeys(("set_config",), ("'pgassay.value'", "'1'", "'true'")),
    **dict.fromkeys(("current_setting",), ("'pgassay.value'", "'true'")),
    **dict.fromkeys(("array_length", "array_upper", "array_lower", "cardinality"), ("", "'1'")),
}
"""By function and argument; an empty one is not known."""


def neutral_value(kind: str) -> str:
    """A quoted constant of a type, by PostgreSQL's name for it; empty for a type of the user's."""
    if kind.endswith("[]"):
        return "'{}'"
    return _BY_TYPE.get(kind.partition("(")[0].strip(), "")


def is_text(kind: str) -> bool:
    return kind.partition("(")[0] in ("text", "character varying", "character", "citext", "name")


_TREE = "pglast.ast"
"""The module of the classes of nodes: an optional dependency, so it is not imported here."""
_COMPARISONS = ("=", "<>", "!=", "<", ">", "<=", ">=")
_ARITHMETIC = ("+", "-", "*", "/", "%")
_AGGREGATES = (
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "array_agg",
    "string_agg",
    "bool_and",
    "bool_or",
    "json_agg",
    "jsonb_agg",
)
_CONTAINED = ("@>", "<@", "&&", "?", "?|", "?&")
_EXTRACTED = ("->", "->>")
_MATCHED = ("~", "~*", "!~", "!~*")
_SIMILAR = ("%", "<%", "%>", "<->", "<<->", "<->>", "<=>", "<#>")
"""Of pg_trgm and pgvector, and distances by which rows are ordered."""
_PATTERNS = ("LIKE", "ILIKE", "SIMILAR")
_QUERIES = ("to_tsquery", "plainto_tsquery", "phraseto_tsquery", "websearch_to_tsquery")
_PRESERVING = ("lower", "upper", "trim", "btrim", "ltrim", "rtrim", "initcap", "unaccent", "f_unaccent", "any_value")
"""Functions whose value is compared with, or is one, of the column that is their first argument."""
_CLOCKS = ("now", "transaction_timestamp", "statement_timestamp", "clock_timestamp")
_UNITS = {"years": 31557600, "months": 2629800, "weeks": 604800, "days": 86400, "hours": 3600, "mins": 60, "secs": 1}
"""Arguments of make_interval in seconds."""
_PREFIXES = ("p_", "in_", "v_", "i_", "arg_", "the_", "new_")
"""Of the names of functions' arguments."""
_QUALIFIES = ("whereClause", "quals", "functions")
"""Where rows are chosen, or made by functions in FROM. HAVING comes after the work on its rows is done."""
_ADDED, _NAMES = ("A_Expr", "ParamRef", "TypeCast"), ("String", "TypeName", "Integer", "A_Const")
"""Nodes of a sum or product of parameters, and of the names of operators and types in it."""
_PLAYED = ("SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt")


class Role(Enum):
    EQUAL = "compared with"
    OTHER = "other than"
    LOWER = "from"
    UPPER = "to"
    ASSIGNED = "assigned to"
    ADDED = "added to"
    VALUE = "in place of"
    ARRAY = "an array of"
    PART = "contained in"
    KEY = "a key of"
    MEMBER = "a member of"
    PATTERN = "a pattern of"
    WORD = "a word of"
    LIMIT = "limit"
    OFFSET = "offset"
    CONSTANT = "constant"
    UNKNOWN = "unknown"


_ROLES = {"<>": Role.OTHER, "!=": Role.OTHER, "<": Role.UPPER, "<=": Role.UPPER, ">": Role.LOWER, ">=": Role.LOWER}
_MIRRORED = {Role.UPPER: Role.LOWER, Role.LOWER: Role.UPPER}


@dataclass(frozen=True)
class Use:
    """One parameter: its role, and the column where there is one; `reason` says why it is unknown.

    `made` is the SQL of the parameter with `{}` for the column's value, or the form of a pattern; `text` that of a
    constant. `path` has the parameters that lead to a member of JSON, in order.
    """

    role: Role
    table: Table | None = None
    column: Column | None = None
    reason: str = ""
    made: str = "{}"
    text: str = ""
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class Parsed:
    """A statement: its text without comments, the places of its parameters in it, and what each stands for.

    `places` are (offset, end, number) in order, the word INTERVAL before a parameter included, since behind it only a
    string may stand; `lists` are numbers that stand for two values or more. `refused` says
    why the statement cannot be played at all.
    """

    text: str
    places: tuple[tuple[int, int, int], ...] = ()
    uses: dict[int, Use] = field(default_factory=dict)
    lists: frozenset[int] = frozenset()
    aggregates: bool = False
    limited: bool = False
    filters: frozenset[int] = frozenset()
    """The parameters by which rows are chosen."""
    may_meet_key: bool = False
    """Is it an INSERT that may meet a row that is there already, and does not say what then? One without a value for
    any column of a key meets none."""
    refused: str = ""


def parse(
    text: str,
    tables: Sequence[Table | View],
    refused_functions: Sequence[str] = (),
    search_paths: Sequence[Sequence[str]] = (),
    functions: Sequence[Function] = (),
) -> Parsed:
    """Parse one statement against tables and views of its capture; raises `PgassayError` where pglast is not installed.

    Statements that call `refused_functions` are refused; `functions` are the user's, whose arguments have names.
    `search_paths` are those of the roles that may have sent it; a name that means several tables is refused.
    """
    require_parser()
    from pglast import parse_sql
    from pglast.parser import ParseError, scan

    try:
        tokens = scan(text)
        plain, places = _plain(text, tokens)
        trees = parse_sql(plain)
    except ParseError as error:
        return Parsed(text, refused=f"it cannot be parsed: {str(error).splitlines()[0]}")
    if len(trees) != 1:
        return Parsed(text, refused="it is not one statement")
    tree: Any = trees[0].stmt
    kind = type(tree).__name__
    if kind not in _PLAYED:
        words = "".join(f" {c.lower()}" if c.isupper() else c for c in kind.removesuffix("Stmt")).strip()
        return Parsed(text, refused=f"a {words} is not played")
    reader = _Reader(tables, search_paths, functions)
    reader.read(tree)
    called = [name for name in reader.functions if name in refused_functions]
    refused = ""
    if getattr(tree, "intoClause", None) is not None:
        refused = "SELECT INTO makes a table"
    elif reader.unknown_tables:
        refused = f"it reads {', '.join(reader.unknown_tables)}, which is not a table of the capture"
    elif reader.ambiguous:
        refused = f"{'; '.join(reader.ambiguous)}: search_path does not say which"
    elif called:
        refused = f"it calls {', '.join(dict.fromkeys(called))}, which may do more than it shows"
    uses = {number: reader.uses.get(number, Use(Role.UNKNOWN, reason=_NOWHERE)) for _, _, number in places}
    return Parsed(
        plain,
        places,
        uses,
        frozenset(  # the parameters behind which the server has left out the rest of a list
            int(text[one.start + 1 : one.end + 1])
            for one, other in pairwise(tokens)
            if one.name == "PARAM" and text[other.start : other.end + 1] == SQUASHED
        ),
        aggregates=reader.aggregates,
        limited=kind == "SelectStmt" and tree.limitCount is not None,
        filters=frozenset(reader.filters),
        may_meet_key=kind == "InsertStmt" and tree.onConflictClause is None and not reader.meets_no_key,
        refused=refused,
    )


_NOWHERE = "it is compared with no column"


_FIELDS = ("YEAR_P", "MONTH_P", "DAY_P", "HOUR_P", "MINUTE_P", "SECOND_P")


def _plain(text: str, tokens: Sequence[Any]) -> tuple[str, tuple[tuple[int, int, int], ...]]:
    """The text without comments and line ends, one blank where there was a gap, and the places of `$n` in it."""
    plain, places = "", []
    ended = None
    kept = [each for each in tokens if each.name not in ("C_COMMENT", "SQL_COMMENT")]
    for before, token, after in zip([None, *kept], kept, [*kept[1:], None], strict=False):
        if ended is not None and token.start > ended + 1:
            plain += " "
        if token.name == "PARAM":
            typed = before is not None and before.name == "INTERVAL" and (after is None or after.name not in _FIELDS)
            start = plain.lower().rindex("interval") if typed else len(plain)
            places.append((start, len(plain) + token.end + 1 - token.start, int(text[token.start + 1 : token.end + 1])))
        plain += text[token.start : token.end + 1]
        ended = token.end
    return plain.rstrip("; "), tuple(places)


Found = tuple[Table, Column]
"""Where values come from."""


class _Reader:
    """Walks a tree for its relations, then for its parameters, then for those that are left."""

    def __init__(
        self, tables: Sequence[Table | View], search_paths: Sequence[Sequence[str]], functions: Sequence[Function]
    ) -> None:
        self._search_paths = search_paths or (("public",),)
        self._functions = {each.name: each for each in functions}
        self.ambiguous: list[str] = []
        self._tables: dict[str, list[Table | View]] = {}
        for table in tables:
            self._tables.setdefault(table.name, []).append(table)
        self._relations: dict[str, dict[str, Found]] = {}
        """By alias the columns, of tables and of what a query names itself."""
        self.unknown_tables: list[str] = []
        self.uses: dict[int, Use] = {}
        self.functions: list[str] = []
        self.filters: set[int] = set()
        self.aggregates = False
        self.meets_no_key = False
        self._outermost: Any = None

    def read(self, tree: Any) -> None:
        self._outermost = tree
        nodes = list(_walk(tree))
        ours = {node.ctename for node in nodes if _is(node, "CommonTableExpr")}
        for node in nodes:
            if not _is(node, "RangeVar") or node.relname in ours:
                continue
            tables = self._named(node)
            if len(tables) > 1:
                which = " or ".join(f"{each.schema}.{each.name}" for each in tables)
                self.ambiguous.append(f"{node.relname} is {which}")
            if tables:
                self._relations[node.alias.aliasname if node.alias else node.relname] = self._columns(tables[0])
            elif node.schemaname not in ("pg_catalog", "information_schema") and not node.relname.startswith("pg_"):
                self.unknown_tables.append(node.relname)
        self._derived(nodes)
        for node in nodes:
            kind = type(node).__name__
            if kind in self._READERS:
                self._READERS[kind](self, node)
            elif kind in ("UpdateStmt", "OnConflictClause"):
                relation = node.relation if kind == "UpdateStmt" else tree.relation
                self._assignments(self._of(relation), node.targetList or ())
        self._rest(tree, qualifies=False, reason=_NOWHERE)

    def _note(self, number: int | None, use: Use) -> None:
        if number is not None:
            self.uses.setdefault(number, use)

    def _derived(self, nodes: Sequence[Any]) -> None:
        """What a query names itself: WITH and subqueries, inner ones first."""
        named = {
            node.ctename: (node.ctequery, node.aliascolnames)
            for node in reversed(nodes)
            if _is(node, "CommonTableExpr")
        }
        for name, (query, columns) in named.items():
            self._relations.setdefault(name, self._outputs(query, columns))
        for node in reversed(nodes):
            if _is(node, "RangeSubselect") and node.alias:
                self._relations.setdefault(node.alias.aliasname, self._outputs(node.subquery, node.alias.colnames))
            elif _is(node, "RangeVar") and node.alias and node.relname in named:
                self._relations.setdefault(node.alias.aliasname, self._relations[node.relname])

    def _outputs(self, query: Any, names: Sequence[Any] | None) -> dict[str, Found]:
        """The columns of a query that are columns of tables, by their names outside."""
        while _is(query, "SelectStmt") and query.larg is not None:
            query = query.larg
        found: dict[str, Found] = {}
        for n, target in enumerate(getattr(query, "targetList", None) or getattr(query, "returningList", None) or ()):
            value = target.val
            column = self._column(value)
            if _is(value, "ColumnRef") and _is(value.fields[-1], "A_Star"):
                alias = value.fields[0].sval if len(value.fields) > 1 else None
                for each, columns in list(self._relations.items()):
                    found |= columns if alias in (None, each) else {}
            elif column is not None:
                own = target.name or (value.fields[-1].sval if _is(value, "ColumnRef") else column[1].name)
                found[names[n].sval if names and n < len(names) else own] = column
        return found

    def _of(self, relation: Any) -> Table | None:
        """The table that is changed; None for a view, which keeps nothing itself."""
        found = next(iter(self._named(relation)), None)
        return found if isinstance(found, Table) else None

    def _columns(self, table: Table | View, above: Sequence[View] = ()) -> dict[str, Found]:
        """By name; those of a view where they are columns of tables."""
        if isinstance(table, Table):
            return {column.name: (table, column) for column in table.columns}
        found: dict[str, Found] = {}
        for name, schema, below, column in table.columns:
            of = next((each for each in self._tables.get(below, ()) if each.schema == schema), None)
            if of is None or of in (*above, table):  # a capture is a file, and may say anything
                continue
            if (known := self._columns(of, (*above, table)).get(column)) is not None:
                found[name] = known
        return found

    def _named(self, relation: Any) -> list[Table | View]:
        """What the name means by one search_path or another; where none has it, a session's own must have."""
        by_schema = {each.schema: each for each in self._tables.get(relation.relname, [])}
        if relation.schemaname is not None:
            return [by_schema[relation.schemaname]] if relation.schemaname in by_schema else []
        firsts = (next((each for each in path if each in by_schema), None) for path in self._search_paths)
        schemas = dict.fromkeys(each for each in firsts if each is not None)
        return [by_schema[each] for each in schemas] or list(by_schema.values())

    def _column(self, node: Any) -> Found | None:
        node = _bare(node)
        if _is(node, "CoalesceExpr"):
            return next(filter(None, map(self._column, node.args)), None)
        if _is(node, "A_Expr") and node.name and node.name[-1].sval in _ARITHMETIC:
            sides = [node.lexpr, node.rexpr]
            if len([each for side in sides for each in _walk(side) if _is(each, "ColumnRef", "FuncCall")]) == 1:
                return next(filter(None, map(self._column, sides)), None)
        if not _is(node, "ColumnRef"):
            return None
        names = [each.sval for each in node.fields if _is(each, "String")]
        if len(names) != len(node.fields) or not names:
            return None
        relations = self._relations
        places = [relations.get(names[-2], {})] if len(names) > 1 else list(relations.values())
        return next((columns[names[-1]] for columns in places if names[-1] in columns), None)

    def _expression(self, node: Any) -> None:
        kind = node.kind.name.removeprefix("AEXPR_")
        if kind in ("BETWEEN", "NOT_BETWEEN", "BETWEEN_SYM", "NOT_BETWEEN_SYM"):
            for role, each in zip((Role.LOWER, Role.UPPER), node.rexpr, strict=True):
                self._compared(role, node.lexpr, each)
        elif kind == "IN" and isinstance(node.rexpr, tuple):
            for each in node.rexpr:
                self._compared(_ROLES.get(node.name[-1].sval, Role.EQUAL), node.lexpr, each)
        elif kind in ("OP_ANY", "OP_ALL"):
            operator = node.name[-1].sval
            if operator == "=" and _is(node.rexpr, "A_ArrayExpr"):
                for each in node.rexpr.elements or ():
                    self._compared(Role.EQUAL, node.lexpr, each)
            elif operator in ("=", "<>") and (values := self._column(node.lexpr)) is not None:
                self._note(_parameter(node.rexpr), Use(Role.ARRAY, *values))
            elif (array := self._column(node.rexpr)) is not None:
                self._note(_parameter(node.lexpr), Use(Role.PART, *array, made="element"))
        elif kind in ("OP", "DISTINCT", "NOT_DISTINCT", "NULLIF"):
            self._operation(node, node.name[-1].sval)
        elif kind in _PATTERNS:
            self._pattern(node.lexpr, node.rexpr, "{}%")

    def _pattern(self, matched: Any, pattern: Any, form: str) -> None:
        """A pattern may be put together: `$1 || $2 || $3` are `%`, a part of the column's value and `%`."""
        numbers, found = _parameters(pattern), self._column(matched)
        if not numbers or found is None:
            return
        word = numbers[len(numbers) // 2 if len(numbers) > 2 else 0]
        self._note(word, Use(Role.PATTERN, *found, made="{}" if len(numbers) > 1 else form))
        for number in numbers:
            self._note(number, Use(Role.CONSTANT, text="'%'"))

    def _operation(self, node: Any, operator: str) -> None:
        one, other = node.lexpr, node.rexpr
        if operator in _COMPARISONS:
            role, rows = _ROLES.get(operator, Role.EQUAL), _is(one, "RowExpr") and _is(other, "RowExpr")
            for left, right in zip(one.args, other.args, strict=False) if rows else ((one, other),):
                self._compared(role, left, right)
                self._compared(_MIRRORED.get(role, role), right, left)
        elif operator in _MATCHED:
            self._pattern(one, other, "^{}")
        elif operator in _CONTAINED:
            self._containment(one, other, operator)
        elif operator == "@@":
            # `document @@ to_tsquery($1)`: a word of the column, or of the table's texts where that is a tsvector.
            documents = (self._column(each) for each in _walk(one) if _is(each, "ColumnRef"))
            asked = [each for each in _walk(other) if _is(each, "FuncCall") and each.funcname[-1].sval in _QUERIES]
            if (found := next(filter(None, documents), None)) is not None:
                for word in [each.args[-1] for each in asked] or [other]:
                    self._note(_parameter(word), Use(Role.WORD, *found))
        elif operator in _EXTRACTED:
            if (member := self._member(node)) is not None:
                (table, column), path = member
                for number in path:
                    self._note(number, Use(Role.KEY, table, column, path=path))
        elif (near := self._column(one) or self._column(other)) is not None:
            self._combined(one, other, operator, near)

    def _containment(self, one: Any, other: Any, operator: str) -> None:
        for array, part in ((one, other), (other, one)):
            if (found := self._column(array)) is not None:
                if _is(part, "A_ArrayExpr"):
                    for each in part.elements or ():
                        self._note(_parameter(each), Use(Role.PART, *found, made="element"))
                made = "array" if operator in ("?|", "?&") else ""
                role = Role.KEY if operator.startswith("?") else Role.PART
                self._note(_parameter(part), Use(role, *found, made=made))

    def _combined(self, one: Any, other: Any, operator: str, near: Found) -> None:
        """A column with a parameter: how alike they are, a sum, a text joined with another."""
        if operator in _SIMILAR and (operator != "%" or is_text(near[1].type)):
            use = Use(Role.VALUE if "-" in operator else Role.EQUAL, *near)
        elif operator == "||":
            kind = near[1].type
            use = Use(Role.ADDED, *near, text="'{}'" if kind.endswith("[]") or kind in ("json", "jsonb") else "'1'")
        elif operator in _ARITHMETIC:
            timed = near[1].type.startswith(("timestamp", "time", "interval"))
            use = Use(Role.ADDED, *near, text="'1 second'" if timed else "1")
        else:
            return
        for side, each in ((one, other), (other, one)):
            if self._column(side) is not None:
                self._note(_parameter(each), use)

    def _member(self, node: Any) -> tuple[Found, tuple[int, ...]] | None:
        """The column of JSON that `attrs -> $1 ->> $2` reads, and the parameters that lead to the member."""
        node = _bare(node)
        path: list[int] = []
        while _is(node, "A_Expr") and node.name and node.name[-1].sval in _EXTRACTED:
            number = _parameter(node.rexpr)
            if number is None:
                return None
            path.insert(0, number)
            node = _bare(node.lexpr)
        found = self._column(node) if path else None
        return None if found is None else (found, tuple(path))

    def _compared(self, role: Role, other: Any, value: Any) -> None:
        number, found = _parameter(value), self._column(other)
        if number is None:
            if found is not None:
                self._computed(role, found, value)
            return
        member = self._member(other)
        if found is not None:
            self._note(number, Use(role, *found))
        elif member is not None:
            (table, column), path = member
            self._note(number, Use(Role.MEMBER, table, column, path=path))
        elif _parameter(other) is not None:
            self._note(number, Use(Role.CONSTANT, text=neutral_value(_cast(value) or _cast(other) or "text")))
        else:  # `now() - placed_at < $1` and `age(placed_at) < $1` are `placed_at > now() - $1`
            aged = None
            if _is(other, "A_Expr") and other.name[-1].sval == "-" and _is_clock(other.lexpr):
                aged = self._column(other.rexpr)
            elif _is(other, "FuncCall") and other.funcname[-1].sval == "age":
                aged = self._column(other.args[-1])
            if aged is not None:
                self._note(number, Use(_MIRRORED.get(role, role), *aged, made=_BACK))

    def _computed(self, role: Role, found: Found, value: Any) -> None:
        """One of the parameters of an expression carries the column's value, and the others change nothing."""
        numbers = _parameters(value)
        around = next(
            (
                each
                for each in _walk(value)
                if _is(each, "A_Expr") and each.name and each.name[-1].sval in "+-" and _is_clock(each.lexpr)
            ),
            None,
        )
        if around is not None:
            for number, made in _carried(around):
                self._note(number, Use(role, *found, made=made) if "{}" in made else Use(Role.CONSTANT, text=made))
        elif numbers and all(_is(each, *_ADDED, *_NAMES) for each in _walk(value)):
            carrier = next((each for each in numbers if _cast_in(value, each) != "interval"), numbers[0])
            self._note(carrier, Use(role, *found))
            for number in numbers:
                scales = _is(value, "A_Expr") and value.name[-1].sval in "*/"
                self._note(number, Use(Role.CONSTANT, text="'1'" if scales else "'0'"))

    def _select(self, node: Any) -> None:
        self._note(_parameter(node.limitCount), Use(Role.LIMIT))
        self._note(_parameter(node.limitOffset), Use(Role.OFFSET))
        self.aggregates |= bool(node.groupClause or node.distinctClause)

    def _call(self, node: Any) -> None:
        name = node.funcname[-1].sval
        self.functions.append(name)
        self.aggregates |= name in _AGGREGATES
        for each, text in zip(node.args or (), ARGUMENTS.get(name, ()), strict=False):
            if text:
                self._note(_parameter(each), Use(Role.CONSTANT, text=text))
        own = self._functions.get(name)
        if own is not None:
            for each, (argument, kind) in zip(node.args or (), own.arguments, strict=False):
                if _is(each, "NamedArgExpr"):
                    argument, kind = next((pair for pair in own.arguments if pair[0] == each.name), (each.name, ""))
                    each = each.arg
                self._note(_parameter(each), self._argument(f"{name}({argument})", argument, kind))

    def _argument(self, said: str, argument: str, kind: str) -> Use:
        """Of a function of the user's: a value of the column whose name and type the argument has."""
        words = [argument.strip("_")]
        words += [each for word in words for prefix in _PREFIXES if (each := word.removeprefix(prefix)) != word]
        names = {name for word in words for name in (word, f"{word}_id", word.removesuffix("_id"))}
        tables = [each for named in self._tables.values() for each in named if isinstance(each, Table)]
        found = [(table, column) for table in tables for column in table.columns if column.name in names]
        known = [each for each in found if each[1].type == kind and (each[1].histogram or each[1].common_values)]
        if known:
            return Use(Role.EQUAL, *max(known, key=lambda each: each[0].rows or 0.0))
        if is_text(kind) or kind in ("boolean", "json", "jsonb"):
            return Use(Role.CONSTANT, text=neutral_value(kind))
        return Use(Role.UNKNOWN, reason=f"it is the argument {said}, of which no column has name and type")

    def _alternatives(self, node: Any) -> None:
        """Values of which one is taken: a parameter among them may be any of the column that is another."""
        if _is(node, "CaseExpr"):
            if node.arg is not None:
                for each in node.args:
                    self._compared(Role.EQUAL, node.arg, each.expr)
            values = [*(each.result for each in node.args), *([node.defresult] if node.defresult is not None else [])]
        else:
            values = list(node.args)
        found = next(filter(None, map(self._column, values)), None)
        if found is not None:
            for each in values:
                self._note(_parameter(each), Use(Role.VALUE, *found))

    def _insert(self, node: Any) -> None:
        """Assignments prevail: in INSERT … SELECT $1 the parameter is a constant of a select list, too."""
        table, chosen = self._of(node.relation), node.selectStmt
        if table is None or chosen is None:
            return
        names = [each.name for each in node.cols or ()] or [each.name for each in table.columns]
        rows = chosen.valuesLists or ([each.val for each in chosen.targetList or ()],)
        by_name = {column.name: column for column in table.columns}
        if node is self._outermost:
            self.meets_no_key = all(name in by_name and by_name[name].keyed is False for name in names)
        for row in rows:
            for name, value in zip(names, row, strict=False):
                if name in by_name and (number := _parameter(value)) is not None:
                    self.uses[number] = Use(Role.ASSIGNED, table, by_name[name])

    def _assignments(self, table: Table | None, targets: Sequence[Any]) -> None:
        for target in targets:
            column = next((each for each in table.columns if each.name == target.name), None) if table else None
            value = target.val
            if _is(value, "MultiAssignRef"):
                row = value.source
                value = row.args[value.colno - 1] if _is(row, "RowExpr") else None
            if column is not None and (number := _parameter(value)) is not None:
                self.uses[number] = Use(Role.ASSIGNED, table, column)

    _READERS: ClassVar[Mapping[str, Callable[["_Reader", Any], None]]] = {
        "SelectStmt": _select,
        "A_Expr": _expression,
        "InsertStmt": _insert,
        "FuncCall": _call,
        "CaseExpr": _alternatives,
        "CoalesceExpr": _alternatives,
        "MinMaxExpr": _alternatives,
    }

    def _rest(self, node: Any, *, qualifies: bool, reason: str, kind: str = "text") -> None:
        if isinstance(node, tuple):
            for each in node:
                self._rest(each, qualifies=qualifies, reason=reason, kind=kind)
        elif _is(node, "ParamRef"):
            text = neutral_value(kind) or self._example(kind)
            if qualifies:
                self.filters.add(int(node.number))
            if qualifies or not text:
                self._note(int(node.number), Use(Role.UNKNOWN, reason=reason if qualifies else f"it is of type {kind}"))
            else:
                self._note(int(node.number), Use(Role.CONSTANT, text=text))
        elif type(node).__module__ == _TREE:
            if _is(node, "FuncCall"):
                reason = f"it is an argument of {node.funcname[-1].sval}"
            kind = _cast(node) or "text" if _is(node, "TypeCast") else "text"
            for name in node:
                within = qualifies or name in _QUALIFIES
                self._rest(getattr(node, name), qualifies=within, reason=reason, kind=kind)

    def _example(self, kind: str) -> str:
        """A value of a type of the user's, an enum or a domain, from the columns that have it."""
        tables = (each for named in self._tables.values() for each in named if isinstance(each, Table))
        columns = (column for table in tables for column in table.columns)
        values = (each for column in columns if column.type.rpartition(".")[2] == kind for each in column.common_values)
        return next((f"'{value}'" for value in values if value.replace("_", "").isalnum()), "")


_BACK, _AHEAD = "(now() - {}::timestamptz)", "({}::timestamptz - now())"
"""Of an interval that leads from now to the column's value: so it stays the same value however long is played."""


def _carried(around: Any) -> Iterator[tuple[int, str]]:
    """Of `now() - …` or `now() + …`: each parameter, with the SQL that is made of the column's value or a constant."""
    made = _BACK if around.name[-1].sval == "-" else _AHEAD
    side = around.rexpr
    numbers = _parameters(side)
    seconds = f"extract(epoch from {made})"
    call = next(
        (each for each in _walk(side) if _is(each, "FuncCall") and each.funcname[-1].sval == "make_interval"), None
    )
    if call is not None:
        named = [each for each in call.args or () if _is(each, "NamedArgExpr") and _parameter(each.arg) is not None]
        for n, each in enumerate(named):
            unit = _UNITS.get(each.name, 86400)
            yield _parameter(each.arg) or 0, f"({seconds} / {unit})::int" if n == 0 else "0"
    elif any(_is(each, "A_Expr") and each.name[-1].sval == "||" for each in _walk(side)) and len(numbers) == 2:
        yield numbers[0], f"({seconds}::bigint)::text"
        yield numbers[1], "' seconds'"
    elif numbers:
        today = _is(around.lexpr, "SQLValueFunction") and around.lexpr.op.name == "SVFOP_CURRENT_DATE"
        date = today or _cast(around.lexpr) == "date"
        carrier = next((each for each in numbers if _cast_in(side, each) == "interval"), None)
        if carrier is None and date and len(numbers) == 1:
            yield numbers[0], "(current_date - {}::date)" if made == _BACK else "({}::date - current_date)"
        elif carrier is not None or len(numbers) == 1:
            for number in numbers:
                yield number, made if number == (carrier or numbers[0]) else "1"


def _walk(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for each in node:
            yield from _walk(each)
    elif type(node).__module__ == _TREE:
        yield node
        for name in node:
            yield from _walk(getattr(node, name))


def _is(node: Any, *kinds: str) -> bool:
    return type(node).__name__ in kinds


def _bare(node: Any) -> Any:
    """What an expression has its values from: below casts, collations and functions that keep them."""
    while True:
        if _is(node, "TypeCast", "CollateClause"):
            node = node.arg
        elif _is(node, "FuncCall") and node.funcname[-1].sval in _PRESERVING and node.args:
            node = node.args[0]
        else:
            return node


def _parameter(node: Any) -> int | None:
    """The number of a parameter, also under casts and functions that keep a value; None for anything else."""
    node = _bare(node)
    return int(node.number) if _is(node, "ParamRef") else None


def _parameters(node: Any) -> list[int]:
    return list(dict.fromkeys(int(each.number) for each in _walk(node) if _is(each, "ParamRef")))


def _cast(node: Any) -> str | None:
    """The type that a value is cast to, `integer[]` for an array; None without a cast."""
    if not _is(node, "TypeCast"):
        return None
    return str(node.typeName.names[-1].sval) + ("[]" if node.typeName.arrayBounds else "")


def _cast_in(node: Any, number: int) -> str | None:
    casts = (each for each in _walk(node) if _is(each, "TypeCast") and _is(each.arg, "ParamRef"))
    return next((_cast(each) for each in casts if each.arg.number == number), None)


def _is_clock(node: Any) -> bool:
    return any(
        (_is(each, "FuncCall") and each.funcname[-1].sval in _CLOCKS) or _is(each, "SQLValueFunction")
        for each in _walk(node)
    )
