"""Tar files of sources: unpacked with Python's filter against paths and links that lead outside (PEP 706).

Python has it from 3.11.4 on, and Debian 12 has 3.11.2: there an archive of plain files and folders is unpacked, and any
other is refused.
"""

import errno
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pgassay.postgres.builds.errors import ROOM, BuildError

_FULL = (errno.ENOSPC, errno.EDQUOT)


class NoArchiveError(Exception):
    """No tar file, or a damaged one; its words say how."""


def extract(tarball: Path, into: Path) -> None:
    """Unpack into the directory `into`; raises `BuildError` where the disk is full, else `NoArchiveError`."""
    try:
        into.mkdir(parents=True, exist_ok=True)
        with tarfile.open(tarball) as archive:
            if hasattr(tarfile, "data_filter"):
                archive.extractall(into, filter="data")
            else:
                archive.extractall(into, list(_plain(archive)))
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise BuildError(f'the disk of "{into}" is full', ROOM) from None
        raise NoArchiveError(str(error).partition("\n")[0].rstrip(":")) from None


def _plain(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Its members as ours, writable by us alone; raises `NoArchiveError` for a path that leads outside, and a link."""
    for member in archive:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise NoArchiveError(f'"{member.name}" is no file or folder inside, and this Python is older than 3.11.4')
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        member.mode = (member.mode | (0o700 if member.isdir() else 0o600)) & 0o755
        yield member
