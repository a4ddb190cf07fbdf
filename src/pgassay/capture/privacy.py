"""What must not leave the server: literals in the texts of statements, and what looks like a secret.

pg_stat_statements puts `$1` for the constants of queries, but keeps utility statements as they were written (before 16
all of them: `ALTER ROLE … PASSWORD '…'`), and a query as it was written whose entry is reset or evicted while it runs.
So every query is normalised here again, by PostgreSQL's own parser (pglast, the extra `capture`), and loses its
comments; of a utility statement its first keywords are kept. What cannot be parsed, names that look like data, and what
still looks like a secret are left out whole.
"""

import re
from collections.abc import Collection
from itertools import takewhile
from typing import Any

from pgassay.errors import PgassayError
from pgassay.plugins import install_command

_CONSTANTS = frozenset(("ICONST", "FCONST", "SCONST", "BCONST", "XCONST", "USCONST"))
_COMMENTS = ("C_COMMENT", "SQL_COMMENT")
_POSITION_DIGITS = 4
"""The most of a number that is no constant: `ORDER BY 2`, `numeric(10, 2)`."""
_DATA_DIGITS = 5
_ADDRESS = re.compile(r"\w@\w")
"""As many in a name that no table, column or schema has are a value: `AS "4111 1111 1111 1111"`."""
_QUERY = re.compile(r"^[\s(]*(select|insert|update|delete|merge|with|values|table)\b", re.IGNORECASE)
_SECRETS = (
    ("a password", re.compile(r"\bpassw(or)?d\b\s*[=:']|://[^\s/:@]+:[^\s@]+@", re.IGNORECASE)),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*KEY-----")),
    ("an access key", re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b|\bsk_live_\w{16,}")),
    ("a token", re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}")),
)
_PRIVATE_NAME = re.compile(
    r"passw|secret|token|api_?key|private_?key|\bssn\b|iban|credit_?card|card_?number", re.IGNORECASE
)
UTILITY_WORDS = 2
_NAME = "NO_KEYWORD"
SQUASHED = "/*, ... */"
"""What pg_stat_statements writes since version 18 for all but the first constant of a list: `IN ($1 /*, ... */)`."""
STRIPPED = "'<literal>'"
"""What stood for a quoted string in captures of pgassay until 2026-11; a statement that has one cannot be played."""


def require_parser() -> None:
    try:
        import pglast.parser  # noqa: F401
    except ImportError:
        raise PgassayError(
            "the parser of statements, pglast, is not installed",
            f"{install_command('capture')} (pglast is GPL-3.0-or-later)",
        ) from None


def without_literals(text: str, names: Collection[str] = ()) -> str | None:
    """The statement with `$n` for each constant and without comments; of a utility statement the first keywords.

    None where it cannot be parsed, or has a name that looks like a value; those in `names` are names in any case.
    Raises `PgassayError` where pglast is not installed.
    """
    require_parser()
    from pglast.parser import ParseError, normalize, scan

    try:
        bare = _without_comments(text, scan(text)).rstrip("; ")
        if not is_query(bare):
            words = takewhile(lambda each: each.kind != _NAME, scan(bare)[:UTILITY_WORDS])
            return " ".join(bare[each.start : each.end + 1] for each in words)
        found = normalize(bare)
        tokens = [(each.name, found[each.start : each.end + 1]) for each in scan(found)]
    except ParseError:
        return None
    has_value = any(_is_value(kind, word, names) for kind, word in tokens)
    return None if has_value or _ADDRESS.search(found) else found


def _without_comments(text: str, tokens: Collection[Any]) -> str:
    """With one blank where blanks or a comment stood."""
    whole, ended = "", None
    for token in tokens:
        word = text[token.start : token.end + 1]
        if token.name in _COMMENTS and word != SQUASHED:
            continue
        whole += ("" if ended is None or token.start == ended + 1 else " ") + word
        ended = token.end
    return whole


def _is_value(kind: str, word: str, names: Collection[str]) -> bool:
    if kind in _CONSTANTS:
        return not (kind == "ICONST" and word.isdecimal() and len(word) <= _POSITION_DIGITS)
    if kind == "UIDENT":
        return True  # its characters may be written by their numbers
    name = word[1:-1].replace('""', '"') if word.startswith('"') else word.lower()
    is_name = kind != "IDENT" or name in names
    return not is_name and sum(each.isdigit() for each in name) >= _DATA_DIGITS


def is_query(text: str) -> bool:
    """Is it a statement whose constants pg_stat_statements replaces: a query or a change of rows?"""
    return _QUERY.match(text) is not None


def secret_in(text: str) -> str | None:
    """What the text seems to hold, in words; None if nothing."""
    return next((what for what, pattern in _SECRETS if pattern.search(text)), None)


def private_name(column: str) -> bool:
    """Does the name of a column say that its values are secrets or identify a person's accounts?"""
    return _PRIVATE_NAME.search(column) is not None
