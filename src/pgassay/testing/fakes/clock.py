"""A clock that only moves when a test moves it, or when someone sleeps: a day of trials passes in a moment."""

SECOND_NS = 1_000_000_000


class FakeClock:
    """See `bench.running.Clock`; `advance` lets time pass, `jump` moves the wall clock as an administrator would."""

    def __init__(self, wall_ns: int = 1_700_000_000 * SECOND_NS, monotonic_ns: int = SECOND_NS) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns

    def monotonic_ns(self) -> int:
        """Nanoseconds that only `advance` and `sleep` move."""
        return self._monotonic_ns

    def wall_ns(self) -> int:
        """Nanoseconds since the epoch, which `jump` moves too."""
        return self._wall_ns

    def sleep(self, seconds: float) -> None:
        """Time passes at once; a negative length is none."""
        self.advance(max(0.0, seconds))

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self._monotonic_ns += round(seconds * SECOND_NS)
        self._wall_ns += round(seconds * SECOND_NS)

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back."""
        self._wall_ns += round(seconds * SECOND_NS)
