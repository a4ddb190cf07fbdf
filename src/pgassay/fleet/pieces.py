"""A directory as pieces of bounded size, each packed and named by the SHA-256 of what is packed: to be sent, or put
together again.

The files in the order of their names are one long string of bytes, cut every 4 MiB; so any piece can be made again from
the directory alone, and the same directory always gives the same pieces. What comes from another host is looked at as
something that a stranger sent: a piece that is not what its name says is refused, and so is a name that leads out.
"""

import hashlib
import os
import shutil
import stat
import tempfile
import zlib
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path, PurePosixPath

import msgspec

from pgassay.fleet import messages

PIECE_BYTES = 4 << 20
"""Of the files; what is sent is smaller, and a few pieces at a time are all that is ever in memory."""
LISTING_FILE = "listing.json"
FORMAT = 1
_LEVEL = 1
_THREADS = 2
_SKIPPED = frozenset({"postmaster.pid"})
_MODE = 0o777


class ListedFile(msgspec.Struct, frozen=True):
    """A file by its name below the directory, with its permissions and size."""

    name: str
    mode: int
    bytes: int


class ListedFolder(msgspec.Struct, frozen=True):
    """A directory below it, with its permissions."""

    name: str
    mode: int


class ListedLink(msgspec.Struct, frozen=True):
    """A symbolic link to something within the directory."""

    name: str
    target: str


class Piece(msgspec.Struct, frozen=True):
    """A packed piece: its name, and how much of the link it takes."""

    sha256: str
    bytes: int


class Listing(msgspec.Struct, frozen=True):
    """All that a directory is made of; `identity` says whose data they are."""

    identity: str
    folders: tuple[ListedFolder, ...]
    links: tuple[ListedLink, ...]
    files: tuple[ListedFile, ...]
    pieces: tuple[Piece, ...]
    format: int = FORMAT

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(each.bytes for each in self.files)

    @property
    def packed_bytes(self) -> int:
        """Of all pieces."""
        return sum(each.bytes for each in self.pieces)


@dataclass(frozen=True)
class Store:
    """The pieces of one directory in a folder of ours, by their names; made when the first one comes."""

    folder: Path

    def lacks(self, listing: Listing) -> list[Piece]:
        """Those that are not here yet, each once, in order."""
        wanted = dict.fromkeys(listing.pieces)
        return [each for each in wanted if not self._here(each)]

    def put(self, sha256: str, packed: bytes) -> None:
        """Keep a piece; raises `FleetError` for one that is not what its name says."""
        if not _plain(sha256) or hashlib.sha256(packed).hexdigest() != sha256:
            raise messages.damaged_piece(sha256)
        self._write(sha256, packed)

    def read(self, sha256: str) -> bytes:
        """A piece as it lies here, its contents not looked at; raises `FleetError` where there is none."""
        try:
            return self._path(sha256).read_bytes()
        except OSError:
            raise messages.damaged_piece(sha256) from None

    def keep(self, listing: Listing) -> None:
        """Write down what the pieces are of."""
        self._write(LISTING_FILE, msgspec.json.encode(listing))

    def listing(self) -> Listing:
        """What the pieces are of; raises `FleetError`."""
        try:
            return decoded((self.folder / LISTING_FILE).read_bytes())
        except OSError as error:
            raise messages.damaged_listing(error.strerror or "it is not there") from None

    def forget(self) -> None:
        """Remove all of it; harmless where there is nothing."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder)

    def _here(self, piece: Piece) -> bool:
        with suppress(OSError):
            return self._path(piece.sha256).stat().st_size == piece.bytes
        return False

    def _path(self, sha256: str) -> Path:
        if not _plain(sha256):
            raise messages.damaged_piece(sha256)
        return self.folder / sha256

    def _write(self, name: str, content: bytes) -> None:
        """Whole or not at all; under a name of its own first, for two threads may pack the same piece at once."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(prefix=f".{name}-", dir=self.folder)
        with os.fdopen(descriptor, "wb") as written:
            written.write(content)
        Path(fresh).rename(self.folder / name)


def pack(
    directory: Path, identity: str, store: Store, *, anew: bool = False, leave_out: Collection[str] = ()
) -> Listing:
    """Pack a directory that nobody changes, without the names in it to `leave_out`.

    What is in the store already stays, unless all shall be made `anew`.

    Raises `FleetError` for a link that leads out, `OSError` as the operating system does.
    """
    folders, links, files = _walked(directory, leave_out)
    ends = tuple(accumulate(each.bytes for each in files))
    count = -(-(ends[-1] if ends else 0) // PIECE_BYTES)

    def packed(number: int) -> Piece:
        content = zlib.compress(_range(directory, files, ends, number), _LEVEL)
        piece = Piece(hashlib.sha256(content).hexdigest(), len(content))
        if anew or store.lacks(Listing(identity, (), (), (), (piece,))):
            store.put(piece.sha256, content)
        return piece

    with ThreadPoolExecutor(_THREADS) as pool:
        pieces = tuple(pool.map(packed, range(count)))
    listing = Listing(identity, folders, links, files, pieces)
    store.keep(listing)
    return listing


@dataclass(frozen=True)
class Sample:
    """What packing `seen` bytes told: how many there are, and about how many are left of them when packed."""

    seen: int
    bytes: int
    packed_bytes: int


def sample(directory: Path, pieces: int = 8) -> Sample:
    """Pack a few pieces, evenly over the directory, and keep none; raises as `pack` does."""
    _, _, files = _walked(directory)
    ends = tuple(accumulate(each.bytes for each in files))
    count = -(-(ends[-1] if ends else 0) // PIECE_BYTES)
    step = max(1, count // pieces)
    chosen = [_range(directory, files, ends, number) for number in range(0, count, step)][:pieces]
    seen, packed = sum(map(len, chosen)), sum(len(zlib.compress(each, _LEVEL)) for each in chosen)
    whole = ends[-1] if ends else 0
    return Sample(seen, whole, round(packed / seen * whole) if seen else 0)


def unpack(listing: Listing, store: Store, into: Path, owner: tuple[int, int] | None = None) -> None:
    """Put a directory together in `into`, which is there and empty; `owner` are the user and group of all in it.

    Raises `FleetError` for what is damaged or leads out, `OSError` as the system does; `into` is partial then.
    """
    check(listing)
    for folder in listing.folders:
        (into / folder.name).mkdir(mode=0o700)
    stream = _unpacked(listing, store)
    rest = b""
    for file in listing.files:
        path = into / file.name
        with path.open("xb") as written:
            left = file.bytes
            while left:
                rest = rest or next(stream, b"")
                if not rest:
                    raise messages.damaged_listing("its pieces end before its files do")
                written.write(rest[:left])
                left, rest = left - min(left, len(rest)), rest[left:]
        _own(path, file.mode, owner)
    if rest or next(stream, b""):
        raise messages.damaged_listing("its pieces go on after its files")
    for link in listing.links:
        (into / link.name).symlink_to(link.target)
        if owner is not None:
            os.lchown(into / link.name, *owner)
    for folder in reversed(listing.folders):
        _own(into / folder.name, folder.mode, owner)


def decoded(text: bytes) -> Listing:
    """A listing that came from somewhere else, looked at; raises `FleetError`."""
    try:
        found = msgspec.json.decode(text, type=Listing)
    except msgspec.MsgspecError as error:
        raise messages.damaged_listing(str(error)) from None
    check(found)
    return found


def check(listing: Listing) -> None:
    """Raise `FleetError` for names that lead out, or are there twice."""
    names = [each.name for each in listing.folders]
    names += [each.name for each in listing.links] + [each.name for each in listing.files]
    wrong = [name for name in names if not _inside(name)]
    wrong += [each.name for each in listing.links if not _inside(each.target)]
    if listing.format != FORMAT or wrong or len(set(names)) != len(names):
        raise messages.damaged_listing(f'"{wrong[0]}" may not be in it' if wrong else "it is of another form")
    linked = {each.name for each in listing.links}
    if any(str(parent) in linked for name in names for parent in PurePosixPath(name).parents):
        raise messages.damaged_listing("a link would be followed")


def _walked(
    directory: Path, leave_out: Collection[str] = ()
) -> tuple[tuple[ListedFolder, ...], tuple[ListedLink, ...], tuple[ListedFile, ...]]:
    folders: list[ListedFolder] = []
    links: list[ListedLink] = []
    files: list[ListedFile] = []
    for place, inner, names in os.walk(directory):
        if Path(place) == directory:
            inner[:], names = ([each for each in found if each not in leave_out] for found in (inner, names))
        inner.sort()
        for name in sorted([*inner, *names]):
            path = Path(place, name)
            known, facts = str(path.relative_to(directory)), path.lstat()
            mode = stat.S_IMODE(facts.st_mode) & _MODE
            if stat.S_ISLNK(facts.st_mode):
                target = str(path.readlink())
                if not _inside(target):
                    raise messages.leads_out(path)
                links.append(ListedLink(known, target))
            elif stat.S_ISDIR(facts.st_mode):
                folders.append(ListedFolder(known, mode))
            elif stat.S_ISREG(facts.st_mode) and name not in _SKIPPED:
                files.append(ListedFile(known, mode, facts.st_size))
    return tuple(folders), tuple(links), tuple(sorted(files, key=lambda each: each.name))


def _range(directory: Path, files: Sequence[ListedFile], ends: Sequence[int], number: int) -> bytes:
    """The bytes of a piece, out of as many files as it takes."""
    start = number * PIECE_BYTES
    place, content = bisect_right(ends, start), bytearray()
    while len(content) < PIECE_BYTES and place < len(files):
        file = files[place]
        skipped = start + len(content) - (ends[place] - file.bytes)
        with (directory / file.name).open("rb") as opened:
            opened.seek(skipped)
            wanted = min(PIECE_BYTES - len(content), file.bytes - skipped)
            found = opened.read(wanted)
        if len(found) != wanted:
            raise messages.changed_meanwhile(directory / file.name)
        content += found
        place += 1
    return bytes(content)


def _unpacked(listing: Listing, store: Store) -> Iterator[bytes]:
    """The pieces one after the other, none larger than it may be."""
    for piece in listing.pieces:
        packed = store.read(piece.sha256)
        if hashlib.sha256(packed).hexdigest() != piece.sha256:
            raise messages.damaged_piece(piece.sha256)
        opener = zlib.decompressobj()
        try:
            content = opener.decompress(packed, PIECE_BYTES + 1)
        except zlib.error:
            raise messages.damaged_piece(piece.sha256) from None
        if not opener.eof or len(content) > PIECE_BYTES:
            raise messages.damaged_piece(piece.sha256)
        yield content


def _own(path: Path, mode: int, owner: tuple[int, int] | None) -> None:
    if owner is not None:
        os.chown(path, *owner)
    path.chmod(mode & _MODE)


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _plain(sha256: str) -> bool:
    return len(sha256) == 64 and set(sha256) <= set("0123456789abcdef")
