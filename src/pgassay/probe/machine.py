"""The whole machine: CPU time by kind from /proc/stat, swapping from /proc/vmstat, dirty memory, cores that ran hot.

Steal is time that a hypervisor gave to others while we wanted to run; a throttled core slowed down to cool (Linux's
Documentation/arch/x86/x86_64/machinecheck.rst): both tell a spoilt trial. See proc(5).
"""

from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.running import Clock
from pgassay.probe.at_once import AtOnce
from pgassay.probe.procfs import parse_cpu, parse_table, read_text, sum_counts

SOURCE = "machine"
_CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_METERS = (
    *(Meter(f"{name}_us", "us") for name in _CPU),
    Meter("context_switches", "count"),
    Meter("pages_swapped_in", "count"),
    Meter("pages_swapped_out", "count"),
    Meter("dirty_pages", "count", cumulative=False),
    Meter("thermal_throttles", "count"),
)


class Machine(AtOnce):
    """See `bench.counters.Probe`."""

    def __init__(
        self, clock: Clock, *, proc: Path = Path("/proc"), cpus: Path = Path("/sys/devices/system/cpu")
    ) -> None:
        self._clock = clock
        self._proc = proc
        self._throttles = sorted(cpus.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"))

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """One source."""
        return {SOURCE: _METERS}

    @property
    def per_second(self) -> bool:
        """Two files, and a small one for each core that counts its throttling."""
        return True

    def read(self) -> tuple[Reading, ...]:
        """Read them all; None for what this kernel does not tell."""
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        stat, vmstat = read_text(self._proc / "stat"), read_text(self._proc / "vmstat")
        cpu = parse_cpu(stat) if stat else {}
        memory = parse_table(vmstat, " ") if vmstat else {}
        values: dict[str, float | None] = {f"{name}_us": cpu.get(name) for name in _CPU}
        values |= {
            "context_switches": cpu.get("switches"),
            "pages_swapped_in": memory.get("pswpin"),
            "pages_swapped_out": memory.get("pswpout"),
            "dirty_pages": memory.get("nr_dirty"),
            "thermal_throttles": sum_counts(read_text(path) for path in self._throttles),
        }
        return (Reading(SOURCE, *now, values),)
