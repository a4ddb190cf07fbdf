"""The half of `bench.load.Load` that is about TPC-C's tables, for every program that plays on them.

pgbench, go-tpc and sysbench-tpcc differ in how a run is made and read, and in what they call the tables; the rows,
their size and the consistency conditions asked after the window (`verify`) are the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from pgassay.bench.server import Server
from pgassay.load.tpcc import consistency, preparing


class TpccTables(ABC):
    """Nine tables, filled for so many warehouses; `names` is what the program calls them."""

    names: preparing.Names = preparing.PLAIN

    @abstractmethod
    def warehouses(self, options: Mapping[str, str]) -> int:
        """How many, by these options; raises `UsageError` for any that cannot be."""

    def data_key(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The data depend on the number of warehouses alone."""
        return {"warehouses": str(self.warehouses(options))}

    def estimated_bytes(self, options: Mapping[str, str]) -> int:
        """About how much room the data take."""
        return preparing.estimated_bytes(self.warehouses(options))

    def create(self, server: Server, options: Mapping[str, str]) -> None:
        """Create the empty tables with their indexes."""
        self.warehouses(options)
        preparing.create(server, self.names)

    def fill(self, server: Server, options: Mapping[str, str]) -> None:
        """Fill them by COPY; raises `LoadError`."""
        preparing.fill(server, self.warehouses(options), self.names)

    def age(self, server: Server, options: Mapping[str, str]) -> None:  # noqa: B027 - nothing is what is meant
        """Nothing: `load.age` is not among the options."""

    def verify(self, server: Server, options: Mapping[str, str]) -> Mapping[str, str]:
        """The consistency conditions 1 to 4; `inconsistent` names those that do not hold."""
        return consistency.verified(server, self.names)
