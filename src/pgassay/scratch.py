"""Places that a process needs only while it lives, and the state directory, where they are noted.

Every temporary folder or file of ours is made here.

Before a place is made, a note of it is written in the state directory: where it is, what for, and who makes it. The
note is locked (flock(2)) while the place is needed. The kernel frees that lock however its process ends, so a process
id that is in use again misleads nobody. What a killed process left is removed by its note and never for its name: what
others put into /tmp under a name like ours stays.
"""

import fcntl
import json
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pgassay import untrusted
from pgassay.files import Directory, UntrustedError
from pgassay.locks import alone, unlock

PREFIX = "pgassay-"
NOTES = "scratch"
_LOCK = ".lock"
"""Held for the moment in which a note is there and not locked yet."""


@dataclass(frozen=True)
class Left:
    """A place that a killed process left: what it was for, and the process that made it."""

    path: Path
    kind: str
    pid: int


@contextmanager
def folder(kind: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder of our own in `parent` (default: the temporary directory) until the `with` ends, named by its `kind`."""
    name = f"{PREFIX}{kind.replace(' ', '-')}-{secrets.token_hex(6)}"
    with place(kind, (parent or Path(tempfile.gettempdir())) / name) as made:
        made.mkdir(mode=0o700)
        yield made


@contextmanager
def place(kind: str, path: Path) -> Iterator[Path]:
    """Whatever the caller makes at `path` is removed when the `with` ends; what is whole by then is renamed before."""
    path = path.parent.resolve() / path.name
    with _noted(kind, path):
        try:
            yield path
        finally:
            with suppress(OSError, UntrustedError):
                _remove(path)


def left() -> list[Left]:
    """What killed processes of this user left on this machine."""
    with _unheld() as found:
        return [each for _, each in found if os.path.lexists(each.path)]


def remove_left() -> tuple[list[Left], list[tuple[Left, str]]]:
    """Remove it; returns what is gone, and what could not be removed, with why."""
    gone, kept = [], []
    with _unheld() as found:
        for note, each in found:
            there = os.path.lexists(each.path)
            try:
                _remove(each.path)
            except FileNotFoundError:
                pass
            except (OSError, UntrustedError) as failure:
                kept.append((each, failure.message if isinstance(failure, UntrustedError) else str(failure.strerror)))
                continue
            note.unlink(missing_ok=True)
            gone += [each] if there else []
    return gone, kept


def _remove(path: Path) -> None:
    """Raises `UntrustedError` for what another account made, and for what is mounted there."""
    with Directory.open(path.parent) as parent:
        facts = parent.status(path.name)
        if facts is not None and facts.st_uid != os.geteuid():
            raise UntrustedError(f'"{path}" belongs to user {facts.st_uid}: it is left alone')
        parent.remove_tree(path.name)


@contextmanager
def _noted(kind: str, path: Path) -> Iterator[None]:
    """Nothing is noted where the state directory cannot be written: then nobody knows of the place after a kill."""
    notes = state_directory() / NOTES
    with ExitStack() as stack:
        with suppress(OSError, UntrustedError):
            for each in (notes.parent, notes):
                each.mkdir(mode=0o700, parents=True, exist_ok=True)
            with Directory.open(notes) as directory:
                directory.require_ours()
            note = notes / secrets.token_hex(8)
            said = {"path": str(path), "kind": kind, "pid": os.getpid(), "host": _host()}
            with alone(notes / _LOCK):
                descriptor = os.open(note, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                stack.callback(unlock, descriptor)
                stack.callback(_forget, note, path)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                os.write(descriptor, json.dumps(said).encode())
        yield


@contextmanager
def _unheld() -> Iterator[list[tuple[Path, Left]]]:
    """The notes of this host that nobody holds, held by us meanwhile. A torn one is of a place that was never made."""
    found: list[tuple[Path, Left]] = []
    with ExitStack() as stack:
        notes = state_directory() / NOTES
        with suppress(FileNotFoundError), Directory.open(notes) as directory:
            directory.require_ours()
            with alone(notes / _LOCK):
                for name in directory.names():
                    descriptor = os.open(notes / name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                    stack.callback(os.close, descriptor)
                    if name == _LOCK:
                        continue
                    try:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        said = untrusted.json(directory.read(name))
                        here = said["host"] == _host()
                        each = Left(Path(said["path"]), str(said["kind"]), int(said["pid"]))
                    except BlockingIOError:
                        continue
                    except (ValueError, KeyError, TypeError):
                        directory.unlink(name)
                        continue
                    found += [(notes / name, each)] if here else []
        yield found


def _forget(note: Path, path: Path) -> None:
    """What could not be removed stays noted: doctor names it, and removes it when it can be."""
    if not os.path.lexists(path):
        note.unlink(missing_ok=True)


def _host() -> str:
    """A home directory may be that of several machines."""
    return socket.gethostname()


VARIABLE = "PGASSAY_STATE_DIR"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """$PGASSAY_STATE_DIR; /var/lib/pgassay/state for root; else the user's state home.

    It is the machine's, so it does not move with the clusters.
    """
    named = environment.get(VARIABLE)
    if named:
        return Path(named).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/pgassay/state")
    home = Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home.absolute() / "pgassay"
