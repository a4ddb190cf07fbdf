"""How long blocks take on the hosts of a fleet, and which one is late: its host hangs, or is slower than the others.

A host's first block is longer, since its data are prepared in it; it is compared with the first blocks of other hosts.
Nothing is concluded about a late block: it is begun on a free host as well, and whichever comes home first counts.
"""

from statistics import median

LATE = 3.0
"""Times the usual length. A block whose trials were all disturbed and repeated takes twice as long as others."""


class Pace:
    """Lengths of the blocks that have come home."""

    def __init__(self) -> None:
        self._first_s: dict[str, float] = {}
        self._later_s: list[float] = []

    def ended(self, host: str, seconds: float) -> None:
        """A block of this host has come home."""
        if host in self._first_s:
            self._later_s.append(seconds)
        else:
            self._first_s[host] = seconds

    def usual_s(self, host: str) -> float | None:
        """The median length of what this host has in hand; None where there is nothing to compare with."""
        lengths_s = self._later_s if host in self._first_s and self._later_s else list(self._first_s.values())
        return median(lengths_s) if lengths_s else None

    def late(self, host: str, seconds: float) -> bool:
        """Has this host had its block for far longer than blocks take?"""
        usual_s = self.usual_s(host)
        return usual_s is not None and seconds > LATE * usual_s
