"""Pieces from one host to others, as results of Dask's tasks: a few at a time, each looked at by who gets it.

A piece goes from worker to worker, by Dask's own transport, and never through the head's memory. What a host has of an
earlier try is not sent again. A damaged piece is refused, made again by its source and sent again. A host that is lost
on the way is waited for; it goes on with what it lacks when it is back, under another address.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client, Future, wait

from pgassay.fleet import messages
from pgassay.fleet.messages import FleetError
from pgassay.fleet.pieces import Listing, Piece, Store, check
from pgassay.fleet.spread import names

AT_ONCE = 4
"""Pieces under way: some 16 MB before packing, on each host and on the link."""
TRIES = 3
"""Of a piece that comes damaged; a disk or memory that does it again is broken."""
BACK_S = 120.0
"""How long a host that is lost on the way is waited for."""
_LOOK_S = 1.0
_PROBE_BYTES = (1 << 16, 8 << 20)


@dataclass(frozen=True)
class Place:
    """A store on a host."""

    host: str
    folder: str


@dataclass
class Sent:
    """What was sent: bytes over the link to all hosts together, pieces refused and sent again, hosts that did not get
    all of them, and why."""

    bytes: int = 0
    again: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


Anew = Callable[[], object]
"""Has the source make its pieces anew."""


def listing_of(folder: str) -> Listing:
    """On the source: what its pieces are of."""
    return Store(Path(folder)).listing()


def lacking(folder: str, listing: Listing) -> list[Piece] | str:
    """On a host: which pieces it does not have; it keeps what they are of. Or why it can keep nothing."""
    store = Store(Path(folder))
    try:
        store.keep(listing)
    except OSError as error:
        return messages.cannot_keep(error.strerror or str(error))
    return store.lacks(listing)


def read(folder: str, sha256: str) -> bytes:
    """On the source: a piece."""
    return Store(Path(folder)).read(sha256)


DAMAGED = "damaged"


def write(folder: str, sha256: str, packed: bytes) -> str:
    """On a host: keep a piece that came. Empty where that is done; `DAMAGED`, or why this host can keep none."""
    store = Store(Path(folder))
    try:
        store.put(sha256, packed)
    except FleetError:
        return DAMAGED
    except OSError as error:
        with suppress(OSError):
            store.forget()  # it makes its own, and needs the room
        return messages.cannot_keep(error.strerror or str(error))
    return ""


def forget(folder: str) -> None:
    """On a host: remove all pieces of a directory."""
    Store(Path(folder)).forget()


def addresses(client: Client) -> dict[str, str]:
    """Where each host is now, by name; nowhere while the scheduler does not answer."""
    try:
        return {name: address for address, name in names(client).items()}
    except OSError:
        return {}


def on_host(client: Client, host: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function on a host; waits for a host that is lost meanwhile. Raises `FleetError` if it stays so.

    What the function raises comes as it is.
    """
    until: float | None = None
    while True:
        address = addresses(client).get(host)
        if address is None:
            until = until or time.monotonic() + BACK_S
            if time.monotonic() > until:
                raise messages.host_gone(host)
            time.sleep(_LOOK_S)
            continue
        until = None
        future = client.submit(work, *arguments, workers=[address], allow_other_workers=False, pure=False)
        try:
            while addresses(client).get(host) == address:
                with suppress(TimeoutError), client.as_current():
                    wait([future], timeout=_LOOK_S)
                    return future.result(timeout=_LOOK_S)  # a host that is lost now takes its result along
        finally:
            if not future.done():
                client.cancel([future], force=True)


def link_bytes_per_s(client: Client, source: str, target: str) -> float:
    """How fast bytes go from one host to another, measured now: by two sizes, so that what a task costs drops out."""
    where = addresses(client)
    if source not in where or target not in where:
        raise messages.host_gone(source if source not in where else target)
    times = []
    for size in _PROBE_BYTES:
        blob = client.submit(os.urandom, size, workers=[where[source]], allow_other_workers=False, pure=False)
        with client.as_current():
            wait([blob], timeout=BACK_S)
        started = time.monotonic()
        seen = client.submit(len, blob, workers=[where[target]], allow_other_workers=False, pure=False)
        try:
            seen.result(timeout=BACK_S)
        except TimeoutError:
            raise messages.host_gone(target) from None
        times.append(time.monotonic() - started)
    return (_PROBE_BYTES[1] - _PROBE_BYTES[0]) / max(times[1] - times[0], 1e-6)


@dataclass
class _Target:
    """A host that gets pieces: what it lacks still, where it is, and since when it is away."""

    place: Place
    address: str = ""
    left: dict[Piece, None] = field(default_factory=dict)
    away_since: float | None = None


@dataclass
class Carriage:
    """One directory from `source` to hosts."""

    client: Client
    source: Place
    listing: Listing
    anew: Anew

    def __post_init__(self) -> None:
        """Nothing is under way yet."""
        self._tries: dict[Piece, int] = {}
        self._sent = Sent()

    def carry(self, targets: Sequence[Place]) -> Sent:
        """Send to each what it lacks; raises `FleetError` where the source is gone or damages a piece each time."""
        started = time.monotonic()
        todo = [_Target(place) for place in targets]
        while open_ones := [each for each in todo if each.place.host not in self._sent.failed and self._open(each)]:
            self._round(open_ones)
        self._sent.seconds = time.monotonic() - started
        return self._sent

    def _open(self, target: _Target) -> bool:
        """Does this host lack anything? Asked of it when it is first seen, and when it is back."""
        now, address = time.monotonic(), addresses(self.client).get(target.place.host)
        if address is None:
            target.address, target.away_since = "", target.away_since or now
            if now - target.away_since > BACK_S:
                self._sent.failed[target.place.host] = messages.DID_NOT_COME_BACK
                return False
            time.sleep(_LOOK_S)
            return True
        target.away_since = None
        if address != target.address:
            lacks = on_host(self.client, target.place.host, lacking, target.place.folder, self.listing)
            if isinstance(lacks, str):
                self._sent.failed[target.place.host] = lacks
                return False
            target.left, target.address = dict.fromkeys(lacks), address
        return bool(target.left)

    def _round(self, targets: Sequence[_Target]) -> None:
        """Send a few pieces, each to all hosts that lack it; a host that is lost meanwhile is asked again."""
        there = [each for each in targets if each.address]
        wanted = list(dict.fromkeys(piece for each in there for piece in each.left))[:AT_ONCE]
        if not wanted:
            return
        source = addresses(self.client).get(self.source.host)
        if source is None:
            on_host(self.client, self.source.host, os.getpid)  # waits until it is back, or says that it is gone
            return
        futures: dict[Future, tuple[_Target, Piece]] = {}
        reads = []
        for piece in wanted:
            packed = self._submit(source, read, self.source.folder, piece.sha256)
            reads.append(packed)
            for each in there:
                if piece in each.left:
                    kept = self._submit(each.address, write, each.place.folder, piece.sha256, packed)
                    futures[kept] = each, piece
        try:
            self._take(futures, source)
        finally:
            self.client.cancel([each for each in (*futures, *reads) if not each.done()], force=True)

    def _submit(self, address: str, work: Callable[..., Any], *arguments: Any) -> Future:
        return self.client.submit(work, *arguments, workers=[address], allow_other_workers=False, pure=False)

    def _take(self, futures: dict[Future, tuple[_Target, Piece]], source: str) -> None:
        """Wait for these, but not for those whose host or source is lost."""
        left, damaged = set(futures), set()
        while left:
            with suppress(TimeoutError), self.client.as_current():
                for each in wait(list(left), timeout=_LOOK_S, return_when="FIRST_COMPLETED").done:
                    target, piece = futures[each]
                    # A host that is lost between the end of its task and this line takes the result along.
                    said = each.result(timeout=_LOOK_S) if each.status == "finished" else DAMAGED
                    if not said:
                        target.left.pop(piece, None)
                        self._sent.bytes += piece.bytes
                    elif said == DAMAGED:
                        damaged.add(piece)
                    else:
                        self._sent.failed[target.place.host] = said
                    left.discard(each)
                continue
            where = addresses(self.client)
            if where.get(self.source.host) != source:
                return
            left = {each for each in left if where.get(futures[each][0].place.host) == futures[each][0].address}
        if damaged:
            self._again(damaged)

    def _again(self, damaged: set[Piece]) -> None:
        for piece in damaged:
            self._tries[piece] = self._tries.get(piece, 1) + 1
            if self._tries[piece] > TRIES:
                raise messages.damaged_each_time(self.source.host, piece.sha256)
        self._sent.again += len(damaged)
        self.anew()


def fetched_listing(client: Client, source: Place) -> Listing:
    """What the pieces of the source are of, looked at."""
    found: Listing = on_host(client, source.host, listing_of, source.folder)
    check(found)
    return found
