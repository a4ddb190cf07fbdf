"""Lists on disk of one JSON object a line, written before what they tell of is done.

So a line that a crash cut short was not acted upon, and a reader passes over it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def whole(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of whole lines, in order; none where there is no file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
