"""What `pgassay track` follows: the commits of a repository's branch, or the versions of an installed PostgreSQL."""

import argparse
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pgassay.cli.commits import subject_of
from pgassay.cli.parser import excluded
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.bench.running import Runner
    from pgassay.lab.commit_subject import Subject
    from pgassay.lab.track import History
    from pgassay.postgres.builds.commits import Commit
    from pgassay.postgres.find import Finder

INSTALLED = "installed"
"""What stands for the branch of an installed PostgreSQL."""


class Followed(Protocol):
    """Where the points of a history come from; every method raises `UsageError` for what is not there."""

    @property
    def subject(self) -> "Subject":
        """What the points are of."""

    @property
    def branch(self) -> str:
        """Its name, for the history's question."""

    def point(self, name: str) -> "Commit":
        """The point that a name stands for: a commit or tag, a version."""

    def require_reference(self, reference: "Commit") -> None:
        """Raise where the points cannot be set beside this one."""

    def due(self, history: "History", since: str | None, tell: Callable[[str], None]) -> "Sequence[Commit]":
        """What comes after the last point that was measured or skipped, oldest first."""

    def unfinished(self, history: "History", line: "Sequence[Commit]") -> "list[Commit]":
        """Points whose run was cut short and that are due no more, as far as they are still there."""

    def parents(self, points: "Sequence[Commit]") -> Mapping[str, str]:
        """The hash of what came right before each, by hash, where that is known."""


@dataclass(frozen=True)
class Branch:
    """The commits of a branch of a repository, along first parents."""

    subject: "Subject"
    branch: str
    runner: "Runner"

    @property
    def folder(self) -> Path:
        """Of the repository."""
        return Path(self.subject.repository)

    def point(self, name: str) -> "Commit":
        """A commit, by any name that git knows."""
        from pgassay.postgres.builds.commits import commit_of

        return commit_of(self.runner, self.folder, name)

    def require_reference(self, reference: "Commit") -> None:
        """Any commit serves where there is a branch."""
        self.point(self.branch)

    def due(self, history: "History", since: str | None, tell: Callable[[str], None]) -> "Sequence[Commit]":
        """The commits after the last one; the newest alone where a history begins or the branch was rewritten."""
        from pgassay.postgres.builds.commits import after

        newest = self.point(self.branch)
        if history.last is not None:
            try:
                found = after(self.runner, self.folder, history.last, self.branch)
            except UsageError:
                found = None  # gone with a branch that was rewritten
            if found is not None:
                return found
            tell(
                f'"{self.branch}" no longer has {history.last}, the last measured commit: going on with the newest one'
            )
            return (newest,)
        if since is None:
            return (newest,)
        found = after(self.runner, self.folder, since, self.branch)
        if found is None:
            raise UsageError(
                f'"{since}" is not on the line of first parents of "{self.branch}"',
                "name an older commit of that branch",
            )
        return found

    def unfinished(self, history: "History", line: "Sequence[Commit]") -> "list[Commit]":
        """As the repository still has them."""
        found = []
        for name in history.unfinished:
            if not any(each.sha.startswith(name) for each in line):
                with contextlib.suppress(UsageError):
                    found.append(self.point(name))
        return found

    def parents(self, points: "Sequence[Commit]") -> Mapping[str, str]:
        """First parents, as git has them."""
        from pgassay.postgres.builds.commits import first_parents

        return first_parents(self.runner, self.folder, points)


@dataclass(frozen=True)
class Package:
    """An installed PostgreSQL that is upgraded in its place: the one that is there now is the newest point."""

    subject: "Subject"
    finder: "Finder"
    branch: str = INSTALLED

    def point(self, name: str) -> "Commit":
        """An installed version: `17`, `17.5`."""
        from pgassay.lab.installed_versions import installed_point

        return installed_point(self.finder, name)

    def require_reference(self, reference: "Commit") -> None:
        """Another version than the followed one: of one and the same nothing could be told apart."""
        from pgassay.lab.installed_versions import require_different

        require_different(reference, self.point(self.subject.repository))

    def due(self, history: "History", since: str | None, tell: Callable[[str], None]) -> "Sequence[Commit]":
        """What is installed now, unless it was the last point; versions that came and went are lost."""
        newest = self.point(self.subject.repository)
        return () if history.last is not None and newest.sha.startswith(history.last) else (newest,)

    def unfinished(self, history: "History", line: "Sequence[Commit]") -> "list[Commit]":
        """None: what is no longer installed cannot be gone on with."""
        return []

    def parents(self, points: "Sequence[Commit]") -> Mapping[str, str]:
        """Not known: versions between two upgrades may have been left out."""
        return {}


def followed_of(arguments: argparse.Namespace) -> Followed:
    """What the options name; raises `UsageError`, also for options that do not go together."""
    from pgassay.host.accounts import choose
    from pgassay.host.clock import SystemClock
    from pgassay.host.runner import LocalRunner
    from pgassay.lab.commit_subject import Subject, SubjectKind
    from pgassay.lab.places import local_finder

    account = choose()
    runner = LocalRunner(account)
    if arguments.installed is None:
        return Branch(subject_of(arguments), arguments.branch or "HEAD", runner)
    for option in ("git", "extension", "schema", "branch", "since"):
        if getattr(arguments, option):
            raise excluded("--installed", f"--{option}")
    finder = local_finder(runner, SystemClock(), account)
    return Package(Subject(SubjectKind.INSTALLED, arguments.installed), finder)
