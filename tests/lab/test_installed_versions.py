"""Installed versions as points: told apart by all that `postgres --version` says, measured as `postgres.version`."""

from pathlib import Path

import pytest

from pgassay.bench.places import Version
from pgassay.errors import UsageError
from pgassay.lab.commits import Subject, SubjectKind, level, level_of, point_of, require_different, shows
from pgassay.testing import real

DEBIAN = point_of(Version(17, 5, "postgres (PostgreSQL) 17.5 (Debian 17.5-1)"))
REBUILT = point_of(Version(17, 5, "postgres (PostgreSQL) 17.5 (Debian 17.5-2)"))
PLAIN = point_of(Version(16, 4, "postgres (PostgreSQL) 16.4"))
BETA = point_of(Version(19, 0, "postgres (PostgreSQL) 19beta1"))


def test_a_point_is_named_by_its_version_and_its_package() -> None:
    assert DEBIAN.subject == "PostgreSQL 17.5 (Debian 17.5-1)"
    assert PLAIN.subject == "PostgreSQL 16.4"
    assert BETA.subject == "PostgreSQL 19.0"
    assert len({each.sha for each in (DEBIAN, REBUILT, PLAIN, BETA)}) == 4
    assert {len(each.sha) for each in (DEBIAN, PLAIN)} == {40}


def test_it_is_a_level_of_postgres_version_and_known_again_in_a_treatment(tmp_path: Path) -> None:
    subject = Subject(SubjectKind.INSTALLED, "17")
    assert (subject.factor, subject.what) == ("postgres.version", "the installed PostgreSQL 17")
    assert level(subject, DEBIAN, tmp_path, real.runner()) == "17.5" == level_of(DEBIAN)
    assert shows("postgres.version=17.5", subject, DEBIAN)
    assert not shows("postgres.version=17.50", subject, DEBIAN)
    assert not shows("postgres.version=16.4", subject, DEBIAN)


def test_two_packages_of_one_version_cannot_be_set_beside_each_other() -> None:
    require_different(PLAIN, DEBIAN)
    with pytest.raises(UsageError, match="are both PostgreSQL 17"):
        require_different(REBUILT, DEBIAN)
