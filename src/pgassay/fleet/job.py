"""A block's order as bytes, with all that a host must know of its run: the study travels with every block.

So a worker keeps nothing of a run, and a lost one takes nothing along.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from pgassay.fleet.blocks import BlockOrder
from pgassay.fleet.own_files import OwnFile


class Bench(msgspec.Struct, frozen=True):
    """What a host must know of a run. `document` is its study.toml, `files` are those of the user's that this names."""

    study: str
    document: str
    allow_busy: bool = False
    allow_volatile: bool = False
    files: tuple[OwnFile, ...] = ()


class Job(msgspec.Struct, frozen=True):
    """One block of a run."""

    block: int
    seed: int
    dropped: tuple[str, ...]
    bench: Bench

    @property
    def order(self) -> BlockOrder:
        """The order alone."""
        return BlockOrder(self.block, self.seed, self.dropped)


@dataclass(frozen=True)
class Jobs:
    """Makes the jobs of a run."""

    bench: Bench

    def of(self, order: BlockOrder) -> bytes:
        """The job of a block."""
        return msgspec.json.encode(Job(order.block, order.seed, order.dropped, self.bench))


def names_its_postgres(document: str) -> bool:
    """Does a study say which PostgreSQL serves, by version or by build? Then what else a host has does not matter."""
    return any(name.startswith(("build.", "postgres.")) for name in _names(tomllib.loads(document)))


def _names(value: object) -> Iterator[str]:
    """Every key of a document, those of nested tables joined by dots, too."""
    if isinstance(value, list):
        for each in value:
            yield from _names(each)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            if isinstance(inner, dict):
                yield from (f"{name}.{each}" for each in _names(inner))
            yield from _names(inner)
