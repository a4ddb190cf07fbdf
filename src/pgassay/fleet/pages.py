"""Pages of many runs over a fleet: records travel to hosts as pieces, and pages come home in the same way.

A host renders as many at a time as it has cores, each in a folder that is called as the run is, so the page is that of
one machine, byte for byte. The head alone writes what came home. On both ends a few pieces are all that is in memory.
A host that is lost leaves its runs to the others.
"""

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Condition
from typing import Any

from distributed import Client, get_worker

from pgassay import scratch
from pgassay.analysis.capacities import MeasuredCapacity
from pgassay.errors import PgassayError
from pgassay.fleet import carriage, cores, messages, pieces
from pgassay.fleet.messages import DamagedError, HostGoneError
from pgassay.fleet.pieces import Listing, Store
from pgassay.study.thresholds import Threshold

Ask = Callable[..., Any]
"""`ask(host, work, *arguments)`: what a function gives on a host; raises `HostGoneError` for one that is lost."""
WRITTEN = "report"
"""Of an earlier page: nothing of a new one is made of it, so it does not travel."""


@dataclass(frozen=True)
class Style:
    """How pages are rendered: what a disk study measured, thresholds of the user's, with or without pictures."""

    disk: tuple[MeasuredCapacity, ...] | None = None
    weigh: tuple[Threshold, ...] = ()
    pictures: bool = True


@dataclass(frozen=True)
class Wanted:
    """The page of a run, and where it goes."""

    run: Path
    out: Path


@dataclass(frozen=True)
class Order:
    """For a host: a folder of its own for one run, the run's name, and how to render it."""

    folder: str
    name: str
    style: Style

    @property
    def record(self) -> str:
        """Where the pieces of the record are."""
        return f"{self.folder}/record"

    @property
    def page(self) -> str:
        """Where those of the page are, once it is rendered."""
        return f"{self.folder}/page"


@dataclass(frozen=True)
class Refusal:
    """What a host says of a record that it cannot render."""

    message: str
    hint: str | None


def render_on(client: Client, wanted: Sequence[Wanted], style: Style) -> None:
    """Render all of these and write them; raises `FleetError`, `OSError` as the operating system does."""
    hosts = sorted(carriage.addresses(client))
    with scratch.folder("pages") as place:
        ask = partial(carriage.on_host, client)
        Rendering(ask, style, place).all_of(wanted, hosts)


@dataclass
class Rendering:
    """The head's part; `place` is a folder for what is on its way."""

    ask: Ask
    style: Style
    place: Path
    _left: deque[tuple[int, Wanted]] = field(default_factory=deque)
    _tries: dict[int, int] = field(default_factory=dict)
    _busy: int = 0
    _change: Condition = field(default_factory=Condition)

    def all_of(self, wanted: Sequence[Wanted], hosts: Sequence[str]) -> None:
        """Have hosts take what is left, until nothing is."""
        self._left.extend(enumerate(wanted))
        with ThreadPoolExecutor(max(1, len(hosts))) as pool:
            ends = [pool.submit(self._serve, host, len(hosts)) for host in hosts]
            try:
                wait(ends, return_when=FIRST_EXCEPTION)
            finally:
                with self._change:
                    unfinished = bool(self._left)
                    self._left.clear()  # where one failed, the others end with what they have
        for each in ends:
            each.result()
        if unfinished:
            raise messages.piece_lost(", ".join(hosts))

    def _serve(self, host: str, hosts: int) -> None:
        """Have one host render batch after batch, until nothing is left; one that is lost leaves its own."""
        while batch := self._take(host, hosts):
            given_back: Sequence[tuple[int, Wanted]] = ()
            try:
                self._batch(host, batch)
            except HostGoneError:
                given_back = batch
                return
            except DamagedError as error:  # also of a host that came back, with nothing of what it had
                given_back = self._again(batch, error)
            finally:
                with self._change:
                    self._left.extend(given_back)
                    self._busy -= 1
                    self._change.notify_all()

    def _take(self, host: str, hosts: int) -> list[tuple[int, Wanted]]:
        """As many as the host has cores, or its share; empty where nothing is left, and nobody will leave anything."""
        try:
            most = int(self.ask(host, cores.cores))
        except HostGoneError:
            return []
        with self._change:
            while not self._left and self._busy:
                self._change.wait()
            batch = [self._left.popleft() for _ in range(min(most, -(-len(self._left) // hosts)))]
            self._busy += bool(batch)
            return batch

    def _again(self, batch: Sequence[tuple[int, Wanted]], error: DamagedError) -> Sequence[tuple[int, Wanted]]:
        """The batch, to be sent once more; raises the error where that did not help."""
        for number, _ in batch:
            self._tries[number] = self._tries.get(number, 0) + 1
            if self._tries[number] == carriage.TRIES:
                raise error
        return batch

    def _batch(self, host: str, batch: Sequence[tuple[int, Wanted]]) -> None:
        root = self.ask(host, folder)
        orders = [Order(f"{root}/{number}", each.run.resolve().name, self.style) for number, each in batch]
        for (_, each), order in zip(batch, orders, strict=True):
            self._send(host, each.run, order)
        for (_, each), refusal, order in zip(batch, self.ask(host, rendered, orders), orders, strict=True):
            if refusal is not None:
                raise messages.piece_failed(host, f"{order.name}: {refusal.message}", refusal.hint)
            self._fetch(host, order, each.out)
        self.ask(host, carriage.forget, root)

    def _send(self, host: str, run: Path, order: Order) -> None:
        """Piece by piece, those that the host lacks."""
        with TemporaryDirectory(dir=self.place) as here:
            store = Store(Path(here))
            listing = pieces.pack(run, order.name, store, leave_out=(WRITTEN,))
            lacking = self.ask(host, carriage.lacking, order.record, listing)
            if isinstance(lacking, str):
                raise messages.piece_failed(host, lacking, None)
            for piece in lacking:
                why = self.ask(host, carriage.write, order.record, piece.sha256, store.read(piece.sha256))
                if why == carriage.DAMAGED:
                    raise messages.damaged_piece(piece.sha256)
                if why:
                    raise messages.piece_failed(host, why, None)

    def _fetch(self, host: str, order: Order, out: Path) -> None:
        """Piece by piece into a folder of ours; what is whole is put where it belongs."""
        listing: Listing = self.ask(host, carriage.listing_of, order.page)
        pieces.check(listing)
        with TemporaryDirectory(dir=self.place) as here:
            store, whole = Store(Path(here)), Path(here, "whole")
            for piece in store.lacks(listing):
                store.put(piece.sha256, self.ask(host, carriage.read, order.page, piece.sha256))
            whole.mkdir()
            pieces.unpack(listing, store, whole)
            for file in listing.files:
                (out / file.name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(whole / file.name, out / file.name)


def folder() -> str:
    """On a host: a folder for a batch; what nobody removes goes with its worker."""
    return tempfile.mkdtemp(prefix="pages-", dir=get_worker().local_directory)


def rendered(orders: Sequence[Order]) -> list[Refusal | None]:
    """On a host: render these, and pack the pages."""
    return cores.each(render, orders)


def render(order: Order) -> Refusal | None:
    """Put the record together, render its page and pack that; raises `DamagedError` for a record that is not whole."""
    root, store = Path(order.folder), Store(Path(order.record))
    run, written = root / "run" / order.name, root / "written"
    run.mkdir(parents=True)
    pieces.unpack(store.listing(), store, run)
    store.forget()
    try:
        write_page(run, written, order.style)
    except PgassayError as error:
        return Refusal(error.message, error.hint)
    shutil.rmtree(run)
    pieces.pack(written, order.name, Store(Path(order.page)))
    return None


def write_page(run: Path, out: Path, style: Style) -> None:
    """As `pgassay report` does; raises `PgassayError`."""
    from pgassay.record.reading import Run
    from pgassay.report import page
    from pgassay.report.collection import paused
    from pgassay.report.findings import Findings

    with paused():
        page.write(Findings(Run.open(run, leave_out=True), style.disk, style.weigh), out, pictures=style.pictures)
