"""PostgreSQL's own tarballs, with their published checksums.

The file server holds `source/vX.Y/postgresql-X.Y.tar.bz2` and `.sha256` beside it; the web site says which minor is the
latest of a major version (versions.json).
"""

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

from pgassay.postgres.builds import messages
from pgassay.postgres.builds.cache import file_sha256

FILES = "https://ftp.postgresql.org/pub/source/v{version}/postgresql-{version}.tar.bz2"
VERSIONS = "https://www.postgresql.org/versions.json"
_TIMEOUT_S = 60.0

Opener = Callable[[str], AbstractContextManager[IO[bytes]]]


def open_url(url: str) -> AbstractContextManager[IO[bytes]]:
    """Over HTTPS, with the system's proxies and certificates."""
    response: AbstractContextManager[IO[bytes]] = urllib.request.urlopen(url, timeout=_TIMEOUT_S)
    return response


def exact_version(wanted: str, opener: Opener) -> str:
    """`"17"` as the latest `"17.N"`; an exact version as it is; raises `BuildError`."""
    if "." in wanted:
        return wanted
    try:
        with opener(VERSIONS) as response:
            rows = json.load(response)
        return next(f"{row['major']}.{row['latestMinor']}" for row in rows if str(row["major"]) == wanted)
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise messages.not_fetched(f"the latest version of PostgreSQL {wanted}", _words(error)) from None


def fetch(version: str, folder: Path, opener: Opener) -> Path:
    """Fetch one version's tarball into `folder`, checked against its checksum; raises `BuildError`."""
    url = FILES.format(version=version)
    target = folder / url.rpartition("/")[2]
    try:
        with opener(f"{url}.sha256") as response:
            wanted = checksum_in(response.read().decode("ascii", errors="replace"))
        with opener(url) as response, target.open("wb") as file:
            shutil.copyfileobj(response, file)
    except (OSError, ValueError) as error:
        target.unlink(missing_ok=True)
        raise messages.not_fetched(url, _words(error)) from None
    require_checksum(target, wanted)
    return target


def require_checksum(path: Path, wanted: str) -> None:
    """Raise `BuildError`, and remove nothing, if the file is not what its checksum says."""
    found = file_sha256(path)
    if found != wanted:
        raise messages.wrong_checksum(path.name, wanted, found)


def checksum_in(text: str) -> str:
    """The SHA-256 in a `.sha256` file (`HEX  NAME`); raises `ValueError`."""
    word = text.split()[0].lower() if text.split() else ""
    if len(word) != 64 or not set(word) <= set("0123456789abcdef"):
        raise ValueError("it is no SHA-256 checksum")
    return word


def _words(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"{error.code} {error.reason}".lower()
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(reason).lower() or type(error).__name__
