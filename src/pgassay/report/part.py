"""A titled table with notes: the form in which a terminal and a page share what stands beside the verdicts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A titled table, the first row its head; `notes` are sentences below it."""

    title: str
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
