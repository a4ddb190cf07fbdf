"""What the server's control group read from and wrote to a device: version 2's io.stat, or version 1's blkio files.

The group is the one that the server was started in: of a service or a session, or its own with `host.memory`, so others
may be counted too. None where nobody counts (the kernel's "Control Group v2", IO; "Block IO Controller").
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.running import Clock
from pgassay.probe.at_once import AtOnce
from pgassay.probe.devices import Device
from pgassay.probe.procfs import read_text

SOURCE = "cgroup_io"
_UNITS = {"reads": "count", "read_bytes": "bytes", "writes": "count", "written_bytes": "bytes"}
_V2 = {"rios": "reads", "rbytes": "read_bytes", "wios": "writes", "wbytes": "written_bytes"}
_V1 = {
    "blkio.throttle.io_serviced_recursive": {"Read": "reads", "Write": "writes"},
    "blkio.throttle.io_service_bytes_recursive": {"Read": "read_bytes", "Write": "written_bytes"},
}


class GroupIo(AtOnce):
    """The group of process `pid`, looked up once, on the disk of one device."""

    def __init__(self, pid: int, device: Device, clock: Clock, *, root: Path = Path("/")) -> None:
        self._groups = tuple(_groups(pid, root))
        self._number = device.disk
        self._clock = clock

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """One source."""
        return {SOURCE: tuple(Meter(name, unit) for name, unit in _UNITS.items())}

    @property
    def per_second(self) -> bool:
        """At the window's edges: a group may hold others, so its seconds explain nothing."""
        return False

    def read(self) -> tuple[Reading, ...]:
        """None for a device that the group's files do not list."""
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        values: dict[str, float | None] = dict.fromkeys(_UNITS)
        for group in self._groups:
            values |= _of_v2(read_text(group / "io.stat") or "", self._number)
            for file, names in _V1.items():
                values |= _of_v1(read_text(group / file) or "", self._number, names)
        return (Reading(SOURCE, *now, values),)


def _groups(pid: int, root: Path) -> Iterator[Path]:
    """The group in each hierarchy that may count I/O, by /proc/PID/cgroup and /proc/mounts."""
    mounts = [line.split() for line in (read_text(root / "proc/mounts") or "").splitlines()]
    for line in (read_text(root / f"proc/{pid}/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for _, where, kind, options, *_ in mounts:
            is_v1 = kind == "cgroup" and "blkio" in controllers.split(",") and "blkio" in options.split(",")
            if is_v1 or (kind == "cgroup2" and number == "0"):
                yield root / where.lstrip("/") / path.lstrip("/")


def _of_v2(text: str, number: str) -> dict[str, float | None]:
    """`254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`."""
    words = next((line.split()[1:] for line in text.splitlines() if line.startswith(f"{number} ")), [])
    pairs = (word.partition("=") for word in words)
    return {_V2[key]: float(value) for key, _, value in pairs if key in _V2}


def _of_v1(text: str, number: str, names: Mapping[str, str]) -> dict[str, float | None]:
    """`254:0 Read 4096`."""
    lines = (line.split() for line in text.splitlines())
    return {
        names[line[1]]: float(line[2]) for line in lines if len(line) == 3 and line[0] == number and line[1] in names
    }
