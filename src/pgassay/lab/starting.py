"""With which settings a trial's server starts: the study's own, and those that pin its regime.

What the user sets or varies is never overridden. Everything that is pinned is in the record as effectively configured.
"""

from collections.abc import Mapping

from pgassay.bench.factor import Setup
from pgassay.lab import fairness, messages, regime
from pgassay.study.model import Study

PREPARING: Mapping[str, str] = {
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "checkpoint_timeout": "1h",
    "maintenance_work_mem": "256MB",
    "autovacuum": "off",
    "fsync": "off",
}
"""Settings while a snapshot is made: nobody measures here, and the snapshot is synced to disk when it is taken."""
_CONNECTIONS_DEFAULT = 100
_CONNECTIONS_SPARE = 20
"""For our own sessions and the superuser's reserve."""
_CONNECTIONS_OURS = 5
"""Of the lab and its probes; the least that must be left beside the load's."""
_CONNECTED = ("clients", "threads")
"""Options that say how many connections a load opens, by driver."""


def settings_of(study: Study, setup: Setup) -> dict[str, str]:
    """With what an arm's server starts, GUC to value."""
    duration = None if setup.load.get("transactions") else setup.load.get("duration")
    pinned = regime.pinned(regime.mode_of(setup.load), duration, setup.settings)
    if "max_wal_size" in pinned:
        pinned["max_wal_size"] = regime.holding(pinned["max_wal_size"], setup.init_options)
    settings = {**setup.settings, **fairness.pinned(study, setup), **pinned}
    wanted = connections(setup.load) + _CONNECTIONS_SPARE
    if wanted > _CONNECTIONS_DEFAULT and "max_connections" not in settings:
        settings["max_connections"] = str(wanted)
    return settings


def connections(options: Mapping[str, str]) -> int:
    """How many connections a load with these options opens."""
    return max(int(options.get(name, "1")) for name in _CONNECTED)


def require_connections(setup: Setup) -> None:
    """Raise `UsageError` where the study's own max_connections leaves none for the load or for us."""
    given = setup.settings.get("max_connections", "")
    needed = connections(setup.load) + _CONNECTIONS_OURS
    if given.isdecimal() and int(given) < needed:
        raise messages.too_few_connections(given, connections(setup.load), needed)
