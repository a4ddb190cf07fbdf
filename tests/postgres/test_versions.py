"""Versions as the programs print them, and what initdb is asked for by version."""

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces import versions
from pgassay.interfaces.places import Version
from pgassay.postgres import installation
from pgassay.postgres.find import fits, newest_first, parse_requested_version


@pytest.mark.parametrize(
    ("text", "major", "minor"),
    [
        ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", 15, 18),
        ("postgres (PostgreSQL) 18.4", 18, 4),
        ("postgres (PostgreSQL) 19devel", 19, 0),
        ("postgres (PostgreSQL) 18beta1", 18, 0),
        ("postgres (PostgreSQL) 9.6.24", 9, 6),
    ],
)
def test_parse_version(text: str, major: int, minor: int) -> None:
    assert versions.parse_version(text) == Version(major, minor, text.strip())


def test_other_programs_have_none() -> None:
    assert versions.parse_version("pgbouncer 1.21") is None


def test_supported() -> None:
    assert [versions.supported(Version(major, 0, "")) for major in (9, 12, 13, 18, 19, 20)] == [
        False, False, True, True, True, False,
    ]  # fmt: skip


def test_wanted_versions() -> None:
    assert parse_requested_version("17") == (17, None)
    assert parse_requested_version(" 17.5 ") == (17, 5)
    for text in ("12", "x", "17.5.1", "", "99"):
        with pytest.raises(UsageError):
            parse_requested_version(text)
    assert fits(Version(17, 5, ""), (17, None))
    assert fits(Version(17, 5, ""), (17, 5))
    assert not fits(Version(17, 5, ""), (17, 6))
    assert not fits(Version(16, 5, ""), (17, None))


def test_newest_first_by_number_not_by_letter() -> None:
    from pathlib import Path

    names = [Path(f"/usr/lib/postgresql/{major}/bin") for major in ("9.6", "15", "10", "18")]
    assert [path.parent.name for path in newest_first(names)] == ["18", "15", "10", "9.6"]


@pytest.mark.parametrize(
    ("options", "major", "flags"),
    [
        ({}, 13, []),
        ({}, 18, ["--no-instructions"]),
        ({"data_checksums": "on"}, 15, ["--no-instructions", "--data-checksums"]),
        ({"data_checksums": "off"}, 17, ["--no-instructions"]),
        ({"data_checksums": "off"}, 18, ["--no-instructions", "--no-data-checksums"]),
        ({"wal_segment_size": "64MB"}, 13, ["--wal-segsize=64"]),
        ({"wal_segment_size": "1GB"}, 13, ["--wal-segsize=1024"]),
        ({"wal_segment_size": "32"}, 13, ["--wal-segsize=32"]),
    ],
)
def test_initdb_flags(options: dict[str, str], major: int, flags: list[str]) -> None:
    assert installation.initdb_flags(options, Version(major, 0, "")) == [*installation.INITDB_ALWAYS, *flags]


@pytest.mark.parametrize(
    "options",
    [{"wal_segment_size": "3MB"}, {"wal_segment_size": "2GB"}, {"data_checksums": "maybe"}, {"no_such": "1"}],
)
def test_initdb_flags_refused_before_initdb_is_asked(options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        installation.initdb_flags(options, Version(17, 0, ""))
