"""The border between us and a program of another account: copies of what it reads go in, what it wrote comes out.

The record and a user's files are ours and may be closed to that account. So the program works in a folder of which one
part, with copies that it may read, is ours, and the other is its own. What is in the latter was made by who knows
whom: only regular files of that account with one name are taken, and no link is followed.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from pgassay import scratch
from pgassay.bench.places import Account
from pgassay.bench.running import PRINTED_BYTES_MAX
from pgassay.files import Directory, UntrustedError
from pgassay.host.accounts import barrier, may_read

PLACE = Path("/tmp")
"""Not $TMPDIR: that may be closed to the account (pam_tmpdir)."""
_IN, _OUT = "in", "out"
_DESCRIPTION = "description.json"
"""Ends the name of what our player reads, which names other files."""


def _replaced(text: str, paths: Mapping[str, str]) -> str:
    """`text` with each value in the place of its key, a whole path or the beginning of one; the longest keys first."""
    if not paths:
        return text
    keys = "|".join(re.escape(each) for each in sorted(paths, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])({keys})(?![\w.-])", lambda found: paths[found[1]], text)


def _describes(file: Path) -> bool:
    """Does it name other files, so that it is the last to go in?"""
    return file.name.endswith(_DESCRIPTION)


class Stage:
    """Made for one program; `close` it when that has ended. `output` is where what it writes belongs."""

    def __init__(self, account: Account, files: Iterable[Path], output: Path | None = None) -> None:
        self._account, self._output = account, output
        self._given_back = ExitStack()
        self.paths: dict[str, str] = {}
        """Where each path of ours is for the program."""
        with ExitStack() as stack:
            folder = stack.enter_context(scratch.folder("load", PLACE))
            self._folder = folder
            with Directory.open(folder) as made:
                made.give_self(*account.passable)
                owner, mode = account.passable
                made.mkdir(_IN, mode, owner)
                made.mkdir(_OUT, 0o700, account.owner)
            for file in sorted(dict.fromkeys(files), key=_describes):
                if not may_read(file, account) or (output is not None and file.is_relative_to(output)):
                    self._hand_in(file)
            if output is not None:
                self.paths[str(output)] = str(folder / _OUT)
            self._given_back = stack.pop_all()

    def command(self, words: Sequence[str]) -> list[str]:
        """The words by the program's own paths; its name stays."""
        return [*words[:1], *(_replaced(word, self.paths) for word in words[1:])]

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The variables by the program's own paths."""
        return {name: _replaced(value, self.paths) for name, value in variables.items()}

    def place(self, path: Path) -> Path:
        """Where something is while the program runs, that it makes in `output`."""
        return Path(_replaced(str(path), self.paths))

    def told(self, text: str) -> str:
        """What the program printed, with our paths in the place of its own."""
        return _replaced(text, {theirs: ours for ours, theirs in self.paths.items()})

    def rewrite(self, path: Path) -> None:
        """The same in a file of ours that the program printed to, unless it is one without end."""
        if path.stat().st_size > PRINTED_BYTES_MAX:
            return
        before = path.read_text(encoding="utf-8", errors="surrogateescape")
        after = self.told(before)
        if after != before:
            with path.open("w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(after)

    def close(self) -> None:
        """Take what the program wrote, and remove the folder; calling it twice is harmless."""
        with self._given_back:
            if self._output is None:
                return
            output, self._output = self._output, None
            with Directory.open(self._folder / _OUT) as written:
                for name in written.names():
                    facts = written.status(name)
                    if facts is None or not stat.S_ISREG(facts.st_mode):
                        continue
                    if not name.isascii() or not name.isprintable():  # checksums of a record are lines
                        continue
                    with suppress(UntrustedError), written.reading(name) as source:
                        self._take(source, output / name)

    def _hand_in(self, file: Path) -> None:
        """A copy, at the same path below a directory of ours: files may name each other, and words their directories.

        Whatever a word names below a closed directory is there, or could not be reached anyway.
        """
        copy = self._folder / _IN / str(file.absolute()).lstrip("/")
        for parent in reversed(file.absolute().parents[:-1]):
            folder = self._folder / _IN / str(parent).lstrip("/")
            if not folder.exists():
                owner, mode = self._account.passable
                with Directory.open(folder.parent) as above:
                    above.mkdir(folder.name, mode, owner)
            if barrier(parent, self._account) is not None:
                self.paths[str(parent)] = str(folder)
        if not file.exists():
            return  # the program says so itself
        with file.open("rb") as source, Directory.open(copy.parent) as above:
            with os.fdopen(above.create(copy.name), "wb") as target:
                if _describes(file):
                    target.write(_replaced(source.read().decode(), self.paths).encode())
                else:
                    shutil.copyfileobj(source, target, 1 << 20)
            above.give(copy.name, self._account.owner, 0o400)
        self.paths[str(file)] = str(copy)

    def _take(self, source: BinaryIO, target: Path) -> None:
        """One file, unless it is another account's, has a second name or holes; what has its name already stays.

        A file of holes costs its program nothing and could fill the disk of the record. One that grows meanwhile is
        taken as long as it was: its program may have left another behind that writes on.
        """
        status = os.fstat(source.fileno())
        whole = not status.st_size or os.lseek(source.fileno(), 0, os.SEEK_HOLE) == status.st_size
        source.seek(0)
        if whole and status.st_uid == self._account.uid and status.st_nlink == 1 and not os.path.lexists(target):
            with target.open("xb") as copy:
                left = status.st_size
                while piece := source.read(min(left, 1 << 20)):
                    left -= copy.write(piece)
