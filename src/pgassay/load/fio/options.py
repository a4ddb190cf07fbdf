"""The options of a fio load as checked values: an access pattern, the size of an I/O, threads and depth.

Patterns are those of PostgreSQL and of a published study: random I/O with a share of reads, one sequential stream, WAL
(a write and an fdatasync in turn, through the page cache) and `reread`, which tells a cache beneath the guest.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.errors import UsageError
from pgassay.load import messages, values
from pgassay.study.units import format_bytes, parse_memory

SEQUENTIAL_READ, SEQUENTIAL_WRITE, WAL, REREAD = "read", "write", "wal", "reread"
_RANDOM = "random:"
WORDS = ("random:N% (N % reads)", SEQUENTIAL_READ, SEQUENTIAL_WRITE, WAL, REREAD)
ENGINES = ("auto", "psync", "libaio", "io_uring")
TOOLS = ("fio", "sysbench")
IO_BYTES_MIN, IO_BYTES_MAX = 512, 16 << 20
FILE_BYTES_MIN = 16 << 20
DEFAULTS: Mapping[str, str] = {
    "pattern": "random:100%",
    "io_size": "8kB",
    "threads": "1",
    "depth": "1",
    "file_size": "1GB",
    "direct": "on",
    "engine": "auto",
    "duration": "60s",
    "tool": "fio",
}


@dataclass(frozen=True)
class Options:
    """A fio load. `read_share` is set for random patterns only."""

    pattern: str
    read_share: int | None
    io_bytes: int
    threads: int
    depth: int
    file_bytes: int
    direct: bool
    engine: str
    duration_s: int
    tool: str


def read_options(levels: Mapping[str, str]) -> Options:
    """The options for these levels (names without `load.`); raises `UsageError`."""
    given = {**DEFAULTS, **levels}
    pattern = parse_pattern("load.pattern", given["pattern"])
    random = pattern.startswith(_RANDOM)
    found = Options(
        pattern=pattern,
        read_share=int(pattern.removeprefix(_RANDOM).removesuffix("%")) if random else None,
        io_bytes=parse_io_size("load.io_size", given["io_size"]),
        threads=values.parse_count("load.threads", given["threads"]),
        depth=values.parse_count("load.depth", given["depth"]),
        file_bytes=parse_file_size("load.file_size", given["file_size"]),
        # As PostgreSQL writes its WAL: through the page cache, then fdatasync.
        direct=values.parse_switch("load.direct", given["direct"]) and pattern != WAL,
        engine=given["engine"],
        duration_s=values.parse_seconds("load.duration", given["duration"]),
        tool=given["tool"],
    )
    if found.file_bytes < found.threads * found.io_bytes * 2:
        raise messages.file_too_small(format_bytes(found.file_bytes), found.threads)
    return found


def parse_pattern(name: str, text: str) -> str:
    """`random:70%`, `random:70` or a word, in canonical form."""
    word = text.strip()
    if word.startswith(_RANDOM):
        number = word.removeprefix(_RANDOM).removesuffix("%")
        if number.isascii() and number.isdigit() and int(number) <= 100:
            return f"{_RANDOM}{int(number)}%"
    elif word in (SEQUENTIAL_READ, SEQUENTIAL_WRITE, WAL, REREAD):
        return word
    raise messages.not_a_choice(name, text, WORDS)


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
