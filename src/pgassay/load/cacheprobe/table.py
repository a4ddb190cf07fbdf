"""The published table: `random(random real, data float[])`, frozen as it is loaded, with an index on its key."""

from pgassay.bench.server import Server
from pgassay.load import messages
from pgassay.load.cacheprobe.options import Options
from pgassay.load.cacheprobe.rows import chunks

TABLE = "random"
INDEX = "random_random_idx"
EXTENSIONS = ("pg_prewarm", "pg_buffercache")
SEED = 1
"""The data are the same for every run: what differs between trials is which keys are probed."""


def create(server: Server) -> None:
    """The empty table, so that its options can be set."""
    server.execute(f"CREATE TABLE {TABLE} (random real, data float[])")


def fill(server: Server, options: Options) -> None:
    """COPY with FREEZE, index, VACUUM ANALYZE; the size is kept as the table's comment. Raises `LoadError`."""
    import psycopg

    try:
        with (
            psycopg.connect(server.endpoint.conninfo(), options="") as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"TRUNCATE {TABLE}".encode())
            with cursor.copy(f"COPY {TABLE} FROM STDIN (FORMAT binary, FREEZE)".encode()) as copy:
                for chunk in chunks(options.rows, SEED):
                    copy.write(chunk)
    except psycopg.Error as error:
        raise messages.copy_failed(TABLE, str(error)) from error
    server.execute(f"CREATE INDEX ON {TABLE} (random)")
    server.execute(f"COMMENT ON TABLE {TABLE} IS '{options.size}'")
    server.execute(f"VACUUM (ANALYZE) {TABLE}")
    for extension in EXTENSIONS:
        if server.query("SELECT 1 FROM pg_available_extensions WHERE name = %s", [extension]):
            server.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
