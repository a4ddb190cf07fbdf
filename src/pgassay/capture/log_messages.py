"""What `capture` says of a server's log: what cannot be read, what was left out, what to switch on."""

from pathlib import Path

from pgassay.capture.messages import CaptureError
from pgassay.errors import UsageError


def no_log(path: Path) -> UsageError:
    """`--log` names no file."""
    return UsageError(
        f'"{path}" is no file',
        "--log reads files on this machine and pipes: copy the server's log; a packed one as <(zcat FILE)",
    )


def not_a_prefix(why: str) -> UsageError:
    """A prefix with an unknown escape."""
    return UsageError(why, "give the server's own setting: psql -Atc 'SHOW log_line_prefix'")


def unreadable_log(detail: str) -> CaptureError:
    """A log that cannot be read."""
    return CaptureError(detail, "--log reads files on this machine: copy the server's log, unpacked and whole")


def log_in_another_language() -> CaptureError:
    """No English message, but others that look like statements."""
    return CaptureError(
        "the log's messages are not in English, so its statements cannot be read",
        "set lc_messages = 'C' on the server (a reload suffices), and capture a log written since",
    )


def log_with_another_prefix(prefix: str, line: str) -> CaptureError:
    """Most lines have another prefix."""
    return CaptureError(
        f'the log\'s lines do not begin with log_line_prefix "{prefix}": {line}',
        "name the setting that it was written with by --log-line-prefix",
    )


def log_without_statements() -> CaptureError:
    """The log holds no statement of this database."""
    return CaptureError(
        "the log holds no statement of this database",
        "log_min_duration_statement = 0 logs all of them, with their parameters and durations",
    )


def plans_alone() -> CaptureError:
    """No pg_stat_statements, and a log of auto_explain."""
    return CaptureError(
        "the log has entries of auto_explain and no call of a statement, and auto_explain alone does not say how often"
        " a statement ran",
        "log_min_duration_statement = 0 logs every call with its values and duration; or create pg_stat_statements,"
        " which counts the calls, and capture with the same log, which then gives the values",
    )


def log_without_times() -> CaptureError:
    """A prefix without a time."""
    return CaptureError(
        "the log's lines tell no time, so how often a statement ran cannot be known",
        "add %m to log_line_prefix (a reload suffices), and capture a log written since",
    )


def unread_lines(count: int, records: int, first: str) -> str:
    """A warning: lines of the log that were not understood."""
    return f"{count} of {records} lines of the log could not be read; the first: {first}"


def foreign_lines(count: int) -> str:
    """A warning: some of the log is in another language."""
    return f"{count} lines of the log seem to be statements in another language than English, and are left out"


def log_without_durations(count: int, calls: int) -> str:
    """A warning: a log of log_statement alone."""
    return (
        f"{count} of {calls} calls of the log have no duration, so it tells neither their time nor the clients' pauses"
        " behind them: log_min_duration_statement = 0 or log_duration = on logs durations; without pg_stat_statements"
        " a load without time is played by one client unless load.clients says otherwise"
    )


def torn_log() -> str:
    """A warning: a log that was cut off or is still written."""
    return "the log's last record is left out, since it may not be whole: its further lines would stand behind the end"


def beyond_bounds(calls: int, transactions: int) -> str:
    """A warning: more kinds than the reader keeps."""
    return f"{calls} calls and {transactions} transactions of the log are too rare or too long to be kept"


def unread_plans(count: int) -> str:
    """A warning: entries of auto_explain of which we do not know where the statement ends."""
    return (
        f"{count} entries of auto_explain are not used, since it cannot be told for sure where their statements end:"
        " auto_explain.log_format = json says it"
    )


def cut_plans(count: int) -> str:
    """A warning: entries of auto_explain with shortened values."""
    return (
        f"{count} entries of auto_explain have a value that is cut, and are not used:"
        " auto_explain.log_parameter_max_length = -1 logs values whole"
    )


def plans_beyond_bounds(count: int) -> str:
    """A warning: more statements in auto_explain's entries than the reader keeps."""
    return f"{count} entries of auto_explain are of statements for which there is no room, and are not used"


def plans_without_values() -> str:
    """A warning: a log that gives values alone, which are not kept."""
    return (
        "the log has entries of auto_explain and no call of a statement: they give values and nothing else, which"
        " --with-literals keeps"
    )


def uncounted_plans(count: int) -> str:
    """A warning: statements that only auto_explain reports."""
    return (
        f"{count} statements stand in entries of auto_explain alone and are no part of the load, since these do not say"
        " how often a statement ran: log_min_duration_statement = 0 or pg_stat_statements does"
    )
