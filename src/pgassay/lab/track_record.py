"""The directory of a history: what is tracked, once; `points/` beside it; and up to where its steps are accepted.

`track.json` is written before the first point and never changed: points of another study or reference are no part of
the same history.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.lab.commit_subject import CommitsQuestion
from pgassay.lab.question import Kept, without_seed
from pgassay.postgres.builds.commits import Commit
from pgassay.record.disk import Disk, keep_file

ACCEPTED = "accepted"


@dataclass(frozen=True, kw_only=True)
class Tracked(CommitsQuestion):
    """The branch that is tracked, and the reference commit."""

    branch: str
    reference: Commit

    @property
    def what(self) -> str:
        """For people: study, branch and reference."""
        return f"{self.study} on {self.branch} against {self.reference.sha[:12]} of {self.subject.what}"

    @property
    def key(self) -> tuple[Any, ...]:
        """Everything: a history is of one study against one reference."""
        return self.study, without_seed(self.document), self.subject, self.branch, self.reference.sha


TRACKS = Kept(Tracked, "track.json", "history")


def accept(disk: Disk, folder: Path, commit: Commit) -> None:
    """From now on steps up to this commit are known and wanted."""
    keep_file(disk, folder / ACCEPTED, f"{commit.sha}\n".encode())


def accepted(disk: Disk, folder: Path) -> str | None:
    """The hash of the commit up to which steps are accepted."""
    path = folder / ACCEPTED
    return disk.read(path).decode(errors="replace").strip() if disk.exists(path) else None
