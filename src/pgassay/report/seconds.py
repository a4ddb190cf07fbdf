"""The trials' series as a report asks for them: what cannot be read is left out, and said.

A trial's result does not hang on its series, so one that is cut or missing takes nothing from a verdict; but a line
missing from a figure, or a course that nobody knows, has to be told.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from pgassay.record.reading import Run
from pgassay.report import messages

if TYPE_CHECKING:
    import polars as pl


class Seconds:
    """Of one run; remembers which trials' series could not be read."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._unread: dict[int, str] = {}

    def gather(self, query: "Callable[[pl.LazyFrame], pl.LazyFrame]") -> "pl.DataFrame":
        """What a query gives on all series, see `Run.gather`."""
        table, unread = self._run.gather(query)
        self._unread |= dict(unread)
        return table

    @property
    def unread(self) -> tuple[str, ...]:
        """What was asked of the record so far, cannot be read and is left out, a sentence each."""
        lost = dict(self._run.left_out)
        series = (each for each in sorted(self._unread.items()) if each[0] not in lost)
        return (
            *(messages.unread_trial(*each) for each in self._run.left_out),
            *(messages.unread_series(*each) for each in series),
        )
