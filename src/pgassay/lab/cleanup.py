"""What the keeper of a killed lab runs last: `python -m pgassay.lab.cleanup DIRECTORY…`.

It gives back the drives below the directories where that lab worked, as the next run there would: file systems are
unmounted, then the daemons of emulated drives end. Temporary places of killed processes go, too. Somebody may wait for
it on a busy machine, so it imports little.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pgassay import children, scratch
from pgassay.drive.root import Root, find_root
from pgassay.drive.sessions import Session
from pgassay.errors import PgassayError
from pgassay.postgres import ownership

COMMAND = tuple(children.interpreter("pgassay.lab.cleanup"))


def main(directories: Sequence[str]) -> None:
    """Give back what is below each; what cannot be given back stays for `pgassay doctor --repair`, which says why."""
    for directory in map(Path, dict.fromkeys(directories)):
        with suppress(PgassayError, OSError):
            root = find_root(directory)
            if root is not None:
                end_killed(directory, root)
    with suppress(PgassayError, OSError):
        scratch.remove_left()


def end_killed(directory: Path, root: Root) -> list[str]:
    """End the runs that were killed below `directory`, as attaching a drive there does; returns what, a line each.

    Servers go first, then their sessions with mounts, loop devices and daemons.
    """
    done = []
    for cluster in ownership.leftovers(directory):
        ownership.end_leftover(cluster)
        done.append(f"server of {cluster.name}")
    session = Session(root)
    session.close(keep_snapshots=True)
    return [*done, *session.removed]


if __name__ == "__main__":
    main(sys.argv[1:])
