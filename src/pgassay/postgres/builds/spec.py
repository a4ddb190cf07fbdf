"""What the user may say of a source: `official`, `distribution`, `tarball:FILE`, `directory:DIR`, `git:DIR@COMMIT`.

Paths are made absolute, so that a study means the same from every working directory.
"""

from dataclasses import dataclass
from pathlib import Path

from pgassay.postgres.builds import messages

FETCHED = ("official", "distribution")
_PATHS = ("tarball", "directory", "git")


@dataclass(frozen=True)
class Spec:
    """`kind` with its path and, for git, the commit as typed."""

    kind: str
    path: Path | None = None
    commit: str = ""

    def __str__(self) -> str:
        if self.path is None:
            return self.kind
        return f"{self.kind}:{self.path}{f'@{self.commit}' if self.commit else ''}"


def parse_spec(text: str) -> Spec:
    """The source that a text names; raises `UsageError`."""
    kind, colon, rest = text.strip().partition(":")
    if kind in FETCHED and not colon:
        return Spec(kind)
    if kind not in _PATHS or not rest:
        raise messages.bad_source(text)
    commit = ""
    if kind == "git":
        rest, at, commit = rest.rpartition("@")
        if not at or not rest or not commit or commit.startswith("-"):
            raise messages.bad_source(text)
    return Spec(kind, Path(rest).expanduser().resolve(), commit)
