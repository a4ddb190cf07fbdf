"""Where pgassay keeps what it must know after a kill: changes of this machine, temporary places, proofs of counters."""

import os
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "PGASSAY_STATE_DIR"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """$PGASSAY_STATE_DIR; /var/lib/pgassay/state for root; else the user's state home.

    It is the machine's, so it does not move with the clusters.
    """
    named = environment.get(VARIABLE)
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/pgassay/state")
    home = Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home.absolute() / "pgassay"
