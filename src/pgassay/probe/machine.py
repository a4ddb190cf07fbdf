"""The whole machine, by Linux's /proc and /sys: CPU time by kind, swapping, dirty memory, cores that ran hot.

What other programs took of it is what neither the server nor the lab (`processes`) nor the emulation of a drive used.
See proc(5). `procfs` has the parsers.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pgassay.bench.counters import Meter, Reading
from pgassay.bench.probe import Cost, Differences, FileReader, Probe, Reader, Target, quotient, share, total
from pgassay.bench.running import Clock
from pgassay.probe.drives import drive_cpu_us
from pgassay.probe.processes import LAB_CPU, SERVER_CPU
from pgassay.probe.procfs import parse_cpu, parse_table, read_text, sum_counts
from pgassay.study.responses import Better, Response, Scale

_CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_MACHINE_METERS = (
    *(Meter(f"{name}_us", "us") for name in _CPU),
    Meter("context_switches", "count"),
    Meter("pages_swapped_in", "count"),
    Meter("pages_swapped_out", "count"),
    Meter("dirty_pages", "count", cumulative=False),
    Meter("writeback_pages", "count", cumulative=False),
    Meter("thermal_throttles", "count"),
)


class MachineReader(FileReader):
    """CPU time by kind from /proc/stat, swapping and dirty memory from /proc/vmstat, cores that ran hot.

    Steal is time that a hypervisor gave to others while this machine had work; a throttled core slowed down to cool
    (Linux's Documentation/arch/x86/x86_64/machinecheck.rst). Either may invalidate a trial.

    The kernel's idle and iowait may go back (proc_stat(5)): what a sleeping CPU waits for may end on another one, and
    then its sleep was no waiting. Here a time stays as it is until the kernel's is greater again.
    """

    def __init__(
        self, clock: Clock, *, proc: Path = Path("/proc"), cpus: Path = Path("/sys/devices/system/cpu")
    ) -> None:
        self._clock = clock
        self._proc = proc
        self._greatest: dict[str, float] = {}
        self._throttles = sorted(cpus.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"))

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """CPU, swapping and throttling, as source `machine`."""
        return {"machine": _MACHINE_METERS}

    @property
    def per_second(self) -> bool:
        """Two files, and a small one for each core that counts its throttling."""
        return True

    def read(self) -> tuple[Reading, ...]:
        """Read them all; None for what this kernel does not count."""
        now = self._clock.monotonic_ns(), self._clock.wall_ns()
        stat, vmstat = read_text(self._proc / "stat"), read_text(self._proc / "vmstat")
        cpu = parse_cpu(stat) if stat else {}
        memory = parse_table(vmstat, " ") if vmstat else {}
        self._greatest |= {name: max(cpu[name], self._greatest.get(name, 0.0)) for name in _CPU if name in cpu}
        values: dict[str, float | None] = {f"{name}_us": self._greatest[name] if name in cpu else None for name in _CPU}
        values |= {
            "context_switches": cpu.get("switches"),
            "pages_swapped_in": memory.get("pswpin"),
            "pages_swapped_out": memory.get("pswpout"),
            "dirty_pages": memory.get("nr_dirty"),
            "writeback_pages": memory.get("nr_writeback"),
            "thermal_throttles": sum_counts(read_text(path) for path in self._throttles),
        }
        return (Reading("machine", *now, values),)


_ALL_CPU = tuple(f"machine.{kind}_us" for kind in _CPU)
_BUSY_CPU = tuple(f"machine.{kind}_us" for kind in _CPU if kind not in ("idle", "iowait", "steal"))


def _foreign_cpu(counters: Differences, _: int) -> float | None:
    """What neither the server, nor the lab, nor the emulation of a drive used; never below 0, for clocks differ."""
    busy, ours = total(counters, _BUSY_CPU), total(counters, (*SERVER_CPU, *LAB_CPU))
    if busy is None or ours is None:
        return None
    return quotient(max(0.0, busy - ours - (drive_cpu_us(counters) or 0.0)), total(counters, _ALL_CPU))


class Machine(Probe):
    """The whole machine: what other programs took of it is the difference."""

    name = "machine"
    summary = "CPU time of the machine by kind, swapping, dirty memory, throttled cores"
    costs = (
        share("cpu_busy_share", "share of the machine's CPU time that was used", _BUSY_CPU, _ALL_CPU, Better.NEITHER),
        share(
            "iowait_share", "share of CPU time that waited for storage", ["machine.iowait_us"], _ALL_CPU, Better.LOWER
        ),
        share(
            "steal_share", "share of CPU time that the hypervisor took", ["machine.steal_us"], _ALL_CPU, Better.LOWER
        ),
        Cost(
            Response(
                "foreign_cpu_share",
                "share of CPU time that other programs used",
                "share",
                Better.LOWER,
                Scale.DIFFERENCE,
            ),
            _foreign_cpu,
        ),
    )

    @property
    def meters(self) -> Mapping[str, tuple[Meter, ...]]:
        """CPU, swapping and throttling, as source `machine`."""
        return {self.name: _MACHINE_METERS}

    def readers(self, target: Target) -> Sequence[Reader]:
        """A reader of /proc and of the cores' throttling counters."""
        return (MachineReader(target.clock),)
