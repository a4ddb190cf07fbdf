"""What the processors alone can do: `sysbench cpu` for a second with as many threads as the load has clients.

The reference for pgbench's curve, because it needs no memory, lock or disk: where both curves bend alike, PostgreSQL
scales as well as the processors do. Measured in each trial after its window, so that both saw the same hour.
"""

import re
from collections.abc import Mapping

from pgassay import children
from pgassay.bench.kinds import NONE
from pgassay.bench.load import LoadOptions
from pgassay.bench.running import Runner
from pgassay.bench.server import Server
from pgassay.study.responses import Better, Response

PROGRAM = "sysbench"
SECONDS = 1
_PATIENCE_S = 30.0

RESPONSE = Response("cpu_yardstick_per_s", "events of sysbench cpu, as many threads as clients", "1/s", Better.HIGHER)


class CpuYardstick:
    """The reference measurement that `load.yardstick = "cpu"` asks for; see `bench.reference.ReferenceMeasurement`."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def responses(self, options: LoadOptions) -> tuple[Response, ...]:
        return () if options.yardstick == NONE else (RESPONSE,)

    def measure(self, options: LoadOptions, server: Server) -> Mapping[str, float | None]:
        """Events per second with a thread for each connection of the load; None where sysbench is missing or fails."""
        return {response.name: self._events_per_s(max(1, options.connections)) for response in self.responses(options)}

    def _events_per_s(self, threads: int) -> float | None:
        program = children.which(PROGRAM)
        if program is None:
            return None
        command = [program, "cpu", f"--threads={threads}", f"--time={SECONDS}", "run"]
        try:
            done = self._runner.run(command, timeout_s=SECONDS + _PATIENCE_S)
        except TimeoutError:
            return None
        return events_per_s(done.stdout) if done.status == 0 else None


def events_per_s(text: str) -> float | None:
    found = re.search(r"^\s*events per second:\s+([0-9.]+)$", text, re.MULTILINE)
    return float(found[1]) if found else None
