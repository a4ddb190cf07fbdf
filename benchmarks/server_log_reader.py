"""Reading a server log on one core: megabytes a second by format, and the memory that it needs as the log grows.

    python -m benchmarks.server_log_reader [--size MB] [--rounds N] [--formats stderr,csv,json] [--directory DIR]

The log is that of a web shop: BEGIN, three statements with parameters, COMMIT, by many sessions. All that a capture
takes is counted (statements without constants, transactions, samples of values). The file is in the page cache, if it
fits there. The project's goal is 200 MB/s, and the same memory for a log that is ten times larger: a tenth of the file
is read for that, too. A log of 20 GB: `--size 20000 --rounds 1 --formats stderr --directory DIR`, with as much room.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pgassay._core import summarize_server_logs

PREFIX = "%m [%p] %q%u@%d "
STATEMENTS = (
    "SELECT id, status, total FROM orders WHERE customer_id = {0} ORDER BY placed_at DESC LIMIT 10",
    "UPDATE products SET stock = stock - 1, changed = now() WHERE id = {0} AND stock > 0",
    "INSERT INTO orders (customer_id, status, note, total) VALUES ({0}, 'open', 'left at the door', {1})",
)
FORMATS = ("stderr", "csv", "json")


def messages(chosen: random.Random) -> list[str]:
    """A transaction's messages."""
    values = [text.format(chosen.randrange(10**6), chosen.randrange(10**4)) for text in STATEMENTS]
    return [f"duration: {chosen.random():.3f} ms  statement: {text}" for text in ("BEGIN", *values, "COMMIT")]


def record(form: str, stamp: str, session: int, message: str) -> str:
    """One line of the log."""
    if form == "stderr":
        return f"{stamp} [{session}] app@shop LOG:  {message}\n"
    if form == "csv":
        return (
            f'{stamp},"app","shop",{session},"[local]",65f1.{session:x},1,"SELECT",{stamp[:19]} UTC,3/4,0,LOG,00000,'
            f'"{message}",,,,,,,,,"web","client backend",,0\n'
        )
    line = {"timestamp": stamp, "user": "app", "dbname": "shop", "pid": session, "session_id": f"65f1.{session:x}"}
    return json.dumps({**line, "error_severity": "LOG", "message": message, "application_name": "web"}) + "\n"


def write_log(path: Path, form: str, size_bytes: int) -> None:
    """A stretch of lines, written again and again."""
    chosen, lines = random.Random(20), []
    for turn in range(20_000):
        stamp = f"2026-11-23 {turn // 1200:02d}:{turn // 20 % 60:02d}:{turn % 20:02d}.500 UTC"
        lines += [record(form, stamp, 1000 + turn % 97, message) for message in messages(chosen)]
    stretch = "".join(lines).encode()
    with path.open("wb") as file:
        while file.tell() < size_bytes:
            file.write(stretch)


def rates(path: Path) -> tuple[float, float]:
    """Megabytes a second, and a second of the processor: alike but on a machine that others use, too."""
    began, used = time.perf_counter(), time.process_time()
    summarize_server_logs([path], [PREFIX], keep_values=True)
    size_mb = path.stat().st_size / 1e6
    return size_mb / (time.perf_counter() - began), size_mb / (time.process_time() - used)


def print_own_peak(path: Path) -> None:
    """VmHWM, not ru_maxrss: the latter is at least that of the process that started it."""
    if path.exists():
        summarize_server_logs([path], [PREFIX], keep_values=True)
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(int(peak.split()[1]) / 1024)


def peak_mib(path: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.server_log_reader", "--peak-of", str(path.absolute())]
    root = Path(__file__).parents[1]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--size", type=int, default=200, metavar="MB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--peak-of", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_of:
        return print_own_peak(arguments.peak_of)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        none = peak_mib(Path(folder, "none"))
        for form in arguments.formats.split(","):
            print(measured(Path(folder, form), form, arguments.size, arguments.rounds, none), flush=True)
    return None


def measured(path: Path, form: str, size_mb: int, rounds: int, none_mib: float) -> str:
    """A line about one format; the file is gone afterwards. `none_mib` is what a process needs that reads nothing."""
    write_log(path, form, size_mb * 10**5)
    tenth = peak_mib(path) - none_mib
    write_log(path, form, size_mb * 10**6)
    found = [rates(path) for _ in range(rounds)]
    speeds, of_cpu = ([each[side] for each in found] for side in (0, 1))
    whole = peak_mib(path) - none_mib
    path.unlink()
    speed = f"{statistics.median(speeds):.0f} MB/s (min {min(speeds):.0f}, max {max(speeds):.0f}; goal: at least 200)"
    memory = f"memory {tenth:.1f} MiB for {size_mb / 10:.0f} MB, {whole:.1f} MiB for {size_mb} MB"
    return f"{form}: {speed}, {statistics.median(of_cpu):.0f} MB a CPU second, {memory}"


if __name__ == "__main__":
    main()
