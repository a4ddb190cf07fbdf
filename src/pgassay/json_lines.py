"""Lists on disk of one JSON object a line, written before what they tell of is done.

So a line that a crash cut short was not acted upon, and a reader passes over it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pgassay import untrusted


def whole(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of whole lines, in order; none where there is no file."""
    try:
        lines = untrusted.read_bytes(path).splitlines()
    except OSError:
        return
    for line in lines:
        try:
            found = untrusted.json(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
