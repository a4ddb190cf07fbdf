"""What others wrote, as it comes in: regular files of bounded size, values of bounded depth, or a reason why not.

A record, a study or a log may come from anyone. Opening a FIFO waits for a writer that never comes, a device gives
bytes without end, and a decoder calls itself once for each bracket. What is refused is an `OSError` with the file's
name, or a `ValueError` that says what is wrong with the contents: the caller knows which file they are of.
"""

import errno
import math
import os
import stat
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

BYTES_MAX = 1 << 30
"""A file that is read as a whole, in memory."""
DEPTH_MAX = 32
_KINDS = {
    stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a symbolic link",
}  # fmt: skip
_TOO_DEEP = f"it is nested more than {DEPTH_MAX} deep"
_TOO_LONG = "it has an integer of more than 64 bits"

WHOLE = r"(?<!\d)\d{1,18}(?!\d)"
REAL = r"(?<!\d)\d{1,18}(?:\.\d{1,18})?(?!\.?\d)"
"""A number as programs print them, in a regular expression: a longer one is no number, and neither is 1.2.3."""

Value = TypeVar("Value")


def open_file(path: Path, *, links: bool = True, pipes: bool = False) -> BinaryIO:
    """Open a regular file, unbuffered; raises `OSError`, at once, where there is none or something else.

    With `pipes` also what `<(…)` and `/dev/stdin` name; without `links` no symbolic link under that very name.
    """
    found = path.stat(follow_symlinks=links)
    if pipes and (stat.S_ISFIFO(found.st_mode) or stat.S_ISCHR(found.st_mode)):
        return path.open("rb", buffering=0)
    _require_regular(found.st_mode, path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW))
    try:
        _require_regular(os.fstat(descriptor).st_mode, path)  # another may have taken its name since
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def require_file(path: Path, *, links: bool = True) -> None:
    """Raise `OSError` unless it is a regular file: for a library that opens it by itself."""
    _require_regular(path.stat(follow_symlinks=links).st_mode, path)


def read_bytes(path: Path, *, links: bool = True, pipes: bool = False, most: int = BYTES_MAX) -> bytes:
    """The whole contents; raises `OSError` as `open_file`, also where it has more than `most` bytes."""
    with open_file(path, links=links, pipes=pipes) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
        parts, left = [], most
        while piece := file.read(min(left + 1, 1 << 24)):
            parts.append(piece)
            left -= len(piece)
            if left < 0:
                raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return b"".join(parts)


def read_text(path: Path, *, pipes: bool = False) -> str:
    """The whole contents as UTF-8; raises `OSError` as `read_bytes`, and `ValueError` that names the line."""
    data = read_bytes(path, pipes=pipes)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as failure:
        line = data.count(b"\n", 0, failure.start) + 1
        raise ValueError(f"line {line} is not UTF-8 (byte 0x{data[failure.start]:02x})") from None


def any_text(path: Path) -> str:
    """The contents of a file whose program takes any bytes, as PostgreSQL and pgbench do; raises `OSError`.

    What is no UTF-8 becomes surrogates, as in names of files.
    """
    return read_bytes(path, pipes=True).decode("utf-8", "surrogateescape")


def json(data: bytes | str, kind: type[Value] | None = None) -> Any:
    """JSON as plain values, or as a `kind`; raises `ValueError` as `decoded`."""
    return decoded(lambda text: msgspec.json.decode(text, type=kind or Any), data)


def toml(text: str) -> dict[str, Any]:
    """A TOML document; raises `ValueError` as `decoded`, and for a NUL in a text, which no program takes."""
    found = decoded(_toml, text)
    for each in _leaves(found):
        if isinstance(each, str) and "\0" in each:
            raise ValueError("it has a text with a NUL in it")
    return found


def decoded(decode: Callable[[Any], Value], data: bytes | str) -> Value:
    """What `decode` makes of JSON or TOML; raises `ValueError` for what it refuses, and as `require_plain`."""
    try:
        found = decode(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except UnicodeDecodeError as failure:
        raise ValueError(f"it is not UTF-8 at byte {failure.start + 1:,}") from None
    require_plain(found)
    return found


def require_plain(value: object) -> None:
    """Raise `ValueError` for depth, an integer of more than 64 bits or a number that is not finite.

    It looks into dictionaries and lists; a typed value is bounded by its type.
    """
    for each in _leaves(value):
        if isinstance(each, int) and not -(1 << 63) <= each < 1 << 64:
            raise ValueError(_TOO_LONG)
        if isinstance(each, float) and not math.isfinite(each):
            raise ValueError(f"it has {each} where a number must be finite")


def _leaves(value: object) -> Iterator[object]:
    """Keys and values that hold no others; raises `ValueError` for depth."""
    level: list[object] = [value]
    for _ in range(DEPTH_MAX + 1):
        below: list[object] = []
        for each in level:
            if isinstance(each, dict):
                below += each
                below += each.values()
            elif isinstance(each, list | tuple):
                below += each
            else:
                yield each
        if not below:
            return
        level = below
    raise ValueError(_TOO_DEEP)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # int() refuses more than 4,300 digits
        raise ValueError(_TOO_LONG) from None


def _require_regular(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "a device")
        raise OSError(errno.EINVAL, f"it is {what}, not a regular file", str(path))


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file with one JSON object a line, written before what they say is done; none without a file.

    So a line that a crash cut short was not acted upon, and is passed over.
    """
    try:
        lines = read_bytes(path).splitlines()
    except OSError:
        return
    for line in lines:
        try:
            found = json(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
