"""The directory of a bisection: what is asked, once; steps beside it, each a run; and the answer.

`bisection.json` is written before the first step and never changed. Whoever begins again must ask the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.lab.commit_subject import CommitsQuestion
from pgassay.lab.question import Kept, without_seed
from pgassay.postgres.builds.commits import Commit
from pgassay.record.disk import Disk, keep_file

ANSWER = "answer.json"


@dataclass(frozen=True, kw_only=True)
class Question(CommitsQuestion):
    """The commits from good to bad, and how many blocks at most: of good against bad, and of all."""

    commits: tuple[Commit, ...]
    first: int
    blocks: int

    @property
    def what(self) -> str:
        """For people: study and commits."""
        return f"{self.study} from {self.commits[0].sha[:12]} to {self.commits[-1].sha[:12]} of {self.subject.what}"

    @property
    def key(self) -> tuple[Any, ...]:
        """Study, repository and commits; how many blocks at most may change."""
        return self.study, without_seed(self.document), self.subject, self.commits


BISECTIONS = Kept(Question, "bisection.json", "bisection", lambda question: len(question.commits) > 1)


def keep_answer(disk: Disk, folder: Path, text: str) -> None:
    """Keep the answer as JSON."""
    keep_file(disk, folder / ANSWER, text.encode())
