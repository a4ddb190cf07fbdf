"""Logs as PostgreSQL writes them, line by line, for tests that play them again."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

PREFIX = "%m [%c] "
BEGAN = datetime(2026, 11, 23, 1, 29, 40, tzinfo=UTC)
SCHEMA = """CREATE TABLE sums (customer int PRIMARY KEY, amount int);
INSERT INTO sums SELECT n, 0 FROM generate_series(1, 100) n;
CREATE TABLE orders (number int PRIMARY KEY);
"""


@dataclass(frozen=True)
class Said:
    """A message that the server writes so many seconds after the log's first one."""

    at_s: float
    session: str
    message: str


def statement(at_s: float, session: str, text: str, duration_ms: float = 1.0) -> Said:
    """A statement that begins at `at_s`: its line is written at its end."""
    return Said(at_s + duration_ms / 1e3, session, f"LOG:  duration: {duration_ms:.3f} ms  statement: {text}")


def name_of(session: int) -> str:
    """As `%c` has it: when it began and its process, in hexadecimal."""
    return f"6922aa40.{1000 + session:x}"


def sums(sessions: int, length_s: float, turns: int = 50) -> list[Said]:
    """Sessions that pay in, an update and a query at a time, with a new order each; in the first half of the time."""
    said = []
    for session in range(sessions):
        for turn in range(turns):
            at_s, name = turn * length_s * 0.5 / turns, name_of(session)
            customer = 1 + (turn + 7 * session) % 100
            said += [
                statement(at_s, name, "BEGIN", 0.1),
                statement(at_s + 0.001, name, f"UPDATE sums SET amount = amount + 1 WHERE customer = {customer}"),
                statement(at_s + 0.003, name, f"INSERT INTO orders VALUES ({session * 1_000_000 + turn})"),
                statement(at_s + 0.005, name, "COMMIT", 0.1),
            ]
        said.append(statement(length_s, name_of(session), "SELECT 1"))
    return said


def write(path: Path, said: Iterable[Said]) -> Path:
    """The log, in the order in which its lines were written; the last is no statement, which might go on."""
    ordered = sorted(said, key=lambda each: each.at_s)
    goes_on = Said(ordered[-1].at_s, "6922aa40.1", "LOG:  checkpoint starting: time")
    lines = [_line(each) for each in (*ordered, goes_on)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _line(said: Said) -> str:
    at = BEGAN + timedelta(seconds=said.at_s)
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC [{said.session}] {said.message}\n"
