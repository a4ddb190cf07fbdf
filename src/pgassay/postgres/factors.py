"""The factors of PostgreSQL itself: any setting, version, initdb's options, the build, fillfactors, the schema.

`FACTORS` is what the lab's catalogue takes; `build.*` are options of `builds.request`.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import ClassVar

from pgassay.errors import UsageError
from pgassay.interfaces.errors import WrittenWronglyError
from pgassay.interfaces.factor import IN_MEMORY, Factor, Readable, SetupDraft, Stage, Turns
from pgassay.interfaces.kinds import NONE
from pgassay.interfaces.options import factors_of
from pgassay.interfaces.server import Server
from pgassay.postgres import find, settings
from pgassay.postgres.builds.request import BuildRequest, server_version
from pgassay.postgres.installation import COPY_DATABASE, wal_segment_bytes
from pgassay.study.levels import Level
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import canonical, format_bytes, parse_boolean, parse_whole

NO_SUCH_SETTING = "there is no such setting"
"""What a server is taken to say of a setting that it does not know."""

_PREFIX = "server."
_INITIAL = "init."


SETTINGS_IN_TURNS: tuple[tuple[tuple[str, ...], Turns], ...] = (
    (
        ("checkpoint_*", "max_wal_size", "min_wal_size", "autovacuum*", "vacuum_*"),
        Turns("shows over minutes of a server's life, a slice lasts seconds"),
    ),
    (("bgwriter_*", "archive_*"), Turns("works by the wall clock, which goes on while a server stands still")),
    (("idle_session_timeout",), Turns("ends connections that stand still between slices")),
    (
        ("shared_buffers",),
        Turns("what caches hold shows over minutes, and the servers of a block share the page cache"),
    ),
    (("huge_page*",), Turns("huge pages that one server has taken are not available to the other")),
    (("*",), Turns(note="settings of the CPU path, the planner, the WAL and commits; also wal_compression")),
)
"""Patterns of settings, and whether servers that differ in one may take turns."""


class ServerSetting(Factor):
    """`server.NAME`: every setting of PostgreSQL and of loaded extensions is a factor."""

    pattern = "server.*"
    stage = Stage.SERVER
    summary = "any setting of postgresql.conf"
    accepts = "a value in PostgreSQL's own units"

    def parse(self, name: str, typed: str) -> Level:
        """Sizes become bytes, times milliseconds; whether PostgreSQL takes the value is checked before a run."""
        settings.require_name(name.removeprefix(_PREFIX))
        return Level(typed, canonical(typed))

    def turns(self, name: str) -> Turns:
        """By the first of `SETTINGS_IN_TURNS` that fits."""
        setting = name.removeprefix(_PREFIX)
        return next(
            turns for patterns, turns in SETTINGS_IN_TURNS if any(fnmatchcase(setting, each) for each in patterns)
        )

    def size(self, name: str) -> ModelSize | None:
        """Of the settings that are sizes of the data, of caches of them, or of their WAL; not of a session's memory."""
        return settings.SIZES.get(name.removeprefix(_PREFIX).lower())

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        setup.settings[name.removeprefix(_PREFIX)] = level.typed

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """From pg_settings, by meaning; `huge_pages` by what was really obtained."""
        setting_name = name.removeprefix(_PREFIX)
        found = settings.effective_setting(readable.server, setting_name)
        if found is None:
            (text,) = readable.server.query("SELECT current_setting(%s, true)", [setting_name])[0]
            if text is None:
                return NO_SUCH_SETTING
            return level.canonical if text == level.typed else canonical(str(text))
        if found.name == "huge_pages" and level.canonical in ("on", "off"):
            return settings.huge_pages_status(readable.server)
        if settings.holds(readable.server, found, level.typed):
            return level.canonical
        return canonical(str(readable.server.query("SELECT current_setting(%s)", [setting_name])[0][0]))

    def adopt_by(self, name: str, level: Level, server: Server) -> str:
        found = settings.effective_setting(server, name.removeprefix(_PREFIX))
        return "restart" if found is not None and found.context == "postmaster" else "reload"


class PostgresVersion(Factor):
    """`postgres.version`: which of the installed PostgreSQLs serves."""

    pattern = "postgres.version"
    stage = Stage.BUILD
    summary = "which installed PostgreSQL serves"
    accepts = "a major version (17) or an exact one (17.5)"
    in_turns = IN_MEMORY

    def parse(self, name: str, typed: str) -> Level:
        return Level(typed, find.canonical_version(typed))

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        setup.version = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        return server_version(name, level, readable)


class NamedServer(Factor):
    """`postgres.server`: which of the servers that `compare --server NAME=DSN` names serves."""

    pattern = "postgres.server"
    stage = Stage.BUILD
    summary = "which server of --server serves"
    accepts = "its name there"
    in_turns = Turns(note="a load that only reads, and both servers by a socket of this machine")

    def parse(self, name: str, typed: str) -> Level:
        return Level(typed, typed.strip())

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        setup.server = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """A server does not know what it is called here; that it is the same one its system identifier says."""
        return None

    def adopt_by(self, name: str, level: Level, server: Server) -> str | None:
        return "move your databases to that server: by logical replication, or pg_dump and pg_restore"


class DataChecksums(Factor):
    """`init.data_checksums`: a checksum on every page, on or off."""

    pattern = "init.data_checksums"
    stage = Stage.INIT
    summary = "checksums on data pages (the default from PostgreSQL 18 on)"
    accepts = "on, off"
    in_turns = Turns()

    def parse(self, name: str, typed: str) -> Level:
        return Level(typed, "on" if parse_boolean(typed) else "off")

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        setup.init_options[name.removeprefix(_INITIAL)] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        return str(readable.server.query("SHOW data_checksums")[0][0])


class WalSegmentSize(Factor):
    """`init.wal_segment_size`: the size of a WAL file."""

    pattern = "init.wal_segment_size"
    stage = Stage.INIT
    summary = "size of a WAL file"
    accepts = "a power of two from 1MB to 1GB"
    in_turns = Turns("a WAL file of many megabytes is made at once and can outlast a slice")

    def parse(self, name: str, typed: str) -> Level:
        """A size, or a bare number of MB as initdb takes it."""
        return Level(typed, f"{wal_segment_bytes(typed)}B")

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        setup.init_options[name.removeprefix(_INITIAL)] = format_bytes(wal_segment_bytes(level.canonical))

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        return canonical(str(readable.server.query("SHOW wal_segment_size")[0][0]))


class CopyDatabase(Factor):
    """`init.copy_database`: of which database of the user's own server the databases of ours are copies."""

    pattern = f"{_INITIAL}{COPY_DATABASE}"
    stage = Stage.INIT
    summary = "a database of the server that --server names, of which the load gets copies"
    accepts = "a name, or none"
    default = NONE
    in_turns = IN_MEMORY

    def parse(self, name: str, typed: str) -> Level:
        return Level(typed, typed)

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        if level.canonical != NONE:
            setup.init_options[COPY_DATABASE] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """A copy does not know of what it is one."""
        return None


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
    """The statements in order, without the semicolons between them; what is not closed is part of the last one.

    Several statements in one query are one transaction for the server, and VACUUM, REINDEX CONCURRENTLY and CREATE
    INDEX CONCURRENTLY refuse to run in one (manual, "Multiple Statements in a Simple Query"). A semicolon does not end
    a statement within quotes, dollar quotes, comments, parentheses, and the body of a function that is written in SQL
    (`BEGIN ATOMIC … END`).
    """
    return tuple(text for text, says in _pieces(script) if says)


def _pieces(script: str) -> Iterator[tuple[str, bool]]:
    """Each piece between semicolons, and whether it holds more than blanks and comments."""
    began = at = parentheses = blocks = 0
    words: list[str] = []
    says = False
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
            at, says = len(script) if end < 0 else end + len(text), True
        elif text == ";" and parentheses <= 0 and blocks <= 0:
            yield script[began : token.start()].strip(), says
            began, parentheses, blocks, words, says = at, 0, 0, [], False
        else:
            says = says or not text.isspace()
            parentheses += (text == "(") - (text == ")")
            if kind == "word":
                word = text.lower()
                words += [word] if len(words) < _FIRST_WORDS else []
                if _ROUTINE.match(" ".join(words)):
                    blocks += (word in ("begin", "case")) - (word == "end" and blocks > 0)
    yield script[began:].strip(), says


def _comment_end(script: str, at: int) -> int:
    """Behind a comment that begins before `at`; they nest."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(script, at):
        depth += 1 if edge.group() == "/*" else -1
        if not depth:
            return edge.end()
    return len(script)


_TABLE_FILES = (
    "SELECT c.oid::regclass::text, pg_relation_filenode(c.oid)::int8, ARRAY(SELECT i.indexrelid::int8 FROM pg_index i"
    " WHERE i.indrelid = c.oid AND i.indexprs IS NOT NULL ORDER BY 1) FROM pg_class c JOIN pg_namespace n"
    " ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm') AND n.nspname !~ '^pg_'"
    " AND n.nspname <> 'information_schema' ORDER BY 1"
)
"""Each table with its file, which a rewrite changes, and its indexes on expressions."""


class SchemaChange(Factor):
    """`schema.change`: one or more statements of SQL, or `none`.

    The change is part of the prepared data, so it is made once for all trials, and each treatment has its own copy. Its
    statements run one by one, so that those that refuse a transaction (VACUUM FULL) can be among them. What follows is
    a VACUUM (ANALYZE): a rewritten table has no visibility map, an index on an expression no statistics. In a copy of
    another cluster only tables that need it get that: else the change would be compared, vacuumed, with data as they
    were.
    """

    pattern = "schema.change"
    stage = Stage.DATA
    summary = "SQL that changes the schema once the data are loaded: an index, a column's type"
    accepts = f"SQL, or {NONE}"
    default = NONE
    own_sql = True
    in_turns = IN_MEMORY

    def parse(self, name: str, typed: str) -> Level:
        """The SQL without the blanks and semicolons at its end; raises `UsageError` where nothing is left."""
        text = typed.strip().rstrip("; \n\t")
        if not statements(text):
            raise UsageError(f'"{name}" wants SQL, or none', 'for example "CREATE INDEX ON orders (customer_id)"')
        return Level(typed, text)

    def on_loaded_data(self, name: str, level: Level, server: Server) -> None:
        if level.canonical != NONE:
            _change(level, server)
            server.execute("VACUUM (ANALYZE)")

    def on_copied_data(self, name: str, level: Level, server: Server) -> None:
        """Make the change, and tidy what it made again; raises as `on_loaded_data`."""
        if level.canonical == NONE:
            return
        before = {table: (file, indexes) for table, file, indexes in server.query(_TABLE_FILES)}
        _change(level, server)
        for table, file, indexes in server.query(_TABLE_FILES):
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


LOW, HIGH = 10, 100
_LISTED = 4
"""Tables that a step for administrators names one by one."""

_OF_USERS = (
    " AND c.relpersistence <> 't' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
    " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
_COLUMNS = (
    "SELECT c.oid::regclass::text, (SELECT o.option_value FROM pg_options_to_table(c.reloptions) o"
    " WHERE o.option_name = 'fillfactor') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
)
_FILLED_TABLES = f"{_COLUMNS} WHERE c.relkind = 'r'{_OF_USERS} ORDER BY 1"
_INDEXES = (
    f"{_COLUMNS} JOIN pg_am a ON a.oid = c.relam"
    f" WHERE c.relkind = 'i' AND a.amname IN ('btree', 'hash', 'gist', 'spgist'){_OF_USERS} ORDER BY 1"
)
_WRITTEN = "SELECT relid::regclass::text, n_tup_upd FROM pg_stat_user_tables WHERE n_tup_ins + n_tup_upd > 0"
_NAMED = "pgassay.tables_with_their_own_fillfactor"
"""Kept as a setting of the database, so that `table.fillfactor` passes over tables that have a factor of their own."""


class FillFactor(Factor):
    """What the three have in common: whole numbers from 10 to 100, applied to relations, read from reloptions.

    Manual, "CREATE TABLE, Storage Parameters": a change alone touches only new pages. It is therefore made on the empty
    schema; tables that come with their rows (a user's dump) are rewritten by VACUUM FULL, indexes by REINDEX.
    """

    stage = Stage.DATA
    accepts = "10 to 100"
    in_turns = Turns(note="at the age that the data have (load.age)")
    alter: ClassVar[str]
    """The statement that sets a level for a relation."""
    rewrite: ClassVar[tuple[str, ...]]
    """The statements that pack a relation anew."""

    def parse(self, name: str, typed: str) -> Level:
        number = parse_whole(typed.strip())
        if number is None or not LOW <= number <= HIGH:
            raise UsageError(f'"{name}" cannot be "{typed}"', f"it takes a whole number from {LOW} to {HIGH}")
        return Level(typed, str(number))

    def on_empty_schema(self, name: str, level: Level, server: Server) -> None:
        self.note(name, server)
        for relation, found in self.relations(name, server):
            if found != level.canonical:
                server.execute(self.alter.format(relation=relation, level=level.canonical))

    def on_loaded_data(self, name: str, level: Level, server: Server) -> None:
        """Set it, and rewrite, where the relation was made together with its rows."""
        self.note(name, server)
        self.require(name, server)
        for relation, found in self.relations(name, server):
            if found != level.canonical:
                for statement in (self.alter, *self.rewrite):
                    server.execute(statement.format(relation=relation, level=level.canonical))

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The level if every relation has it; else what they have (`75, public.t 100`)."""
        found = self.relations(name, readable.server)
        if not found:
            return None
        if all(value == level.canonical for _, value in found):
            return level.canonical
        return ", ".join(f"{relation} {value or 'default'}" for relation, value in found)

    def relations(self, name: str, server: Server) -> list[tuple[str, str | None]]:
        raise NotImplementedError

    def note(self, name: str, server: Server) -> None:
        """Remember what other factors must pass over."""

    def require(self, name: str, server: Server) -> None:
        """Raise if what the factor names is not there."""


class TableFillFactor(FillFactor):
    """All tables of the load but those with a factor of their own."""

    pattern = "table.fillfactor"
    summary = "how full the pages of every table are packed, leaving room for HOT updates"
    alter = "ALTER TABLE {relation} SET (fillfactor = {level})"
    # VACUUM FULL packs the pages; the plain VACUUM after it sets the visibility map.
    rewrite = ("VACUUM (FULL, ANALYZE) {relation}", "VACUUM {relation}")

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """Drives are sized by it: pages that are packed less full take more room."""
        setup.table_fillfactor = int(level.canonical)

    def relations(self, name: str, server: Server) -> list[tuple[str, str | None]]:
        """All user tables that are not named by another factor."""
        named = _tables_with_own(server)
        return [(table, value) for table, value in server.query(_FILLED_TABLES) if table not in named]

    def adopt_by(self, name: str, level: Level, server: Server) -> str | None:
        """ALTER TABLE for the tables that were updated, by name; says which were only inserted into.

        Asked after the load, as pg_stat_user_tables has it. Room that a table keeps for updates which never come makes
        it larger for nothing. None where nothing was updated.
        """
        written = {str(table): int(updates) for table, updates in server.query(_WRITTEN)}
        mine = [table for table, _ in self.relations(name, server)]
        updated = [table for table in mine if written.get(table, 0) > 0]
        inserted = [table for table in mine if written.get(table) == 0]
        if not updated:
            return None
        steps = [self.alter.format(relation=table, level=level.canonical) for table in updated[:_LISTED]]
        if len(updated) > _LISTED:
            steps.append(f"the same for {len(updated) - _LISTED} other tables that are updated")
        steps.append(
            "it holds for new pages only: VACUUM FULL rewrites the old ones under an ACCESS EXCLUSIVE lock and needs"
            " room for a second copy (pg_repack does it online)"
        )
        if inserted and level.canonical != str(HIGH):
            steps.append(
                f"{name} was also set on {', '.join(inserted[:_LISTED])}, whose rows this load does not update:"
                " leave it at 100 there,"
                " since room for updates that never come makes a table larger for nothing"
            )
        return "\n".join(steps)


class NamedTableFillFactor(TableFillFactor):
    """One table, as `table.NAME.fillfactor`; NAME may have a schema."""

    pattern = "table.*.fillfactor"
    summary = "the same for one table"

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """One table does not say how large all of them become."""

    def relations(self, name: str, server: Server) -> list[tuple[str, str | None]]:
        oid = _regclass(name, server)
        return [(table, value) for table, value in server.query(_FILLED_TABLES) if table == oid]

    def note(self, name: str, server: Server) -> None:
        """`table.fillfactor` must leave this one alone."""
        table = _regclass(name, server)
        named = _tables_with_own(server)
        if table is not None and table not in named:
            listed = "\n".join([*named, table]).replace("'", "''")
            server.execute(f"ALTER DATABASE {server.endpoint.database} SET {_NAMED} = '{listed}'")
            server.execute(f"SET {_NAMED} = '{listed}'")

    def require(self, name: str, server: Server) -> None:
        if not self.relations(name, server):
            raise UsageError(
                f'the load has no table "{_table_in(name)}"',
                f"its tables are: {', '.join([table for table, _ in server.query(_FILLED_TABLES)]) or 'none'}",
            )


class IndexFillFactor(FillFactor):
    """All indexes whose access method knows a fillfactor (B-tree, hash, GiST, SP-GiST)."""

    pattern = "index.fillfactor"
    summary = "how full the pages of every index are packed (B-tree's default is 90)"
    alter = "ALTER INDEX {relation} SET (fillfactor = {level})"
    rewrite = ("REINDEX INDEX {relation}",)

    def relations(self, name: str, server: Server) -> list[tuple[str, str | None]]:
        return [(index, value) for index, value in server.query(_INDEXES)]


def _table_in(name: str) -> str:
    return name.removeprefix("table.").removesuffix(".fillfactor")


def _regclass(name: str, server: Server) -> str | None:
    """The table as the server writes it, schema and quotes included where needed; None if it does not exist."""
    found = server.query("SELECT to_regclass(%s)::text", [_table_in(name)])[0][0]
    return None if found is None else str(found)


def _tables_with_own(server: Server) -> list[str]:
    listed = server.query(f"SELECT current_setting('{_NAMED}', true)")[0][0]
    return listed.split("\n") if listed else []


FACTORS: tuple[Factor, ...] = (
    PostgresVersion(),
    NamedServer(),
    DataChecksums(),
    WalSegmentSize(),
    CopyDatabase(),
    TableFillFactor(),
    NamedTableFillFactor(),
    IndexFillFactor(),
    SchemaChange(),
    *factors_of(BuildRequest),
    ServerSetting(),
)
