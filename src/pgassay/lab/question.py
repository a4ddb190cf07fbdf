"""What a directory was made to answer: written once as JSON, before anything is measured, and never changed.

Whoever begins again must ask the same, and nobody else works there meanwhile. A bisection and a history are kept so.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from pgassay.errors import UsageError
from pgassay.record.disk import Disk, HeldError, keep_file

FORMAT = 1


class Asked(Protocol):
    """A question that can be kept."""

    @property
    def format(self) -> int:
        """Of the file."""

    @property
    def what(self) -> str:
        """For people: what is asked."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes two questions the same."""


Question = TypeVar("Question", bound=Asked)


@dataclass(frozen=True)
class Kept(Generic[Question]):
    """Questions of one type, in the file of this name; `kind` is what people call them ("bisection")."""

    type: type[Question]
    file: str
    kind: str
    whole: Callable[[Question], bool] = lambda question: True
    """Can this one be gone on with?"""

    def read(self, disk: Disk, folder: Path) -> Question | None:
        """What is asked there; None where nothing is. Raises `UsageError` for anything else."""
        if not disk.exists(folder):
            return None
        try:
            found = msgspec.json.decode(disk.read(folder / self.file), type=self.type)
        except (OSError, msgspec.MsgspecError) as error:
            raise self._unusable(folder, str(error).partition("\n")[0]) from None
        if found.format != FORMAT or not self.whole(found):
            raise self._unusable(folder, f"its format is {found.format}, {FORMAT} is known")
        return found

    def require_same(self, disk: Disk, folder: Path, asked: Question) -> None:
        """Raise `UsageError` where the directory is another question's."""
        before = self.read(disk, folder)
        if before is not None and before.key != asked.key:
            raise UsageError(f'"{folder}" holds a {self.kind} of {before.what}', "name another directory with --out")

    @contextmanager
    def opened(self, disk: Disk, folder: Path, asked: Question) -> Iterator[Question]:
        """The directory for this question, made or gone on with; raises `UsageError` where it is another's."""
        before = self.read(disk, folder)
        if before is None:
            keep_file(disk, folder / self.file, msgspec.json.format(msgspec.json.encode(asked), indent=1) + b"\n")
            before = asked
        self.require_same(disk, folder, asked)
        try:
            lock = disk.lock(folder / "lock", self.kind)
        except HeldError:
            raise UsageError(f'another pgassay works on "{folder}"', "wait until it has ended") from None
        try:
            yield before
        finally:
            lock.release()

    def _unusable(self, folder: Path, why: str) -> UsageError:
        return UsageError(
            f'"{folder}" is no {self.kind} that can be gone on with: {why}', "name another directory with --out"
        )


def without_seed(document: dict[str, Any]) -> dict[str, Any]:
    """A study's document as far as it is asked for: each call draws a new seed."""
    design = {key: value for key, value in document.get("design", {}).items() if key != "seed"}
    return {**document, "design": design}
