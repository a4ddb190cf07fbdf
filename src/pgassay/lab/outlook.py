"""What a run will take, for its plan: the load, what each trial needs beside it, and the snapshots that are missing.

The rates are means over runs on one quiet machine (two cores, ext4, clones copied, PostgreSQL 15 with pages of 2 to
8 kB, pgbench at scales 20 and 100); other drives have others, so a plan says "about". A run measures its own trials:
its decisions go by those alone (see `memory`).
"""

from dataclasses import dataclass

from pgassay.lab import upkeep
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.memory import load_s

TRIAL_S = 0.4
"""A server's start and end, and two readings of every probe."""
STATE_S_PER_GB = 3.2
"""Cloning the data, bringing them into the caches, and removing them."""
UPKEEP_S_PER_GB = 4.1
"""CHECKPOINT and VACUUM of every page, where `load.maintenance` asks for them."""
PREPARATION_S = 0.5
"""initdb, start and end."""
PREPARATION_S_PER_GB = 7.4
"""Filling, keys, VACUUM and writing it all to the drive; ageing is not in it."""

_GB = 1e9


@dataclass(frozen=True)
class Outlook:
    """Seconds: of load in a trial and all that a trial takes (means over the arms), and of snapshots, made once."""

    load_s: float
    trial_s: float
    preparation_s: float


def look_ahead(resolved: ResolvedStudy) -> Outlook:
    """The outlook for a study; where arms count transactions `load_s` is a guess (see `memory.length_known`)."""
    beside_s = 0.0
    preparing: dict[str, float] = {}
    for arm in resolved.arms:
        data_gb = arm.data_bytes / _GB
        rate = STATE_S_PER_GB + (UPKEEP_S_PER_GB if upkeep.wanted(arm.setup.load) else 0.0)
        beside_s += TRIAL_S + rate * data_gb
        key = arm.snapshot_key
        if key not in preparing:
            there = arm.drive.has_snapshot(key)
            preparing[key] = 0.0 if there else PREPARATION_S + PREPARATION_S_PER_GB * data_gb
    loaded_s = load_s(resolved.study)
    return Outlook(loaded_s, loaded_s + beside_s / len(resolved.arms), sum(preparing.values()))
