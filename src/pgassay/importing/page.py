"""A Markdown or HTML page with results in it: each of its fenced or preformatted parts as a text of its own.

Markdown's fences are those of CommonMark 0.31, section 4.5; HTML's parts are `<pre>`, with character references
decoded and tags taken off. What a run under another heading measured, only the heading says: so a heading tells runs
apart as a file's name does, but for the number of a repetition in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`]*$")
_HEADING = re.compile(r" {0,3}#{1,6} +(.*?)(?: +#+)?\s*$")
_PRE = re.compile(r"<pre[\s>]", re.IGNORECASE)
_PAGE_MOST = 4 * 2**20
"""Characters of a page: html.parser of some versions takes a time that grows with the square of a broken one."""
_REPETITION = re.compile(r"\W*\b(?:run|rep|repetition|iteration|round|block|attempt)\W*\d+\W*$", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """A part that begins at `line` of its page (from 1), under the heading above it; empty where there is none."""

    line: int
    heading: str
    text: str


def parts_of(text: str) -> tuple[Part, ...]:
    """The parts of a page in their order; none of a text that is no page."""
    if len(text) > _PAGE_MOST:
        return ()
    begin = _PRE.search(text)
    if begin and "</pre" in text[begin.end() :].lower():
        parser = _Parser()
        parser.feed(text)
        return tuple(parser.parts)
    return tuple(_fenced(text)) if "```" in text or "~~~" in text else ()


def _fenced(text: str) -> Iterator[Part]:
    """A fence that nobody closes ends with its page."""
    heading, fence, begin = "", "", 0
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and line.strip() == found[1]:
                yield Part(begin, heading, "\n".join([*inside, ""]))
                fence = ""
            else:
                inside.append(line)
        elif found:
            fence, begin, inside = found[1], number + 1, []
        elif title := _HEADING.match(line):
            heading = _title(title[1])
    if fence:
        yield Part(begin, heading, "\n".join([*inside, ""]))


def _title(text: str) -> str:
    return _REPETITION.sub("", " ".join(text.split()))


class _Parser(HTMLParser):
    """Gathers the text of `<pre>` and of the heading before."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[Part] = []
        self._heading = ""
        self._begin = 0
        self._within = ""
        self._data: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._within and (tag == "pre" or re.fullmatch("h[1-6]", tag)):
            self._within, self._begin, self._data = tag, self.getpos()[0], []
        elif tag == "br":
            self._data.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag != self._within:
            return
        text, self._within = "".join(self._data), ""
        if tag == "pre":
            self.parts.append(Part(self._begin, self._heading, text + "\n"))
        else:
            self._heading = _title(text)

    def handle_data(self, data: str) -> None:
        if self._within:
            self._data.append(data)
