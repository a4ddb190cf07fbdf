"""How long blocks take on the hosts of a fleet, and which one is late: its host hangs, or is slower than the others.

A host's first block is longer, since its data are prepared in it; it is compared with the first blocks of other hosts.
Nothing is concluded about a late block: it is begun on a free host as well, and whichever comes home first counts. Only
where every host that could run it is held up many times as long does nobody wait any more.
"""

from statistics import median

LATE = 3.0
"""Times the usual length. A block whose trials were all disturbed and repeated takes twice as long as others."""

HANGS = 20.0
"""Times the usual length: a machine that slow measures nothing."""
HANGS_S = 600.0
"""And at least so long: short blocks are held up by things that end."""


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

    def hangs(self, host: str, seconds: float) -> bool:
        """Has it had its block for so long that none is expected? Never before some host has brought one home."""
        usual_s = self.usual_s(host)
        return usual_s is not None and seconds > max(HANGS_S, HANGS * usual_s)
