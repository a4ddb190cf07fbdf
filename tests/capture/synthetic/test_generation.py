"""A schema's tables from its statistics: keys hold, the same seed gives the same, the script says what COPY reads."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pgassay.capture import format as formats
from pgassay.capture.errors import SyntheticError
from pgassay.capture.synthetic.files import FILE, SCRIPT, playable, read, save, with_values
from pgassay.capture.synthetic.generation import Synthesis
from pgassay.capture.synthetic.statistics import Column, ForeignKey, Index, Knot, Schema, Table

CUSTOMERS = Table(
    "public.customers",
    500,
    65_536,
    (
        Column(
            "id", "bigint", "integer", 0.0, 8, -1.0, 1.0, tuple(map(lambda n: Knot(n, 3), (1, 250, 500))), serial=True
        ),
        Column("name", "text", "text", 0.0, 13, -0.8, 0.1, (Knot(1 << 40, 9), Knot(1 << 45, 14), Knot(1 << 47, 12))),
        Column("city", "text", "text", 0.2, 8, 2.0, 0.3, (Knot(1, 6, 0.6), Knot(9, 7, 0.2))),
    ),
    (Index("public.customers_pkey", 32_768, "btree", ("id",), primary=True),),
)
ORDERS = Table(
    "public.orders",
    2000,
    131_072,
    (
        Column(
            "customer", "bigint", "integer", 0.0, 8, 101.0, 0.0, (Knot(1, 1, 0.4), *(Knot(n, 3) for n in (2, 250, 499)))
        ),
        Column("number", "integer", "integer", 0.0, 4, 900.0, 1.0, tuple(Knot(n, 3) for n in (1, 450, 900))),
        Column("shape", "point", "other", 0.0, 16, -1.0, None),
    ),
    (Index("public.orders_pkey", 65_536, "btree", ("customer", "number"), primary=True),),
    (ForeignKey(("customer",), "public.customers", ("id",)),),
    fillfactor=80,
    all_visible_share=0.1,
)
LINES = Table(
    "public.lines",
    6000,
    262_144,
    (
        Column(
            "customer", "bigint", "integer", 0.0, 8, 101.0, 0.0, (Knot(1, 1, 0.4), *(Knot(n, 3) for n in (2, 250, 499)))
        ),
        Column("number", "integer", "integer", 0.0, 4, 900.0, 1.0, tuple(Knot(n, 3) for n in (1, 450, 900))),
        Column("place", "integer", "integer", 0.0, 4, 3.0, 0.0, tuple(Knot(n, 1, 1 / 3) for n in (1, 2, 3))),
    ),
    (Index("public.lines_pkey", 65_536, "btree", ("customer", "number", "place"), primary=True),),
    (ForeignKey(("customer", "number"), "public.orders", ("customer", "number")),),
)
SCHEMA = Schema((CUSTOMERS, ORDERS, LINES))


def test_keys_hold() -> None:
    customers, orders, lines = (Synthesis(SCHEMA).rows(table.name) for table in SCHEMA.tables)
    assert customers["id"].to_list() == list(range(1, 501))
    assert set(orders["customer"]) <= set(customers["id"])
    assert orders.select("customer", "number").is_unique().all()
    assert lines.is_unique().all()
    assert lines.join(orders, on=["customer", "number"], how="anti").is_empty()


def test_each_column_has_its_distribution() -> None:
    customers, orders, _ = (Synthesis(SCHEMA).rows(table.name) for table in SCHEMA.tables)
    assert customers["city"].null_count() == 100
    assert sorted(customers["city"].value_counts()["count"].to_list()) == [100, 100, 300]
    assert 380 <= customers["name"].n_unique() <= 400
    assert orders.filter(pl.col("customer") == 1).height == pytest.approx(0.4 * orders.height, rel=0.1)
    assert orders["shape"].null_count() == orders.height


def test_the_same_seed_gives_the_same_data_and_another_gives_others() -> None:
    first, again, other = (Synthesis(SCHEMA, seed).rows("public.customers") for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_what_is_known_of_a_column_is_what_analyze_would_find() -> None:
    synthesis = Synthesis(SCHEMA)
    customer = synthesis.known("public.orders", "customer")
    assert customer.common_values[0] == "1"
    assert customer.common_shares[0] == pytest.approx(0.4)
    city, key = synthesis.known("public.customers", "city"), synthesis.known("public.customers", "id")
    assert city.common_shares == pytest.approx((0.6, 0.2))
    assert city.histogram == ()
    assert key.common_values == ()
    assert (len(key.histogram), key.histogram[0], key.histogram[-1]) == (101, "1", "500")
    assert set(city.common_values) == set(synthesis.rows("public.customers")["city"].drop_nulls())


def test_a_circle_of_foreign_keys_ends() -> None:
    looped = replace(CUSTOMERS, foreign_keys=(ForeignKey(("id",), CUSTOMERS.name, ("id",)),))
    assert Synthesis(Schema((looped,))).rows(CUSTOMERS.name).height == 500


def test_an_empty_table_has_no_rows() -> None:
    assert Synthesis(Schema((replace(CUSTOMERS, rows=0),))).rows(CUSTOMERS.name).height == 0


def test_the_files_give_the_script(tmp_path: Path) -> None:
    assert save(SCHEMA, tmp_path) == (tmp_path / FILE).stat().st_size
    assert read(tmp_path).schema == SCHEMA
    script = playable(read(tmp_path), "CREATE TABLE before ();", "ALTER TABLE after;", tmp_path)
    text = script.read_text(encoding="utf-8")
    assert (script.name, playable(read(tmp_path), "", "", tmp_path)) == (SCRIPT, script), "it is made once"
    assert script.read_text(encoding="utf-8") == text
    parts = [
        text.index(part)
        for part in (
            "CREATE TABLE before", 'COPY public.customers ("id", "name", "city") FROM stdin', "setval(",
            'COPY public.lines ("customer", "number", "place") FROM stdin', "ALTER TABLE after", "REINDEX INDEX",
            "VACUUM (ANALYZE) public.customers", "\nANALYZE public.orders",
        )
    ]  # fmt: skip
    assert parts == sorted(parts)
    assert "SET (fillfactor = 80)" in text, "the table's own fillfactor comes back"
    assert text.count("\\gexec") == 7
    checks = [text.index(part) for part in ("SELECT dropped", "COPY", "ALTER TABLE after", "SELECT added")]
    assert checks == sorted(checks), "what invented values may break is away while they come"


def test_an_exclusion_constraint_that_the_rows_break_does_not_end_the_loading(tmp_path: Path) -> None:
    kept = "ALTER TABLE ONLY a.t\n    ADD CONSTRAINT t_pkey PRIMARY KEY (id);\n\n"
    excluding = "ALTER TABLE ONLY a.t\n    ADD CONSTRAINT t_x EXCLUDE USING gist (a WITH =);\n"
    save(SCHEMA, tmp_path)
    text = playable(read(tmp_path), "", f"{kept}{excluding}", tmp_path).read_text(encoding="utf-8")
    assert f"\n{kept}DO $pgassay$\nBEGIN\n{excluding}EXCEPTION WHEN exclusion_violation" in text


@pytest.mark.parametrize("damage", [b"", b'{"tables": 1}', None])
def test_damaged_statistics_are_named(tmp_path: Path, damage: bytes | None) -> None:
    if damage is not None:
        (tmp_path / FILE).write_bytes(damage)
    with pytest.raises(SyntheticError, match="could not read") as found:
        read(tmp_path)
    assert str(tmp_path / FILE) in found.value.message


def test_a_captures_columns_get_the_invented_values() -> None:
    columns = (formats.Column("city", "text", null_share=0.2), formats.Column("computed", "integer"))
    tables = (
        formats.Table("public", "customers", 500.0, 8, 98_304, columns),
        formats.Table("other", "customers", 1.0, 1, 8192, columns),
    )
    named = Schema((replace(CUSTOMERS, schema="public", relation="customers"),))
    ours, theirs = with_values(tables, Synthesis(named))
    assert len(ours.columns[0].common_values) == 2
    assert ours.columns[0].common_shares == pytest.approx((0.6, 0.2))
    assert (ours.columns[1], theirs) == (columns[1], tables[1]), "what is not synthetic stays"
