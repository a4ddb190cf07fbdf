"""A sweep of simulated drives over a fleet: each host takes as many points at once as it has cores and memory for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from distributed import Client

from pgassay import flash
from pgassay.fleet import spread


@dataclass(frozen=True)
class Piece:
    """Some points of a sweep: levels by key, over the same document."""

    document: Mapping[str, Any]
    levels: tuple[Mapping[str, str], ...]


def simulate_on(client: Client, document: Mapping[str, Any], points: Sequence[flash.Point]) -> list[flash.Outcome]:
    """What `flash.simulate_all` gives for these points of a sweep over `document`; raises `PgassayError`."""
    size = spread.least_cores(client)
    levels = [point.levels for point in points]
    pieces = [Piece(document, tuple(levels[start : start + size])) for start in range(0, len(levels), size)]
    return [outcome for found in spread.over(client, simulate, pieces) for outcome in found]


def simulate(piece: Piece) -> list[flash.Outcome]:
    """On a host: all points of a piece. They are described here, since a description is of the compiled core."""
    points = [
        point
        for levels in piece.levels
        for point in flash.points(piece.document, [f"{key}={level}" for key, level in levels.items()])
    ]
    return flash.simulate_all(points)
