"""What the keeper of a killed lab runs last: `python -m pgassay.lab.gone DIRECTORY…`.

It gives back the drives below the directories where that lab worked, as the next run there would: file systems are
unmounted, then the daemons of emulated drives end. Temporary places of killed processes go, too.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pgassay import children, scratch
from pgassay.drive.root import find_root
from pgassay.errors import PgassayError
from pgassay.lab.drives import end_killed

COMMAND = tuple(children.interpreter("pgassay.lab.gone"))


def main(directories: Sequence[str]) -> None:
    """Give back what is below each; what cannot be given back stays for `pgassay doctor --repair`, which says why."""
    for directory in map(Path, dict.fromkeys(directories)):
        with suppress(PgassayError, OSError):
            root = find_root(directory)
            if root is not None:
                end_killed(directory, root)
    with suppress(PgassayError, OSError):
        scratch.remove_left()


if __name__ == "__main__":
    main(sys.argv[1:])
