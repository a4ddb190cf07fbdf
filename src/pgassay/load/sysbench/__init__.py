"""sysbench's oltp_* tests as a load: the real program makes the load, its tables are filled by COPY.

The packaged sysbench (1.0.20) has traps that are dealt with here: it cannot give its tables options, dies of SIGSEGV
when they are missing, and prints a single percentile (its histogram has them all).
"""

from pgassay.bench.load import Driver, Load, Tools
from pgassay.load import messages
from pgassay.load.sysbench.options import PROGRAM, SysbenchOptions


def _make(options: SysbenchOptions, tools: Tools) -> Load:
    from pgassay.load.sysbench.driver import SysbenchLoad

    return SysbenchLoad(options, tools)


DRIVER = Driver(
    SysbenchOptions,
    _make,
    "the oltp_* tests of the installed sysbench",
    program=PROGRAM,
    program_hint=messages.SYSBENCH_HINT,
)
