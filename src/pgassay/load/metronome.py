"""The metronome: what this machine does with a fixed piece of work, now; by our own program (crates/player).

Recorded between slices as a covariate. It cannot be touched by a treatment, because it uses nothing of a database's.
"""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from pgassay.bench.running import Clock, Runner
from pgassay.bench.slices import Beat
from pgassay.load.controlled import ControlledProgram


class LocalMetronome:
    """See `bench.slices.Metronome`. Use it in a `with`, from the main thread: the program dies with that thread."""

    def __init__(
        self,
        cores: Sequence[int],
        runner: Runner,
        clock: Clock,
        flush_directory: Path | None = None,
    ) -> None:
        """Measure these CPUs, and the device of a directory that we may write to; raises `LoadError`."""
        description: dict[str, Any] = {"cores": list(cores)}
        if flush_directory is not None:
            description["flush_directory"] = str(flush_directory)
        self._program = ControlledProgram(
            "--metronome",
            description,
            runner,
            clock,
            privileged="flushes a file of ours beside the clusters",  # and reads nothing of anybody else
        )

    def __enter__(self) -> "LocalMetronome":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def beat(self) -> Beat:
        """One measurement; see `Metronome.beat`."""
        answer = self._program.ask({"beat": {}})
        return Beat(
            began_ns=answer["began_ns"],
            ended_ns=answer["ended_ns"],
            cores=tuple(each["core"] for each in answer["cores"]),
            arithmetic_ns=tuple(each["arithmetic_ns"] for each in answer["cores"]),
            memory_ns=tuple(each["memory_ns"] for each in answer["cores"]),
            flush_ns=answer["flush_ns"],
        )

    def close(self) -> None:
        """End the program; calling it twice is harmless."""
        self._program.close()
