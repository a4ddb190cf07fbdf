"""Where a running server keeps the relations of one database, by its own word; the session is read-only.

The files themselves must lie on this machine: the cluster found in the server's data directory is compared with the
server by its system identifier, so that another cluster under the same path is not taken for it.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

from pgassay.postgres import messages
from pgassay.postgres.files.inventory import RelationFile
from pgassay.postgres.files.names import FIRST_USER_OID, Name, kind_of

_RELATIONS = """
SELECT pg_relation_filepath(c.oid), c.oid, n.nspname, c.relname, c.relkind,
       coalesce(i.indrelid::regclass::text, t.oid::regclass::text)
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_index i ON i.indexrelid = c.oid
  LEFT JOIN pg_class t ON t.reltoastrelid = c.oid
 WHERE pg_relation_filepath(c.oid) IS NOT NULL
"""
_SERVER = """
SELECT current_setting('data_directory'), system_identifier, current_database(), d.oid
  FROM pg_control_system(), pg_database d WHERE d.datname = current_database()
"""


@dataclass(frozen=True)
class LiveDatabase:
    """One database of a server, and its cluster on this machine."""

    directory: Path
    database: str
    oid: int
    names: dict[RelationFile, Name]


def ask(conninfo: str) -> LiveDatabase:
    """Ask the server at `conninfo` (as for psql); raises `ClusterError` if it cannot be read or is not here."""
    import psycopg

    try:
        with psycopg.connect(conninfo, connect_timeout=10, application_name="pgassay") as connection:
            connection.read_only = True
            found = connection.execute(_SERVER).fetchone()
            rows = connection.execute(_RELATIONS).fetchall()
    except psycopg.Error as error:
        raise messages.unreachable_server(str(error).strip().splitlines()[0]) from None
    assert found is not None
    directory, identifier, database, oid = Path(str(found[0])), int(found[1]), str(found[2]), int(found[3])
    if _identifier(directory) != identifier & 0xFFFF_FFFF_FFFF_FFFF:
        raise messages.server_elsewhere(directory)
    names: dict[RelationFile, Name] = {}
    for path, number, schema, name, relkind, of in rows:
        # base/5/16384, global/1262, pg_tblspc/16999/PG_15_202209061/5/16384
        folder, filenode = str(path).split("/")[-2:]
        place = RelationFile(0 if folder == "global" else int(folder), int(filenode))
        names[place] = Name(
            database if place.database else "", schema, name, kind_of(relkind), number < FIRST_USER_OID, of
        )
    return LiveDatabase(directory, database, oid, names)


def _identifier(directory: Path) -> int:
    """The system identifier opens pg_control (pg_control.h, ControlFileData)."""
    try:
        with (directory / "global" / "pg_control").open("rb") as control:
            return int(struct.unpack("=Q", control.read(8))[0])
    except FileNotFoundError:
        raise messages.server_elsewhere(directory) from None
    except PermissionError:
        raise messages.unreadable_cluster(directory) from None
