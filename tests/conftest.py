"""How hypothesis runs here: no property fails for being slow, since machines and builds are shared and differ.

On CI the examples are the same at every run, so that nobody's change is refused for what another's change broke; at
a desk they are fresh each time, to find what nobody thought of.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "pgassay",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("pgassay")
