"""Forged files: real ones with one thing changed that no program of ours would write, drawn from a seed.

`Forger` changes a value of a document by its place, or a file as a whole. What JSON and TOML libraries refuse to write
(a number of 5,000 digits, 100,000 brackets, NaN) goes in as text.
"""

import json
import os
import random
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tomli_w

CASE_S = 180
"""A case that takes longer hangs."""
_RAW = {
    "@digits@": "9" * 5000,
    "@deep@": "[" * 100_000 + "]" * 100_000,
    "@nested@": "[" * 300 + "]" * 300,
    "@nan@": "NaN",
    "@infinity@": "Infinity",
    "@exponent@": "1e999",
    "@surrogate@": '"\\ud800"',
}
_RAW_TOML = {
    **_RAW,
    "@nan@": "nan",
    "@infinity@": "-inf",
    "@deep@": "[" * 5000 + "]" * 5000,
    "@surrogate@": '"\\u0000"',
}
_PLAIN: tuple[Any, ...] = (
    None, True, -1, 0, 1, 1.5, -1.5, 1e308, -1e308, 5e-324, 10**18, 2**63, 2**64, 10**30, -(10**30), "", "\0",
    "x" * 70_000, "\x1b]0;title\x07", "../../../../etc/passwd", "/dev/zero", "<script>", "=1+1", "é", "☃",
    "no such name", "-5", "1e400", "nan", [], {}, [[]], [None], [1, "a"], {"": ""}, {"a": {"b": {"c": 1}}}, "9" * 5000,
)  # fmt: skip
Place = tuple[Any, ...]


class Forger:
    """Draws changes from a seed; `said` is what it did, for a failing test to show."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.said = f"seed {seed}"

    def value(self, document: Any) -> Any:
        """The document with one value changed, removed, doubled, renamed or moved, wherever it is."""
        places = list(_places(document, ()))
        if not places:
            return self._new(document)
        place = self.chance.choice(places)
        way = self.chance.choice((self._replaced,) * 5 + (self._removed, self._doubled, self._renamed, self._moved))
        self.said += f"; {way.__name__.strip('_')} {'.'.join(map(str, place))}"
        return way(document, place, places)

    def _new(self, old: Any) -> Any:
        new = self.chance.choice((*_PLAIN, *_RAW))
        self.said += f" {str(old)[:40]!r} by {str(new)[:40]!r}"
        return new

    def _replaced(self, document: Any, place: Place, _: list[Place]) -> Any:
        old = _at(document, place)
        if isinstance(old, int | float) and not isinstance(old, bool) and self.chance.random() < 0.4:
            new: Any = self.chance.choice((-old, old * 1e6, old + 1, old / 3, float(old), str(old)))
            self.said += f" {old!r} by {new!r}"
        else:
            new = self._new(old)
        return _changed(document, place, lambda holder, key: holder.__setitem__(key, new))

    def _removed(self, document: Any, place: Place, _: list[Place]) -> Any:
        return _changed(document, place, lambda holder, key: holder.__delitem__(key))

    def _doubled(self, document: Any, place: Place, _: list[Place]) -> Any:
        def double(holder: Any, key: Any) -> None:
            if isinstance(holder, list):
                holder.insert(key, holder[key])
            else:
                holder[f"{key}2"] = holder[key]

        return _changed(document, place, double)

    def _renamed(self, document: Any, place: Place, _: list[Place]) -> Any:
        def rename(holder: Any, key: Any) -> None:
            value = holder.pop(key)
            if isinstance(holder, dict):
                holder[self.chance.choice(("", "no such key", "\x1b[31m", "x" * 5000, key.upper(), "a.b"))] = value

        return _changed(document, place, rename)

    def _moved(self, document: Any, place: Place, places: list[Place]) -> Any:
        other = _at(document, self.chance.choice(places))
        other = json.loads(json.dumps(other, default=str))
        return _changed(document, place, lambda holder, key: holder.__setitem__(key, other))

    def data(self, data: bytes) -> bytes:
        """The contents of a file with bytes changed, cut, doubled or put in."""
        at = self.chance.randrange(len(data) + 1)
        way = self.chance.randrange(7)
        self.said += f"; bytes {way} at {at}"
        some = self.chance.choice(
            (b"\0", b"\xff\xfe", b"\xc3", b"\n", b'"', b"," * 3000, b"9" * 5000, b"-1", b"[" * 50_000)
        )
        match way:
            case 0:
                return data[:at]
            case 1:
                return data[:at] + some + data[at:]
            case 2:
                return data[:at] + some + data[at + len(some) :]
            case 3:
                end = min(len(data), at + self.chance.randrange(1, 400))
                return data[:end] + data[at:]
            case 4:
                return data[:at] + bytes(self.chance.randrange(256) for _ in range(20)) + data[at + 20 :]
            case 5:
                lines = data.splitlines(keepends=True)
                self.chance.shuffle(lines)
                return b"".join(lines)
            case _:
                return self.chance.choice(
                    (b"", b"\0" * 4096, b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n"), some)
                )

    def file(self, path: Path, others: list[Path]) -> None:
        """Put something else under the name of a file."""
        way = self.chance.choice(("gone", "fifo", "socket", "directory", "link", "loop", "swapped", "sparse"))
        if way == "sparse" and path.parent.name.isdecimal():
            way = "gone"  # a trial's output may have any length, and is hashed as long as that takes
        self.said += f"; {path.name} {way}"
        if way == "swapped":
            other = self.chance.choice(others)
            one, two = path.read_bytes(), other.read_bytes()
            path.write_bytes(two)
            other.write_bytes(one)
            return
        path.unlink()
        if way == "fifo":
            os.mkfifo(path)
        if way == "socket":
            with socket.socket(socket.AF_UNIX) as server:
                here = os.open(path.parent, os.O_RDONLY)
                server.bind(f"/proc/self/fd/{here}/{path.name}")
                os.close(here)
        if way == "directory":
            path.mkdir()
        if way == "link":
            path.symlink_to("/dev/zero")
        if way == "loop":
            path.symlink_to(path.name)
        if way == "sparse":
            path.touch()
            os.truncate(path, 1 << 41)


def to_json(document: Any) -> bytes:
    """JSON with what stands for text of its own put in."""
    text = json.dumps(document, default=str)
    for mark, raw in _RAW.items():
        text = text.replace(f'"{mark}"', raw)
    return text.encode(errors="surrogatepass")


def to_toml(document: Any) -> bytes:
    """TOML with what stands for text of its own put in; what is no document at all as its text."""
    try:
        text = tomli_w.dumps(document)
    except (TypeError, ValueError, AttributeError):
        text = json.dumps(document, default=str)
    for mark, raw in _RAW_TOML.items():
        text = text.replace(f'"{mark}"', raw)
    return text.encode(errors="surrogatepass")


def _places(value: Any, here: Place) -> Iterator[Place]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield (*here, key)
        yield from _places(each, (*here, key))


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def _changed(document: Any, place: Place, change: Callable[[Any, Any], object]) -> Any:
    whole = json.loads(json.dumps(document, default=str))
    holder = _at(whole, place[:-1])
    change(holder, place[-1])
    return whole


@contextmanager
def bounded(said: Callable[[], str]) -> Iterator[None]:
    """Fail, with what was done, where something takes longer than any answer does, or raises what it should not."""

    def hangs(*_: object) -> None:
        raise AssertionError(f"hangs: {said()}")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(CASE_S)
    try:
        yield
    except Exception as failure:
        raise AssertionError(f"{said()}: {type(failure).__name__}: {str(failure)[:300]}") from failure
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
