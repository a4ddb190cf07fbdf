"""The directory of a bisection: what is asked, once; steps beside it, each a run; and the answer.

`bisection.json` is written before the first step and never changed. Whoever begins again must ask the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.lab.commit_subject import Subject, SubjectKind
from pgassay.lab.question import FORMAT, Kept, without_seed
from pgassay.postgres.builds.commits import Commit
from pgassay.record.disk import Disk, keep_file

ANSWER = "answer.json"


@dataclass(frozen=True)
class Question:
    """The study's document (with its seed), the repository, and its commits from good to bad.

    `kind` says what is in the repository (`commit_subject.SubjectKind`), `file` what makes the data of a schema.
    """

    study: str
    document: dict[str, Any]
    repository: str
    commits: tuple[Commit, ...]
    first: int
    blocks: int
    format: int = FORMAT
    kind: str = SubjectKind.POSTGRESQL
    file: str = ""

    @property
    def subject(self) -> Subject:
        """What the commits are commits of."""
        return Subject(SubjectKind(self.kind), self.repository, self.file)

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
