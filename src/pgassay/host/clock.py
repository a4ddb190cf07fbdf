"""The real clock behind `bench.running.Clock`.

Lengths are taken by CLOCK_MONOTONIC, which no administrator's date or NTP step moves; dates by the wall clock.
"""

import time


class SystemClock:
    """Both times of this machine."""

    def monotonic_ns(self) -> int:
        """Nanoseconds that never go back."""
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        """Wait; a negative length is none."""
        time.sleep(max(0.0, seconds))
