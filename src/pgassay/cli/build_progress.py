"""What a build says while it runs: one line that is written over on a terminal, a line now and then elsewhere."""

import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgassay.postgres.builds.compilation import Progress, Tell

_EVERY_S = 30.0
_BAR = 20
"""Characters of the bar."""


def teller(*, quiet: bool = False) -> "Tell":
    """A function that prints progress on standard error."""
    from pgassay.postgres.builds.compilation import tell_nobody

    if quiet:
        return tell_nobody
    return _Terminal() if sys.stderr.isatty() else _Lines()


def line(progress: "Progress") -> str:
    """`building PostgreSQL 15.18, 2kB pages, 8kB WAL blocks: make, 312 of 1020 objects, 80 s, about 190 s left`."""
    left = progress.left_s
    ending = f", about {left:.0f} s left" if left is not None else ""
    return (
        f"building PostgreSQL {progress.name}: {progress.step}, {progress.objects} of about"
        f" {max(progress.objects, progress.expected)} objects, {progress.seconds:.0f} s{ending}"
    )


class _Lines:
    """A line when a build begins, then every half minute."""

    def __init__(self) -> None:
        self._name = ""
        self._told_s = 0.0

    def __call__(self, progress: "Progress") -> None:
        if progress.name != self._name or progress.seconds - self._told_s >= _EVERY_S:
            self._name, self._told_s = progress.name, progress.seconds
            print(line(progress), file=sys.stderr, flush=True)


def drawn(progress: "Progress", columns: int) -> str:
    """`[#######-------------] about 190 s left: PostgreSQL 15.18, 2kB pages, 8kB WAL blocks: make, 80 s`, cut to fit.

    A line that wraps could not be written over.
    """
    share = 1.0 if progress.done else min(1.0, progress.objects / progress.expected)
    bar = f"[{'#' * int(share * _BAR):-<{_BAR}}]"
    left = progress.left_s
    told = "done" if progress.done else "" if left is None else f"about {left:.0f} s left"
    text = f"{told + ': ' if told else ''}PostgreSQL {progress.name}: {progress.step}, {progress.seconds:.0f} s"
    return f"{bar} {text}"[: max(1, columns - 1)]


class _Terminal:
    """One line with a bar, written over."""

    def __call__(self, progress: "Progress") -> None:
        told = drawn(progress, shutil.get_terminal_size().columns)
        print(f"\r\x1b[K{told}", end="\n" if progress.done else "", file=sys.stderr, flush=True)
