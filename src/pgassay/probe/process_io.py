"""Bytes that a process and its descendants handed to the file system, from /proc/PID/io; at the window's edges only.

The kernel adds the counters of children that have been waited for to their parent's, so nothing is lost when backends
end. The kernel's `write_bytes` is left out: it counts a whole large folio for every page dirtied in it: for WAL on
a current ext4 twenty times too much. See proc(5).
"""

from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.running import Clock
from pgassay.probe.at_once import AtOnce
from pgassay.probe.procfs import children_of, parse_table, read_text

_FIELDS = {
    "read_calls": ("syscr", "count"),
    "write_calls": ("syscw", "count"),
    "passed_read_bytes": ("rchar", "bytes"),
    "passed_written_bytes": ("wchar", "bytes"),
    "storage_read_bytes": ("read_bytes", "bytes"),
}
SOURCE = "process_io"


class ProcessIo(AtOnce):
    """The tree under `pid`; None throughout where /proc/PID/io is closed to us."""

    def __init__(self, pid: int, clock: Clock, *, proc: Path = Path("/proc")) -> None:
        self._pid = pid
        self._clock = clock
        self._proc = proc

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """One source."""
        return {SOURCE: tuple(Meter(name, unit) for name, (_, unit) in _FIELDS.items())}

    @property
    def per_second(self) -> bool:
        """Another file a process: not worth it."""
        return False

    def read(self) -> tuple[Reading, ...]:
        """The root with its dead, and every living child."""
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        values: dict[str, float | None] = dict.fromkeys(_FIELDS)
        root = self._io(self._pid)
        if root is not None:
            tables = [root, *filter(None, map(self._io, children_of(self._pid, self._proc)))]
            values = {name: float(sum(table.get(field, 0) for table in tables)) for name, (field, _) in _FIELDS.items()}
        return (Reading(SOURCE, *now, values),)

    def _io(self, pid: int) -> dict[str, int] | None:
        text = read_text(self._proc / str(pid) / "io")
        return parse_table(text) if text else None
