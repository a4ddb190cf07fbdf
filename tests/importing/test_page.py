"""Several results in one Markdown or HTML page: split, placed, told apart by headings, never pooled in silence."""

import html
from collections.abc import Callable
from pathlib import Path

import pytest

from pgassay.importing.files import parts_of, read_files
from pgassay.importing.reader import Options, Reading, Roles
from tests.importing.made import SAMPLES, pgbench


def read(path: Path, text: str) -> tuple[Reading, Roles]:
    path.write_text(text, encoding="utf-8")
    return read_files([path], Options(), compared=False)


def markdown(*parts: tuple[str, str]) -> str:
    said = "Throughput was good: tps = 4711.0 (without initial connection time)\n"
    return "".join(f"## {title}\n\n{said}\n```console\n$ pgbench -T 60\n{text}```\n\n" for title, text in parts)


def page(*parts: tuple[str, str]) -> str:
    inner = "".join(f"<h2>{title}</h2>\n<pre><code>{html.escape(text)}</code></pre>\n" for title, text in parts)
    return f"<!DOCTYPE html><html><body>{inner}</body></html>"


@pytest.mark.parametrize(("name", "form"), [("a.md", markdown), ("a.html", page)])
def test_runs_under_two_headings_are_no_repetitions(tmp_path: Path, name: str, form: Callable[..., str]) -> None:
    parts = [("PostgreSQL 17", pgbench(100.0)), ("PostgreSQL 18 ##", pgbench(110.0)), ("Setup", "make install\n")]
    reading, roles = read(tmp_path / name, form(*parts))
    assert [run.responses["tps"] for run in reading.runs] == [100.0, 110.0]
    assert [use.field for use in roles.treatment] == ["section"]
    assert reading.runs[0].fields["section"] == "PostgreSQL 17"
    assert [run.fields["script"] for run in reading.runs] == ["<builtin: simple update>"] * 2
    assert not any("repetitions" in remark for remark in reading.remarks)


def test_runs_of_one_heading_are_repetitions_and_it_is_said(tmp_path: Path) -> None:
    text = markdown(("A, run 1", pgbench(100.0)), ("A, run 2", pgbench(101.0)), ("B", pgbench(110.0) + pgbench(111.0)))
    reading, _ = read(tmp_path / "a.md", text)
    assert [(run.fields["section"], run.responses["tps"]) for run in reading.runs] == [
        ("A", 100.0), ("A", 101.0), ("B", 110.0), ("B", 111.0),
    ]  # fmt: skip
    assert any("those of one heading with equal settings are taken as repetitions" in each for each in reading.remarks)


def test_a_place_is_a_line_of_the_page(tmp_path: Path) -> None:
    text = markdown(("A", pgbench(100.0)), ("B", pgbench(110.0) + pgbench(111.0)))
    path = tmp_path / "a.md"
    reading, _ = read(path, text)
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines, start=1) if line.startswith("transaction type: ")]
    first, second, third = (int(run.place.removeprefix(f"{path} line ")) for run in reading.runs)
    assert lines[first - 2].startswith("```")
    assert lines[second - 2].startswith("```")
    assert heads[2] == third


def test_a_page_may_hold_results_of_several_tools(tmp_path: Path) -> None:
    sysbench = (SAMPLES / "sysbench_oltp_delete.txt").read_text(encoding="utf-8")
    reading, _ = read(tmp_path / "a.md", markdown(("A", pgbench(100.0)), ("B", sysbench)))
    assert reading.kind == "pgbench, sysbench"


def test_a_part_that_gives_no_run_is_named_with_its_line(tmp_path: Path) -> None:
    cut = pgbench(100.0).partition("number of transactions actually")[0]
    reading, _ = read(tmp_path / "a.md", markdown(("A", pgbench(100.0)), ("B", cut)))
    (left,) = reading.left_out
    assert " line " in left.place
    assert "processed" in left.reason


def test_a_page_without_parts_is_read_as_it_was(tmp_path: Path) -> None:
    reading, _ = read(tmp_path / "a.md", f"# A\n\n{pgbench(100.0)}")
    assert [run.responses["tps"] for run in reading.runs] == [100.0]
    assert "section" not in reading.runs[0].fields


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```\na\n```\n", ["a\n"]),
        ("~~~~ text\na\n~~~\nb\n~~~~\n", ["a\n~~~\nb\n"]),
        ("````\n```\n````\n", ["```\n"]),
        ("```\nnot closed", ["not closed\n"]),
        ("    ```\n", []),
        ("a ``` b ```\n", []),
        ("<pre>a &lt;b&gt;<br>c</pre><PRE class='x'>d</PRE>", ["a <b>\nc\n", "d\n"]),
        ("<pre>never closed", []),
        ("<pre>" * 100_000, []),  # looked from each of them to the end for its other half
        ("tps = 3", []),
    ],
)
def test_what_a_part_is(text: str, found: list[str]) -> None:
    assert [part.text for part in parts_of(text)] == found
