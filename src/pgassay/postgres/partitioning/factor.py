"""`schema.partition`: a table made a partitioned one once the data are loaded, by a clause of PostgreSQL's own.

Like `schema.change` it is part of the prepared data, made once for all trials. It comes after that, so that a study can
change keys in all treatments which partitioning does not allow, and after fillfactors, which partitions take over.
"""

from pgassay.bench.factor import Factor, Readable, Stage
from pgassay.bench.kinds import NONE
from pgassay.bench.server import Server
from pgassay.postgres.partitioning import conversion, messages
from pgassay.postgres.partitioning.request import parse
from pgassay.study.levels import Level


class SchemaPartition(Factor):
    """`schema.partition`: `orders BY RANGE (created_at) INTO 12`, or `none`."""

    pattern = "schema.partition"
    stage = Stage.DATA
    summary = "a table made a partitioned one once the data are loaded"
    accepts = f"orders BY RANGE (day) INTO 12, … EVERY '1 month', BY HASH (id) INTO 8, BY LIST (status), or {NONE}"
    default = NONE
    rank = 1

    def parse(self, name: str, typed: str) -> Level:
        """The clause in canonical form; raises `UsageError` with the forms that there are."""
        return Level(typed, "; ".join(map(str, parse(typed))) or NONE)

    def on_loaded_data(self, name: str, level: Level, server: Server) -> None:
        """Make the tables partitioned, and have them vacuumed and analysed; raises `UsageError`, `QueryError`."""
        for asked in parse(level.canonical):
            server.execute(f"VACUUM (ANALYZE) {conversion.convert(asked, server)}")

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """From the catalogs: the level where its tables are partitioned so; else what is."""
        found = conversion.read(readable.server)
        asked = parse(level.canonical)
        if len(found) == len(asked) and all(conversion.has(each, found) for each in asked):
            return level.canonical
        return "; ".join(f"{table} BY {clause} INTO {count}" for table, clause, count in found) or NONE

    def adopt_by(self, name: str, level: Level, server: Server) -> str | None:
        """The steps in words: bounds are the data's own."""
        return "\n".join(messages.adopt(str(each), each.name, each.clause) for each in parse(level.canonical)) or None
