"""What each parameter of a statement stands for: the column that it is compared with or assigned to, a limit.

Statements are parsed by libpg_query, PostgreSQL's own grammar (pglast, an optional dependency). A parameter that stands
for none of these (an argument of a function, an interval that is subtracted) is `UNKNOWN` with the reason: a value
would be invented. Names of columns are looked up among all relations of the statement, which suffices unless two share
a column; names of tables as the server does, by the search_path of the roles that the load is of.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any, ClassVar

from pgassay.capture.format import Column, Table
from pgassay.capture.privacy import SQUASHED
from pgassay.errors import PgassayError
from pgassay.extras import install_command

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
_UNKNOWN_OPERANDS = {
    "LIKE": "it is a pattern of LIKE",
    "ILIKE": "it is a pattern of ILIKE",
    "SIMILAR": "it is a pattern of SIMILAR TO",
    "OP_ANY": "it is an array",
    "OP_ALL": "it is an array",
}
_PLAYED = ("SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt")


class Role(Enum):
    """What a parameter does in its statement."""

    EQUAL = "compared with"
    LOWER = "from"
    UPPER = "to"
    ASSIGNED = "assigned to"
    ADDED = "added to"
    LIMIT = "limit"
    OFFSET = "offset"
    CONSTANT = "constant"
    UNKNOWN = "unknown"


_ROLES = {"<": Role.UPPER, "<=": Role.UPPER, ">": Role.LOWER, ">=": Role.LOWER}
_MIRRORED = {Role.UPPER: Role.LOWER, Role.LOWER: Role.UPPER}


@dataclass(frozen=True)
class Use:
    """One parameter: its role, and the column where there is one; `reason` says why it is unknown."""

    role: Role
    table: Table | None = None
    column: Column | None = None
    reason: str = ""


@dataclass(frozen=True)
class Parsed:
    """A statement: its text without comments, the places of its parameters in it, and what each stands for.

    `places` are (offset, end, number) in order; `lists` are numbers that stand for two values or more. `refused` says
    why the statement cannot be played at all.
    """

    text: str
    places: tuple[tuple[int, int, int], ...] = ()
    uses: dict[int, Use] = field(default_factory=dict)
    lists: frozenset[int] = frozenset()
    aggregates: bool = False
    limited: bool = False
    inserts: bool = False
    resolves_conflicts: bool = False
    meets_no_key: bool = False
    """Does an INSERT give values to no column of a key? It can meet no row that is there already."""
    refused: str = ""


def parse(
    text: str,
    tables: Sequence[Table],
    volatile: Sequence[str] = (),
    search_paths: Sequence[Sequence[str]] = (),
) -> Parsed:
    """Parse one statement against the tables of its capture; raises `PgassayError` where pglast is not installed.

    `search_paths` are those of the roles that may have sent it; a name that means several tables is refused.
    """
    try:
        from pglast import parse_sql
        from pglast.parser import ParseError, scan
    except ImportError:
        raise PgassayError(
            "the parser of statements, pglast, is not installed",
            f"{install_command('capture')} (pglast is GPL-3.0-or-later)",
        ) from None
    try:
        tokens = scan(text)
        plain, places = _plain(text, tokens)
        trees = parse_sql(plain)
    except ParseError as error:
        return Parsed(text, refused=f"it cannot be parsed: {str(error).splitlines()[0]}")
    if len(trees) != 1:
        return Parsed(text, refused="it is not one statement")
    tree: Any = trees[0].stmt
    if type(tree).__name__ not in _PLAYED:
        return Parsed(text, refused=f"a {_kind(tree)} is not played")
    reader = _Reader(tables, search_paths)
    reader.read(tree)
    called = [name for name in reader.functions if name in volatile]
    refused = ""
    if getattr(tree, "intoClause", None) is not None:
        refused = "SELECT INTO makes a table"
    elif reader.strangers:
        refused = f"it reads {', '.join(reader.strangers)}, which is no table of the capture"
    elif reader.ambiguous:
        refused = f"{'; '.join(reader.ambiguous)}: search_path does not say which"
    elif called:
        refused = f"it calls {', '.join(dict.fromkeys(called))}, which may do more than it shows"
    uses = {number: reader.uses.get(number, Use(Role.UNKNOWN, reason=_NOWHERE)) for _, _, number in places}
    inserting = type(tree).__name__ == "InsertStmt"
    return Parsed(
        plain, places, uses, _lists(text, tokens), reader.aggregates,
        type(tree).__name__ == "SelectStmt" and tree.limitCount is not None,
        inserting, inserting and tree.onConflictClause is not None, inserting and reader.meets_no_key, refused,
    )  # fmt: skip


_NOWHERE = "it is compared with no column"


def _kind(tree: Any) -> str:
    name = type(tree).__name__.removesuffix("Stmt")
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()


def _lists(text: str, tokens: Sequence[Any]) -> frozenset[int]:
    """The parameters behind which the server has left out the rest of a list."""
    return frozenset(
        int(text[one.start + 1 : one.end + 1])
        for one, other in pairwise(tokens)
        if one.name == "PARAM" and text[other.start : other.end + 1] == SQUASHED
    )


def _plain(text: str, tokens: Sequence[Any]) -> tuple[str, tuple[tuple[int, int, int], ...]]:
    """The text without comments and line ends, one blank where there was a gap, and the places of `$n` in it."""
    plain, places = "", []
    ended = None
    for token in tokens:
        if token.name in ("C_COMMENT", "SQL_COMMENT"):
            continue
        if ended is not None and token.start > ended + 1:
            plain += " "
        if token.name == "PARAM":
            places.append(
                (len(plain), len(plain) + token.end + 1 - token.start, int(text[token.start + 1 : token.end + 1]))
            )
        plain += text[token.start : token.end + 1]
        ended = token.end
    return plain.rstrip("; "), tuple(places)


class _Reader:
    """Walks a tree once for its relations, then for its parameters."""

    def __init__(self, tables: Sequence[Table], search_paths: Sequence[Sequence[str]]) -> None:
        self._search_paths = search_paths or (("public",),)
        self.ambiguous: list[str] = []
        self._tables: dict[str, list[Table]] = {}
        for table in tables:
            self._tables.setdefault(table.name, []).append(table)
        self._aliases: dict[str, Table] = {}
        self.strangers: list[str] = []
        self.uses: dict[int, Use] = {}
        self.functions: list[str] = []
        self.aggregates = False
        self.meets_no_key = False
        self._outermost: Any = None

    def read(self, tree: Any) -> None:
        self._outermost = tree
        nodes = list(_walk(tree))
        ours = {node.ctename for node in nodes if _is(node, "CommonTableExpr")}
        for node in nodes:
            if _is(node, "RangeVar") and node.relname not in ours:
                self._relation(node)
        for node in nodes:
            kind = type(node).__name__
            if kind in self._READERS:
                self._READERS[kind](self, node)
            elif kind in ("UpdateStmt", "OnConflictClause"):
                relation = node.relation if kind == "UpdateStmt" else tree.relation
                self._assignments(self._of(relation), node.targetList or ())

    def _call(self, node: Any) -> None:
        name = node.funcname[-1].sval
        self.functions.append(name)
        self.aggregates |= name in _AGGREGATES
        for each in node.args or ():
            self._note(_parameter(each), Use(Role.UNKNOWN, reason=f"it is an argument of {name}"))

    def _note(self, number: int | None, use: Use) -> None:
        if number is not None:
            self.uses.setdefault(number, use)

    def _relation(self, node: Any) -> None:
        named = self._named(node)
        if len(named) > 1:
            self.ambiguous.append(f"{node.relname} is {' or '.join(f'{each.schema}.{each.name}' for each in named)}")
        table = next(iter(named), None)
        if table is None:
            if node.schemaname not in ("pg_catalog", "information_schema") and not node.relname.startswith("pg_"):
                self.strangers.append(node.relname)
            return
        self._aliases[node.alias.aliasname if node.alias else node.relname] = table

    def _of(self, relation: Any) -> Table | None:
        return next(iter(self._named(relation)), None)

    def _named(self, relation: Any) -> list[Table]:
        """What the name means by one search_path or another; where none has it, a session's own must have."""
        by_schema = {each.schema: each for each in self._tables.get(relation.relname, [])}
        if relation.schemaname is not None:
            return [by_schema[relation.schemaname]] if relation.schemaname in by_schema else []
        firsts = (next((each for each in path if each in by_schema), None) for path in self._search_paths)
        schemas = dict.fromkeys(each for each in firsts if each is not None)
        return [by_schema[each] for each in schemas] or list(by_schema.values())

    def _column(self, node: Any) -> tuple[Table, Column] | None:
        while _is(node, "TypeCast"):
            node = node.arg
        if not _is(node, "ColumnRef"):
            return None
        names = [each.sval for each in node.fields if _is(each, "String")]
        if len(names) != len(node.fields) or not names:
            return None
        if len(names) > 1:
            tables = [self._aliases[names[-2]]] if names[-2] in self._aliases else []
        else:
            tables = list(self._aliases.values())
        return next(((table, column) for table in tables for column in table.columns if column.name == names[-1]), None)

    def _expression(self, node: Any) -> None:
        kind = node.kind.name.removeprefix("AEXPR_")
        if kind in ("BETWEEN", "NOT_BETWEEN", "BETWEEN_SYM", "NOT_BETWEEN_SYM"):
            for role, each in zip((Role.LOWER, Role.UPPER), node.rexpr, strict=True):
                self._compared(role, node.lexpr, each)
        elif kind == "IN" and isinstance(node.rexpr, tuple):
            for each in node.rexpr:
                self._compared(Role.EQUAL, node.lexpr, each)
        elif kind == "OP_ANY" and _is(node.rexpr, "A_ArrayExpr") and node.name[-1].sval == "=":
            for each in node.rexpr.elements or ():
                self._compared(Role.EQUAL, node.lexpr, each)
        elif kind in ("OP", "DISTINCT", "NOT_DISTINCT"):
            self._operation(node, node.name[-1].sval)
        elif kind in _UNKNOWN_OPERANDS:
            self._note(_parameter(node.rexpr), Use(Role.UNKNOWN, reason=_UNKNOWN_OPERANDS[kind]))

    def _operation(self, node: Any, operator: str) -> None:
        if operator in _COMPARISONS:
            role = _ROLES.get(operator, Role.EQUAL)
            self._compared(role, node.lexpr, node.rexpr)
            self._compared(_MIRRORED.get(role, role), node.rexpr, node.lexpr)
        elif operator in _ARITHMETIC:
            for other, each in ((node.lexpr, node.rexpr), (node.rexpr, node.lexpr)):
                found = self._column(other)
                if found is not None:
                    self._note(_parameter(each), Use(Role.ADDED, *found))

    def _compared(self, role: Role, other: Any, value: Any) -> None:
        number = _parameter(value)
        if number is None:
            return
        found = self._column(other)
        self._note(number, Use(role, *found) if found else Use(Role.UNKNOWN, reason=_NOWHERE))

    def _select(self, node: Any) -> None:
        self._note(_parameter(node.limitCount), Use(Role.LIMIT))
        self._note(_parameter(node.limitOffset), Use(Role.OFFSET))
        for target in node.targetList or ():
            if _is(target, "ResTarget"):
                self._note(_parameter(target.val), Use(Role.CONSTANT))

    def _insert(self, node: Any) -> None:
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
                if name in by_name:
                    self._assign(_parameter(value), Use(Role.ASSIGNED, table, by_name[name]))

    def _assignments(self, table: Table | None, targets: Sequence[Any]) -> None:
        for target in targets:
            column = next((each for each in table.columns if each.name == target.name), None) if table else None
            value = target.val
            if _is(value, "MultiAssignRef"):
                row = value.source
                value = row.args[value.colno - 1] if _is(row, "RowExpr") else None
            if column is not None:
                self._assign(_parameter(value), Use(Role.ASSIGNED, table, column))

    _READERS: ClassVar[Mapping[str, Callable[["_Reader", Any], None]]] = {
        "SelectStmt": _select,
        "A_Expr": _expression,
        "InsertStmt": _insert,
        "FuncCall": _call,
    }

    def _assign(self, number: int | None, use: Use) -> None:
        """Assignments prevail: in INSERT … SELECT $1 the parameter is a constant of a select list, too."""
        if number is not None:
            self.uses[number] = use


def _walk(node: Any) -> Iterator[Any]:
    """Every node of a tree, parents first."""
    if isinstance(node, tuple):
        for each in node:
            yield from _walk(each)
    elif type(node).__module__ == _TREE:
        yield node
        for name in node:
            yield from _walk(getattr(node, name))


def _is(node: Any, *kinds: str) -> bool:
    return type(node).__name__ in kinds


def _parameter(node: Any) -> int | None:
    """The number of a parameter, also under casts; None for anything else."""
    while _is(node, "TypeCast"):
        node = node.arg
    return int(node.number) if _is(node, "ParamRef") else None
