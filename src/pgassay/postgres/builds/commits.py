"""The commits of a git repository between a good one and a bad one, oldest first, along first parents.

First parents only: what a merge brought in is one step, so that each step follows from the one before it, and the
answer is a commit of the branch that was released.

A repository may come from anyone, and its own configuration can name programs for nearly all that git does with it: a
filter at an export, a converter of texts, a checker of signatures, a transport. So git looks there for its directories
alone, and then reads objects and names from them under a configuration of ours.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pgassay import scratch, untrusted
from pgassay.errors import UsageError
from pgassay.interfaces.running import Completed, Runner

_TIMEOUT_S = 300.0
_GIT = "reads a repository of ours"
"""git refuses those of other owners, so it keeps our account."""
_READ = ("objects", "refs", "packed-refs", "reftable", "shallow", "logs")
"""Of what all worktrees share: what was committed, and its names."""
_HEADS = ("HEAD", "FETCH_HEAD", "ORIG_HEAD")
"""Of the worktree itself."""


@dataclass(frozen=True)
class Commit:
    sha: str
    subject: str

    @property
    def name(self) -> str:
        return f"{self.sha[:12]} {self.subject}".strip()


def between(runner: Runner, folder: Path, good: str, bad: str) -> tuple[Commit, ...]:
    """The good commit, then all after it up to the bad one; raises `UsageError`.

    That is for no repository, an unknown name, and a good commit that is not on the bad one's line of first parents.
    """
    if not folder.is_dir():
        raise no_such_source(folder)
    first, last = (commit_of(runner, folder, name) for name in (good, bad))
    if first == last:
        raise UsageError(f'"{good}" and "{bad}" are the same commit', "name two commits that differ")
    found = _line(runner, folder, first.sha, last.sha)
    if found is None:
        raise UsageError(
            f'"{good}" is not on the line of first parents of "{bad}"',
            f"git log --first-parent {bad} lists the commits that can be the good one",
        )
    return (first, *found)


def hash_of(runner: Runner, folder: Path, name: str) -> str:
    """The hash of the commit that a name stands for; raises `UsageError` for no repository and an unknown name."""
    if not folder.is_dir():
        raise no_such_source(folder)
    if name.startswith(("-", "^")):  # an option, and all but what it stands for
        raise _unknown_commit(folder, name, "no such commit")
    outcome = git(runner, folder, "rev-parse", "--verify", f"{name}^{{commit}}")
    if outcome.status != 0:
        raise _refused_name(runner, folder, name, outcome.stderr)
    return outcome.stdout.strip()


def commit_of(runner: Runner, folder: Path, name: str) -> Commit:
    """As `hash_of`, with its subject."""
    return _commits(_git(runner, folder, "log", "-1", _FORMAT, hash_of(runner, folder, name)))[0]


def after(runner: Runner, folder: Path, start: str, branch: str) -> tuple[Commit, ...] | None:
    """The commits after `start` up to the branch's newest, oldest first; None where it is not on the branch's line.

    The line is that of first parents. Raises `UsageError` for no repository and an unknown name.
    """
    first, last = hash_of(runner, folder, start), hash_of(runner, folder, branch)
    return () if first == last else _line(runner, folder, first, last)


def first_parents(runner: Runner, folder: Path, commits: Sequence[Commit]) -> dict[str, str]:
    """The hash of each commit's first parent, by its own; one without a parent has none."""
    if not commits:
        return {}
    printed = _git(runner, folder, "log", "--no-walk=unsorted", "--format=%H %P", *(each.sha for each in commits))
    return {words[0]: words[1] for words in map(str.split, printed.splitlines()) if len(words) > 1}


def has_file(runner: Runner, folder: Path, sha: str, file: str) -> bool:
    return _git(runner, folder, "cat-file", "-t", f"{sha}:{file}").strip() == "blob"


def _line(runner: Runner, folder: Path, first: str, last: str) -> tuple[Commit, ...] | None:
    found = _commits(_git(runner, folder, "log", "--first-parent", "--reverse", _FORMAT, f"{first}..{last}"))
    parent = _git(runner, folder, "rev-parse", "--verify", "--quiet", f"{found[0].sha}^1") if found else ""
    return found if parent.strip() == first else None


_FORMAT = "--format=%H%x00%s"


def _commits(printed: str) -> tuple[Commit, ...]:
    """By `_FORMAT`. Lines end at a line feed; a subject may hold whatever else Unicode calls the end of one."""
    return tuple(Commit(*line.split("\0", 1)) for line in printed.split("\n") if line)


def _refused_name(runner: Runner, folder: Path, name: str, stderr: str) -> UsageError:
    """Why git knows no such commit, by what it said: no repository, none with a commit, another name."""
    said = (stderr.strip().splitlines() or ["no such commit"])[0]
    if "dubious ownership" in said:
        return UsageError(f'git reads no repository of another account: "{folder}"', "clone it as your own account")
    if "not a git repository" in said:
        return UsageError(f'"{folder}" is not a git repository', f"a source without one is named as directory:{folder}")
    if not _git(runner, folder, "rev-list", "--all", "--max-count=1"):
        return UsageError(f'"{folder}" has no commits', "commit the sources first, or name another repository")
    if not _git(runner, folder, "for-each-ref", "--count=1", "refs/tags"):
        return UsageError(
            f'"{folder}" has no commit "{name}", and no tags',
            f"git -C {folder} fetch --tags brings those of its origin",
        )
    return _unknown_commit(folder, name, said if "ambiguous" in said else "no such commit")


def _git(runner: Runner, folder: Path, *words: str) -> str:
    """What git prints; nothing where it fails, since its names were resolved before."""
    outcome = git(runner, folder, *words)
    return outcome.stdout if outcome.status == 0 else ""


def git(runner: Runner, folder: Path, *words: str) -> Completed:
    """What git makes of a repository's objects and names, by a git directory of our own that has links to them."""
    where = ("rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-object-format", "--show-ref-format")
    found = runner.run(["git", "-C", str(folder), *where], privileged=_GIT, timeout_s=_TIMEOUT_S)
    if found.status != 0:
        return found
    if found.stdout.count("\n") != len(where) - 1:
        raise UsageError(f'the path of the repository "{folder}" has a line feed in it', "clone it to another place")
    own, common, objects, names = found.stdout.split("\n")[:-1]
    extensions = f"objectFormat = {objects}\n" + "refStorage = reftable\n" * (names == "reftable")
    with scratch.folder("git") as made:
        (made / "config").write_text(
            "[core]\nrepositoryFormatVersion = 1\nbare = true\nuseReplaceRefs = false\n"  # a hash is what it says
            f"[extensions]\n{extensions}",
            encoding="utf-8",
        )
        for name in _HEADS:
            with suppress(FileNotFoundError):
                (made / name).write_bytes(untrusted.read_bytes(Path(own, name)))
        for name in _READ:
            there = folder.absolute() / common / name
            if there.exists():
                (made / name).symlink_to(there)
        return runner.run(["git", f"--git-dir={made}", *words], privileged=_GIT, timeout_s=_TIMEOUT_S)


def no_such_source(path: Path) -> UsageError:
    return UsageError(
        f'there is no "{path}"', "name PostgreSQL's source: tarball:FILE, directory:DIR or git:DIR@COMMIT"
    )


def _unknown_commit(path: Path, commit: str, words: str) -> UsageError:
    return UsageError(f'"{path}" has no commit "{commit}": {words}', f"git -C {path} log --oneline lists them")
