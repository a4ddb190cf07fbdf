"""Installed versions of PostgreSQL as points of a history: each upgrade of the followed package is the next one.

Two packages of one minor version are told apart by what `postgres --version` prints, which a distribution makes its
own. Nothing of an upgraded package is left, so the reference is another version, which has to stay as it is.
"""

import hashlib

from pgassay.bench.places import Version
from pgassay.errors import UsageError
from pgassay.postgres.builds.commits import Commit
from pgassay.postgres.find import Finder

_PROGRAM = "postgres (PostgreSQL) "


def installed_point(finder: Finder, version: str) -> Commit:
    """The installed PostgreSQL of a version (`17`, `17.5`), as a point; raises `UsageError` where there is none."""
    return point_of(finder.find(version).version)


def point_of(version: Version) -> Commit:
    """A version by a hash of all that its program says, and its words: `PostgreSQL 17.5 (Debian 17.5-1)`."""
    own = version.text.removeprefix(_PROGRAM).partition(" ")[2]
    return Commit(hashlib.sha256(version.text.encode()).hexdigest()[:40], f"PostgreSQL {version} {own}".strip())


def level_of(point: Commit) -> str:
    """The level of `postgres.version`: `17.5`."""
    return point.subject.split()[1]


def require_different(reference: Commit, followed: Commit) -> None:
    """Raise `UsageError` where both are one version: nothing could be told apart."""
    if level_of(reference) == level_of(followed):
        raise _same_version(level_of(followed))


def _same_version(version: str) -> UsageError:
    """A history of installed versions whose reference is the followed one."""
    hint = "keep another version installed as the reference, or track the tags of a clone with --git"
    return UsageError(f"the reference and what is followed are both PostgreSQL {version}", hint)
