"""A small catalogue for parsing studies without any room of the bench."""

from collections.abc import Sequence

from pgassay.errors import UsageError
from pgassay.study.levels import Level
from pgassay.study.units import canonical


class SmallFactor:
    """Takes anything; `table.fillfactor` only 10 to 100."""

    def parse(self, name: str, typed: str) -> Level:
        if name == "table.fillfactor" and not 10 <= int(typed) <= 100:
            raise UsageError(f"{name} must lie between 10 and 100")
        return Level(typed, canonical(typed))


class SmallCatalogue:
    """`server.*`, `table.fillfactor` and a few of pgbench's options."""

    KNOWN = ("table.fillfactor", "load.driver", "load.clients", "load.scale", "load.duration", "load.script")

    def find(self, name: str) -> SmallFactor | None:
        return SmallFactor() if name in self.KNOWN or name.startswith("server.") else None

    def names(self) -> Sequence[str]:
        return [*self.KNOWN, "server.*"]
