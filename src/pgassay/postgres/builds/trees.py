"""Source trees: the version that one says it is, its hash, unpacking a tarball.

A tree's hash covers every file's path and contents but git's own folder, so that an edit makes another build.
"""

import errno
import hashlib
import re
import tarfile
from pathlib import Path

from pgassay.postgres.builds import messages
from pgassay.postgres.builds.cache import file_sha256

_VERSION = re.compile(r"^PACKAGE_VERSION='([^']+)'", re.MULTILINE)
_IGNORED = frozenset({".git"})
_FULL = (errno.ENOSPC, errno.EDQUOT)


def version_in(configure: str, what: str) -> str:
    """`PACKAGE_VERSION` of a configure script's text; raises `BuildError`."""
    found = _VERSION.search(configure)
    if not found:
        raise messages.no_version(what)
    return found[1]


def version_of(tree: Path) -> str:
    """The version of an unpacked source."""
    return version_in((tree / "configure").read_text(encoding="utf-8", errors="replace"), str(tree))


def require_source(tree: Path) -> None:
    """Raise `UsageError` unless this is PostgreSQL's source, untouched by a build in place."""
    if not (tree / "configure").is_file() or not (tree / "src" / "backend").is_dir():
        raise messages.not_a_source(tree)
    if (tree / "config.status").exists():
        raise messages.configured_in_place(tree)


def tree_sha256(tree: Path) -> str:
    """Over all files, sorted by path."""
    digest = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        relative = path.relative_to(tree)
        if path.is_file() and not _IGNORED & set(relative.parts):
            digest.update(f"{relative}\0{file_sha256(path)}\n".encode())
    return digest.hexdigest()


def unpack(tarball: Path, into: Path) -> Path:
    """Unpack and return the folder that holds `configure`; raises `UsageError` if none does, else `BuildError`."""
    into.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(tarball) as archive:
            archive.extractall(into, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            raise messages.disk_full(into) from None
        raise messages.not_unpacked(tarball, str(error).partition("\n")[0].rstrip(":")) from None
    for folder in (into, *sorted(each for each in into.iterdir() if each.is_dir())):
        if (folder / "configure").is_file():
            return folder
    raise messages.not_a_source(tarball)
