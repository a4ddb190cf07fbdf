"""Files below a directory that is not ours alone: by descriptor, one level at a time, and no link is followed.

pgassay may run as root, while servers run under an account that may be hostile. Whatever that account can write it can
replace at any moment, for instance by a link to a file of root's. So nothing there is reached by a path: a `Directory`
is an open directory, and what it does it does to a name in this very directory, wherever that has been moved since.

- No symbolic link is followed (openat2(2) with RESOLVE_NO_SYMLINKS and RESOLVE_BENEATH, or each level with O_NOFOLLOW
  where the kernel or a filter of system calls does not have that).
- Contents are never written into a file that is there: they are a new file, which is renamed over the old name.
- Mode and owner are changed of regular files with a single name and of directories. A second name (a hard link) may be
  that of a file elsewhere.
- Trees are removed without leaving their file system.
"""

import ctypes
import errno
import functools
import os
import secrets
import stat
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from pgassay.errors import PgassayError

Owner = tuple[int, int]
"""User and group id."""
_INSIDE = os.O_RDONLY | os.O_DIRECTORY
_LOOK = os.O_RDONLY | os.O_NONBLOCK
"""A pipe in a file's place would keep us waiting."""
_READ_BYTES_MAX = 16 << 20
_DEPTH_MAX = 100
"""Directories that are open at once while a tree is removed."""
_UMOUNT_NOFOLLOW = 8


class UntrustedError(PgassayError):
    """A link, a foreign owner or a strange file where pgassay only works on its own: nothing was changed."""


class Directory:
    """An open directory; `with` closes it. A name is one in it, or a relative path below it.

    Every method raises `OSError` as the operating system does, and `UntrustedError` for a link, or for what is neither
    a regular file nor a directory.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        """Takes the descriptor over; `path` is for messages."""
        self.descriptor = descriptor
        self.path = path

    @classmethod
    def open(cls, path: Path) -> Self:
        """The directory at `path`, not one that a link at `path` leads to; links above it are its owner's matter."""
        path = path.absolute()
        try:
            return cls(os.open(path, _INSIDE | os.O_NOFOLLOW | os.O_CLOEXEC), path)
        except NotADirectoryError:
            if path.is_symlink():
                raise _link(path) from None
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def inner(self, name: str) -> "Directory":
        """The directory `name` below this one."""
        return Directory(self._opened(name, _INSIDE), self.path / name)

    def require_ours(self) -> None:
        """Raise `UntrustedError` unless it belongs to this process's account and no other may write to it."""
        facts = os.fstat(self.descriptor)
        if facts.st_uid != os.geteuid():
            raise UntrustedError(
                f'"{self.path}" belongs to user {facts.st_uid}, not to user {os.geteuid()}, as whom pgassay runs:'
                " it is left alone",
                "if it is yours, run pgassay as that user, or remove it; or name another directory",
            )
        if facts.st_mode & 0o022:
            raise UntrustedError(
                f'"{self.path}" can be written by others (mode {stat.S_IMODE(facts.st_mode):04o}): it is left alone',
                f'look whether all in it is yours, then run: chmod go-w "{self.path}"',
            )

    def made(self, name: str) -> "Directory":
        """The directory `name` in this one, made if it is not there."""
        with suppress(FileExistsError):
            self.mkdir(name, mode=None)
        return self.inner(name)

    def names(self) -> list[str]:
        """What is in it, sorted."""
        return sorted(os.listdir(self.descriptor))  # noqa: PTH208 (a path cannot be asked by descriptor)

    def status(self, name: str) -> os.stat_result | None:
        """Of the name in this directory itself, also where it is a link; None where there is none."""
        try:
            return os.stat(_single(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str) -> bytes:
        """The contents of a regular file, of at most 16 MiB."""
        with self.reading(name) as file:
            contents = file.read(_READ_BYTES_MAX + 1)
        if len(contents) > _READ_BYTES_MAX:
            raise UntrustedError(f'"{self.path / name}" is larger than {_READ_BYTES_MAX >> 20} MiB')
        return contents

    def reading(self, name: str) -> BinaryIO:
        """A regular file, open for reading, which the caller closes."""
        descriptor = self._opened(name, _LOOK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UntrustedError(f'"{self.path / name}" is not a regular file')
        return os.fdopen(descriptor, "rb")

    def create(self, name: str, mode: int = 0o600) -> int:
        """A new file, open for writing, which the caller closes; raises `FileExistsError` for whatever is there."""
        return self._opened(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)

    def replace(self, name: str, contents: str | bytes, owner: Owner | None = None, mode: int | None = 0o600) -> None:
        """Put a new file in the place of whatever has the name; a link is replaced, and what it leads to stays.

        Without a `mode` others may do with it what the umask leaves them.
        """
        fresh = f".pgassay-{secrets.token_hex(8)}"
        descriptor = self.create(fresh, 0o666 if mode is None else 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(contents.encode() if isinstance(contents, str) else contents)
                file.flush()
                _give(descriptor, owner, mode)
            os.rename(fresh, _single(name), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            self.unlink(fresh)
            raise

    def mkdir(self, name: str, mode: int | None = 0o700, owner: Owner | None = None) -> None:
        """A new directory; raises `FileExistsError` for whatever is there. Without a `mode` as `replace`."""
        os.mkdir(_single(name), 0o777 if mode is None else 0o700, dir_fd=self.descriptor)
        with self.inner(name) as made:
            _give(made.descriptor, owner, mode)

    def give(self, name: str, owner: Owner | None, mode: int | None = None) -> None:
        """Change owner and mode, where they are not None, of a directory, or of a regular file with one name."""
        descriptor = self._opened(name, _LOOK)
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISDIR(facts.st_mode) and not stat.S_ISREG(facts.st_mode):
                raise UntrustedError(f'"{self.path / name}" is not a regular file')
            if stat.S_ISREG(facts.st_mode) and facts.st_nlink != 1:
                raise UntrustedError(
                    f'"{self.path / name}" has another name (a hard link): its owner and mode are left alone'
                )
            _give(descriptor, owner, mode)
        finally:
            os.close(descriptor)

    def give_self(self, owner: Owner | None, mode: int | None = None) -> None:
        """Change the owner and the mode of this directory."""
        _give(self.descriptor, owner, mode)

    def rename(self, name: str, target: "Directory", new: str) -> None:
        """Move whatever has the name, a link as a link; raises `OSError` (EXDEV) to another file system."""
        os.rename(_single(name), _single(new), src_dir_fd=self.descriptor, dst_dir_fd=target.descriptor)

    def link(self, name: str, destination: Path) -> None:
        """A symbolic link, for a server to follow; it keeps our owner, which matters to nobody."""
        os.symlink(destination, _single(name), dir_fd=self.descriptor)

    def unmount(self, name: str, flags: int = 0) -> None:
        """umount2(2) of what is mounted on the name in this very directory."""
        point = f"/proc/self/fd/{self.descriptor}/{_single(name)}"
        if libc().umount2(os.fsencode(point), ctypes.c_int(flags | _UMOUNT_NOFOLLOW)) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(self.path / name))

    def unlink(self, name: str) -> None:
        """Remove a name that is no directory's; harmless where there is none."""
        with suppress(FileNotFoundError):
            os.unlink(_single(name), dir_fd=self.descriptor)

    def remove_tree(self, name: str) -> None:
        """Remove whatever has the name, a directory with all in it, however deep; harmless where there is none.

        Raises `UntrustedError` at a mount.
        """
        facts = self.status(name)
        if facts is None:
            return
        if not stat.S_ISDIR(facts.st_mode):
            self.unlink(name)
            return
        with self._unmounted(name) as found:
            found.clear()
        with suppress(FileNotFoundError):
            os.rmdir(name, dir_fd=self.descriptor)

    def clear(self) -> None:
        """Remove all that is in it, as `remove_tree` does."""
        while self._clear(self, _DEPTH_MAX):
            pass  # a program may nest deeper than we may have files open

    def _clear(self, top: "Directory", depth: int) -> bool:
        """Remove what is in it; directories below so many levels come up to `top` instead: did any?"""
        risen = False
        for name in self.names():
            facts = self.status(name)
            if facts is None:
                continue
            if not stat.S_ISDIR(facts.st_mode):
                self.unlink(name)
                continue
            with self._unmounted(name) as found:
                if depth:
                    risen |= found._clear(top, depth - 1)
                else:
                    self.rename(name, top, f".pgassay-{secrets.token_hex(8)}")
                    risen = True
            with suppress(FileNotFoundError):
                os.rmdir(name, dir_fd=self.descriptor)
        return risen

    def _unmounted(self, name: str) -> "Directory":
        """The directory `name`; raises `UntrustedError` where another file system is mounted on it."""
        found = self.inner(name)
        if os.fstat(found.descriptor).st_dev != os.fstat(self.descriptor).st_dev:
            os.close(found.descriptor)
            raise UntrustedError(f'"{found.path}" is on another file system than "{self.path}": it is left alone')
        return found

    def _opened(self, name: str, flags: int, mode: int = 0) -> int:
        path = self.path / name
        parts = name.split("/")
        if not {"", ".", ".."}.isdisjoint(parts):
            raise UntrustedError(f'"{name}" is not a name below "{self.path}"')
        opening = _by_openat2 if _has_openat2() else _step_by_step
        try:
            return opening(self.descriptor, parts, flags | os.O_CLOEXEC, mode)
        except OSError as failure:
            if failure.errno == errno.ELOOP:
                raise _link(path) from None
            raise OSError(failure.errno, os.strerror(failure.errno or 0), str(path)) from None


def accounts_of_ours() -> frozenset[int]:
    """User ids whose files are ours: this process's account, root, and the account that called sudo."""
    caller = os.environ.get("SUDO_UID", "")
    sudo = {int(caller)} if os.geteuid() == 0 and caller.isdecimal() else set()
    return frozenset({0, os.geteuid(), *sudo})


def _link(path: Path) -> UntrustedError:
    return UntrustedError(
        f'"{path}" is a symbolic link, or lies behind one: what it leads to is left alone',
        "pgassay makes no such link: look who made it, and remove it",
    )


def _single(name: str) -> str:
    """A name in a directory itself, for the system calls that know no O_NOFOLLOW for what is above."""
    if "/" in name or name in ("", ".", ".."):
        raise UntrustedError(f'"{name}" is not the name of a file')
    return name


def _give(descriptor: int, owner: Owner | None, mode: int | None) -> None:
    """The owner first: a change of it clears bits of the mode."""
    if owner is not None:
        os.fchown(descriptor, *owner)
    if mode is not None:
        os.fchmod(descriptor, mode)


def _step_by_step(directory: int, parts: Sequence[str], flags: int, mode: int) -> int:
    opened: list[int] = []
    try:
        for part in parts[:-1]:
            opened.append(_level(part, os.O_PATH | os.O_DIRECTORY, opened[-1] if opened else directory))
        return _level(parts[-1], flags, opened[-1] if opened else directory, mode)
    finally:
        for each in opened:
            os.close(each)


def _level(name: str, flags: int, directory: int, mode: int = 0) -> int:
    """ELOOP for a link, also where open(2) only says that it is no directory."""
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


_OPENAT2 = 437
"""The same number on every architecture (asm-generic/unistd.h)."""
_HOW = struct.Struct("=QQQ")
"""open_how of linux/openat2.h: flags, mode, resolve."""
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08


def _by_openat2(directory: int, parts: Sequence[str], flags: int, mode: int) -> int:
    how = _HOW.pack(flags, mode, _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH)
    name = os.fsencode("/".join(parts))
    found = int(libc().syscall(ctypes.c_long(_OPENAT2), ctypes.c_int(directory), name, how, ctypes.c_size_t(len(how))))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found


@functools.cache
def _has_openat2() -> bool:
    """Linux 5.6 and later has it; a container's filter of system calls may refuse it, with any error."""
    try:
        here = os.open("/", os.O_PATH | os.O_CLOEXEC)
        try:
            os.close(_by_openat2(here, ["proc"], os.O_PATH | os.O_CLOEXEC, 0))
        finally:
            os.close(here)
    except (OSError, AttributeError):
        return False
    return True


@functools.cache
def libc() -> ctypes.CDLL:
    """The C library of this process, for the system calls that Python does not have."""
    return ctypes.CDLL(None, use_errno=True)
