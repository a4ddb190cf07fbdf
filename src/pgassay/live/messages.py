"""What the live pages refuse, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from collections.abc import Sequence
from pathlib import Path

from pgassay.errors import PgassayError, UsageError
from pgassay.report import words


def port_in_use(port: int) -> PgassayError:
    """Another program listens there, perhaps another `pgassay serve`."""
    return PgassayError(
        f"port {port} of 127.0.0.1 is in use", "name another one with --port, or --port 0 for any that is free"
    )


def port_refused(port: int, reason: str) -> PgassayError:
    """The system does not let us listen there."""
    return PgassayError(
        f"could not listen on port {port} of 127.0.0.1: {reason}", "name another one above 1023 with --port"
    )


def no_directory(path: Path) -> UsageError:
    """Nothing is below what does not exist."""
    return UsageError(f'directory "{path}" does not exist', "name the directory that runs are below")


def not_kept(path: Path, reason: str) -> PgassayError:
    """The index cannot be kept where it belongs."""
    return PgassayError(f'could not keep the index of runs in "{path}": {reason}', "set XDG_CACHE_HOME")


def report_failed(error: Exception) -> str:
    """A record that no report can be made of, though it can be opened."""
    return f"no report can be made of this run: {type(error).__name__}: {error}"


def no_verdict_yet(first: int, whole: int) -> str:
    """Below the first look."""
    return f"no verdict before block {first}: {words.counted(whole, 'whole block')} so far"


def playing(block: int, arms: Sequence[str]) -> str:
    """What runs now."""
    return f"block {block}: {', '.join(arms)}"


def not_stopped(reason: str) -> PgassayError:
    """The runner could not be told."""
    return PgassayError(f"the run could not be stopped: {reason}", "Ctrl-C in its terminal stops it")


NOTHING_YET = "Nothing has been measured yet"
PREPARING = "preparing"
NOT_RUNNING = "this run does not run now, so there is nothing to stop"
NO_TOKEN = "open the address that pgassay printed: it ends with a token"
FOREIGN_HOST = "this server answers to 127.0.0.1 and localhost alone"
FOREIGN_ORIGIN = "another site asked for this page"
NO_SUCH_PAGE = "there is no such page"
GONE = "there is no such run any more"
NO_SUCH_FILE = "the run has no such file"
TWO_RUNS = "mark two runs to see them side by side"
"""What a browser is told, as a sentence of its page."""
