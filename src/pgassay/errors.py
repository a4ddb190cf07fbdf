"""The root of every error that a user may see, in PostgreSQL's manner: what is wrong, and what helps.

Messages are lower case and end without a full stop; see the PostgreSQL manual, "Error Message Style Guide". The texts
themselves live with their layer (`messages.py`); this module only gives them one shape.
"""


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
