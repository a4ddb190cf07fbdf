"""What a data directory says of itself, by pg_controldata: whose it is, with which options, and how it was left.

The program reads one file and starts nothing, so it can be asked of a directory that belongs to somebody else (manual,
"pg_controldata"). Options that are compiled in must be those of the programs that shall serve it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay import scratch
from pgassay.bench.errors import ClusterError
from pgassay.bench.running import Runner
from pgassay.files import Directory
from pgassay.postgres.complaints import complaint

SHUT_DOWN = ("shut down", "shut down in recovery")
"""States of a cluster whose files are whole by themselves."""
_FILE = "global/pg_control"


@dataclass(frozen=True)
class Control:
    """A cluster's control file, and its major version: sizes in bytes."""

    major: int
    system_identifier: str
    state: str
    checkpoint_at: str
    """When the last checkpoint began, as the program prints it."""
    redo_file: str
    """The first WAL file that recovery would need."""
    block_bytes: int
    wal_block_bytes: int
    wal_segment_bytes: int
    checksums: bool
    prepared_max: int
    """max_prepared_transactions of the server that wrote it: recovery needs as many."""


_FIELDS: Mapping[str, str] = {
    "system_identifier": "Database system identifier",
    "state": "Database cluster state",
    "checkpoint_at": "Time of latest checkpoint",
    "redo_file": "Latest checkpoint's REDO WAL file",
    "block_bytes": "Database block size",
    "wal_block_bytes": "WAL block size",
    "wal_segment_bytes": "Bytes per WAL segment",
    "checksums": "Data page checksum version",
    "prepared_max": "max_prepared_xacts setting",
}


def parse(major: int, text: str) -> Control:
    """From what the program prints; raises `KeyError` where a line is missing, `ValueError` for what is no number."""
    found = dict(re.findall(r"^([^:\n]+):[ \t]+(.*)$", text, re.MULTILINE))
    word = {name: found[label].strip() for name, label in _FIELDS.items()}
    return Control(
        major=major,
        system_identifier=word["system_identifier"],
        state=word["state"],
        checkpoint_at=word["checkpoint_at"],
        redo_file=word["redo_file"],
        block_bytes=int(word["block_bytes"]),
        wal_block_bytes=int(word["wal_block_bytes"]),
        wal_segment_bytes=int(word["wal_segment_bytes"]),
        checksums=word["checksums"] != "0",
        prepared_max=int(word["prepared_max"]),
    )


def major_of(directory: Path) -> int:
    """The major version of a data directory; raises `ClusterError` for what is none."""
    try:
        return int((directory / "PG_VERSION").read_text(encoding="utf-8").strip())
    except PermissionError:
        raise unreadable_directory(directory) from None
    except (OSError, ValueError):
        raise no_data_directory(directory, "it has no PG_VERSION") from None


def read(directory: Path, bindir: Path, runner: Runner) -> Control:
    """By the program in `bindir`, of the directory's own major version; raises `ClusterError`."""
    major = major_of(directory)
    try:
        with Directory.open(directory.resolve()) as opened:
            contents = opened.read(_FILE)
    except (FileNotFoundError, NotADirectoryError):
        raise no_data_directory(directory, f"it has no {_FILE}") from None
    except PermissionError:
        raise unreadable_directory(directory) from None
    # A copy: the program's account may own the directory, and is given no file that a link of its own leads to.
    with scratch.folder("control") as copy:
        (copy / _FILE).parent.mkdir()
        (copy / _FILE).write_bytes(contents)  # ours: a folder that is closed to others
        done = runner.run([str(bindir / "pg_controldata"), str(copy)], files=(copy / _FILE,))
    if done.status or "CRC checksum does not match" in done.stdout:
        said = complaint(done.stderr or done.stdout)[0]
        raise no_data_directory(directory, said.replace(str(copy), str(directory)))
    try:
        return parse(major, done.stdout)
    except (KeyError, ValueError) as error:
        raise no_data_directory(directory, f"pg_controldata does not say {error}") from None


def no_data_directory(directory: Path, why: str) -> ClusterError:
    """A copy that is incomplete, or no data directory at all."""
    return ClusterError(
        f'"{directory}" is not a whole data directory: {why}',
        "a base backup has PG_VERSION, global/pg_control and backup_label; one in tar files must be unpacked first",
    )


def unreadable_directory(directory: Path) -> ClusterError:
    """The account may not read it."""
    return ClusterError(f'no permission to read "{directory}"', "run as root, or as the account that owns the copy")
