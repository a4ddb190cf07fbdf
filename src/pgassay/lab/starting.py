"""With which settings a trial's server starts: the study's own, and those that pin its regime.

What the user sets or varies is never overridden. Everything that is pinned is in the record as effectively configured.
"""

from pgassay.lab import fairness, regime
from pgassay.lab.composition import Composition
from pgassay.study.model import Study

_CONNECTIONS_DEFAULT = 100
_CONNECTIONS_SPARE = 20
"""For our own sessions and the superuser's reserve."""


def settings_of(study: Study, composition: Composition) -> dict[str, str]:
    """GUC to value."""
    setup = composition.setup
    duration = None if setup.load.get("transactions") else setup.load.get("duration")
    pinned = regime.pinned(regime.mode_of(setup.load), duration, setup.settings)
    if "max_wal_size" in pinned:
        pinned["max_wal_size"] = regime.holding(pinned["max_wal_size"], setup.init_options)
    settings = {**setup.settings, **fairness.pinned(study, composition), **pinned}
    wanted = int(setup.load.get("clients", "1")) + _CONNECTIONS_SPARE
    if wanted > _CONNECTIONS_DEFAULT and "max_connections" not in settings:
        settings["max_connections"] = str(wanted)
    return settings
