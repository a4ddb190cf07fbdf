"""Work that needs nothing but processors, over all hosts of a fleet: simulations, builds.

There is no block and no record here: a piece that is lost with its host is done again by another, and a host that
differs from the others is welcome. A worker has one thread, since a host measures one block at a time; so what a piece
calls takes all cores of its host by itself.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from distributed import Client, Future, KilledWorker, get_worker, wait

from pgassay import __version__
from pgassay.errors import PgassayError
from pgassay.fleet import cores, messages

Piece = TypeVar("Piece")
Result = TypeVar("Result")
ANSWER_S = 60.0
"""A scheduler that stands still keeps its connections, so that only a clock tells it from one that is slow."""
_BATCHES = 4
_LOOK_S = 0.2
_LOST_S = 2.0


def hosts_of(client: Client, wanted: int, wait_s: float) -> dict[str, str]:
    """The hosts by their workers' addresses, as soon as so many are there; raises `FleetError`.

    They must have the version of pgassay that the head has: what crosses are its own values.
    """
    until = time.monotonic() + wait_s
    while len(found := names(client)) < wanted:
        if time.monotonic() > until:
            raise messages.too_few_hosts(len(found), wanted, wait_s)
        time.sleep(_LOOK_S)
    for address, version in client.run(_version).items():
        if version != __version__:
            raise messages.other_version(found.get(address, address), str(version), __version__)
    return found


def identity(client: Client) -> Mapping[str, Any]:
    """What the scheduler says of itself and its workers; raises `OSError` where it does not answer within a minute.

    The scheduler itself is asked. What `Client.scheduler_info` gives is overwritten each few seconds by an answer
    without any worker, and on a busy machine that is what its caller gets.
    """
    found: Mapping[str, Any] = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_S)
    return found


def workers(client: Client) -> Mapping[str, Mapping[str, Any]]:
    """What the scheduler knows of each connected worker, by address; raises `OSError` where it does not answer."""
    found: Mapping[str, Mapping[str, Any]] = identity(client)["workers"]
    return found


def names(client: Client) -> dict[str, str]:
    """The hosts that are connected, by address; raises `OSError` where the scheduler does not answer."""
    return {address: str(each["name"]) for address, each in workers(client).items()}


def _version() -> str:
    return __version__


def least_cores(client: Client) -> int:
    """Of the host that has fewest: as large is a piece, so that none waits long for the last one."""
    return min(int(each) for each in client.run(cores.cores).values())


def over(client: Client, work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[Result]:
    """What `work` makes of each piece, in the order of the pieces, on whichever host is free.

    `work` is a function of a module that the hosts have. Raises `FleetError` for an error of ours that it raised, with
    its words, and where all hosts are lost; what else it raises comes as it is.
    """
    futures = client.map(_told, [(work, piece) for piece in pieces], pure=False)
    try:
        for future in futures:
            yield _result(future)
    finally:
        client.cancel(futures, force=True)


def singly(client: Client, work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> Iterator[Result]:
    """The same of work that takes one core by itself: a host does as many pieces at a time as it has cores."""
    size = batch_size(len(pieces), len(names(client)), least_cores(client))
    batches = [(work, pieces[start : start + size]) for start in range(0, len(pieces), size)]
    for found in over(client, _all, batches):
        yield from found


def _all(batch: tuple[Callable[[Piece], Result], Sequence[Piece]]) -> list[Result]:
    return cores.each(*batch)


def batch_size(pieces: int, hosts: int, least: int) -> int:
    """How many pieces go to a host at a time: a fourth of its share, since it starts processes for each batch.

    A host of one core starts none, so it gets one after the other.
    """
    return 1 if least == 1 else max(least, -(-pieces // (_BATCHES * hosts)))


def require_sources(client: Client, packages: Sequence[str]) -> None:
    """Raise `FleetError` for a host that has other sources of these packages than the head, or lacks one."""
    found, ours = names(client), _sources(packages)
    for address, theirs in client.run(_sources, packages).items():
        for package in packages:
            if theirs[package] != ours[package]:
                raise messages.other_sources(found.get(address, address), package, there=bool(theirs[package]))


def _sources(packages: Sequence[str]) -> dict[str, str]:
    """A hash of the Python sources of each, by its name; empty for one that is not there."""
    found = {}
    for package in packages:
        digest, files = sha256(), _files(package)
        for path in files:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        found[package] = digest.hexdigest() if files else ""
    return found


def _files(package: str) -> list[Path]:
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:  # of the package around it
        return []
    places = None if spec is None else spec.submodule_search_locations
    return [path for place in places or () for path in sorted(Path(place).rglob("*.py"))]


def on_each(client: Client, work: Callable[[Piece], Result], piece: Piece) -> Iterator[tuple[str, Result]]:
    """What `work` makes of the same piece on every host that is there, with the host's name, in the hosts' order.

    Raises `FleetError` as `over` does, and for a host that is lost meanwhile: its work can be done by no other.
    """
    hosts = names(client)
    futures = {
        address: client.submit(_told, (work, piece), pure=False, workers=[address], allow_other_workers=False)
        for address in hosts
    }
    try:
        for address, future in futures.items():
            _wait_for(client, future, address, hosts[address])
            yield hosts[address], _result(future)
    finally:
        client.cancel(list(futures.values()), force=True)


def _wait_for(client: Client, future: Future, address: str, host: str) -> None:
    """Wait for what one host alone can do: Dask would wait for its address for ever."""
    while not future.done():
        with suppress(TimeoutError), client.as_current():
            wait([future], timeout=_LOST_S)
        if not future.done() and address not in names(client):
            raise messages.host_gone(host)


@dataclass(frozen=True)
class _Failure:
    """One of our errors, which on its way as an exception would lose its hint."""

    host: str
    message: str
    hint: str | None


def _told(job: tuple[Callable[[Piece], Result], Piece]) -> Result | _Failure:
    work, piece = job
    try:
        return work(piece)
    except PgassayError as error:
        return _Failure(str(get_worker().name), error.message, error.hint)


def _result(future: Future) -> Any:
    try:
        found = future.result()
    except (CancelledError, KilledWorker) as error:
        raise messages.piece_lost(str(error).strip()) from None
    if isinstance(found, _Failure):
        raise messages.piece_failed(found.host, found.message, found.hint)
    return found
