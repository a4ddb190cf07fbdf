r"""A kind of transaction of the log as one pgbench script: BEGIN, its statements with the client's pauses, END; pure.

The values of one transaction belong together. Where the capture has samples of whole transactions, one of them is
played; else each value is drawn as for a statement alone, and parameters that were equal in the source's transactions
(the customer's number in two statements) are drawn once. A new key is new, and goes to all places that shared it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from pgassay.capture import draws
from pgassay.capture.format import Capture, Statement, Transaction
from pgassay.capture.parameters import Parsed, Role
from pgassay.capture.scripts import CannotDrawError, StatementValues, body, prepared, said, said_of

PAUSE_US_LEAST, PAUSE_US_MOST = 50, 1_000_000
"""Shorter pauses are the way to the server and back, which is played anyway; a longer one would outlast a window."""


@dataclass
class _Part:
    """One statement of it."""

    statement: Statement
    parsed: Parsed
    values: StatementValues

    def type_of(self, number: int) -> str | None:
        """The column's type of a parameter that may share its value; None for limits, ranges and unknown ones."""
        use = self.parsed.uses.get(number)
        fits = (
            use is not None and use.role in (Role.EQUAL, Role.OTHER, Role.ASSIGNED) and number not in self.parsed.lists
        )
        return use.column.type if fits and use is not None and use.column is not None else None


def pause_us(kind: Transaction) -> int:
    """The client's mean pause before each statement and the end, as it is played."""
    ended = kind.commits + kind.rollbacks
    mean_us = kind.pause_ms * 1e3 / (ended * (len(kind.statements) + 1)) if ended else 0.0
    return min(PAUSE_US_MOST, round(mean_us)) if mean_us >= PAUSE_US_LEAST else 0


def script(
    capture: Capture, kind: Transaction, known: Mapping[int, Statement], random: Random, *, rolls_back: bool = False
) -> str:
    """The script; raises `CannotDrawError` where one of its statements cannot be played."""
    parts = []
    for n, query_id in enumerate(kind.statements):
        statement = known[query_id]
        observed = tuple(values[n] for values in kind.parameters)
        given = replace(statement, parameters=observed or statement.parameters)
        try:
            parsed, values = prepared(capture, given, random, f"s{n + 1}_p")
        except CannotDrawError as error:
            raise CannotDrawError(f"of its statement {n + 1}: {error}") from None
        parts.append(_Part(statement, parsed, values))
    for group in kind.shared:
        _share(parts, group)
    ended = kind.commits + kind.rollbacks
    head = [f"-- {len(parts)} statements in one transaction, {ended} in the log"]
    for n, part in enumerate(parts, start=1):
        head += [f"-- {n}: {said_of(part.statement)}", *said(part.values)]
    lines = [line for part in parts for line in part.values.lines]
    counts = sorted({len(part.values.tuples) for part in parts if part.values.tuples})
    lines += [f"\\set chosen_{count} random(1, {count})" for count in counts]
    pause = [f"\\sleep {pause_us(kind)} us"] if pause_us(kind) else []
    sent = [
        line
        for part in parts
        for line in (*pause, *body(part.parsed, part.values, f"chosen_{len(part.values.tuples)}"))
    ]
    return "\n".join([*head, *lines, "BEGIN;", *sent, *pause, "ROLLBACK;" if rolls_back else "END;"]) + "\n"


def _share(parts: Sequence[_Part], group: Sequence[tuple[int, int]]) -> None:
    """Give all parameters of a group the value of one of them: a new key, else one that is drawn each time."""
    members = [(n, number) for n, number in group if n < len(parts) and parts[n].type_of(number) is not None]
    if len(members) < 2:
        return
    leader = min(members, key=lambda member: _rank(parts[member[0]].values, member[1]))
    source, number = parts[leader[0]], leader[1]
    for n, other in members:
        part = parts[n]
        alike = {source.type_of(number), part.type_of(other)}
        if (n, other) != leader and (len(alike) == 1 or alike <= set(draws.INTEGERS)):
            _take(part.values, other, source.values, number, f"the same as ${number} of statement {leader[0] + 1}")


def _rank(values: StatementValues, number: int) -> int:
    drawn_by_us = values.inline.get(number, "").startswith("(:")
    return 0 if drawn_by_us and number in values.fresh else 1 if drawn_by_us else 2


def _take(mine: StatementValues, number: int, theirs: StatementValues, other: int, how: str) -> None:
    inline = theirs.inline.get(other, "")
    if inline.startswith("(:"):
        mine.inline[number] = inline
        mine.tuples = [each for kept in mine.tuples if (each := {n: v for n, v in kept.items() if n != number})]
    elif theirs.tuples and other in theirs.tuples[0] and len(mine.tuples) in (0, len(theirs.tuples)):
        mine.inline.pop(number, None)
        own = mine.tuples or [{} for _ in theirs.tuples]
        mine.tuples = [{**kept, number: each[other]} for kept, each in zip(own, theirs.tuples, strict=True)]
    else:
        return  # a text that the server makes again each time: nothing here knows it
    name = mine.name(number)
    mine.lines = [line for line in mine.lines if line.split()[1] != name and not line.split()[1].startswith(f"{name}_")]
    mine.said[number] = how
