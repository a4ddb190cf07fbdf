"""Tar files of sources: unpacked with Python's filter against paths and links that lead outside (PEP 706)."""

import errno
import tarfile
from pathlib import Path

from pgassay.postgres.builds.errors import disk_full

_FULL = (errno.ENOSPC, errno.EDQUOT)


class NoArchiveError(Exception):
    """No tar file, or a damaged one; its words say how."""


def extract(tarball: Path, into: Path) -> None:
    """Unpack into the directory `into`; raises `BuildError` where the disk is full, else `NoArchiveError`."""
    try:
        into.mkdir(parents=True, exist_ok=True)
        with tarfile.open(tarball) as archive:
            archive.extractall(into, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise disk_full(into) from None
        raise NoArchiveError(str(error).partition("\n")[0].rstrip(":")) from None
