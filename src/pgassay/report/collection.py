"""Python's search for cyclic garbage, paused: a large run is a million small values without cycles.

Without this the search takes longer than the analysis itself (benchmarks/analysis_scale.py). For a command that ends
soon, or around one report: what was made meanwhile is never searched, and freed as usual when nothing refers to it.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Pause it; if it was off already it stays off."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()
