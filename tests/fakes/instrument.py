"""An instrument without servers: each process that `runs` says ended executed so much."""

from collections.abc import Collection
from dataclasses import dataclass, field

from pgassay.errors import UsageError
from pgassay.interfaces.probe import BACKEND, MISSES, Executed


@dataclass
class FakeInstrument:
    """See `interfaces.probe.Instrument`; `end` says that a process has ended, and what it executed."""

    missing: str = ""
    begun: int = 0
    misses: bool = False
    name: str = "a fake"
    _ended: dict[int, Executed] = field(default_factory=dict)

    def require(self) -> None:
        if self.missing:
            raise UsageError(self.missing)

    def begin(self, *, misses: bool) -> tuple[str, ...]:
        self.begun += 1
        self.misses = misses
        self._ended.clear()
        return ("/nowhere/instrument",)

    def ended(self) -> frozenset[int]:
        return frozenset(self._ended)

    def executed(self, pids: Collection[int]) -> tuple[Executed, ...]:
        return tuple(self._ended[pid] for pid in pids)

    def end(self, instructions: float, kind: str = BACKEND) -> None:
        """Another process has ended, whose every instruction is in one function, called once in each ten."""
        functions = {"exec_execute": (instructions, instructions / 10)}
        misses = dict.fromkeys(MISSES, instructions / 100) if self.misses else {}
        system_calls = {"pwrite64": instructions / 1e6}
        self._ended[len(self._ended) + 1] = Executed(kind, instructions, functions, system_calls, misses)
