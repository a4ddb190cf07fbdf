"""Which treatments a power failure may destroy: they may be measured, are always marked, and are never recommended.

fsync = off and full_page_writes = off (PostgreSQL manual, "Reliability and the Write-Ahead Log"). A drive that writes
16 kB atomically does not make the latter safe: PostgreSQL writes through the page cache, which splits them as it likes.
"""

from collections.abc import Mapping

from pgassay.study.levels import Level
from pgassay.study.model import Study

_RISKS = {
    "server.fsync": "a power failure can destroy the whole cluster",
    "server.full_page_writes": "a power failure can tear pages, and nothing repairs them",
}
_OFF = ("off", "false", "no", "0")


def risks(levels: Mapping[str, Level]) -> tuple[str, ...]:
    """The levels that give up crash safety, each with what may happen; empty when all are safe."""
    return tuple(
        f"{name} = {levels[name].typed} is not crash-safe: {risk}"
        for name, risk in _RISKS.items()
        if name in levels and levels[name].canonical.lower() in _OFF
    )


def warnings(study: Study) -> tuple[str, ...]:
    """A sentence for each such level of any arm."""
    found = [risk for arm in study.arms for risk in risks(study.levels_of(arm))]
    return tuple(f"{risk}; it is measured here and never recommended" for risk in dict.fromkeys(found))
