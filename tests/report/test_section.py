"""What is missing or the same everywhere leaves its table, and is said elsewhere; nothing is lost or invented."""

from hypothesis import given
from hypothesis import strategies as st

from pgassay.report.section import Arranged, Cell, Drawing, Figure, Folded, Sentences, Table, arranged, contained

TREATMENTS = ("per transaction", "a=1", "a=2")


def only_table(found: Arranged) -> Table:
    (table,) = (block for block in found.blocks if isinstance(block, Table))
    return table


def test_a_row_without_any_value_is_named_once_and_leaves() -> None:
    rows = [
        ("WAL", "10.6 kB", "5.50 kB", "pg_stat_wal"),
        ("NAND writes", "–", "–", "the drive's count"),
    ]
    found = arranged([Table((*TREATMENTS, "source"), rows, "load.threads=1")])
    assert only_table(found).rows == rows[:1]
    assert found.missing == ("NAND writes (load.threads=1)",)


def test_a_table_without_any_value_goes_and_takes_a_section_of_notes_along() -> None:
    empty = Table(TREATMENTS, [("NAND writes", "–", "–")])
    assert arranged([empty, Sentences(("from the drive",), small=True)]) == Arranged((), ("NAND writes",))
    kept = Sentences(("the drive was fresh",))
    assert arranged([empty, kept]).blocks == (kept,)


def test_columns_with_one_value_become_a_line() -> None:
    rows = [("a", "WAL flush", "79 %", "5"), ("b", "WAL flush", "72 %", "5")]
    found = arranged([Table(("at", "bottleneck", "share", "trials"), rows, marked=(1,))])
    assert found.blocks[0] == Sentences(["the same in every row: bottleneck WAL flush; trials 5"])
    table = only_table(found)
    assert (table.head, table.rows, table.marked) == (["at", "share"], [["a", "79 %"], ["b", "72 %"]], (1,))


def test_a_quantity_that_no_treatment_changes_becomes_a_line_with_its_unit() -> None:
    rows = [(Cell("rows", unit="bytes"), "209", "209 (+0 [+0, +0] bytes)"), (Cell("WAL"), "2", "1")]
    found = arranged([Table(TREATMENTS, rows)])
    assert found.blocks[0] == Sentences(["the same with every treatment: rows 209 bytes"])
    assert [str(row[0]) for row in only_table(found).rows] == ["WAL"]
    whole = Table(TREATMENTS, rows, whole=True)
    assert arranged([whole]).blocks == (whole,)


def test_words_are_left_as_they_are() -> None:
    texts = Table(("setting", "a", "b"), [("fsync", "–", "–"), ("jit", "on", "on")], texts=True)
    assert arranged([texts]) == Arranged((texts,))


CELLS = st.sampled_from(["–", "1", "2", "3 kB"])
TABLES = st.lists(st.tuples(st.sampled_from(["WAL", "rows", "reads"]), CELLS, CELLS), min_size=1, max_size=5)


@given(TABLES)
def test_every_value_is_still_said_and_nothing_else(rows: list[tuple[str, str, str]]) -> None:
    found = arranged([Table(TREATMENTS, rows)])
    said = [str(cell) for block in found.blocks if isinstance(block, Table) for row in block.rows for cell in row]
    said += [text for block in found.blocks if isinstance(block, Sentences) for text in block.texts]
    for name, *values in rows:
        for value in values:
            if value != "–":
                assert any(value in text for text in said)
            assert any(name in text for text in (*said, *found.missing))


def test_a_fold_says_what_it_holds() -> None:
    figure = Figure("f", lambda: Drawing("Over the blocks", "", None))
    tables = [Table(("treatment", "avg"), [("a", "1")], name) for name in ("Speed, 1/s", "p99, ms", "Size", "WAL")]
    assert contained([*tables, figure], ["Over the blocks"]) == "Speed, 1/s, p99, ms, Size … · 4 tables, 1 figure"
    assert contained([Table(TREATMENTS, [("WAL", "1", "2"), ("reads", "3", "4")])]) == "WAL, reads"
    assert contained([Folded("more", (Table(("trial", "block"), [("1", "2")]),))]) == "block"
    assert contained([Sentences(("", "nothing to apply"))]) == "nothing to apply"
    assert contained([]) == ""
