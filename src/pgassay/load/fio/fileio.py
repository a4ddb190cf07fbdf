"""sysbench fileio on the same file, on request: the form in which a published study measured its array.

sysbench works in a directory of its own files, so the laid-out file is given its name; it knows random mixes, one
sequential stream and no WAL. Its summary has one percentile, the 95th.
"""

import re
from pathlib import Path

from pgassay.load import messages
from pgassay.load.fio.options import REREAD, SEQUENTIAL_READ, WAL, FioOptions
from pgassay.load.fio.result import Result, complete

PROGRAM = "sysbench"
_NAME = "test_file.0"


def check(options: FioOptions) -> None:
    """Refuse the patterns that sysbench cannot make; raises `UsageError`."""
    if options.pattern in (WAL, REREAD) or options.depth > 1:
        raise messages.not_for_fileio(options.pattern if options.depth == 1 else f"load.depth={options.depth}")


def run_command(file: Path, options: FioOptions, seed: int) -> list[str]:
    """The command; it runs in the file's directory by way of a link with sysbench's own name."""
    link = file.parent / _NAME
    if not link.exists():
        link.symlink_to(file.name)
    share = options.read_share
    if share is None:
        mode = ["--file-test-mode=seqrd" if options.pattern == SEQUENTIAL_READ else "--file-test-mode=seqrewr"]
    elif share in (0, 100):
        mode = [f"--file-test-mode={'rndrd' if share else 'rndwr'}"]
    else:
        mode = ["--file-test-mode=rndrw", f"--file-rw-ratio={share / (100 - share):g}"]
    flags = ["--file-extra-flags=direct"] if options.around_cache else []
    return [
        "env", "-C", str(file.parent), PROGRAM, "fileio", "--file-num=1", f"--file-total-size={options.file_bytes}",
        f"--file-block-size={options.io_bytes}", *mode, *flags, f"--threads={options.threads}",
        f"--time={options.duration_s}", f"--rand-seed={seed}", "--percentile=95", "run",
    ]  # fmt: skip


def parse(text: str) -> Result:
    """From sysbench's summary; raises `LoadError`."""
    reads, writes, flushes = (_number(text, rf"{kind}/s:\s+([0-9.]+)") for kind in ("reads", "writes", "fsyncs"))
    if reads is None or writes is None:
        raise messages.not_a_fio_result("sysbench's summary has no file operations")
    events = _number(text, r"total number of events:\s+(\d+)") or 0.0
    read_mib = _number(text, r"read, MiB/s:\s+([0-9.]+)") or 0.0
    written_mib = _number(text, r"written, MiB/s:\s+([0-9.]+)") or 0.0
    found = {
        "iops": reads + writes,
        "bytes_per_s": (read_mib + written_mib) * (1 << 20),
        "read_iops": reads or None,
        "write_iops": writes or None,
        "flushes_per_s": flushes or None,
        "io_latency_ms": _number(text, r"avg:\s+([0-9.]+)"),
        "io_latency_p95_ms": _number(text, r"95th percentile:\s+([0-9.]+)"),
        "io_latency_max_ms": _number(text, r"max:\s+([0-9.]+)"),
    }
    return Result(complete(found), int(events), 0)


def _number(text: str, pattern: str) -> float | None:
    found = re.search(pattern, text)
    return float(found[1]) if found else None
