"""Work on a drive that may run out of flash: what its file system then says (read-only, I/O error) is not the cause.

After a refused write of its journal a file system lets nothing be written any more, and whoever comes next hears of
that alone. The drive itself counted what it refused, so it is asked.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgassay.bench.drive_counters import DATA, WAL
from pgassay.bench.errors import BenchError, SpaceError
from pgassay.bench.store import Drive
from pgassay.lab import outcomes


@contextmanager
def named(drive: Drive, place: Path) -> Iterator[None]:
    """Around work in a workspace or clone: raises `SpaceError` for a failure during which its drive refused writes."""
    before = _refused(drive, place)
    try:
        yield
    except SpaceError:
        raise
    except (OSError, BenchError) as error:
        since = {name: value - before.get(name, 0.0) for name, value in _refused(drive, place).items()}
        told = outcomes.of_drives(since)
        if not told:
            raise
        what = error.message if isinstance(error, BenchError) else str(error.strerror).lower()
        raise SpaceError(f"{'; '.join(told.values())}: {what}") from error


def _refused(drive: Drive, place: Path) -> dict[str, float]:
    names = ("rejected_writes", "store_full_writes")
    return {
        f"{source}.{name}": value
        for source, read in drive.counters(place).items()
        if source in (DATA, WAL)
        for name, value in read().items()
        if name in names
    }
