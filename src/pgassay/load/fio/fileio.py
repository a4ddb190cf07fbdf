"""sysbench fileio on the same file, on request: the form in which a published study measured its array.

sysbench works in a directory of its own files, so the laid-out file is given its name; it knows random mixes, one
sequential stream of all threads together, and no WAL. Its summary has one percentile, the 95th; the others, and the
stalls, are from its histogram, which counts its fsyncs, too.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from pgassay.load import messages
from pgassay.load.fio.options import REREAD, SEQUENTIAL_READ, SEQUENTIAL_WRITE, SEQWR, WAL, FioOptions
from pgassay.load.fio.result import STALLS_MS, Result, complete
from pgassay.load.sysbench.output import parse_histogram, quantile_ms

PROGRAM = "sysbench"
NAME = "test_file.0"
_MODES = {SEQUENTIAL_READ: "seqrd", SEQUENTIAL_WRITE: "seqrewr", SEQWR: "seqwr"}


def check(options: FioOptions) -> None:
    """Refuse the patterns that sysbench cannot make; raises `UsageError`."""
    if options.pattern in (WAL, REREAD) or options.depth > 1:
        raise messages.not_for_fileio(options.pattern if options.depth == 1 else f"load.depth={options.depth}")


def run_command(file: Path, options: FioOptions, seed: int) -> list[str]:
    """The command; it runs in the file's directory by way of a link with sysbench's own name.

    Its seqwr makes a file of that name by itself, in place of what has it.
    """
    link = file.parent / NAME
    if not options.creates_file and not link.exists():
        link.symlink_to(file.name)
    share = options.read_share
    if share is None:
        mode = [f"--file-test-mode={_MODES[options.pattern]}"]
    elif share in (0, 100):
        mode = [f"--file-test-mode={'rndrd' if share else 'rndwr'}"]
    else:
        mode = ["--file-test-mode=rndrw", f"--file-rw-ratio={share / (100 - share):g}"]
    flags = ["--file-extra-flags=direct"] if options.around_cache else []
    return [
        "env", "-C", str(file.parent), PROGRAM, "fileio", "--file-num=1", f"--file-total-size={options.file_bytes}",
        f"--file-block-size={options.io_bytes}", *mode, *flags, f"--threads={options.threads}",
        f"--time={options.duration_s}", f"--rand-seed={seed}", "--percentile=95", "--histogram=on", "run",
    ]  # fmt: skip


def parse(text: str) -> Result:
    """From sysbench's summary; raises `LoadError`."""
    reads, writes, flushes = (_number(text, rf"{kind}/s:\s+([0-9.]+)") for kind in ("reads", "writes", "fsyncs"))
    if reads is None or writes is None:
        raise messages.not_a_fio_result("sysbench's summary has no file operations")
    events = _number(text, r"total number of events:\s+(\d+)") or 0.0
    read_mib = _number(text, r"read, MiB/s:\s+([0-9.]+)") or 0.0
    histogram = parse_histogram(text)
    written_mib = _number(text, r"written, MiB/s:\s+([0-9.]+)") or 0.0
    found = {
        "iops": reads + writes,
        "bytes_per_s": (read_mib + written_mib) * (1 << 20),
        "read_iops": reads or None,
        "write_iops": writes or None,
        "flushes_per_s": flushes or None,
        "io_latency_ms": _number(text, r"avg:\s+([0-9.]+)"),
        "io_latency_p95_ms": _number(text, r"95th percentile:\s+([0-9.]+)"),
        "io_latency_p99_ms": quantile_ms(histogram, 0.99),
        "io_latency_max_ms": _number(text, r"max:\s+([0-9.]+)"),
        **{name: _longer(histogram, edge_ms) for name, edge_ms in STALLS_MS.items()},
    }
    return Result(complete(found), int(events), 0)


def _longer(histogram: Sequence[tuple[float, int]], edge_ms: float) -> float | None:
    """How many took longer; None without a histogram."""
    return float(sum(count for value_ms, count in histogram if value_ms > edge_ms)) if histogram else None


def _number(text: str, pattern: str) -> float | None:
    found = re.search(pattern, text)
    return float(found[1]) if found else None
