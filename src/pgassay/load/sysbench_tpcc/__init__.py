"""sysbench with Percona's TPC-C scripts as a load: their transactions on tables that we fill."""

from pgassay.load.sysbench_tpcc.driver import SysbenchTpccLoad

__all__ = ["SysbenchTpccLoad"]
