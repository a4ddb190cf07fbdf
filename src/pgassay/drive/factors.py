"""The factors of the drive room: where PostgreSQL's bytes go."""

from pathlib import Path

from pgassay.bench.factor import Catalogue, Factor, Readable, Setup, Stage
from pgassay.drive import messages
from pgassay.drive.root import NAME
from pgassay.study.levels import Level

_DIRECTORY = "directory:"


class DataDrive(Factor):
    """`drive.data = "directory:PATH"`: the directory that holds the clusters, by its real, absolute path."""

    pattern = "drive.data"
    stage = Stage.INIT
    summary = "where the clusters live: directory:PATH"
    hard_to_change = True
    adopt = "reinit"

    def parse(self, name: str, typed: str) -> Level:
        """The level with its path made absolute; `UsageError` for anything but a directory."""
        path = typed.removeprefix(_DIRECTORY)
        if not typed.startswith(_DIRECTORY) or not path.strip():
            raise messages.bad_level(typed)
        return Level(typed, f"{_DIRECTORY}{Path(path).expanduser().resolve()}")

    def prepare(self, name: str, level: Level, setup: Setup) -> None:
        """Ask for this drive."""
        setup.drive["data"] = level.canonical

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        """The directory in which the server says that its data are, up to the part that is ours."""
        ((data_directory,),) = readable.server.query("SHOW data_directory")
        place = Path(str(data_directory))
        for parent in place.parents:
            if parent.name == NAME and f"{_DIRECTORY}{parent.parent}" == level.canonical:
                return level.canonical
        return f"{_DIRECTORY}{place}"


FACTORS: Catalogue = {DataDrive.pattern: DataDrive()}
"""Pattern to factor."""


def directory_of(level: str) -> Path:
    """The path in a canonical level `directory:PATH`."""
    return Path(level.removeprefix(_DIRECTORY))
