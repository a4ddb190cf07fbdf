"""What the server executed in a counted trial as its directory keeps it: `counts.json`, for each transaction.

A later version may add to it, and leaves what is here (docs/record.md).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from pgassay import untrusted
from pgassay.record.reading import Run

FILE = "counts.json"
FOLDER = "counted"
"""Of a timed trial: what the counted trial left that followed it, its `counts.json` among it."""


@dataclass(frozen=True)
class CountsRecord:
    """All numbers but `transactions`, the difference of two windows, are for one transaction."""

    instrument: str
    transactions: int
    processes: Mapping[str, float]
    """The instructions of each kind of process."""
    functions: Mapping[str, tuple[float, float]]
    """A function's own instructions, and its calls."""
    system_calls: Mapping[str, float]
    """By the function that makes them, which libc calls after them."""
    modelled_misses: Mapping[str, float] = field(default_factory=dict)
    """By a kind of `interfaces.probe.MISSES`; empty unless asked for."""


def encode(counts: CountsRecord) -> bytes:
    return json.dumps(asdict(counts)).encode()


def decode(text: bytes) -> CountsRecord:
    found: CountsRecord = untrusted.json(text, CountsRecord)
    return found


def counts(run: Run, number: int) -> CountsRecord | None:
    """What was counted in a trial; None where nothing was. Raises `DamagedError`."""
    for place in (FILE, f"{FOLDER}/{FILE}"):
        if (found := run.of_trial(number, place, "the counts", decode)) is not None:
            return found
    return None
