"""sysbench's oltp_* tests as a load: the real program makes the load, its tables are filled by COPY.

The packaged sysbench (1.0.20) has traps that are dealt with here: it cannot give its tables options, dies of SIGSEGV
when they are missing, and prints a single percentile (its histogram has them all).
"""

from pgassay.load.sysbench.driver import SysbenchLoad

__all__ = ["SysbenchLoad"]
