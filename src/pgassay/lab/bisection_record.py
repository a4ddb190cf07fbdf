"""The directory of a bisection: what is asked, once; steps beside it, each a run; and the answer.

`bisection.json` is written before the first step and never changed. Whoever begins again must ask the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pgassay.lab import messages
from pgassay.postgres.builds.commits import Commit
from pgassay.record.disk import Disk, HeldError, keep_file

FILE = "bisection.json"
ANSWER = "answer.json"
FORMAT = 1


@dataclass(frozen=True)
class Question:
    """The study's document (with its seed), the repository, and its commits from good to bad."""

    study: str
    document: dict[str, Any]
    repository: str
    commits: tuple[Commit, ...]
    first: int
    blocks: int
    format: int = FORMAT

    @property
    def what(self) -> str:
        """For people: study and commits."""
        return f"{self.study} from {self.commits[0].sha[:12]} to {self.commits[-1].sha[:12]} of {self.repository}"

    def same_as(self, other: "Question") -> bool:
        """Does the other ask this? A seed is drawn anew at each call."""
        return self._asked() == other._asked()

    def _asked(self) -> tuple[Any, ...]:
        design = {key: value for key, value in self.document.get("design", {}).items() if key != "seed"}
        return self.study, {**self.document, "design": design}, self.repository, self.commits


def read(disk: Disk, folder: Path) -> Question | None:
    """What is asked there; None where nothing is. Raises `UsageError` for anything else."""
    if not disk.exists(folder):
        return None
    try:
        found = msgspec.json.decode(disk.read(folder / FILE), type=Question)
    except (OSError, msgspec.MsgspecError) as error:
        raise messages.no_bisection(folder, str(error).partition("\n")[0]) from None
    if found.format != FORMAT or len(found.commits) < 2:
        raise messages.no_bisection(folder, f"its format is {found.format}, {FORMAT} is known")
    return found


@contextmanager
def opened(disk: Disk, folder: Path, asked: Question) -> Iterator[Question]:
    """The directory for this question, made or gone on with; nobody else works there meanwhile."""
    before = read(disk, folder)
    if before is None:
        keep_file(disk, folder / FILE, msgspec.json.format(msgspec.json.encode(asked), indent=1) + b"\n")
        before = asked
    elif not before.same_as(asked):
        raise messages.other_bisection(folder, before.what)
    try:
        lock = disk.lock(folder / "lock", "bisection")
    except HeldError:
        raise messages.bisection_in_use(folder) from None
    try:
        yield before
    finally:
        lock.release()


def keep_answer(disk: Disk, folder: Path, text: str) -> None:
    """Keep the answer as JSON."""
    keep_file(disk, folder / ANSWER, text.encode())
