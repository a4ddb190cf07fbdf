"""Which folders of the source are built: the server, what initdb and pgbench need, the extensions we read with.

Building only these takes about four fifths of the time of a whole build. Each is built and installed by its own make,
in this order, since later ones link with earlier ones.
"""

from pathlib import Path

HEADERS = ("src/backend", "generated-headers")
"""Made first, alone: all others include them."""

FOLDERS = (
    "src/common", "src/port", "src/timezone", "src/backend", "src/backend/utils/mb/conversion_procs",
    "src/backend/snowball", "src/interfaces/libpq", "src/fe_utils", "src/bin/initdb", "src/bin/pg_ctl", "src/bin/psql",
    "src/bin/pgbench", "src/bin/pg_dump", "src/bin/pg_controldata", "src/bin/pg_checksums", "src/bin/pg_waldump",
    "src/bin/pg_test_fsync", "src/bin/pg_config", "src/bin/pg_resetwal", "src/pl/plpgsql/src",
)  # fmt: skip

EXTENSIONS = (
    "pg_prewarm", "pg_buffercache", "pgstattuple", "pg_walinspect", "pg_stat_statements", "amcheck",
)  # fmt: skip
"""pg_walinspect came with PostgreSQL 15; an older source simply has none."""


INCLUDE = "src/include"
"""Headers, and from 17 on postgres.bki, which initdb reads; src/backend installed it before, and nobody needs these."""


def wanted(source: Path) -> list[str]:
    """The folders of this source that are to be built, in order."""
    folders = [*FOLDERS, *(f"contrib/{name}" for name in EXTENSIONS)]
    found = [folder for folder in folders if (source / folder / "Makefile").is_file()]
    catalog = source / INCLUDE / "catalog" / "Makefile"
    if catalog.is_file() and "\ninstall:" in catalog.read_text(encoding="utf-8"):
        found.append(INCLUDE)
    return found


def expected_objects(source: Path) -> int:
    """About how many object files a build makes, for its progress: one for each C file of these folders."""
    return sum(1 for folder in wanted(source) for _ in (source / folder).rglob("*.c")) or 1


def count_objects(build: Path) -> int:
    """How many there are so far."""
    return sum(1 for _ in build.rglob("*.o"))
