"""fio's command lines: lay the file out once, then work on it. No shell, every value checked before.

The file is written out whole first, as PostgreSQL's segments are: on blocks that were only reserved an fdatasync has to
write the file system's journal too.
"""

from collections.abc import Sequence
from pathlib import Path

from pgassay.load.fio.options import REREAD, SEQUENTIAL_READ, SEQUENTIAL_WRITE, WAL, Options

PROGRAM = "fio"
PERCENTILES = "50:95:99:99.9"
HOT_BYTES = 16 << 20
"""The region that `reread` reads again and again: small enough for any cache beneath."""
_SEQUENTIAL = {SEQUENTIAL_READ: "read", SEQUENTIAL_WRITE: "write", WAL: "write"}


def layout(file: Path, options: Options) -> list[str]:
    """Write the whole file and sync it."""
    return [
        PROGRAM, "--name=layout", f"--filename={file}", f"--size={options.file_bytes}", "--rw=write", "--bs=1M",
        "--ioengine=psync", "--end_fsync=1", "--output-format=json",
    ]  # fmt: skip


def run(file: Path, options: Options, seed: int, log_prefix: Path) -> list[str]:
    """Work on the file for the asked time; JSON with histograms on stdout, I/Os a second in `log_prefix`."""
    shared = [
        PROGRAM, f"--filename={file}", f"--bs={options.io_bytes}", f"--ioengine={engine(options)}",
        f"--iodepth={options.depth}", f"--direct={int(options.direct)}", "--thread", "--group_reporting",
        "--randrepeat=1", "--allrandrepeat=1", f"--randseed={seed}", "--time_based", f"--percentile_list={PERCENTILES}",
        "--log_avg_msec=1000", "--per_job_logs=0", f"--write_iops_log={log_prefix}", "--output-format=json+",
    ]  # fmt: skip
    if options.pattern == REREAD:
        return shared + _reread(options)
    shared += ["--name=load", f"--numjobs={options.threads}", f"--runtime={options.duration_s}"]
    if options.read_share is not None:
        return [*shared, f"--size={options.file_bytes}", *_random(options.read_share), "--norandommap"]
    part = options.file_bytes // options.threads // options.io_bytes * options.io_bytes
    shared += [f"--rw={_SEQUENTIAL[options.pattern]}", f"--size={part}", f"--offset_increment={part}"]
    return [*shared, "--fdatasync=1"] if options.pattern == WAL else shared


def engine(options: Options) -> str:
    """`psync` is what a PostgreSQL backend does; deeper queues need an asynchronous one."""
    if options.engine != "auto":
        return options.engine
    return "psync" if options.depth == 1 else "io_uring"


def _random(read_share: int) -> Sequence[str]:
    if read_share in (0, 100):
        return (f"--rw={'randread' if read_share else 'randwrite'}",)
    return ("--rw=randrw", f"--rwmixread={read_share}")


def _reread(options: Options) -> list[str]:
    """Half the time over the whole file, no block twice; then half the time in one small region."""
    half = max(1, options.duration_s // 2)
    each = [f"--numjobs={options.threads}", f"--runtime={half}", "--rw=randread"]
    return [
        "--name=fresh", *each, f"--size={options.file_bytes}",
        "--name=repeated", "--stonewall", "--new_group", *each, f"--size={HOT_BYTES}", "--norandommap",
    ]  # fmt: skip
