"""What the server executed in a counted trial as its directory keeps it: `counts.json`, for each transaction.

A later version may add to it, and leaves what is here (docs/record.md).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pgassay import untrusted

FILE = "counts.json"


@dataclass(frozen=True)
class CountsRecord:
    """All numbers but `transactions`, the difference of two windows, are for one transaction."""

    instrument: str
    transactions: int
    processes: Mapping[str, float]
    """The instructions of each kind of process."""
    functions: Mapping[str, tuple[float, float]]
    """A function's own instructions, and its calls."""


def encode(counts: CountsRecord) -> bytes:
    return json.dumps(asdict(counts)).encode()


def decode(text: bytes) -> CountsRecord:
    """Raises `ValueError`, `KeyError` or `TypeError` for what is no such file."""
    found = untrusted.json(text)
    functions = {str(name): (float(own), float(calls)) for name, (own, calls) in found["functions"].items()}
    processes = {str(kind): float(value) for kind, value in found["processes"].items()}
    return CountsRecord(str(found["instrument"]), int(found["transactions"]), processes, functions)
