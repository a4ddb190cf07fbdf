"""What a probe need not do whose numbers are true whenever it looks: the kernel's and a drive's.

PostgreSQL's statistics reach their views late (manual, "The Cumulative Statistics System"); /proc and /sys do not.
"""


class AtOnce:
    """For probes (`bench.counters.Probe`) that ask anew each time."""

    def settle(self) -> None:
        """The numbers are always up to date."""

    def close(self) -> None:
        """Nothing is held open."""
