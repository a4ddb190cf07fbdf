"""Ctrl-C, SIGTERM and SIGHUP: each ends a command cleanly, and none cuts into a clean-up or into a write of the record.

The first becomes a KeyboardInterrupt, at once or when what must not be cut short is done. Later ones change nothing: by
then everything is being cleaned up. Python runs signal handlers in the main thread only, see the manual of `signal`.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopAsked(KeyboardInterrupt):
    """The user asked for the run to end with a block, and that one has ended."""


class Interruption:
    """Knows whether the user has asked to stop, and raises `KeyboardInterrupt` as soon as that may happen."""

    def __init__(self) -> None:
        self._held = 0
        self._asked = False
        self._raised = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the signals for a while; raises `ValueError` outside the main thread."""
        heard = [each for each in SIGNALS if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN]  # nohup
        before = {number: signal.signal(number, self.arrive) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Around steps that must not be cut short: what arrives meanwhile is raised at the end."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if self._asked:
                self.arrive()

    def arrive(self, number: int = signal.SIGINT, frame: FrameType | None = None) -> None:
        """Take a signal; raises `KeyboardInterrupt` unless a step is held, and at most once."""
        self._asked = True
        if not self._held and not self._raised:
            self._raised = True
            raise KeyboardInterrupt
