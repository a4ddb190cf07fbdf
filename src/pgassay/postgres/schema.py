"""`schema.change`: SQL that changes the schema once the data are loaded: an index, a column's type, a partition.

The change is part of the prepared data, so it is made once for all trials, and each treatment has its own copy. What
follows it is a VACUUM (ANALYZE): a rewritten table has no visibility map, an index on an expression no statistics.
"""

from pgassay.bench.factor import Factor, Readable, Stage
from pgassay.bench.kinds import NONE
from pgassay.bench.server import Server
from pgassay.postgres import messages
from pgassay.study.levels import Level


class SchemaChange(Factor):
    """`schema.change`: one or more statements of SQL, or `none`."""

    pattern = "schema.change"
    stage = Stage.DATA
    summary = "SQL that changes the schema once the data are loaded: an index, a column's type"
    accepts = f"SQL, or {NONE}"
    default = NONE

    def parse(self, name: str, typed: str) -> Level:
        """The SQL without the blanks and semicolons at its end; raises `UsageError` where nothing is left."""
        text = typed.strip().rstrip("; \n\t")
        if not text:
            raise messages.no_schema_change(name)
        return Level(typed, text)

    def on_loaded_data(self, name: str, level: Level, server: Server) -> None:
        """Make the change; raises `QueryError` in the server's own words."""
        if level.canonical != NONE:
            server.execute(level.canonical)
            server.execute("VACUUM (ANALYZE)")

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """Nothing can show whether a statement was run; one that failed has stopped the preparation."""
        return None

    def adopt_by(self, name: str, level: Level, server: Server) -> str | None:
        """The statements themselves, for whoever runs them on a server of their own."""
        return None if level.canonical == NONE else " ".join(level.canonical.split())
