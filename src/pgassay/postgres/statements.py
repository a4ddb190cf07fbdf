"""A script of SQL as its statements, as psql splits it: each can then be sent by itself; pure.

Several statements in one query are one transaction for the server, and VACUUM, REINDEX CONCURRENTLY and CREATE INDEX
CONCURRENTLY refuse to run in one (manual, "Multiple Statements in a Simple Query"). A semicolon does not end a
statement within quotes, dollar quotes, comments, parentheses, and the body of a function that is written in SQL
(`BEGIN ATOMIC … END`).
"""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*)"
    r"|(?P<quoted>[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)|'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z))"
    r"|(?P<dollar>\$(?:[^\W\d]\w*)?\$)"
    r"|(?P<word>[^\W\d][\w$]*)"
    r"|(?P<mark>[();])"
    r"|(?P<other>\d[\w$]*|\s+|.)",
    re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_ROUTINE = re.compile(r"create (?:or replace )?(?:function|procedure)\b")
_FIRST_WORDS = 4


def statements(script: str) -> tuple[str, ...]:
    """The statements in order, without the semicolons between them; what is not closed is part of the last one."""
    return tuple(text for text, told in _pieces(script) if told)


def _pieces(script: str) -> Iterator[tuple[str, bool]]:
    """Each piece between semicolons, and whether it holds more than blanks and comments."""
    began = at = parentheses = blocks = 0
    words: list[str] = []
    told = False
    while at < len(script):
        token = _TOKEN.match(script, at)
        if token is None:  # cannot be: any character is a token
            break
        kind, text = token.lastgroup, token.group()
        at = token.end()
        if kind == "comment":
            at = _comment_end(script, at) if text == "/*" else at
        elif kind == "dollar":
            end = script.find(text, at)
            at, told = len(script) if end < 0 else end + len(text), True
        elif text == ";" and parentheses <= 0 and blocks <= 0:
            yield script[began : token.start()].strip(), told
            began, parentheses, blocks, words, told = at, 0, 0, [], False
        else:
            told = told or not text.isspace()
            parentheses += (text == "(") - (text == ")")
            if kind == "word":
                word = text.lower()
                words += [word] if len(words) < _FIRST_WORDS else []
                if _ROUTINE.match(" ".join(words)):
                    blocks += (word in ("begin", "case")) - (word == "end" and blocks > 0)
    yield script[began:].strip(), told


def _comment_end(script: str, at: int) -> int:
    """Behind a comment that begins before `at`; they nest."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(script, at):
        depth += 1 if edge.group() == "/*" else -1
        if not depth:
            return edge.end()
    return len(script)
