"""What a study would have built, told without fetching or building anything: for a plan on a cache that lacks it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pgassay.postgres.builds.builder import Builder
from pgassay.postgres.builds.spec import FETCHED
from pgassay.postgres.builds.wanted import Wanted


@dataclass(frozen=True)
class Unbuilt:
    """One build that is missing; `seconds` is what builds took here, None before there was one."""

    name: str
    source: str
    seconds: float | None
    cache: Path


def unbuilt(builder: Builder, every: Iterable[Wanted]) -> tuple[Unbuilt, ...]:
    """Each missing build once, in order. A local source that is none raises `UsageError`, as building would."""
    seconds = _usual_s(builder)
    found = {}
    for wanted in every:
        if wanted.source is None or wanted.source.kind in FETCHED:
            source = builder.sources.at_hand(wanted.source, wanted.version)
        else:
            source = builder.sources.identify(wanted.source, wanted.version)
        if source is not None:
            recipe = builder.recipe(wanted)[0]
            if builder.cache.manifest(recipe.key) is None:
                found[wanted] = Unbuilt(recipe.name, source.spec, seconds, builder.cache.root)
            continue
        version = wanted.version or builder.sources.fallback or "of a version yet to be named"
        sizes = f"{wanted.block_bytes // 1024}kB pages, {wanted.wal_block_bytes // 1024}kB WAL blocks"
        told = f"{wanted.source or 'official or distribution'}, which would be fetched"
        found[wanted] = Unbuilt(f"{version}, {sizes}", told, seconds, builder.cache.root)
    return tuple(found.values())


def _usual_s(builder: Builder) -> float | None:
    """The median of what the builds in the cache took."""
    lengths = [each.seconds for each in builder.cache.whole()]
    return median(lengths) if lengths else None
