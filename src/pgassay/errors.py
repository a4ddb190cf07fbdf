"""The root of every error that a user may see, in PostgreSQL's manner: what is wrong, and what helps.

Messages are lower case and end without a full stop; see the PostgreSQL manual, "Error Message Style Guide". The texts
themselves stand where they are raised; this module only gives them one shape.
"""

from collections.abc import Iterable


class PgassayError(Exception):
    """Something that stops the command: exit status 2, `pgassay: error: message` and, if known, `hint: …`."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class RunStoppedError(PgassayError):
    """A run stopped for a fault that is not a treatment's; its committed trials stay, and it can be resumed."""


class UsageError(PgassayError):
    """The user's words are at fault: an option, a study file, a level."""


def near(word: str, words: Iterable[str], alike: float = 0.6) -> str | None:
    """The most similar word, for "did you mean"; None if nothing is as much `alike` (0 to 1)."""
    from difflib import get_close_matches  # takes 7 ms, which programs that print no hint need not spend

    found = get_close_matches(word, list(words), n=1, cutoff=alike)
    return found[0] if found else None


def did_you_mean(word: str, words: Iterable[str], otherwise: str | None = None, alike: float = 0.6) -> str | None:
    """A hint for a mistyped word: the most similar of the known ones, or what else helps."""
    found = near(word, words, alike)
    return f'did you mean "{found}"?' if found else otherwise
