"""Builds of PostgreSQL on a host: which of those asked for it has; to make, pack or unpack them for the head.

`python -m pgassay.fleet.build_host WORKER PLACE`, an order on standard input; the answer is left in PLACE/answer. A
build that came is looked at file by file, run, and put into this host's cache by one rename; the first of a key stays.
"""

import hashlib
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from pgassay.errors import PgassayError
from pgassay.fleet import messages, pieces
from pgassay.fleet.builds import levels_of
from pgassay.fleet.child import attending
from pgassay.fleet.golden_host import machine
from pgassay.fleet.job import BuildOrder
from pgassay.fleet.messages import FleetError
from pgassay.fleet.pieces import Store
from pgassay.fleet.sharing_plan import Holding, Made, Seen
from pgassay.fleet.task import ANSWER
from pgassay.lab.building import Building, local_builder
from pgassay.lab.interruption import Interruption
from pgassay.postgres.builds import portability
from pgassay.postgres.builds.builder import Builder, usual_s
from pgassay.postgres.builds.cache import Manifest
from pgassay.postgres.builds.messages import NOT_MOVABLE, BuildError
from pgassay.postgres.builds.recipe import DEFAULT_CFLAGS, FETCHED, Recipe
from pgassay.postgres.builds.request import BuildRequest
from pgassay.postgres.builds.sources import Source, major_of

EXPECTED_S = 120.0
"""By rule of thumb, where no build was made yet."""


def main(words: list[str]) -> int:
    """Do what the order says; 2 for what cannot be, told on standard error."""
    place = Path(words[1])

    def work(said: bytes) -> None:
        order = msgspec.json.decode(said, type=BuildOrder)
        with Interruption().listening():
            builder = local_builder(Building(allow_deb_src=order.allow_deb_src, jobs=order.jobs))
            (place / ANSWER).write_bytes(msgspec.json.encode(done(builder, order)))

    return attending(int(words[0]), work)


def done(builder: Builder, order: BuildOrder) -> object:
    """What the order asks for; raises `PgassayError`."""
    wanted = requested(order.requests)
    if order.action == "look":
        return [_seen(builder, item, request, order.host) for item, request in wanted.items()]
    started = time.monotonic()
    request = wanted[order.item]
    if order.action == "unpack":
        unpack(builder, request, order.item, order.source)
    elif order.action == "make":
        builder.installation(request)
    else:
        pack(builder, request, order.item, anew=order.action == "repack")
    return Made(time.monotonic() - started)


def requested(levels: Sequence[Mapping[str, str]]) -> dict[str, BuildRequest]:
    """The builds that these levels ask for, each by its name on the way; one with an extension needs one without."""
    wanted = [BuildRequest.from_levels(each) for each in levels]
    needed = [each for request in wanted for each in (replace(request, extension=None), request)]
    return {" ".join(f"{name}={text}" for name, text in sorted(levels_of(each).items())): each for each in needed}


def _seen(builder: Builder, item: str, request: BuildRequest, host: str) -> Seen:
    source, recipe, manifest, refusal = None, None, None, ""
    try:
        source = _source(builder, request)
        recipe = _recipe(builder, request, source)
        manifest = builder.cache.manifest(recipe.key) if recipe else None
    except PgassayError as error:  # a source that is not on this host, a build that is damaged
        refusal = error.message
    version = source.version if source else request.version or builder.sources.fallback
    known = {**machine(), **(_kin(recipe) if recipe else _tools(builder, request, source, version))}
    if manifest is not None:
        holding = _held(builder, host, known, manifest)
    else:
        able, expected_s = builder.toolchain.complete(major_of(version)), usual_s(builder) or EXPECTED_S
        holding = Holding(host, known, there=False, bytes=0, expected_s=expected_s, refusal=refusal, able=able)
    return Seen(item, _what(request, version), str(_store(builder, item).folder), holding)


def _held(builder: Builder, host: str, known: dict[str, str], manifest: Manifest) -> Holding:
    files = builder.cache.directory(manifest.recipe.key)
    refusal = "" if portability.movable(files) else NOT_MOVABLE
    started, found = time.monotonic(), pieces.sample(files)
    packing_s = (time.monotonic() - started) * found.bytes / max(found.seen, 1)
    made_s = manifest.seconds
    return Holding(host, known, True, found.bytes, made_s, made_s, found.packed_bytes, packing_s, refusal)


def _source(builder: Builder, request: BuildRequest) -> Source | None:
    """From what would be built here; None where that would have to be fetched first."""
    if request.source is None or request.source.kind in FETCHED:
        return builder.sources.in_cache(request.source, request.version)
    return builder.sources.identify(request.source, request.version)


def _recipe(builder: Builder, request: BuildRequest, source: Source | None) -> Recipe | None:
    """What would be built here, or was; None where nothing says so."""
    try:
        return builder.recipe(request)[0] if source else None
    except BuildError:
        if builder.toolchain.has_compiler:
            raise
        return None


def _what(request: BuildRequest, version: str) -> str:
    """For people."""
    sizes = f"{request.block_bytes // 1024}kB pages, {request.wal_block_bytes // 1024}kB WAL blocks"
    flags = "" if request.cflags == DEFAULT_CFLAGS else f", {request.cflags}"
    return f"{version or 'PostgreSQL'}, {sizes}{flags}{', with its extension' if request.extension else ''}"


def _kin(recipe: Recipe) -> dict[str, str]:
    """What must be the same of two recipes for one build to be found by both."""
    return {
        "PostgreSQL": recipe.version,
        "source": recipe.source_sha256[:12],
        "compiler": recipe.compiler,
        "configure": " ".join(recipe.flags),
        "extension": recipe.extension_sha256[:12],
    }


def _tools(builder: Builder, request: BuildRequest, source: Source | None, version: str) -> dict[str, str]:
    """As much of the same as is known here already."""
    known = {}
    if source is not None:
        known = {"PostgreSQL": version, "source": source.sha256[:12]}
    elif not request.version and version:
        known = {"PostgreSQL": version}
    if builder.toolchain.has_compiler:
        known["compiler"] = builder.toolchain.compiler(major_of(version))
        if version:
            known["configure"] = " ".join(builder.toolchain.flags(major_of(version)))
    return known


def _store(builder: Builder, item: str) -> Store:
    return Store(builder.cache.pieces(hashlib.sha256(item.encode()).hexdigest()[:24]))


def pack(builder: Builder, request: BuildRequest, item: str, *, anew: bool = False) -> None:
    """Put the pieces of a build beside the cache's builds; what is there of an earlier time stays unless `anew`."""
    key = builder.recipe(request)[0].key
    if builder.cache.manifest(key) is None:
        raise messages.not_there(item)
    pieces.pack(builder.cache.directory(key), key, _store(builder, item), anew=anew)


def unpack(builder: Builder, request: BuildRequest, item: str, origin: str) -> None:
    """Put a build together from the pieces that came from the host `origin`, as this host's own; the pieces go."""
    store = _store(builder, item)
    recipe = _recipe(builder, request, _source(builder, request))
    try:
        if recipe is None or builder.cache.manifest(recipe.key) is None:  # else another worker here was quicker
            _put(builder, store, origin)
    except (PgassayError, OSError) as error:
        store.forget()  # it would be refused again
        if isinstance(error, OSError):
            raise FleetError(messages.cannot_keep(error.strerror or str(error))) from None
        raise
    store.forget()


def _put(builder: Builder, store: Store, origin: str) -> None:
    listing, cache = store.listing(), builder.cache
    key = listing.identity
    if not re.fullmatch("[0-9a-f]{24}", key):
        raise messages.damaged_listing(f'it is of "{key}"')
    with cache.alone(key):
        if cache.manifest(key) is None:
            with cache.staging() as staging:
                sent = staging / "sent"
                sent.mkdir()
                pieces.unpack(listing, store, sent)
                builder.adopt(sent, key, origin)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
