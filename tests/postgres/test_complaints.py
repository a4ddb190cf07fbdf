"""The cause in the words of initdb, postgres and libpq."""

from pathlib import Path

import pytest

from pgassay.interfaces.errors import QueryError
from pgassay.interfaces.places import Endpoint
from pgassay.postgres.complaints import complaint
from pgassay.postgres.server import Session

REFUSED = """\
2026-01-01 10:00:00.000 UTC [7] FATAL:  invalid value for parameter "shared_buffers": "64XB"
2026-01-01 10:00:00.000 UTC [7] HINT:  Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".
"""
IN_FILE = """\
2026-01-01 10:00:00.000 UTC [7] LOG:  unrecognized configuration parameter "bufers" in file "/d/pgassay.conf" line 2
2026-01-01 10:00:00.000 UTC [7] FATAL:  configuration file "/d/pgassay.conf" contains errors
"""
MEMORY = """\
LOG:  starting PostgreSQL
FATAL:  could not map anonymous shared memory: Cannot allocate memory
HINT:  This error usually means that PostgreSQL's request failed.
FATAL:  another one
"""
INITDB = """\
The files belonging to this database system will be owned by user "x".
initdb: error: could not create directory "/d/pg_wal": No space left on device
initdb: removing contents of data directory "/d"
"""


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        (
            REFUSED,
            'invalid value for parameter "shared_buffers": "64XB"',
            'valid units for this parameter are "B", "kB", "MB", "GB", and "TB"',
        ),
        (IN_FILE, 'unrecognized configuration parameter "bufers" in file "/d/pgassay.conf" line 2', None),
        (
            MEMORY,
            "could not map anonymous shared memory: Cannot allocate memory",
            "this error usually means that PostgreSQL's request failed",
        ),
        (INITDB, 'could not create directory "/d/pg_wal": No space left on device', None),
        ("Killed\n\n", "Killed", None),
        ("", "it printed nothing", None),
        ("connection failed: No such file\n\tIs the server running?", "connection failed: No such file", None),
        ("  alone", "alone", None),
        ("ERROR:  no\nDETAIL:  Because.\n", "no (Because)", None),
    ],
)
def test_the_cause_is_found(text: str, sentence: str, hint: str | None) -> None:
    assert complaint(text) == (sentence, hint)


def test_a_server_that_is_not_there_is_told_by_what_libpq_says_first(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"could not connect to the server: .*No such file or directory$"):
        Session(Endpoint(tmp_path, 1, "postgres", "nobody")).query("SELECT 1")
