"""What is measured beside a load, once its window is over, so that both saw the same hour: an interface."""

from collections.abc import Mapping
from typing import Protocol

from pgassay.bench.load import LoadOptions
from pgassay.bench.server import Server
from pgassay.study.responses import Response


class ReferenceMeasurement(Protocol):
    """What the processors can do without PostgreSQL, how far the network is, and the like."""

    def responses(self, options: LoadOptions) -> tuple[Response, ...]:
        """What it yields for a load with these options; nothing where it is not asked for."""

    def measure(self, options: LoadOptions, server: Server) -> Mapping[str, float | None]:
        """Measure now, beside this idle server; each of `responses` by name, None where it failed."""
