"""fio as a load: what the drive under the data directory can do by itself, while the server idles."""

from pgassay.bench.load import Driver, Load, Tools
from pgassay.load import messages
from pgassay.load.fio.options import PROGRAM, FioOptions
from pgassay.study.work import IO


def _make(options: FioOptions, tools: Tools) -> Load:
    from pgassay.load.fio.driver import FioLoad

    return FioLoad(options, tools)


DRIVER = Driver(
    FioOptions,
    _make,
    "no database: what the drive under it can do by itself",
    program=PROGRAM,
    program_hint=messages.FIO_HINT,
    work=IO,
)
