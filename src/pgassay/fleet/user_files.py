"""Files of the user's that a study names: the head reads them once, and they travel with every order.

Factors say which levels name files (`Factor.map_paths`). On a host each file lies in a private folder for as long
as its bench lives, under a number of ours and its own name; no path of the head is a path there. The study keeps the
paths that the user wrote, so snapshots, treatments and the record are named as on one machine.
"""

import hashlib
import os
import stat
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import msgspec

from pgassay import scratch
from pgassay.design.schedule import DRIVES
from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.fleet import FleetError
from pgassay.host import accounts
from pgassay.interfaces.places import UserFiles
from pgassay.lab.named_files import bounds_of, paths_of
from pgassay.load.pgbench.data import reads_files
from pgassay.study import document as documents

BYTES_MAX = 16 << 20
"""Of all files of a study together: the scheduler holds them once for each block under way."""
FACT = "files"
"""In host.json: the SHA-256 of each file that was sent when the run began, by its path."""
_INIT = "load.init"
_NAME_BYTES_MAX = 255


class UserFile(msgspec.Struct, frozen=True):
    """A file as it travels: its path where the study was written, its SHA-256, its packed content."""

    path: str
    sha256: str
    packed: bytes


def read(name: str, document: str, known: Mapping[str, str] | None = None) -> tuple[UserFile, ...]:
    """The files that a recorded study names; raises `UsageError`, with their names, for those that cannot travel.

    `known` has the SHA-256 of each when the run began: what has changed since is refused.
    """
    refused: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    recorded = documents.read(name, document)
    for bound in bounds_of(name, recorded):
        for path in () if bound.name.startswith(DRIVES) else paths_of(bound.factor, bound.name, bound.level):
            text = str(path)
            if text in contents or text in refused:
                continue
            left = BYTES_MAX - sum(map(len, contents.values()))
            found = (
                _content(path, left)
                if text in bound.level.typed
                else "is named by a path that does not begin at the root"
            )
            if isinstance(found, bytes):
                contents[text] = found
                line = reads_files(found) if bound.name == _INIT else None
                found = found if line is None else f"has psql read another file: {line}"
            if isinstance(found, str):
                refused[text] = found
    for text in documents.texts(recorded):
        if "/" in text and text not in contents and text not in refused and _is_file(text):
            refused[text] = "is named for something that only a file of the host itself can be"
    if refused:
        listed = "; ".join(f'"{name}" {why}' for name, why in refused.items())
        raise UsageError(
            f"the study names files that cannot be sent to the hosts: {listed}",
            "run the study on one machine, without --on",
        )
    files = tuple(
        UserFile(path, hashlib.sha256(content).hexdigest(), zlib.compress(content, 1))
        for path, content in contents.items()
    )
    changed = [each.path for each in files if known and known.get(each.path, each.sha256) != each.sha256]
    if changed:
        listed = ", ".join(f'"{name}"' for name in changed)
        raise UsageError(
            f"files of the study have changed since the run began: {listed}",
            "put back what they held then, or start a new run",
        )
    return files


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # a long text with a slash in it, as SQL is
        return False


def _content(path: Path, left: int) -> bytes | str:
    if any(letter in '"\\' or not letter.isprintable() for letter in str(path)):
        return "has a quote, a backslash or a control character in its path"
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return "is a directory"
        if not stat.S_ISREG(found.st_mode):
            return "is no plain file"
        if found.st_size > left:
            return _too_large(found.st_size)
        with path.open("rb") as file:
            content = file.read(left + 1)
    except OSError as error:
        return f"cannot be read: {(error.strerror or str(error)).lower()}"
    return content if len(content) <= left else _too_large(len(content))


@contextmanager
def laid_out(files: Sequence[UserFile]) -> Iterator[UserFiles]:
    """On a host: the files in a private folder until the `with` ends; raises `FleetError` for what is damaged.

    Nobody but the account of the servers, which plays scripts, can read them, and where we are root not even it can
    write to them.
    """
    if not files:
        yield UserFiles()
        return
    contents: dict[str, bytes] = {}
    for file in files:
        contents[file.path] = _unpacked(file)
        if sum(map(len, contents.values())) > BYTES_MAX:
            raise _damaged_file(file.path)
    with scratch.folder("files") as place, Directory.open(place) as folder:
        account = accounts.choose(os.environ)
        owner = None
        if os.geteuid() == 0:
            owner = (0, account.gid)
            folder.give_self(None, 0o711)
            accounts.require_reach(place, account)
        places: dict[Path, Path] = {}
        for number, (path, content) in enumerate(contents.items(), start=1):
            name = PurePosixPath(path).name
            folder.mkdir(str(number), 0o750 if owner else 0o700, owner)
            with folder.inner(str(number)) as own:
                own.replace(name, content, owner, 0o440 if owner else 0o400)
            places[Path(path)] = place / str(number) / name
        yield UserFiles(places)


def _unpacked(file: UserFile) -> bytes:
    """Its content, when name, size and hash have been looked at: what a head sends is not believed."""
    path = PurePosixPath(file.path)
    if not path.is_absolute() or path.name in ("", "..") or not file.path.isprintable():
        raise _damaged_file(file.path)
    if len(path.name.encode()) > _NAME_BYTES_MAX:
        raise _damaged_file(file.path)
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(file.packed, BYTES_MAX + 1)
    except zlib.error:
        raise _damaged_file(file.path) from None
    if len(content) > BYTES_MAX or hashlib.sha256(content).hexdigest() != file.sha256:
        raise _damaged_file(file.path)
    return content


def _too_large(size: int) -> str:
    mib = 1 << 20
    return f"is too large: it has {size / mib:.1f} MiB, and all files together may have {BYTES_MAX / mib:.0f} MiB"


class DamagedError(FleetError):
    """What came is not what was sent; sent again it may be."""


def _damaged_file(path: str) -> DamagedError:
    return DamagedError(f'the file "{path}" came damaged, or its name cannot be used')
