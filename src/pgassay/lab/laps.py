"""How long each step of a trial's life took, however the step ended: what a trial costs beyond its load is seen."""

from collections.abc import Iterator
from contextlib import contextmanager

from pgassay.bench.running import Clock


class Laps:
    """`with laps("clone"): …` adds the step's length to `timings_s`; steps do not nest, so their sum is the whole."""

    def __init__(self, clock: Clock) -> None:
        self.timings_s: dict[str, float] = {}
        self._clock = clock

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time one step; a second one of the same name is added to the first."""
        started_ns = self._clock.monotonic_ns()
        try:
            yield
        finally:
            seconds = (self._clock.monotonic_ns() - started_ns) / 1e9
            self.timings_s[name] = self.timings_s.get(name, 0.0) + seconds
