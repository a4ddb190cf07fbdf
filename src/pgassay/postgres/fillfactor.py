"""The factors `table.fillfactor`, `table.NAME.fillfactor` and `index.fillfactor`: how full pages are packed.

Manual, "CREATE TABLE, Storage Parameters": a change alone touches only new pages. It is therefore made on the empty
schema; tables that come with their rows (a user's dump) are rewritten by VACUUM FULL, indexes by REINDEX.
"""

from collections.abc import Iterable

from pgassay.bench.factor import Factor, Readable, SetupDraft, Stage
from pgassay.bench.server import Server
from pgassay.errors import UsageError
from pgassay.study.levels import Level

LOW, HIGH = 10, 100
_LISTED = 4
"""Tables that a step for administrators names one by one."""

_USERS = (
    " AND c.relpersistence <> 't' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"
    " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
_COLUMNS = (
    "SELECT c.oid::regclass::text, (SELECT o.option_value FROM pg_options_to_table(c.reloptions) o"
    " WHERE o.option_name = 'fillfactor') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
)
_TABLES = f"{_COLUMNS} WHERE c.relkind = 'r'{_USERS} ORDER BY 1"
_INDEXES = (
    f"{_COLUMNS} JOIN pg_am a ON a.oid = c.relam"
    f" WHERE c.relkind = 'i' AND a.amname IN ('btree', 'hash', 'gist', 'spgist'){_USERS} ORDER BY 1"
)
_WRITTEN = "SELECT relid::regclass::text, n_tup_upd FROM pg_stat_user_tables WHERE n_tup_ins + n_tup_upd > 0"
_NAMED = "pgassay.tables_with_their_own_fillfactor"
"""Kept as a setting of the database, so that `table.fillfactor` passes over tables that have a factor of their own."""


class FillFactor(Factor):
    """What the three have in common: whole numbers from 10 to 100, applied to relations, read from reloptions."""

    stage = Stage.DATA
    accepts = "10 to 100"

    def parse(self, name: str, typed: str) -> Level:
        """A whole number from 10 to 100."""
        text = typed.strip()
        if not text.isdecimal() or not LOW <= int(text) <= HIGH:
            raise UsageError(f'"{name}" cannot be "{typed}"', f"it takes a whole number from {LOW} to {HIGH}")
        return Level(typed, str(int(text)))

    def on_empty_schema(self, name: str, level: Level, server: Server) -> None:
        """Set the option before any row arrives."""
        self.note(name, server)
        for relation, found in self.relations(name, server):
            if found != level.canonical:
                self.alter(relation, level.canonical, server)

    def on_loaded_data(self, name: str, level: Level, server: Server) -> None:
        """Set it, and rewrite, where the relation was made together with its rows."""
        self.note(name, server)
        self.require(name, server)
        for relation, found in self.relations(name, server):
            if found != level.canonical:
                self.alter(relation, level.canonical, server)
                self.rewrite(relation, server)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The level if every relation has it; else what they have (`75, public.t 100`)."""
        found = self.relations(name, readable.server)
        if not found:
            return None
        if all(value == level.canonical for _, value in found):
            return level.canonical
        return ", ".join(f"{relation} {value or 'default'}" for relation, value in found)

    def relations(self, name: str, server: Server) -> list[tuple[str, str | None]]:
        """The relations that this factor is about, quoted, with the fillfactor set on each."""
        raise NotImplementedError

    def alter(self, relation: str, value: str, server: Server) -> None:
        """Set the storage parameter of one relation; raises `QueryError`."""
        raise NotImplementedError

    def rewrite(self, relation: str, server: Server) -> None:
        """Pack the existing rows or keys again."""
        raise NotImplementedError

    def note(self, name: str, server: Server) -> None:
        """Remember what other factors must pass over."""

    def require(self, name: str, server: Server) -> None:
        """Raise if what the factor names is not there."""


class TableFillFactor(FillFactor):
    """All tables of the load but those with a factor of their own."""

    pattern = "table.fillfactor"
    summary = "how full the pages of every table are packed, leaving room for HOT updates"

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """Drives are sized by it: pages that are packed less full take more room."""
        setup.table_fillfactor = int(level.canonical)

    def relations(self, name: str, server: Server) -> list[tuple[str, str | None]]:
        """All user tables that are not named by another factor."""
        named = _named(server)
        return [(table, value) for table, value in server.query(_TABLES) if table not in named]

    def alter(self, relation: str, value: str, server: Server) -> None:
        """ALTER TABLE; names come quoted from the server."""
        server.execute(f"ALTER TABLE {relation} SET (fillfactor = {value})")

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
        steps = [f"ALTER TABLE {table} SET (fillfactor = {level.canonical})" for table in updated[:_LISTED]]
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

    def rewrite(self, relation: str, server: Server) -> None:
        """VACUUM FULL packs the pages; the plain VACUUM after it sets the visibility map."""
        server.execute(f"VACUUM (FULL, ANALYZE) {relation}")
        server.execute(f"VACUUM {relation}")


class NamedTableFillFactor(TableFillFactor):
    """One table, as `table.NAME.fillfactor`; NAME may have a schema."""

    pattern = "table.*.fillfactor"
    summary = "the same for one table"

    def prepare(self, name: str, level: Level, setup: SetupDraft) -> None:
        """One table does not say how large all of them become."""

    def relations(self, name: str, server: Server) -> list[tuple[str, str | None]]:
        """The one table, or nothing while it does not exist."""
        oid = _regclass(name, server)
        return [(table, value) for table, value in server.query(_TABLES) if table == oid]

    def note(self, name: str, server: Server) -> None:
        """`table.fillfactor` must leave this one alone."""
        table = _regclass(name, server)
        named = _named(server)
        if table is not None and table not in named:
            listed = "\n".join([*named, table]).replace("'", "''")
            server.execute(f"ALTER DATABASE {server.endpoint.database} SET {_NAMED} = '{listed}'")
            server.execute(f"SET {_NAMED} = '{listed}'")

    def require(self, name: str, server: Server) -> None:
        """The load must have made it."""
        if not self.relations(name, server):
            raise _no_such_table(_table_in(name), [table for table, _ in server.query(_TABLES)])


class IndexFillFactor(FillFactor):
    """All indexes whose access method knows a fillfactor (B-tree, hash, GiST, SP-GiST)."""

    pattern = "index.fillfactor"
    summary = "how full the pages of every index are packed (B-tree's default is 90)"

    def relations(self, name: str, server: Server) -> list[tuple[str, str | None]]:
        """All user indexes that can have it."""
        return [(index, value) for index, value in server.query(_INDEXES)]

    def alter(self, relation: str, value: str, server: Server) -> None:
        """ALTER INDEX; names come quoted from the server."""
        server.execute(f"ALTER INDEX {relation} SET (fillfactor = {value})")

    def rewrite(self, relation: str, server: Server) -> None:
        """REINDEX, which packs the existing keys again."""
        server.execute(f"REINDEX INDEX {relation}")


def _table_in(name: str) -> str:
    return name.removeprefix("table.").removesuffix(".fillfactor")


def _regclass(name: str, server: Server) -> str | None:
    """The table as the server writes it, schema and quotes included where needed; None if it does not exist."""
    found = server.query("SELECT to_regclass(%s)::text", [_table_in(name)])[0][0]
    return None if found is None else str(found)


def _named(server: Server) -> list[str]:
    listed = server.query(f"SELECT current_setting('{_NAMED}', true)")[0][0]
    return listed.split("\n") if listed else []


def _no_such_table(name: str, tables: Iterable[str]) -> UsageError:
    """`table.NAME.fillfactor` for a table that the load does not make."""
    return UsageError(f'the load has no table "{name}"', f"its tables are: {', '.join(tables) or 'none'}")
