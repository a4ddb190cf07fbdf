"""Whatever a text has in it, on its way out no terminal, no reader and no spreadsheet obeys it."""

import csv
import io
import json
import os
import subprocess
import sys
import unicodedata
from contextlib import redirect_stderr, redirect_stdout

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pgassay.cli import main
from pgassay.outgoing import Output, cell, cells, control, guard, in_ascii, lines, values, visible

HOSTILE = "\x1b]0;x\x07\r\x9b2J\x7f\u202e\u2066\u200b\ufeff\U000e0041\ud800\u2028"
PLANTED = st.text(st.one_of(st.characters(), st.sampled_from(HOSTILE + "\n\t=+-@'\"1")))
FORMULA = "=cmd|' /C calc'!A0"
"""What starts a program in a spreadsheet that is asked no more than once."""


def obeyed(text: str, keep: str = "\n\t") -> list[str]:
    """What a terminal or a reader would obey, of control and format characters, halves of pairs and separators."""
    ends = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [each for each in text if unicodedata.category(each) in ends and each not in keep]


def test_every_control_and_format_character_is_seen() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert len(obeyed(every)) > 2000
    assert obeyed(visible(every)) == []
    assert visible("\x1b[31m\u202ex\U000e0041") == r"\u001b[31m\u202ex\udb40\udc41"


@pytest.mark.parametrize("text", ["transactions per second, ±4 % → 12 µs", "日本語", "Größe", "العربية", "a\n\tb"])
def test_what_is_read_stays(text: str) -> None:
    assert visible(text) == text


@given(PLANTED)
def test_no_text_begins_a_line_of_its_own(text: str) -> None:
    shown = lines([text, "the record is whole"])
    assert obeyed(shown, keep="\n") == []
    assert shown.splitlines()[1:] == ["the record is whole"]


@given(st.dictionaries(PLANTED, st.one_of(PLANTED, st.floats(allow_nan=False), st.none(), st.lists(PLANTED))))
def test_json_keeps_its_data(value: object) -> None:
    document = json.dumps(value, ensure_ascii=False, indent=2)
    for shown in (in_ascii(document), visible(document)):
        assert json.loads(shown) == json.loads(json.dumps(value))
        assert obeyed(shown) == []
    assert in_ascii(document).isascii()
    assert obeyed(json.dumps(values(value), ensure_ascii=False)) == []


@given(st.lists(st.lists(PLANTED, min_size=1), min_size=1))
@example([[FORMULA, "\t=1", "\r=1", "\n=1", " @SUM(1)", "\uff1d1", "-2+3+cmd|' /C calc'!A0", "+A1", "-1 +A1", "=-1"]])
def test_no_cell_runs(rows: list[list[str]]) -> None:
    file = io.StringIO()
    csv.writer(file).writerows(cells(rows))
    read = [row for row in csv.reader(io.StringIO(file.getvalue(), newline="")) if row]
    assert [len(row) for row in read] == [len(row) for row in rows]
    for each in (each for row in read for each in row):
        assert obeyed(each, keep="\n") == []
        begins = unicodedata.normalize("NFKC", each.lstrip())[:1]
        assert begins not in ("=", "@")
        assert begins not in ("+", "-") or (each[1].isdecimal() and not set(each) & set("(|!=@'\"*\n"))


@pytest.mark.parametrize(
    "text", ["-4.3", "+1", "-1e-05", "-48.4 % [-50.1 %, +2.9 %]", "+0.5 points", "75", "1,234", ""]
)
def test_a_number_stays_a_number(text: str) -> None:
    assert cell(text) == text
    assert cell(-4.3) == -4.3


def test_a_stream_shows_what_it_is_given_and_obeys_ours() -> None:
    below = io.StringIO()
    stream = Output(below)
    stream.writelines(["\x1b[31mred", "\r\n"])
    control(stream, "\x1b[0m")  # type: ignore[arg-type]
    assert below.getvalue() == "\\u001b[31mred\\u000d\n\x1b[0m"
    assert not stream.isatty()


ENCODINGS = ["latin-1", "ascii", "ascii:strict", "cp1252", "utf-8"]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("words", [["studies", "--factors"], ["--help"], ["doctor"]])
def test_any_terminal_shows_what_there_is(encoding: str, words: list[str]) -> None:
    encoding, _, errors = encoding.partition(":")
    below = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(below, encoding, errors or None)) as stream, redirect_stderr(stream):
        guard()
        assert main(words) == 0
        stream.flush()
        text = below.getvalue().decode(encoding)
    assert len(text) > 100
    assert obeyed(text) == []


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_process_knows_the_encoding_of_its_terminal(encoding: str) -> None:
    command = [sys.executable, "-m", "pgassay", "no\udcffsuch\x1b[2J"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, env=environment, timeout=600, check=False)
    text = (done.stdout + done.stderr).decode(encoding.partition(":")[0])
    assert "Traceback" not in text
    assert obeyed(text) == []
    assert done.returncode == 2
