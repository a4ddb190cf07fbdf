"""Flash drives without a drive: what a load becomes inside a modelled one; no PostgreSQL, no disk, no privileges.

The model is the Rust core's (docs/drives.md states every assumption). `simulate` takes a description and gives
what it found; `points` and `simulate_all` do that for every combination of some levels.
"""

from pgassay.flash.simulation import Outcome, Simulation, points, read, simulate, simulate_all

__all__ = ["Outcome", "Simulation", "points", "read", "simulate", "simulate_all"]
