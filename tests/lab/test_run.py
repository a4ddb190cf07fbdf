"""What goes on with a run: only the PostgreSQL that it began with."""

import pytest

from pgassay.errors import UsageError
from pgassay.lab.run import require_same_postgres
from pgassay.postgres.builds.builder import FOUND_BY

OLD = {"bindir": "/opt/pg16/bin", "version": "postgres (PostgreSQL) 16.4", "found_by": "named"}


def test_another_version_is_refused_a_minor_one_too() -> None:
    require_same_postgres([OLD], [{**OLD, "bindir": "/elsewhere"}])
    require_same_postgres([], [OLD])
    with pytest.raises(UsageError, match=r"16\.4 and would continue with .*16\.5"):
        require_same_postgres([OLD], [{**OLD, "version": "postgres (PostgreSQL) 16.5"}])


def test_another_build_of_the_same_version_is_refused_wherever_the_cache_is() -> None:
    built = {"bindir": "/cache/builds/aaaa/bin", "version": "postgres (PostgreSQL) 15.18", "found_by": FOUND_BY}
    require_same_postgres([built], [{**built, "bindir": "/moved/builds/aaaa/bin"}])
    with pytest.raises(UsageError, match=r"build aaaa and would continue with .*build bbbb"):
        require_same_postgres([built], [{**built, "bindir": "/cache/builds/bbbb/bin"}])
