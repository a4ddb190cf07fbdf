"""fio's options as factors; `load.pattern`, `load.io_size` and `load.threads` serve as conditions and covariates."""

from pgassay.load import shared_factors as shared
from pgassay.load.fio.options import ENGINES, TOOLS, parse_file_size, parse_io_size, parse_pattern
from pgassay.load.load_factor import LoadFactor, choice, count, switch
from pgassay.study.units import format_bytes


def _io_size(name: str, typed: str) -> str:
    return format_bytes(parse_io_size(name, typed))


def _file_size(name: str, typed: str) -> str:
    return format_bytes(parse_file_size(name, typed))


FACTORS = (
    LoadFactor("pattern", parse_pattern, "random:70% (reads), read, write, wal (write and fdatasync), reread"),
    LoadFactor("io_size", _io_size, "fio --bs: the size of one I/O"),
    LoadFactor("depth", count, "fio --iodepth: I/Os under way in each thread"),
    LoadFactor("file_size", _file_size, "fio --size: of the file, beside the cluster's own, that all threads share"),
    LoadFactor("direct", switch, "fio --direct: around the page cache; WAL always goes through it"),
    LoadFactor("engine", choice(*ENGINES), "fio --ioengine; auto: psync at depth 1, else io_uring"),
    LoadFactor("tool", choice(*TOOLS), "fio, or sysbench fileio as a published study used it"),
    shared.THREADS,
)
