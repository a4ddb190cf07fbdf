"""The probe `interrupts`: the hardware interrupts of the machine (line `intr` of /proc/stat, proc(5)).

The counter is kept raw in the record, once a second; pgassay takes the difference over the window.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pgassay.interfaces.probe import FileReader, Meter, Probe, Reader, Reading, Target, per_transaction
from pgassay.interfaces.running import Clock

SOURCE = "interrupts"
METERS = {SOURCE: (Meter("interrupts", "count"),)}
STAT = Path("/proc/stat")


class InterruptReader(FileReader):
    """Reads the kernel's file; the value is None where it cannot be read."""

    meters: Mapping[str, tuple[Meter, ...]] = METERS
    per_second = True

    def __init__(self, clock: Clock, stat: Path = STAT) -> None:
        self._clock = clock
        self._stat = stat

    def read(self) -> tuple[Reading, ...]:
        """Now."""
        values = {"interrupts": parse(self._text())}
        return (Reading(SOURCE, self._clock.monotonic_ns(), self._clock.wall_ns(), values),)

    def _text(self) -> str:
        try:
            return self._stat.read_text(encoding="ascii")
        except OSError:
            return ""


def parse(text: str) -> float | None:
    """The total of all interrupts since boot; None where there is no such line."""
    for line in text.splitlines():
        if line.startswith("intr "):
            return float(line.split(maxsplit=2)[1])
    return None


class Interrupts(Probe):
    """Reads the kernel only, so it may be read before the server is asked."""

    name = "interrupts"
    summary = "the machine's interrupts"
    meters: Mapping[str, tuple[Meter, ...]] = METERS
    costs = (per_transaction("interrupts", "interrupts", "count", f"{SOURCE}.interrupts"),)

    def unavailable(self, target: Target) -> str | None:
        """Linux only."""
        return None if STAT.exists() else "there is no /proc/stat"

    def readers(self, target: Target) -> Sequence[Reader]:
        """One."""
        return (InterruptReader(target.clock),)


INTERRUPTS = Interrupts()
