"""The tables of docs/ say what the program says of itself; `python -m tests.docs.tables` writes them anew."""

import pytest

from tests.docs import tables


@pytest.mark.parametrize(("page", "marker"), tables.TABLES)
def test_a_table_is_what_the_program_says(page: str, marker: str) -> None:
    text = (tables.DOCS / page).read_text(encoding="utf-8")
    assert text == tables.rewritten(text, marker, tables.TABLES[page, marker]), "python -m tests.docs.tables"
