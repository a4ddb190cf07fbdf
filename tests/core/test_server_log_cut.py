"""A log that was cut, interleaved or wrapped anew: no statement comes out of it that is the beginning of a longer one.

One thing leaves no trace, and is not tried: that another process wrote exactly between two lines of a record. A server
writes records of up to 4 KiB (PIPE_BUF) at once, and with logging_collector = on all of them.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from pgassay._core import ServerLogReader

PREFIXES = {
    "%m [%p] %q%u@%d ": "2026-11-23 01:29:{0:02d}.500 UTC [{1}] app@shop ",
    "%t:%r:%u@%d:[%p]:": "2026-11-23 01:29:{0:02d} UTC:10.0.0.5(49654):app@shop:[{1}]:",
    "%5p <%m> ": "{1:>5} <2026-11-23 01:29:{0:02d}.500 UTC> ",
    "%t %c ": "2026-11-23 01:29:{0:02d} UTC 65f1.{1} ",
}
LINES = (
    "DELETE FROM orders", "WHERE id = 42", "  AND state = 1", "", "\tAND b = 'x", "y'", "-- a note", "(", ")",
    "SELECT 1",
    "LOG:  none", "2026-11-23 01:29:46.500 UTC [7] app@shop LOG:  statement: none", "ERROR:  x", "; DELETE FROM t", "é",
)  # fmt: skip
HEADS = ("statement: ", "duration: 1.500 ms  statement: ", "duration: 1.500 ms  execute s1: ", "execute <unnamed>: ")


@st.composite
def statements(draw: st.DrawFn) -> list[str]:
    """Texts of which none begins another: each ends with its number."""
    found = draw(st.lists(st.lists(st.sampled_from(LINES), min_size=1, max_size=4), min_size=1, max_size=6))
    return ["\n".join((f"SELECT {n}, 'a", *lines, f"end{n}")) for n, lines in enumerate(found)]


def messages(prefix: str, texts: Sequence[str], draw: st.DataObject) -> list[str]:
    """Each as the server writes it, in one piece."""
    found = []
    for n, text in enumerate(texts):
        head = PREFIXES[prefix].format(n % 60, 70 + draw.draw(st.integers(0, 2)))
        what = draw.draw(st.sampled_from(HEADS))
        found.append(f"{head}LOG:  {what}{text}\n".replace("\n", "\n\t").removesuffix("\t"))
        more = draw.draw(
            st.sampled_from(["", "ERROR:  no", "DETAIL:  Parameters: $1 = 'a\nb'", "LOG:  duration: 2.0 ms"])
        )
        found.append(f"{head}{more}\n".replace("\n", "\n\t").removesuffix("\t") if more else "")
        if more.startswith("ERROR"):
            found.append(f"{head}STATEMENT:  {text}\n".replace("\n", "\n\t").removesuffix("\t"))
    return found


def require_whole(logs: Sequence[str], prefix: str, texts: Sequence[str]) -> int:
    """How many statements were read; none is the beginning of one that was logged, however blanks are written."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"{n}.log") for n in range(len(logs))]
        for path, log in zip(paths, logs, strict=True):
            path.write_text(log, encoding="utf-8", newline="")
        found = [event[5] for event in ServerLogReader(paths, [prefix]) if event[5]]
    whole = {_plain(each) for each in texts}
    for each in map(_plain, found):
        assert each in whole or not any(text.startswith(each) for text in whole), each
    return len(found)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@given(st.sampled_from(list(PREFIXES)), statements(), st.data())
def test_a_cut_log(prefix: str, texts: list[str], data: st.DataObject) -> None:
    log = "".join(messages(prefix, texts, data))
    places = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=4)))
    pieces = [log[start:end] for start, end in zip([0, *places], [*places, len(log)], strict=True)]
    kept: list[bool] = data.draw(st.lists(st.booleans(), min_size=len(pieces), max_size=len(pieces)))
    require_whole([each for each, is_kept in zip(pieces, kept, strict=True) if is_kept], prefix, texts)


@given(st.sampled_from(list(PREFIXES)), statements(), st.data())
def test_an_interleaved_log(prefix: str, texts: list[str], data: st.DataObject) -> None:
    log = ""
    waiting: list[str] = []
    for each in messages(prefix, texts, data):
        goes_on: bool = data.draw(st.booleans())
        log += waiting.pop() if waiting and goes_on else ""
        places = [at for at in range(1, len(each)) if each[at - 1] != "\n"]
        at: int = data.draw(st.sampled_from([len(each), *places]))
        log += each[:at]
        waiting += [each[at:]] if at < len(each) else []
    require_whole([log + "".join(reversed(waiting))], prefix, texts)


WRAPPED = st.sampled_from(["        ", "    ", " ", "", "\t\t", "  \t"])


@given(st.sampled_from(list(PREFIXES)), statements(), WRAPPED, st.sampled_from(["\n", "\r\n"]), st.data())
def test_a_log_with_other_blanks(prefix: str, texts: list[str], blanks: str, newline: str, data: st.DataObject) -> None:
    log = "".join(messages(prefix, texts, data)).replace("\t", blanks)
    if not blanks:  # else a line of a statement may be what it looks like
        log = log.replace("2026-11-23 01:29:46.500 UTC [7] app@shop LOG:  statement: none", "x").replace(
            "LOG:  none", "x"
        )
        texts = [each.replace(LINES[11], "x").replace("LOG:  none", "x") for each in texts]
    read = require_whole([log.replace("\n", newline)], prefix, texts)
    assert read or len(texts) < 2 or blanks in ("", "  \t") or any(":  " in each for each in texts)


@given(st.sampled_from(list(PREFIXES)), statements(), st.integers(20, 200), st.data())
def test_a_folded_log(prefix: str, texts: list[str], width: int, data: st.DataObject) -> None:
    lines = "".join(messages(prefix, texts, data)).splitlines()
    folded = [line[at : at + width] for line in lines for at in range(0, max(1, len(line)), width)]
    require_whole(["\n".join(folded) + "\n"], prefix, texts)
