"""Reading a server log on one core: megabytes a second by format, and the memory that it needs as the log grows.

    python -m benchmarks.server_log_reader [--size MB] [--rounds N] [--formats stderr,csv,…] [--directory DIR]

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
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pgassay._core import summarize_server_logs

PREFIX = "%m [%p] %q%u@%d "
STATEMENTS = (
    "SELECT id, status, total FROM orders WHERE customer_id = {0} ORDER BY placed_at DESC LIMIT 10",
    "UPDATE products SET stock = stock - 1, changed = now() WHERE id = {0} AND stock > 0",
    "INSERT INTO orders (customer_id, status, note, total) VALUES ({0}, 'open', 'left at the door', {1})",
)
# What the makers' documentation has in an entry, apart from the line.
JOURNAL = {
    "__CURSOR": "s=5f0c;i=9a1;b=77ab;m=12cc;t=63e0;x=bd2a",
    "_BOOT_ID": "77ab0e9dd3c94ea2a1b3a1b86c1f4d0e",
    "_MACHINE_ID": "0b1f1d7a2f6c4c0c8f2c6a51a0f0a9f0",
    "_HOSTNAME": "db1",
    "PRIORITY": "6",
    "_UID": "105",
    "_SYSTEMD_UNIT": "postgresql@16-main.service",
    "_TRANSPORT": "stdout",
    "SYSLOG_IDENTIFIER": "postgres",
}
ENTRY = {
    "insertId": "s=b7;i=9a1",
    "labels": {"database_id": "shop:main"},
    "logName": "projects/shop/logs/cloudsql.googleapis.com%2Fpostgres.log",
    "resource": {"labels": {"project_id": "shop", "region": "eu"}, "type": "cloudsql_database"},
    "severity": "INFO",
}
RESOURCE = {
    "LogicalServerName": "shop",
    "category": "PostgreSQLLogs",
    "location": "westeurope",
    "operationName": "LogEvent",
}
COLUMNS = {
    "user_name": "app",
    "database_name": "shop",
    "connection_from": "[local]",
    "command_tag": "SELECT",
    "virtual_transaction_id": "3/4",
    "transaction_id": "0",
    "error_severity": "LOG",
    "sql_state_code": "00000",
    "application_name": "web",
    "backend_type": "client backend",
}
WRAPPED: dict[str, Callable[[str, int, int, str], str]] = {
    "syslog-3164": lambda time, process, n, line: f"Nov {time[8:19]} db1 postgres[{process}]: [{n}-1] {line}",
    "syslog-5424": lambda time, process, n, line: f"<134>1 {iso(time)} db1 postgres {process} - - [{n}-1] {line}",
    "short-iso": lambda time, process, n, line: f"{iso(time)[:19]}+0000 db1 postgres[{process}]: {line}",
    "journald": lambda time, process, n, line: json.dumps(
        {**JOURNAL, "__REALTIME_TIMESTAMP": f"1795395{n % 1000:03d}500000", "_PID": f"{process}", "MESSAGE": line}
    ),
    "docker": lambda time, process, n, line: json.dumps({"log": line + "\n", "stream": "stderr", "time": iso(time)}),
    "cri": lambda time, process, n, line: f"{iso(time)} stderr F {line}",
    "heroku": lambda time, process, n, line: (
        f"{iso(time)[:-1]}+00:00 app[postgres.{process}]: [DATABASE] [{n}-1] {line}"
    ),
    "cloudsql": lambda time, process, n, line: json.dumps({**ENTRY, "textPayload": line, "timestamp": iso(time)}),
    "azure": lambda time, process, n, line: json.dumps(
        {**RESOURCE, "properties": {"message": line, "detail": "", "errorLevel": "LOG"}, "time": iso(time)}
    ),
    "cnpg": lambda time, process, n, line: json.dumps(
        {
            "level": "info",
            "ts": iso(time),
            "logger": "postgres",
            "msg": "record",
            "record": {
                "log_time": time,
                **COLUMNS,
                "session_id": f"65f1.{process:x}",
                "message": line.partition("LOG:  ")[2],
            },
        }
    ),
}
"""What stands around a line of stderr, by its time, process and number."""
FORMATS = ("stderr", "csv", "json", *WRAPPED)


def iso(stamp: str) -> str:
    return stamp.replace(" ", "T", 1)[:23] + "Z"


def messages(chosen: random.Random) -> list[str]:
    """A transaction's messages."""
    values = [text.format(chosen.randrange(10**6), chosen.randrange(10**4)) for text in STATEMENTS]
    return [f"duration: {chosen.random():.3f} ms  statement: {text}" for text in ("BEGIN", *values, "COMMIT")]


def record(form: str, stamp: str, session: int, number: int, message: str) -> str:
    """One line of the log."""
    line = f"{stamp} [{session}] app@shop LOG:  {message}"
    if form == "stderr":
        return line + "\n"
    if form in WRAPPED:
        return WRAPPED[form](stamp, session, number, line) + "\n"
    if form == "csv":
        return (
            f'{stamp},"app","shop",{session},"[local]",65f1.{session:x},1,"SELECT",{stamp[:19]} UTC,3/4,0,LOG,00000,'
            f'"{message}",,,,,,,,,"web","client backend",,0\n'
        )
    columns = {"timestamp": stamp, "user": "app", "dbname": "shop", "pid": session, "session_id": f"65f1.{session:x}"}
    return json.dumps({**columns, "error_severity": "LOG", "message": message, "application_name": "web"}) + "\n"


def write_log(path: Path, form: str, size_bytes: int) -> None:
    """A stretch of lines, written again and again."""
    chosen, numbers = random.Random(20), Counter[int]()
    lines = []
    for turn in range(20_000):
        stamp = f"2026-11-23 {turn // 1200:02d}:{turn // 20 % 60:02d}:{turn % 20:02d}.500 UTC"
        session = 1000 + turn % 97
        for message in messages(chosen):
            numbers[session] += 1
            lines.append(record(form, stamp, session, numbers[session], message))
    stretch = "".join(lines).encode()
    with path.open("wb") as file:
        while file.tell() < size_bytes:
            file.write(stretch)


def rates(path: Path) -> tuple[float, float]:
    """Megabytes a second, and a second of the processor: alike but on a machine that others use, too."""
    began, used = time.perf_counter(), time.process_time()
    found = json.loads(summarize_server_logs([path], [PREFIX], keep_values=True))
    assert found["unread"] + found["doubtful"] == 0, found["first_unread"]
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
