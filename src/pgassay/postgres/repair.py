"""Servers on clusters of ours that a killed pgassay left, found by their owner's file.

Only directories with our marker whose owner is gone are touched, and only processes that really serve them. Servers
normally die with us (see the host's runner); this is for other cases: another kernel, a supervisor in between.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.errors import ClusterError
from pgassay.postgres import ownership, processes

DEPTH = 7
"""How far below a place of ours a cluster may lie: pgassay/sessions/lab-…/disk/crash/1/trial-… of a power cut."""
_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Leftover:
    """A cluster of ours whose owner is gone, and the processes that still serve it."""

    directory: Path
    pids: tuple[int, ...]


def leftovers(places: Sequence[Path]) -> list[Leftover]:
    """Every abandoned cluster below `places` that is still served."""
    found = []
    for place in places:
        for cluster in _clusters(place, DEPTH):
            if ownership.abandoned(cluster) and (pids := processes.serving(cluster)):
                found.append(Leftover(cluster, tuple(pids)))
    return found


def end(leftover: Leftover) -> None:
    """Stop what serves an abandoned cluster of ours; its files stay for the drive to discard.

    The keeper of the killed lab may be at it too, and may have removed them meanwhile.
    """
    try:
        ownership.require_mark(leftover.directory)
    except ClusterError:
        if leftover.directory.exists():
            raise
        return
    processes.end(leftover.directory, _PATIENCE_S)
    ownership.release(leftover.directory)


def _clusters(place: Path, depth: int) -> Iterator[Path]:
    """Directories with our marker at most `depth` below `place`; symbolic links are not followed."""
    try:
        if (place / ownership.MARKER_FILE).is_file():
            yield place
            return
        folders = [each for each in place.iterdir() if each.is_dir() and not each.is_symlink()] if depth else []
    except OSError:
        return
    for folder in folders:
        yield from _clusters(folder, depth - 1)
