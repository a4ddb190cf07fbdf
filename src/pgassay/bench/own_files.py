"""Files of a user's that a study names by their paths on another machine: where copies of them are on this one.

A copy keeps its file's name in a folder of its own, so what programs say of it is put right by the folders alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class OwnFiles:
    """`places` has where each copy is, by the path that the study names."""

    places: Mapping[Path, Path] = field(default_factory=dict)

    def here(self, path: Path) -> Path:
        """Where the file of this path is on this machine: where its copy is, else where the path says."""
        return self.places.get(path, path)

    def told(self, text: str) -> str:
        """A text of a program as it would be on the machine of the user's files."""
        for path, place in self.places.items():
            text = text.replace(_folder(place), _folder(path))
        return text

    def told_bytes(self, content: bytes) -> bytes:
        """The same for what a program wrote into a file."""
        for path, place in self.places.items():
            content = content.replace(_folder(place).encode(), _folder(path).encode())
        return content


def _folder(path: Path) -> str:
    return f"{str(path.parent).rstrip('/')}/"
