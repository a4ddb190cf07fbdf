"""A scale model of a study on this machine: sizes that the study leaves open written out, shrunk, and compared.

What a study does not set has a size all the same: stock shared_buffers, the memory of the authors' machine, a drive as
large as its data ask for. A model that left those alone would shrink the data and keep the caches. What a model then
keeps of its original, and what not, is said by the dimensionless numbers of both.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pgassay.drive.options import AUTO, BLOCK_BYTES, USUAL_PAGES, DriveOptions, closely, scaled_pages
from pgassay.errors import UsageError
from pgassay.host import cpus
from pgassay.interfaces.options import declared_options
from pgassay.interfaces.store import Needs
from pgassay.lab.arms import setup_of, stored_bytes, wal_least_bytes
from pgassay.lab.catalogue import FactorCatalogue
from pgassay.lab.settings import MEMORY, STOCK_MIN_WAL, STOCK_SHARED_BUFFERS, Setup, mode_of, process_bytes, settings_of
from pgassay.study.document import Document
from pgassay.study.drives import DATA, WAL
from pgassay.study.model import Study
from pgassay.study.parsing import parse
from pgassay.study.scale_model import (
    REQUEST,
    RESULT,
    Likeness,
    Request,
    Resized,
    ScaleModel,
    parse_request,
    rounded,
    shrink,
    to_table,
)
from pgassay.study.units import format_bytes, format_size, parse_memory, parse_whole, split_quantity

AS_MANY_AS_OPENED = "no more than are opened: the shared memory of each does not shrink"
"""Why a model has fewer connections than its original."""
WITHOUT_PROCESSES = "of memory without what the server's processes take"
"""What a number that has memory in it is about."""

CHOSEN = "the original's is pgassay's choice"
BY_TIME = "checkpoints go by time here, so by the speed"
AT_MOST = "at most: time may start one earlier"
KEPT_WITHIN = 0.1
"""A number that differs by more is not kept."""
SUPERBLOCK = (
    "superblock ÷ drive",
    "at most 1/1024 counts as kept: more superblocks change write amplification by 0.1 to 1 % then, simulated",
)
PAGES = (
    "superblock ÷ page",
    "512 and more count as kept; superblocks of 128 pages of 4 kB collect 1.5 to 5 % less than large ones, of 32 pages"
    " 6 to 18 % (over-provisioning 28 and 7 %, uniform writes), simulated",
)
_SUPERBLOCK_MOST, _PAGES_LEAST = 1 / 1024, 512
"""From so many superblocks, and so many pages in each, write amplification hardly depends on them (`drive.options`)."""
_CAPACITY = ".capacity"
_MAX_CONNECTIONS = "server.max_connections"
_STOCK_CONNECTIONS, _SPARE_CONNECTIONS = 100, 20
_SHARED_BUFFERS, _MAX_WAL, _MIN_WAL = "server.shared_buffers", "server.max_wal_size", "server.min_wal_size"
_CHECKPOINT_SHARE = 0.5
"""A checkpoint begins once this share of max_wal_size is written, at a completion target of 0.9 (manual, "WAL
Configuration")."""
_PAGE_BYTES = 8192


@dataclass(frozen=True)
class Machine:
    """What a study runs on: physical cores and memory in bytes; None where not known."""

    cores: int | None
    memory_bytes: int | None

    @classmethod
    def here(cls) -> "Machine":
        return cls(len(cpus.cores(cpus.usable())), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


@dataclass(frozen=True)
class Modelled:
    document: Document
    original: Study
    request: Request
    model: ScaleModel


def modelled(name: str, document: Document, catalogue: FactorCatalogue, machine: Machine) -> Modelled | None:
    """The scale model that the document's `[scale]` asks for; None where it asks for none. Raises `UsageError`."""
    request = parse_request(document.get(REQUEST, {}))
    if request.by is None and request.to_bytes is None:
        return None
    whole = _written_out(document, parse(name, document, catalogue), catalogue, request)
    original = parse(name, whole, catalogue)
    by = request.by
    if by is None:
        to_bytes = request.to_bytes or 0
        largest = max(_data_bytes(setup_of(original, arm, catalogue)) for arm in original.arms)
        by = largest / to_bytes
        if rounded(by) <= 1:
            raise UsageError(
                f"the study's data are about {format_size(largest)}, so a model of {format_size(to_bytes)} would not be"
                " smaller",
                "leave out --scale-to",
            )
    fewer = request.cores / machine.cores if request.cores and machine.cores else 1.0
    small, model = shrink(whole, catalogue, by, fewer)
    study = parse(name, small, catalogue)
    loads = [setup_of(study, arm, catalogue).load for arm in study.arms]
    small, fewer_connections = _with_fewer_connections(small, max(each.connections for each in loads))
    # For memory: what the server's processes take on top of it, from the least to the most over the arms.
    taken = [process_bytes(each) for each in loads]
    sizes = " to ".join(format_bytes(each) for each in dict.fromkeys((min(taken), max(taken))))
    notes = [CHOSEN] if "memory" in request.ours else []  # the original's is not its authors'
    notes += [f"with {sizes} more for the server's processes, which do not shrink"]
    resized = (
        replace(each, note="; ".join(filter(None, (each.note, *notes)))) if each.factor == MEMORY else each
        for each in model.resized
    )
    return Modelled(
        small, original, request, replace(model, resized=(*resized, *fewer_connections), processes_beside=True)
    )


def _with_fewer_connections(document: Document, opened: int) -> tuple[Document, tuple[Resized, ...]]:
    """The document with `max_connections` lowered to the most that an arm opens, and a reserve.

    Shared memory for each connection (locks above all) does not shrink with the data: 1000 of them take 25 MB, as much
    as all of a small model's shared_buffers, and the kernel ends a server that its memory does not hold.
    """
    held = parse_whole(str(document.get("fixed", {}).get(_MAX_CONNECTIONS)))
    enough = max(_STOCK_CONNECTIONS, opened + _SPARE_CONNECTIONS)
    if held is None or held <= enough:
        return document, ()
    fewer = Resized(_MAX_CONNECTIONS, str(held), str(enough), AS_MANY_AS_OPENED)
    return {**document, "fixed": {**document.get("fixed", {}), _MAX_CONNECTIONS: str(enough)}}, (fewer,)


def with_likeness(
    name: str, found: Modelled, document: Document, catalogue: FactorCatalogue, machine: Machine
) -> Document:
    """The model's `document` as it will be run, with what it keeps of its original in its `[model]`."""
    request = found.request
    whole = {**document, RESULT: to_table(found.model)}  # by which its arms know of their processes
    study = parse(name, whole, catalogue)
    before = _numbers(found.original, catalogue, Machine(request.cores, request.memory_bytes))
    after = _numbers(study, catalogue, machine)
    likeness = tuple(_alike(each, before.get(each), after.get(each)) for each in after)
    return {**document, RESULT: to_table(replace(found.model, likeness=likeness))}


def _written_out(document: Document, study: Study, catalogue: FactorCatalogue, request: Request) -> Document:
    """The document with the sizes that it leaves to PostgreSQL, to the authors' machine and to pgassay."""
    arms = [study.levels_of(arm) for arm in study.arms]
    setups = [setup_of(study, arm, catalogue) for arm in study.arms]
    by_wal = {settings_of(study, each)["max_wal_size"] for each in setups if mode_of(each.load) == "wal"}
    named = {name for levels in arms for name in levels}
    implied: dict[str, str] = {}
    if request.memory_bytes is not None and all(
        levels[MEMORY].canonical == cpus.ALL for levels in arms if MEMORY in levels
    ):
        implied[MEMORY] = format_bytes(request.memory_bytes)
    if _SHARED_BUFFERS not in named:
        implied[_SHARED_BUFFERS] = STOCK_SHARED_BUFFERS
    if _MAX_WAL not in named and len(by_wal) == 1:
        implied[_MAX_WAL] = by_wal.pop()
    if _MIN_WAL not in named and (_MAX_WAL in named or _MAX_WAL in implied):
        implied[_MIN_WAL] = STOCK_MIN_WAL
    for owner, drives in ((DATA, [each.drive.data for each in setups]), (WAL, [each.drive.wal for each in setups])):
        by_data = all(each and each.kind.emulated and each.capacity_bytes is None for each in drives)
        if owner + _CAPACITY not in named and by_data:
            implied[owner + _CAPACITY] = AUTO
    return {**document, "fixed": {**document.get("fixed", {}), **implied}} if implied else document


Number = tuple[str, str]
"""Its name, and a note that explains it."""


def _numbers(study: Study, catalogue: FactorCatalogue, machine: Machine) -> dict[Number, list[float | None]]:
    setups = [setup_of(study, arm, catalogue) for arm in study.arms]
    settings = [settings_of(study, each) for each in setups]
    needs = Needs(data_bytes=max(map(_data_bytes, setups)), wal_least_bytes=wal_least_bytes(settings))
    found: dict[Number, list[float | None]] = {}
    for setup, values in zip(setups, settings, strict=True):
        for name, value in _of_one(setup, values, machine, needs).items():
            found.setdefault(name, []).append(value)
    return found


def _of_one(setup: Setup, settings: Mapping[str, str], machine: Machine, needs: Needs) -> dict[Number, float | None]:
    data, clients = _data_bytes(setup), setup.load.connections
    left = (setup.memory_bytes or machine.memory_bytes or 0) - process_bytes(setup.load)
    memory = left if left > 0 else None  # that can cache; not known, or the processes leave none
    buffers = _setting_bytes(settings.get("shared_buffers", STOCK_SHARED_BUFFERS), _PAGE_BYTES)
    wal, timed = _checkpoint_wal(setup, settings)
    described = setup.drive.data.described
    return {
        ("data ÷ memory", WITHOUT_PROCESSES): _quotient(data, memory),
        ("shared_buffers ÷ memory", WITHOUT_PROCESSES): _quotient(buffers, memory),
        ("data ÷ shared_buffers", "the hot set ÷ cache, of a load that reads all its data alike"): _quotient(
            data, buffers
        ),
        ("WAL a checkpoint ÷ shared_buffers", timed): _quotient(wal, buffers),
        ("WAL a checkpoint ÷ data", timed or "updates of a page between two checkpoints go by it"): _quotient(
            wal, data
        ),
        ("over-provisioning", ""): None if described is None else described.core.over_provisioning,
        **_superblocks(setup.drive, needs),
        ("clients ÷ core", ""): _quotient(clients, machine.cores),
        **{
            (f"load.{name} ÷ client", "how often clients meet at the same rows"): _quotient(count, clients)
            for name, count in _counts(setup)
        },
    }


def _checkpoint_wal(setup: Setup, settings: Mapping[str, str]) -> tuple[float | None, str]:
    """WAL from one checkpoint to the next, and a note; None where only time starts them."""
    by_wal = mode_of(setup.load) == "wal"
    if not by_wal and "max_wal_size" not in setup.settings:
        return None, BY_TIME
    wal = _CHECKPOINT_SHARE * _setting_bytes(settings["max_wal_size"], 1 << 20)
    return wal, "" if by_wal else AT_MOST


def _counts(setup: Setup) -> list[tuple[str, float]]:
    found = []
    for field, declared in declared_options(type(setup.load)).items():
        value = getattr(setup.load, field)
        if declared.size is not None and declared.size.data and not declared.unit and isinstance(value, int):
            found.append((declared.name, float(value)))
    return found


def _superblocks(drives: DriveOptions, needs: Needs) -> dict[Number, float | None]:
    """Of an emulated drive with superblocks of a known size; a real one does not say, a profile only once attached."""
    drive = drives.data
    described = drives.described(drive)
    if described is None or described.without_flash:
        return {SUPERBLOCK: None, PAGES: None}
    alone = needs if drives.wal is None else replace(needs, wal_least_bytes=0)
    capacity = closely(alone, drive.filesystem.kind.capacity_min_bytes) if drive.scaled else drive.capacity_bytes
    pages = described.core.pages_per_block
    if not described.has_shape and capacity is not None:
        pages = scaled_pages(capacity) if drive.scaled else USUAL_PAGES
    return {SUPERBLOCK: _quotient(pages and pages * BLOCK_BYTES, capacity), PAGES: pages}


def _data_bytes(setup: Setup) -> int:
    return stored_bytes(setup, setup.load.estimated_bytes())


def _setting_bytes(text: str, bare_bytes: int) -> int:
    quantity = split_quantity(text)
    return int(quantity[0]) * bare_bytes if quantity and not quantity[1] else parse_memory(text)


def _quotient(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below


def _alike(number: Number, before: list[float | None] | None, after: list[float | None] | None) -> Likeness:
    original, model = _span(before), _span(after)
    kept = None
    if original is not None and model is not None:
        pairs = zip(original, model, strict=True)
        kept = all(abs(small / whole - 1) <= KEPT_WITHIN if whole else small == 0 for whole, small in pairs)
        if number == SUPERBLOCK:
            kept = kept or max(*original, *model) <= _SUPERBLOCK_MOST
        if number == PAGES:
            kept = kept or min(*original, *model) >= _PAGES_LEAST
    return Likeness(number[0], original, model, kept, number[1])


def _span(values: list[float | None] | None) -> tuple[float, float] | None:
    known = [value for value in values or [] if value is not None]
    return (min(known), max(known)) if values and len(known) == len(values) else None
