"""All factors of all rooms, found by name: exact names before patterns, longer patterns before shorter ones.

This is the only place that knows which rooms have factors; a new factor is one object in its room's `factors.py`, or in
another package under the entry point group `pgassay.factors`.
"""

from collections.abc import Iterable, Sequence

from pgassay import plugins
from pgassay.interfaces.factor import Factor, matches


class FactorCatalogue:
    """Implements `study.levels.FactorNames` over the rooms' factors."""

    def __init__(self, factors: Iterable[Factor]) -> None:
        self._factors = sorted(factors, key=lambda each: ("*" in each.pattern, -len(each.pattern), each.pattern))

    def find(self, name: str) -> Factor | None:
        """The factor that covers `name`, the most specific first; None if there is none."""
        return next((factor for factor in self._factors if matches(factor.pattern, name)), None)

    def names(self) -> Sequence[str]:
        return sorted(factor.pattern for factor in self._factors)

    def all(self) -> Sequence[Factor]:
        return sorted(self._factors, key=lambda each: each.pattern)


def every_factor() -> FactorCatalogue:
    """The factors of every room of the bench, then those of other packages; raises `PluginError` for a broken one."""
    from pgassay.drive.options import FACTORS as DRIVE
    from pgassay.host.factors import FACTORS as HOST
    from pgassay.load.drivers import factors as load_factors
    from pgassay.postgres.factors import FACTORS as POSTGRES

    ours = (*POSTGRES, *load_factors(), *DRIVE.values(), *HOST)
    taken = [each.pattern for each in ours]
    found = []
    for plugin in plugins.installed(plugins.Group.FACTORS):
        factor = plugin.load(Factor)
        if factor.pattern in taken:
            raise plugin.name_taken()
        found.append(factor)
    return FactorCatalogue((*ours, *found))
