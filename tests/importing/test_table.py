"""Tables of every dialect, and every way in which a line is none of them."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.importing.files import read_files
from pgassay.importing.reader import Options, Reading, parse_roles
from pgassay.importing.table import DELIMITERS, number, parse_table, read_table, sniff
from pgassay.study.responses import Better


def read(text: str, columns: str, header: str = "") -> Reading:
    return read_table("t.csv", text, parse_roles([columns]), header)


@given(st.lists(st.tuples(st.integers(0, 99), st.floats(0.001, 1e9)), min_size=1, max_size=20),
       st.sampled_from(DELIMITERS))  # fmt: skip
def test_any_delimiter_gives_the_same_values(rows: list[tuple[int, float]], delimiter: str) -> None:
    text = "\n".join(delimiter.join(map(str, row)) for row in [("size", "tps"), *rows])
    reading = read(text, "treatment=size,value=tps")
    assert [run.responses["tps"] for run in reading.runs] == [value for _, value in rows]
    assert [run.fields["size"] for run in reading.runs] == [str(size) for size, _ in rows]


def test_a_table_without_a_header_takes_one_from_the_option_and_keeps_its_first_line() -> None:
    reading = read("1;63052.55\n2;64182.29\n", "treatment=size,value=tps", "size;tps")
    assert [run.place for run in reading.runs] == ["t.csv line 1", "t.csv line 2"]
    assert read("1;63052.55\n", "treatment=size,value=tps", "size,tps").runs[0].responses == {"tps": 63052.55}


def test_what_is_no_line_of_the_table_is_named_and_left_out() -> None:
    text = "size,tps\n1,100\n2,100,3\n\n4,fast\n5,\n6,NaN\n7,1_000\n"
    reading = read(text, "treatment=size,value=tps")
    assert [(each.place, each.reason) for each in reading.left_out] == [
        ("t.csv line 3", "has 3 cells where the header has 2"),
        ("t.csv line 5", '"tps" is "fast", which is not a number'),
        ("t.csv line 8", '"tps" is "1_000", which is not a number'),
    ]
    assert [(run.fields["size"], run.responses["tps"]) for run in reading.runs] == [
        ("1", 100.0),
        ("5", None),
        ("6", None),
    ]


def test_a_status_that_is_not_fine_is_an_abort() -> None:
    reading = read("size,tps,rc\n1,100,0\n2,100,2\n", "treatment=size,value=tps,status=rc")
    assert [[reason.detail for reason in run.problems] for run in reading.runs] == [[], ["rc is 2"]]


def test_quoted_cells_hold_the_delimiter_and_a_byte_order_mark_is_no_name() -> None:
    table = parse_table('\ufeffname,tps\n"a,b",5\n')
    assert table.header == ("name", "tps")
    assert table.rows == ((2, ("a,b", "5")),)
    assert parse_table("").header == ()


def test_a_column_of_unknown_name_has_no_better_direction() -> None:
    assert read("a,speed\n1,2\n", "treatment=a,value=speed").responses[0].better is Better.NEITHER
    assert read("a,tps\n1,2\n", "treatment=a,value=tps").responses[0].better is Better.HIGHER
    said = read_table("t", "a,speed\n1,2\n", parse_roles(["treatment=a,value=speed"]), "", Better.LOWER)
    assert said.responses[0].better is Better.LOWER


def test_faults_of_the_options() -> None:
    with pytest.raises(UsageError, match="which column holds the results"):
        read("a,b\n1,2\n", "treatment=a")
    with pytest.raises(UsageError, match="a name of its own"):
        parse_table("1;2\n", "a;a")
    for wrong in ("value", "value=", "speed=tps", "block=a,block=b"):
        with pytest.raises(UsageError, match="wants ROLE=COLUMN"):
            parse_roles([wrong])


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e3", 1000.0), ("-0.5", -0.5), ("1,5", None), ("5 s", None), ("NULL", None), ("inf", float("inf"))],
)
def test_numbers(text: str, value: float | None) -> None:
    assert number(text) == value


def test_the_delimiter_is_not_that_of_a_quoted_text() -> None:
    assert sniff("a;b\n1,5;2\n1,7;3\n") == ";"


def test_without_roles_the_columns_are_listed_and_guessed(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    rows = "".join(
        f"{page},{clients},{run},{100.5 + run},60\n" for page in (4, 8) for clients in (1, 2) for run in (1, 2, 3)
    )
    path.write_text(f"page_kB,clients,run,tps,seconds\n{rows}", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        read_files([path], Options(), compared=False)
    hint = raised.value.hint or ""
    assert hint.startswith("the columns are: page_kB, clients, run, tps, seconds; this may be right: --columns")
    (guess,) = re.findall(r"--columns ([^;]+);", hint)
    assert guess == "treatment=page_kB,condition=clients,value=tps,block=run"
    reading, _ = read_files([path], Options(roles=parse_roles([guess])), compared=True)
    assert len(reading.runs) == 12
