"""What must not leave the server: literals in the texts of statements, and what looks like a secret.

pg_stat_statements puts `$1` for the constants of queries, but keeps utility statements as they were written (before 16
all of them: `ALTER ROLE … PASSWORD '…'`), and now and then a query whose entry was evicted while it ran. So every text
loses its quoted strings and comments, a utility statement keeps only its first words, and what still looks like a
secret is left out whole and named.
"""

import re

_QUOTED = re.compile(
    r"""
      /\*.*?\*/                         # a comment, which may hold what the application adds
    | --[^\n]*
    | "(?:[^"]|"")*"                    # a quoted name stays
    | \$(?P<tag>[A-Za-z_]*)\$.*?\$(?P=tag)\$
    | [eE]'(?:[^'\\]|\\.|'')*'
    | '(?:[^']|'')*'
    """,
    re.VERBOSE | re.DOTALL,
)
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
SQUASHED = "/*, ... */"
"""What pg_stat_statements writes since version 18 for all but the first constant of a list: `IN ($1 /*, ... */)`."""
STRIPPED = "'<literal>'"
"""What stands in a statement for a quoted string that was removed; a statement that has one cannot be played."""


def without_literals(text: str) -> str:
    """The statement without quoted strings (then `STRIPPED`) and comments; of a utility statement the first words."""
    words = _QUOTED.sub(_replaced, text).split()
    bare = " ".join(words)
    return bare if is_query(bare) else " ".join(words[:UTILITY_WORDS])


def is_query(text: str) -> bool:
    """Is it a statement whose constants pg_stat_statements replaces: a query or a change of rows?"""
    return _QUERY.match(text) is not None


def _replaced(match: re.Match[str]) -> str:
    found = match.group()
    if found.startswith('"'):
        return found
    if found == SQUASHED:
        return found
    return " " if found.startswith(("/*", "--")) else found if found == "''" else STRIPPED


def secret_in(text: str) -> str | None:
    """What the text seems to hold, in words; None if nothing."""
    return next((what for what, pattern in _SECRETS if pattern.search(text)), None)


def private_name(column: str) -> bool:
    """Does the name of a column say that its values are secrets or identify a person's accounts?"""
    return _PRIVATE_NAME.search(column) is not None
