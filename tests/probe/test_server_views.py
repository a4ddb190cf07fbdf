"""Every column that a probe asks for is there in that version: live servers, 13 to 19, have listed theirs.

19 is its development branch of 2026-05-16 (commit bf7d19be9b), built from source.
"""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.interfaces import versions
from pgassay.probe.server_views import Checkpoints, Database, Io, RowVersions, Sizes, Tables, Wal
from pgassay.probe.statistics import View, ViewProbe, counter, gauge, statement, values_by_source

FOLDER = Path(__file__).parents[1] / "samples"
VERSIONS = range(versions.OLDEST, versions.NEWEST + 1)
PROBES: tuple[ViewProbe, ...] = (Database(), Tables(), Wal(), Checkpoints(), Io(), Sizes(), RowVersions())
FUNCTIONS = {"coalesce", "sum", "pg_current_wal_insert_lsn", "current_database"}


def live_columns(version: int) -> dict[str, set[str]]:
    """View to its columns, as a live server of this version listed them."""
    found = {}
    for line in (FOLDER / f"views_{version}.txt").read_text().splitlines():
        match = re.fullmatch(r"(pg_\w+): (.+)", line)
        if match:
            found[match[1]] = set(match[2].split(","))
    return found


def words(view: View) -> set[str]:
    """Names in the selected expressions that are columns of a pg_stat view."""
    text = " ".join(column.expression or "" for column in view.selected)
    text = re.sub(r"'[^']*'", "", text)
    return {word for word in re.findall(r"\b[a-z]\w*\b(?!\()", text) if not word.startswith("pg_")} - {
        "b", "c", "k", "filter", "where", "and", "in", "oid", "relkind",
    }  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("probe", [Database(), Wal(), Checkpoints(), Io()], ids=lambda probe: probe.name)
def test_columns_are_there(probe: ViewProbe, version: int) -> None:
    view: View = probe.view(version)
    named = re.findall(r"\b(pg_stat_\w+)\b", view.origin)
    known = live_columns(version)
    assert set(named) <= set(known), f"a view that {version} does not have"
    columns = set().union(*(known[name] for name in named)) if named else set()
    asked = words(view) - {"FILTER", "WHERE", "AND", "IN"}
    assert asked <= columns, asked - columns


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_meters_are_the_same_in_every_version(probe: ViewProbe) -> None:
    first = probe.view(13).meters
    assert all(probe.view(version).meters == first for version in VERSIONS)
    assert len({meter.name for meter in first}) == len(first)


@pytest.mark.parametrize(
    ("probe", "name", "there"),
    [
        (Tables(), "n_tup_newpage_upd", range(16, 20)),
        (Tables(), "n_tup_hot_upd", range(13, 20)),
        (Wal(), "wal_bytes", range(14, 20)),
        (Wal(), "wal_sync", range(14, 18)),
        (Wal(), "lsn_bytes", range(13, 20)),
        (Checkpoints(), "checkpoints_timed", range(13, 20)),
        (Checkpoints(), "checkpoints_done", range(18, 20)),
        (Checkpoints(), "buffers_backend", range(13, 17)),
        (Io(), "relation_write_bytes", range(16, 20)),
        (Io(), "wal_fsyncs", range(18, 20)),
    ],
)
def test_what_a_version_does_not_have_is_left_out(probe: ViewProbe, name: str, there: range) -> None:
    found = [version for version in VERSIONS for column in probe.view(version).selected if column.meter.name == name]
    assert found == list(there)


@pytest.mark.parametrize(("name", "words"), versions.SETTINGS_OF.items())
def test_settings_are_there_in_the_versions_that_a_hint_names(name: str, words: str) -> None:
    first, _, later = words.partition(";")[0].partition(" ")
    named = range(int(first), versions.NEWEST + 1 if later == "and later" else int(first) + 1)
    listed = {version: (FOLDER / f"views_{version}.txt").read_text() for version in VERSIONS}
    assert [version for version, text in listed.items() if f"\n{name}=" in text] == list(named)


def test_one_statement_for_all() -> None:
    one = View("one", (counter("a", "count", "x"), counter("b", "count", None), gauge("c", "y + 1")), "FROM t")
    none = View("none", (counter("d", "count", None),))
    two = View("two", (counter("e", "count", "now()"),))
    assert statement([one, none, two]) == (
        "SELECT * FROM (SELECT (x)::float8 AS c0, (y + 1)::float8 AS c1 FROM t) AS v0"
        " CROSS JOIN (SELECT (now())::float8 AS c0) AS v2"
    )
    assert values_by_source([one, none, two], (1.0, 2.0, 3.0)) == {
        "one": {"a": 1.0, "b": None, "c": 2.0},
        "none": {"d": None},
        "two": {"e": 3.0},
    }


@given(st.lists(st.lists(st.booleans(), max_size=4), max_size=4))
def test_without_a_row_everything_is_none(shape: list[list[bool]]) -> None:
    views = [
        View(
            f"v{number}",
            tuple(counter(f"c{place}", "count", "x" if there else None) for place, there in enumerate(row)),
        )
        for number, row in enumerate(shape)
    ]
    dead = values_by_source(views, None)
    assert all(value is None for values in dead.values() for value in values.values())
    row = tuple(float(place) for place in range(sum(sum(each) for each in shape)))
    alive = values_by_source(views, row)
    assert [value for values in alive.values() for value in values.values() if value is not None] == list(row)
