"""A captured server's log: what ran with which values, in which transactions, in addition to pg_stat_statements.

The Rust core reads it (docs/your-server.md). A statement is one of pg_stat_statements where both are the same
without their constants. Without that extension the log alone is the load, which says no rows, blocks and WAL. Entries
of auto_explain give values and nothing else: which calls have one is up to a threshold and to chance.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

import msgspec

from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Load, Logged, Statement, Transaction
from pgassay.capture.privacy import is_query, private_name, secret_in
from pgassay.errors import UsageError

DEFAULT_PREFIX = "%m [%p] "
"""PostgreSQL's own log_line_prefix where it was not changed."""
_ID_BYTES = 7
_HEAD_BYTES = 1 << 18

Values = tuple[str | None, ...]
Event = tuple[int, str, str, str, str, str, Sequence[str | None], float | None]
"""Time in us, session, database, user, kind, text, parameters, duration in ms: as the reader of logs has it."""


@dataclass(frozen=True)
class LogFiles:
    """The logs that a user names; without `prefixes` the server's own setting is taken.

    Each tells its format by its first lines, unless `log_format` names it.
    """

    paths: tuple[Path, ...]
    prefixes: tuple[str, ...] = ()
    log_format: str | None = None

    def check(self) -> None:
        """Raise `UsageError` for a file that is not there, and for a prefix or format that is not known."""
        from pgassay._core import ServerLogReader

        for path in self.paths:
            if not (path.is_file() or path.is_fifo()):
                raise UsageError(
                    f'"{path}" is not a file',
                    "--log reads files on this machine, compressed ones too, and pipes: copy the server's log",
                )
        try:
            ServerLogReader(list(self.paths), (), log_format=self.log_format)
        except ValueError as error:
            raise UsageError(str(error), "leave out --log-format: the first lines show the format") from None
        try:
            ServerLogReader(list(self.paths), self.prefixes)
        except ValueError as error:
            raise UsageError(str(error), "give the server's own setting: psql -Atc 'SHOW log_line_prefix'") from None


_UNTIMED = 0.1
"""A log in which a greater share of the calls has no duration does not say where the time went."""


@dataclass(frozen=True)
class LoggedStatement:
    """A statement without its constants; `timed` of its calls have a duration; `parameters` are a sample of values.

    These are auto_explain's where it is `planned`; `calls` is 0 for a statement that stands in its entries alone.
    """

    text: str
    calls: int
    timed: int
    exec_ms: float
    failed: int
    parameters: tuple[Values, ...]
    planned: bool = False


@dataclass(frozen=True)
class Summary:
    first_us: int | None
    last_us: int | None
    statements: tuple[LoggedStatement, ...]
    transactions: tuple[Transaction, ...]
    """Here `statements` are indexes of `Summary.statements`, not query ids."""
    other_calls: int
    other_transactions: int
    sessions: int
    sessions_most: int | None
    pauses: int
    pause_ms: float
    records: int
    unread: int
    foreign: int
    torn: int
    first_unread: str
    pauses_unknown: int = 0
    """Pauses at whose end the time has no part of a second: none of them is in `pauses` or in a transaction."""
    overlap: tuple[str, str] | None = None
    """The first log that begins before the other one ends."""
    wrapped: tuple[str, ...] = ()
    """What the logs were wrapped in."""
    doubtful: int = 0
    """Records with a statement or its values that may not be whole."""
    minutes: Mapping[int, int] = field(default_factory=dict)
    plans: int = 0
    """Entries of auto_explain; `plans_unread` more could not be read, of `plans` a value was cut in `plans_cut`, and
    for `other_plans` there was no room."""
    plans_unread: int = 0
    plans_cut: int = 0
    other_plans: int = 0

    @property
    def has_calls(self) -> bool:
        """Does it say how often a query ran?"""
        return any(each.calls and is_query(each.text) for each in self.statements)

    @property
    def window_s(self) -> float:
        """From the first event to the last, at least 1 s."""
        return max(1.0, ((self.last_us or 0) - (self.first_us or 0)) / 1e6)


@dataclass(frozen=True)
class _Owner:
    """The statement of the capture that one of the log is: `numbers` are its parameters' in the order of places."""

    query_id: int
    numbers: tuple[int | None, ...]

    def values(self, seen: Values) -> Values | None:
        """In the order of the numbers; None where they do not fit."""
        if len(seen) != len(self.numbers):
            return None
        by_number = {number: value for number, value in zip(self.numbers, seen, strict=True) if number}
        return tuple(by_number.get(number) for number in range(1, max(by_number, default=0) + 1))


_UNREAD = {
    "another program's JSON": re.compile(r"^\{.*\}?\s*$"),
    "a table that a log service exported": re.compile(r'^(?:"?[A-Za-z_]+"?,){2,}"?[A-Za-z_]+"?$'),
    "a copy in which runs of blanks are one": re.compile(r"\b(?:LOG|STATEMENT|ERROR|DETAIL): (?! )\S"),
}
"""What collectors make of a log that is not read, by its lines; in this order, as one may look like the next."""


def read(
    files: LogFiles,
    own_prefix: str,
    database: str,
    *,
    with_values: bool,
    on_event: Callable[[Event], object] | None = None,
) -> Summary:
    """Read the logs, once, since a pipe can be read no second time; `on_event` gets each event, too.

    Raises `CaptureError` for files that cannot be read and for logs without a statement. One with entries of
    auto_explain alone is read: it may have values for what pg_stat_statements counts.
    """
    prefixes = files.prefixes or (own_prefix,)
    summary = _summary(files.paths, prefixes, database, files.log_format, keep_values=with_values, on_event=on_event)
    _require_readable(summary, prefixes)
    if not (summary.has_calls or summary.plans or summary.plans_unread):
        raise CaptureError(
            "the log holds no statement of this database",
            "log_min_duration_statement = 0 logs all of them, with their parameters and durations",
        )
    return summary


def require_readable(files: LogFiles, own_prefix: str, database: str) -> None:
    """Raise `CaptureError` where no line can be read of a log's first bytes, before a window is spent on it.

    Pipes are left out, since they are read once.
    """
    prefixes = files.prefixes or (own_prefix,)
    for path in filter(Path.is_file, files.paths):
        _require_readable(_summary([path], prefixes, database, files.log_format, most_bytes=_HEAD_BYTES), prefixes)


def _summary(
    paths: Sequence[Path],
    prefixes: Sequence[str],
    database: str,
    log_format: str | None = None,
    *,
    keep_values: bool = False,
    on_event: Callable[[Event], object] | None = None,
    most_bytes: int | None = None,
) -> Summary:
    """Raise `CaptureError` for files that cannot be read, and a stderr log that lacks further lines of statements."""
    from pgassay._core import summarize_server_logs

    try:
        found = summarize_server_logs(
            list(paths),
            prefixes,
            log_format=log_format,
            database=database,
            keep_values=keep_values,
            beside=on_event,
            most_bytes=most_bytes,
        )
    except OSError as error:
        raise CaptureError(str(error), "--log reads files on this machine: copy the server's log whole") from None
    summary: Summary = msgspec.json.decode(found, type=Summary)
    return summary


def _require_readable(summary: Summary, prefixes: Sequence[str]) -> None:
    if summary.has_calls and not summary.first_us:
        raise CaptureError(
            "the log's lines have no time, so how often a statement ran cannot be known",
            "add %m to log_line_prefix (a reload suffices), and capture a log written since",
        )
    if summary.has_calls or summary.plans or summary.plans_unread:
        return
    if summary.foreign:
        raise CaptureError(
            "the log's messages are in a language that is not read",
            "set lc_messages = 'C' on the server (a reload suffices), and capture a log written since",
        )
    if summary.unread * 2 > summary.records:
        kind = next((kind for kind, sign in _UNREAD.items() if sign.search(summary.first_unread)), "")
        if kind:
            raise CaptureError(
                f"the log is {kind}, which is not read",
                "give the server's own log (log_destination = 'stderr', 'csvlog' or 'jsonlog'), as it wrote it",
            )
        raise CaptureError(
            f'the log\'s lines do not begin with log_line_prefix "{prefixes[0]}": {summary.first_unread}',
            "name the setting that it was written with by --log-line-prefix",
        )


def warnings_of(found: Summary, *, counted: bool = True, with_values: bool = True) -> Iterator[str]:
    """What could not be read or used; `counted` where pg_stat_statements says how often statements ran."""
    calls = sum(each.calls for each in found.statements)
    untimed = sum(max(0, each.calls - each.timed - each.failed) for each in found.statements)
    silent = found.plans and not (found.has_calls or with_values)
    uncounted = 0 if counted else sum(not each.calls for each in found.statements)
    warnings = (
        (
            found.unread,
            f"{found.unread} of {found.records} lines of the log could not be read; the first: {found.first_unread}",
        ),
        (
            found.foreign,
            f"{found.foreign} lines of the log seem to be statements in a language that is not read, and are left out",
        ),
        (
            found.doubtful,
            f"{found.doubtful} statements of the log may not be whole, and are left out: lines that seem to be of other"
            " programs or processes stand within them, or parts of them are missing; csvlog and jsonlog, or"
            " logging_collector = on, keep them apart",
        ),
        (
            found.torn,
            "the log's last record is left out, since it may not be whole: further lines would follow the end",
        ),
        (
            found.overlap,
            '"{}" begins before "{}" ends: what both contain counts twice'.format(*found.overlap or ("", "")),
        ),
        (
            untimed > _UNTIMED * calls,
            f"{untimed} of {calls} calls of the log have no duration, so neither their time nor the clients'"
            " pauses after them are known: log_min_duration_statement = 0 or log_duration = on logs durations; without"
            " pg_stat_statements a load without time is played by one client unless load.clients says otherwise",
        ),
        (
            found.pauses_unknown > found.pauses,
            "the log's times have whole seconds, so the clients' pauses are not known and not played; calls, durations"
            " and rates are as logged; with %m instead of %t in log_line_prefix pauses are known",
        ),
        (
            found.other_calls or found.other_transactions,
            f"{found.other_calls} calls and {found.other_transactions} transactions of the log are too rare or too long"
            " to be kept",
        ),
        (
            found.plans_unread,
            f"{found.plans_unread} entries of auto_explain are not used, because it is not certain where their"
            " statements end: auto_explain.log_format = json shows it",
        ),
        (
            found.plans_cut,
            f"{found.plans_cut} entries of auto_explain have a value that is cut, and are not used:"
            " auto_explain.log_parameter_max_length = -1 logs values whole",
        ),
        (
            found.other_plans,
            f"{found.other_plans} entries of auto_explain are not used: there is no room for their statements",
        ),
        (
            silent,
            "the log has entries of auto_explain and no call of a statement: only --with-literals keeps their values",
        ),
        (
            uncounted,
            f"{uncounted} statements are in entries of auto_explain alone and not part of the load, since these do"
            " not say how often a statement ran: log_min_duration_statement = 0 or pg_stat_statements does",
        ),
    )
    return (text for holds, text in warnings if holds)


def identifier(text: str) -> int:
    """Of a statement that only a log tells of, by its text without constants."""
    return int.from_bytes(blake2b(text.encode(), digest_size=_ID_BYTES).digest())


def load_of(found: Summary) -> Load:
    """The load by the logs alone; raises `CaptureError` where they have no call, but entries of auto_explain."""
    if not found.has_calls:
        raise CaptureError(
            "the log has entries of auto_explain and no call of a statement, and auto_explain alone does not"
            " say how often a statement ran",
            "log_min_duration_statement = 0 logs every call with its values and duration; or create pg_stat_statements,"
            " which counts the calls, and capture with the same log, which then gives the values",
        )
    from pgassay._core import normalize_statement

    ids = [identifier(each.text) for each in found.statements]
    statements = [
        Statement(query_id, each.text, each.calls, each.exec_ms, 0, parameters=_shown(each), logged_calls=each.calls)
        for query_id, each in zip(ids, found.statements, strict=True)
        if each.calls
    ]
    owners = [
        _Owner(query_id, tuple(range(1, 1 + len(normalize_statement(each.text)[1])))) if is_query(each.text) else None
        for query_id, each in zip(ids, found.statements, strict=True)
    ]
    ordered = sorted(statements, key=lambda each: (-each.exec_ms, -each.calls, each.query_id))
    planned = sum(len(_shown(each)) for each in found.statements if each.planned and each.calls)
    return Load(found.window_s, tuple(ordered), logged=_logged(found, owners), planned_values=planned)


def joined(load: Load, found: Summary) -> Load:
    """The load with the values and transactions that the logs show."""
    from pgassay._core import normalize_statement

    known: dict[str, _Owner] = {}
    for statement in load.statements:
        if is_query(statement.text):
            text, numbers = normalize_statement(statement.text)
            known.setdefault(text, _Owner(statement.query_id, tuple(numbers)))
    owners = [known.get(each.text) for each in found.statements]
    parameters: dict[int, tuple[Values, ...]] = {}
    calls: Counter[int] = Counter()
    planned = 0
    for seen, owner in zip(found.statements, owners, strict=True):
        if owner is not None:
            fitting = (owner.values(values) for values in _shown(seen))
            parameters[owner.query_id] = tuple(values for values in fitting if values is not None)
            calls[owner.query_id] += seen.calls
            planned += len(parameters[owner.query_id]) if seen.planned else 0
    statements = tuple(
        replace(each, parameters=parameters.get(each.query_id, ()), logged_calls=calls[each.query_id])
        for each in load.statements
    )
    logged = _logged(found, owners) if found.has_calls else None
    return replace(load, statements=statements, logged=logged, planned_values=planned)


def _shown(seen: LoggedStatement) -> tuple[Values, ...]:
    """The values; none where the statement names a column of secrets, and no tuple with a value that looks like one."""
    if private_name(seen.text):
        return ()
    return tuple(values for values in seen.parameters if not any(secret_in(value) for value in values if value))


def _logged(found: Summary, owners: Sequence[_Owner | None]) -> Logged:
    whole = [_transaction(each, found.statements, owners) for each in found.transactions]
    kept = [each for each in whole if each is not None]
    first = min(found.minutes, default=0)
    return Logged(
        window_s=found.window_s,
        calls=sum(each.calls for each in found.statements) + found.other_calls,
        calls_by_minute=tuple((minute - first, calls) for minute, calls in sorted(found.minutes.items())),
        processes=found.sessions,
        processes_most=found.sessions_most,
        pauses=found.pauses,
        pause_ms=found.pause_ms,
        transactions=tuple(sorted(kept, key=lambda each: (-each.commits, each.statements))),
        left_out=len(whole) - len(kept) + found.other_transactions,
        unread=found.unread,
    )


def _transaction(
    seen: Transaction, statements: Sequence[LoggedStatement], owners: Sequence[_Owner | None]
) -> Transaction | None:
    """None where one of its queries is not part of the capture; utility statements are left out of it."""
    places = [n for n, index in enumerate(seen.statements) if is_query(statements[index].text)]
    chosen = [owners[seen.statements[n]] for n in places]
    held = [each for each in chosen if each is not None]
    if not held or len(held) < len(chosen):
        return None
    private = any(private_name(statements[index].text) for index in seen.statements)
    tuples = []
    for values in () if private else seen.parameters:
        fitting = [owner.values(values[n]) for owner, n in zip(held, places, strict=True)]
        plain = [each for each in fitting if each is not None]
        if len(plain) == len(held) and not any(secret_in(value) for each in plain for value in each if value):
            tuples.append(tuple(plain))
    ids = tuple(each.query_id for each in held)
    shared = tuple(group for each in seen.shared if len(group := _numbers(each, places, held)) > 1)
    return Transaction(ids, seen.commits, seen.rollbacks, seen.pause_ms, tuple(tuples), shared)


def _numbers(
    group: Sequence[tuple[int, int]], places: Sequence[int], owners: Sequence[_Owner]
) -> tuple[tuple[int, int], ...]:
    """A group of places of the log as (query of the transaction, number of its parameter); constants have none."""
    order = {place: n for n, place in enumerate(places)}
    found = []
    for place, at in group:
        numbers = owners[order[place]].numbers if place in order else ()
        number = numbers[at] if at < len(numbers) else None
        if number:
            found.append((order[place], number))
    return tuple(found)
