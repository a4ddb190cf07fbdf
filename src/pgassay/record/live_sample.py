"""What a trial does just now, for those who watch: lines in its staging directory, gone when the trial is committed.

Nobody computes from them: a trial's own series are kept when it ends. So they are not made durable, a line that cannot
be written is lost, and a reader passes over one that is not whole.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgassay import untrusted

FILE = "now.jsonl"
SOURCES = frozenset({"wal", "waits", "diskstats"})
"""What is shown of all that is sampled; of servers that take turns it is their turns."""
READ_BYTES_MAX = 1 << 22
"""So much is read at a time."""


@dataclass(frozen=True)
class LiveSample:
    """One moment by both clocks: values of a `source` by name. Counters are raw and cumulative, as in a series."""

    monotonic_ns: int
    wall_ns: int
    source: str
    values: Mapping[str, float | None]


def append(folder: Path, sample: LiveSample) -> None:
    """Add a line to a staging directory's file, not durably; a disk that refuses it keeps none."""
    with suppress(OSError), (folder / FILE).open("ab", buffering=0) as file:
        file.write(msgspec.json.encode(sample) + b"\n")


def read(folder: Path, offset: int = 0) -> tuple[list[LiveSample], int]:
    """The whole lines from `offset` bytes on, and where the next ones begin; nothing where there is no file."""
    try:
        with untrusted.open_file(folder / FILE, links=False) as file:
            file.seek(offset)
            text = file.read(READ_BYTES_MAX)
    except OSError:
        return [], offset
    whole = text[: text.rfind(b"\n") + 1]
    found = []
    for line in whole.splitlines():
        with suppress(msgspec.MsgspecError):
            found.append(_DECODER.decode(line))
    return found, offset + len(whole)


_DECODER = msgspec.json.Decoder(LiveSample)
