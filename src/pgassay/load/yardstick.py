"""What the processors alone can do: `sysbench cpu` for a second with as many threads as the load has clients.

Published beside pgbench's curve because it needs no memory, lock or disk: where both bend alike, PostgreSQL scales as
well as the processors do. Measured in each trial after its window, so that both saw the same hour.
"""

import re
import shutil
from collections.abc import Mapping

from pgassay.bench.running import Runner
from pgassay.study.responses import Better, Response

YARDSTICKS = ("none", "cpu")
PROGRAM = "sysbench"
SECONDS = 1
_PATIENCE_S = 30.0

RESPONSE = Response("cpu_yardstick_per_s", "events of sysbench cpu, as many threads as clients", "1/s", Better.HIGHER)


def installed() -> bool:
    """Is sysbench there?"""
    return shutil.which(PROGRAM) is not None


def measure(runner: Runner, options: Mapping[str, str]) -> float | None:
    """Events per second for the clients of `options`; None where sysbench is missing or fails."""
    program = shutil.which(PROGRAM)
    if program is None:
        return None
    threads = options.get("clients", "1")
    command = [program, "cpu", f"--threads={threads}", f"--time={SECONDS}", "run"]
    try:
        done = runner.run(command, unprivileged=True, timeout_s=SECONDS + _PATIENCE_S)
    except TimeoutError:
        return None
    return events_per_s(done.stdout) if done.status == 0 else None


def events_per_s(text: str) -> float | None:
    """From the program's own summary."""
    found = re.search(r"^\s*events per second:\s+([0-9.]+)$", text, re.MULTILINE)
    return float(found[1]) if found else None
