"""Repetitions as blocks: which runs of different treatments are set against each other.

Where the source numbers its repetitions, run k of each treatment is block k. Where it does not, there are no blocks in
the data: then the k-th run of each treatment, in the source's order, is put into block k, and the report says so.
"""

from collections.abc import Sequence
from enum import StrEnum

from pgassay.record.foreign.judging import Placed


class Choice(StrEnum):
    """How blocks were made, as the report says it."""

    NUMBERED = "block k holds repetition k of each treatment, as the source numbers them"
    COUNTED = (
        "the source names no repetitions: block k holds the k-th run of each treatment, which takes drift out only if "
        "they ran in turn"
    )
    REPEATED = (
        "the source's repetition numbers are not whole numbers or occur twice: block k holds the k-th run of each "
        "treatment instead"
    )


def assign(placed: Sequence[Placed], block_field: str) -> tuple[tuple[int, ...], Choice]:
    """A block number, from 1, for each run in order, and how it was made."""
    if not block_field:
        return _counted(placed), Choice.COUNTED
    numbers = _numbered(placed, block_field)
    return (numbers, Choice.NUMBERED) if numbers is not None else (_counted(placed), Choice.REPEATED)


def _counted(placed: Sequence[Placed]) -> tuple[int, ...]:
    seen: dict[tuple[str, str, str], int] = {}
    found = []
    for each in placed:
        seen[each.labels] = seen.get(each.labels, 0) + 1
        found.append(seen[each.labels])
    return tuple(found)


def _numbered(placed: Sequence[Placed], block_field: str) -> tuple[int, ...] | None:
    """The source's numbers, counted from 1 in their order; None where one is missing or twice in an arm."""
    texts = [each.run.fields.get(block_field, "").strip() for each in placed]
    if not all(text.isdecimal() for text in texts):
        return None
    if len({(each.labels, int(text)) for each, text in zip(placed, texts, strict=True)}) < len(placed):
        return None
    order = {number: position for position, number in enumerate(sorted({int(text) for text in texts}), start=1)}
    return tuple(order[int(text)] for text in texts)
