"""An instrument without servers."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pgassay.errors import UsageError
from pgassay.interfaces.probe import BACKEND, MISSES, Executed


@dataclass
class FakeInstrument:
    """See `interfaces.probe.Instrument`; `end` says that a process has ended, and what it executed."""

    missing: str = ""
    misses: bool = False
    begun: int = 0
    name: str = "a fake"
    _ended: dict[int, Executed] = field(default_factory=dict)

    def require(self) -> None:
        if self.missing:
            raise UsageError(self.missing)

    def begin(self) -> tuple[str, ...]:
        self.begun += 1
        self._ended.clear()
        return ("/nowhere/instrument",)

    @contextmanager
    def window(self, postmaster_pid: int, there: Collection[int]) -> Iterator[Callable[[], tuple[Executed, ...]]]:
        before = {*there, *self._ended}
        yield lambda: tuple(each for pid, each in self._ended.items() if pid not in before)

    def end(self, instructions: float, kind: str = BACKEND) -> None:
        """Another process has ended, whose every instruction is in one function, called once in each ten."""
        functions = {"exec_execute": (instructions, instructions / 10)}
        misses = dict.fromkeys(MISSES, instructions / 100) if self.misses else {}
        system_calls = {"pwrite64": instructions / 1e6}
        self._ended[len(self._ended) + 1] = Executed(kind, instructions, functions, system_calls, misses)
