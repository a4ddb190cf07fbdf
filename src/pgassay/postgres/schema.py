"""`schema.change`: SQL that changes the schema once the data are loaded: an index, a column's type.

The change is part of the prepared data, so it is made once for all trials, and each treatment has its own copy. Its
statements run one by one, so that those that refuse a transaction (VACUUM FULL) can be among them. What follows is a
VACUUM (ANALYZE): a rewritten table has no visibility map, an index on an expression no statistics. In a copy of another
cluster only tables that need it get that: else the change would be compared, vacuumed, with data as they were.

Several statements in one query are one transaction for the server, and VACUUM, REINDEX CONCURRENTLY and CREATE INDEX
CONCURRENTLY refuse to run in one (manual, "Multiple Statements in a Simple Query"). A semicolon does not end a
statement within quotes, dollar quotes, comments, parentheses, and the body of a function that is written in SQL
(`BEGIN ATOMIC … END`).

"""

import re
from collections.abc import Iterator

from pgassay.bench.errors import WrittenWronglyError
from pgassay.bench.factor import Factor, Readable, Stage
from pgassay.bench.kinds import NONE
from pgassay.bench.server import Server
from pgassay.errors import UsageError
from pgassay.study.levels import Level

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*)"
    r"|(?P<quoted>[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z))"
    r"|(?P<dollar>\$(?:[^\W\d]\w*)?\$)"
    r"|(?P<word>[^\W\d][\w$]*)"
    r"|(?P<mark>[();])"
    r"|(?P<other>\d[\w$]*|\s+|.)",
    re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_ROUTINE = re.compile(r"create (?:or replace )?(?:function|procedure)\b")
_FIRST_WORDS = 4


def statements(script: str) -> tuple[str, ...]:
    """The statements in order, without the semicolons between them; what is not closed is part of the last one."""
    return tuple(text for text, told in _pieces(script) if told)


def _pieces(script: str) -> Iterator[tuple[str, bool]]:
    """Each piece between semicolons, and whether it holds more than blanks and comments."""
    began = at = parentheses = blocks = 0
    words: list[str] = []
    told = False
    while at < len(script):
        token = _TOKEN.match(script, at)
        if token is None:  # cannot be: any character is a token
            break
        kind, text = token.lastgroup, token.group()
        at = token.end()
        if kind == "comment":
            at = _comment_end(script, at) if text == "/*" else at
        elif kind == "dollar":
            end = script.find(text, at)
            at, told = len(script) if end < 0 else end + len(text), True
        elif text == ";" and parentheses <= 0 and blocks <= 0:
            yield script[began : token.start()].strip(), told
            began, parentheses, blocks, words, told = at, 0, 0, [], False
        else:
            told = told or not text.isspace()
            parentheses += (text == "(") - (text == ")")
            if kind == "word":
                word = text.lower()
                words += [word] if len(words) < _FIRST_WORDS else []
                if _ROUTINE.match(" ".join(words)):
                    blocks += (word in ("begin", "case")) - (word == "end" and blocks > 0)
    yield script[began:].strip(), told


def _comment_end(script: str, at: int) -> int:
    """Behind a comment that begins before `at`; they nest."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(script, at):
        depth += 1 if edge.group() == "/*" else -1
        if not depth:
            return edge.end()
    return len(script)


_TABLES = (
    "SELECT c.oid::regclass::text, pg_relation_filenode(c.oid)::int8, ARRAY(SELECT i.indexrelid::int8 FROM pg_index i"
    " WHERE i.indrelid = c.oid AND i.indexprs IS NOT NULL ORDER BY 1) FROM pg_class c JOIN pg_namespace n"
    " ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm') AND n.nspname !~ '^pg_'"
    " AND n.nspname <> 'information_schema' ORDER BY 1"
)
"""Each table with its file, which a rewrite changes, and its indexes on expressions."""


class SchemaChange(Factor):
    """`schema.change`: one or more statements of SQL, or `none`."""

    pattern = "schema.change"
    stage = Stage.DATA
    summary = "SQL that changes the schema once the data are loaded: an index, a column's type"
    accepts = f"SQL, or {NONE}"
    default = NONE
    own_sql = True

    def parse(self, name: str, typed: str) -> Level:
        """The SQL without the blanks and semicolons at its end; raises `UsageError` where nothing is left."""
        text = typed.strip().rstrip("; \n\t")
        if not statements(text):
            raise UsageError(f'"{name}" wants SQL, or none', 'for example "CREATE INDEX ON orders (customer_id)"')
        return Level(typed, text)

    def on_loaded_data(self, name: str, level: Level, server: Server) -> None:
        """Make the change; raises `QueryError` in the server's own words, `UsageError` for a typo."""
        if level.canonical != NONE:
            _change(level, server)
            server.execute("VACUUM (ANALYZE)")

    def on_copied_data(self, name: str, level: Level, server: Server) -> None:
        """Make the change, and tidy what it made again; raises as `on_loaded_data`."""
        if level.canonical == NONE:
            return
        before = {table: (file, indexes) for table, file, indexes in server.query(_TABLES)}
        _change(level, server)
        for table, file, indexes in server.query(_TABLES):
            old_file, old_indexes = before.get(table, (None, None))
            if file != old_file:
                server.execute(f"VACUUM (ANALYZE) {table}")
            elif indexes != old_indexes:
                server.execute(f"ANALYZE {table}")

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """Nothing can show whether a statement was run; one that failed has stopped the preparation."""
        return None

    def adopt_by(self, name: str, level: Level, server: Server) -> str | None:
        """The statements themselves, for whoever runs them on a server of their own."""
        return None if level.canonical == NONE else " ".join(level.canonical.split())


def _change(level: Level, server: Server) -> None:
    """Raises `UsageError` for a statement that no data could make right: a typo is no outcome of a treatment."""
    for each in statements(level.canonical):
        try:
            server.execute(each)
        except WrittenWronglyError as failure:
            raise UsageError(
                f"the change of the schema cannot be made: {failure.message}",
                failure.hint or "correct the statement; its names are looked up in the data that were loaded",
            ) from None
