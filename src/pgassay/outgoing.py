"""Text on its way out: nothing in it moves a cursor, rings, hides, reorders what is read, or runs in a spreadsheet.

Titles, levels, names of files and messages of servers come from others. What a terminal or a reader would obey instead
of show (Unicode's control and format characters, and those that it calls ignorable by default) becomes `\\u001b`, the
form of JSON, so that a JSON document stays the same document. See Unicode Standard Annex 9 and Technical Report 36
("Bidirectional Text Spoofing"), and OWASP's "CSV Injection".
"""

import codecs
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO, cast

_OBEYED = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\xad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u115f\\u1160"
    "\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ud800-\\udfff\\ufe00-\\ufe0f"
    "\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\U000110bd\\U000110cd\\U00013430-\\U0001343f\\U0001bca0-\\U0001bca3"
    "\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]"
)
"""Categories Cc, Cf, Cs, Zl and Zp, what is Default_Ignorable_Code_Point, and what XML cannot hold."""
_MEASURED = re.compile(r"[+-]\d[\d.,]*(e[+-]?\d+)?([ %]([\w.,%µ/ \[\]±×]|[+-](?=\d))*)?", re.IGNORECASE)
"""A number with its sign, and perhaps its unit and interval: nothing that could be called, nor a name before it."""
_ERRORS = "pgassay.outgoing"
_SIGNS = {
    "…": "...", "–": "-", "−": "-", "→": "->", "×": "x", "÷": "/", "±": "+-", "µ": "u", "·": ".", "≥": ">=", "≤": "<=",
}  # fmt: skip
"""What our own texts have, for a terminal that cannot show it."""


def visible(text: str, keep: str = "\n\t") -> str:
    """The text with what would be obeyed in a form that is seen; `keep` are characters that the layout owns."""
    return _OBEYED.sub(lambda found: found[0] if found[0] in keep else _escaped(found[0]), text)


def lines(texts: Iterable[str]) -> str:
    """A line each, with its end: a text from outside cannot begin a line of its own."""
    return "".join(f"{visible(text, keep='')}\n" for text in texts)


def values(value: Any) -> Any:
    """Mappings and lists of JSON with every text in them made visible, keys too: for what a page draws."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {values(name): values(each) for name, each in value.items()}
    return [values(each) for each in value] if isinstance(value, list | tuple) else value


def in_ascii(document: str) -> str:
    """A JSON document with everything else than ASCII escaped, DEL too: the same data, and harmless on a terminal."""
    return re.sub(r"[^\n -~]", lambda found: _escaped(found[0]), document)


def cell(value: Any) -> Any:
    """A value for a cell of CSV: texts that a spreadsheet would take for a formula begin with an apostrophe.

    Numbers stay, also as text and with a unit behind them. See OWASP's "CSV Injection".
    """
    if not isinstance(value, str):
        return value
    text = visible(value, keep="\n")
    first = unicodedata.normalize("NFKC", text.lstrip()[:1])
    return f"'{text}" if first and first in "=+-@" and not _MEASURED.fullmatch(text) else text


def cells(rows: Iterable[Iterable[Any]]) -> Iterator[list[Any]]:
    """Rows of a table as CSV may have them."""
    return ([cell(value) for value in row] for row in rows)


def _escaped(character: str) -> str:
    code = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code[place : place + 4]}" for place in range(0, len(code), 4))


class Output:
    """A stream that shows what it is given; `control` writes what the terminal is to obey."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(visible(text))
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def control(stream: TextIO, sequence: str) -> None:
    """Write a control sequence of our own, such as a colour."""
    plain(stream).write(sequence)


def plain(stream: TextIO) -> TextIO:
    """The stream below: for a library that draws by itself, and is given visible text."""
    return stream._stream if isinstance(stream, Output) else stream


def guard() -> None:
    """Let this process's output show what it is given, in any encoding; where it has no output, nothing."""
    codecs.register_error(_ERRORS, _without_signs)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None:
            stream.reconfigure(errors=_ERRORS)
            setattr(sys, name, cast("TextIO", Output(stream)))


def _without_signs(error: UnicodeError) -> tuple[str, int]:
    """What a terminal's encoding lacks, in ASCII."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_SIGNS.get(each) or _escaped(each) for each in lost), error.end
