"""The options of a fio load, each declared once, and the command lines that they make; pure.

Patterns are those of PostgreSQL and of a published study: random I/O with a share of reads, one sequential stream, WAL
(a write and an fdatasync in turn, through the page cache) and `reread`, which shows a cache beneath the guest.

The file is written out whole first, as PostgreSQL's segments are: on blocks that were only reserved an fdatasync has to
write the file system's journal too. No shell is used, and every value is checked before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.kinds import SWITCH, Kind, choice, whole
from pgassay.bench.load import EMPTY_CLUSTER_BYTES
from pgassay.bench.messages import not_a_choice
from pgassay.bench.options import option
from pgassay.errors import UsageError
from pgassay.load import messages
from pgassay.load.options import ThreadedOptions
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_bytes, parse_memory

PROGRAM = "fio"
SEQUENTIAL_READ, SEQUENTIAL_WRITE, SEQWR, WAL, REREAD = "read", "write", "seqwr", "wal", "reread"
_RANDOM = "random:"
WORDS = ("random:N% (N % reads)", SEQUENTIAL_READ, SEQUENTIAL_WRITE, SEQWR, WAL, REREAD)
IO_BYTES_MIN, IO_BYTES_MAX = 512, 16 << 20
FILE_BYTES_MIN = 16 << 20
PERCENTILES = "50:95:99:99.9"
HOT_BYTES = 16 << 20
"""The region that `reread` reads again and again: small enough for any cache beneath."""
_SEQUENTIAL = {SEQUENTIAL_READ: "read", SEQUENTIAL_WRITE: "write", SEQWR: "write", WAL: "write"}
_SEQWR = ("--fallocate=none", "--create_on_open=1", "--fsync=100", "--end_fsync=1")
"""What sysbench's seqwr does by default: the file grows as it is written, with an fsync every 100 writes."""


def parse_pattern(name: str, text: str) -> str:
    """`random:70%`, `random:70` or a word, in canonical form."""
    word = text.strip()
    if word.startswith(_RANDOM):
        number = word.removeprefix(_RANDOM).removesuffix("%")
        if number.isascii() and number.isdigit() and int(number) <= 100:
            return f"{_RANDOM}{int(number)}%"
    elif word in WORDS[1:]:
        return word
    raise not_a_choice(name, text, WORDS)


def parse_io_size(name: str, text: str) -> int:
    """Bytes of one I/O: a multiple of 512, which direct I/O needs."""
    size = _size(name, text)
    if not IO_BYTES_MIN <= size <= IO_BYTES_MAX or size % IO_BYTES_MIN:
        raise messages.not_an_io_size(name, text)
    return size


def parse_file_size(name: str, text: str) -> int:
    """Bytes of the file that is read and written."""
    size = _size(name, text)
    if size < FILE_BYTES_MIN:
        raise messages.not_a_file_size(name, text, format_bytes(FILE_BYTES_MIN))
    return size


def _size(name: str, text: str) -> int:
    try:
        return parse_memory(text)
    except UsageError:
        raise messages.not_an_io_size(name, text) from None


@dataclass(frozen=True, kw_only=True)
class FioOptions(ThreadedOptions):
    """A fio load: an access pattern, the size of an I/O, threads and depth."""

    driver = "fio"

    pattern: str = option(
        Kind(parse_pattern, str, ", ".join(WORDS)),
        default="random:100%",
        summary="access pattern: random with a share of reads, a stream, a new file, WAL (write, fdatasync), reread",
    )
    io_bytes: int = option(
        Kind(parse_io_size, format_bytes, "a multiple of 512 bytes up to 16MB"),
        name="io_size",
        default=8192,
        unit="bytes",
        summary="fio --bs: the size of one I/O",
    )
    depth: int = option(whole(), default=1, summary="fio --iodepth: I/Os under way in each thread")
    file_bytes: int = option(
        Kind(parse_file_size, format_bytes, f"a size of at least {format_bytes(FILE_BYTES_MIN)}"),
        name="file_size",
        default=1 << 30,
        unit="bytes",
        summary="fio --size: of the file that all threads share, in the cluster's folder",
        size=ModelSize(least_bytes=FILE_BYTES_MIN, step_bytes=1 << 20, data="file of 16MB"),
    )
    direct: bool = option(
        SWITCH, default=True, summary="fio --direct: around the page cache; WAL always goes through it"
    )
    engine: str = option(
        choice("auto", "psync", "libaio", "io_uring"),
        default="auto",
        summary="fio --ioengine; auto: psync at depth 1, else io_uring",
    )
    tool: str = option(
        choice("fio", "sysbench"), default="fio", summary="fio, or sysbench fileio as a published study used it"
    )

    def __post_init__(self) -> None:
        if self.file_bytes < self.threads * self.io_bytes * 2:
            raise messages.file_too_small(format_bytes(self.file_bytes), self.threads)

    def estimated_bytes(self) -> int:
        """The bytes of an empty cluster and of fio's file."""
        return EMPTY_CLUSTER_BYTES + self.file_bytes

    @property
    def trial_bytes(self) -> int:
        """fio's file, which the first run in each clone lays out."""
        return self.file_bytes

    @property
    def laid_out_bytes(self) -> int:
        """The same file, unless the load itself creates it."""
        return 0 if self.creates_file else self.file_bytes

    @property
    def read_share(self) -> int | None:
        """Reads in percent of all I/Os; None for patterns that are not random."""
        if not self.pattern.startswith(_RANDOM):
            return None
        return int(self.pattern.removeprefix(_RANDOM).removesuffix("%"))

    @property
    def creates_file(self) -> bool:
        """Does each run make a new file, so that none is laid out before?"""
        return self.pattern == SEQWR

    @property
    def around_cache(self) -> bool:
        """Does it go around the page cache? PostgreSQL's WAL goes through it, then fdatasync."""
        return self.direct and self.pattern != WAL

    @property
    def connections(self) -> int:
        """No connection, since the server idles."""
        return 0


def layout_command(file: Path, options: FioOptions) -> list[str]:
    """Write the whole file and sync it."""
    return [
        PROGRAM, "--name=layout", f"--filename={file}", f"--size={options.file_bytes}", "--rw=write", "--bs=1M",
        "--ioengine=psync", "--end_fsync=1", "--output-format=json",
    ]  # fmt: skip


def run_command(file: Path, options: FioOptions, seed: int, log_prefix: Path) -> list[str]:
    """Work on the file for the asked time; JSON with histograms on stdout, I/Os a second in `log_prefix`."""
    shared = [
        PROGRAM, f"--filename={file}", f"--bs={options.io_bytes}", f"--ioengine={engine(options)}",
        f"--iodepth={options.depth}", f"--direct={int(options.around_cache)}", "--thread", "--group_reporting",
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
    if options.pattern == SEQWR:
        return [*shared, *_SEQWR]
    return [*shared, "--fdatasync=1"] if options.pattern == WAL else shared


def engine(options: FioOptions) -> str:
    """`psync` is what a PostgreSQL backend does; deeper queues need an asynchronous one."""
    if options.engine != "auto":
        return options.engine
    return "psync" if options.depth == 1 else "io_uring"


def _random(read_share: int) -> Sequence[str]:
    if read_share in (0, 100):
        return (f"--rw={'randread' if read_share else 'randwrite'}",)
    return ("--rw=randrw", f"--rwmixread={read_share}")


def _reread(options: FioOptions) -> list[str]:
    """Half the time over the whole file, no block twice; then half the time in one small region."""
    half = max(1, (options.duration_s or 0) // 2)
    each = [f"--numjobs={options.threads}", f"--runtime={half}", "--rw=randread"]
    return [
        "--name=fresh", *each, f"--size={options.file_bytes}",
        "--name=repeated", "--stonewall", "--new_group", *each, f"--size={HOT_BYTES}", "--norandommap",
    ]  # fmt: skip
