"""What the commits of a repository are commits of: PostgreSQL, an extension, or the schema and data of an application;
or, without a repository, the versions of an installed PostgreSQL.

Each commit becomes a level of one factor; everything else stays as the study has it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from pgassay.bench.running import Runner
from pgassay.files import Directory
from pgassay.lab.installed_versions import level_of
from pgassay.lab.question import FORMAT
from pgassay.load.pgbench.data import is_dump
from pgassay.postgres.builds.commits import Commit, export, has_file

WRAPPER = "pgassay-init.sql"
_ABBREVIATED = 12
"""Letters of a hash."""


class SubjectKind(StrEnum):
    """Of a repository."""

    POSTGRESQL = "postgresql"
    EXTENSION = "extension"
    SCHEMA = "schema"
    INSTALLED = "installed"


FACTORS = {
    SubjectKind.POSTGRESQL: "build.source",
    SubjectKind.EXTENSION: "build.extension",
    SubjectKind.SCHEMA: "load.init",
    SubjectKind.INSTALLED: "postgres.version",
}
"""The factor that the commits are levels of."""


@dataclass(frozen=True)
class Subject:
    """A repository and what is in it; of a schema `file` is the SQL or dump that makes the data (`load.init`).

    Of an installed PostgreSQL `repository` is the version that is followed: `17`.
    """

    kind: SubjectKind
    repository: str
    file: str = ""

    @property
    def factor(self) -> str:
        """Its factor."""
        return FACTORS[self.kind]

    @property
    def what(self) -> str:
        """For people."""
        if self.kind is SubjectKind.SCHEMA:
            return f"{self.file} of {self.repository}"
        if self.kind is SubjectKind.INSTALLED:
            return f"the installed PostgreSQL {self.repository}"
        return self.repository if self.kind is SubjectKind.POSTGRESQL else f"the extension of {self.repository}"


@dataclass(frozen=True, kw_only=True)
class CommitsQuestion:
    """What every question about commits keeps: a study's document (with its seed), and what the commits are of."""

    study: str
    document: dict[str, Any]
    repository: str
    kind: str = SubjectKind.POSTGRESQL
    file: str = ""
    format: int = FORMAT

    @property
    def subject(self) -> Subject:
        """What the commits are commits of."""
        return Subject(SubjectKind(self.kind), self.repository, self.file)


def level(subject: Subject, commit: Commit, trees: Path, runner: Runner) -> str:
    """The level of the subject's factor that is this commit; a schema's files are written below `trees` for it.

    Raises `UnmeasuredError` for a commit without the schema's file, and `BuildError` where git cannot export it.
    """
    if subject.kind is SubjectKind.INSTALLED:
        return level_of(commit)
    if subject.kind is not SubjectKind.SCHEMA:
        return f"git:{subject.repository}@{commit.sha}"
    tree, folder = trees / commit.sha, Path(subject.repository)
    if not tree.is_dir():
        if not has_file(runner, folder, commit.sha, subject.file):
            raise UnmeasuredError(f"it has no {subject.file}")
        trees.mkdir(parents=True, exist_ok=True)
        fresh = trees / f".{commit.sha}"
        export(runner, folder, commit.sha, fresh, str(PurePosixPath(subject.file).parent))
        if not is_dump(fresh / subject.file):
            # Two commits may differ in a file that this one includes: the commit is part of what is run.
            text = f"-- {commit.sha}\n\\ir {_quoted(subject.file)}\n"
            with Directory.open(fresh) as exported:  # the commit may have a link of this name
                exported.replace(WRAPPER, text, mode=0o644)
        fresh.rename(tree)
    wrapper = tree / WRAPPER
    return str(wrapper if wrapper.is_file() else tree / subject.file)


def called(subject: Subject, commits: Iterable[Commit]) -> list[str]:
    """What studies call the treatments of these commits; nothing where their levels say it.

    A schema's level is the path of our copy, which nobody typed: `db/schema.sql@1a2b3c4d5e6f` is what the copy is of.
    """
    if subject.kind is not SubjectKind.SCHEMA:
        return []
    return [re.sub(r"[,;=\s]+", " ", f"{subject.file}@{each.sha[:_ABBREVIATED]}") for each in commits]


def shows(treatment: str, subject: Subject, commit: Commit) -> bool:
    """Is this the treatment of the commit, by its name (`called`) or by its level?"""
    short, rest = commit.sha[:_ABBREVIATED], commit.sha[_ABBREVIATED:]
    mark = re.escape(level_of(commit)) if subject.kind is SubjectKind.INSTALLED else f"{short}({rest})?"
    return re.search(rf"(?<![\w.]){mark}(?![\w.])", treatment) is not None


def _quoted(path: str) -> str:
    """As psql reads the arguments of its commands."""
    return "'" + path.replace("\\", "\\\\").replace("'", "''") + "'"


class UnmeasuredError(Exception):
    """A commit cannot be measured: it does not build, or its server gives no valid block. Its words say why."""
