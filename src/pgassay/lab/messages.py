"""Every message of the lab for users, in PostgreSQL's manner."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from pgassay.bench.errors import BenchError
from pgassay.errors import PgassayError, UsageError
from pgassay.host.messages import NO_ROOT
from pgassay.study.units import format_size


def unknown_response(name: str, known: Iterable[str]) -> UsageError:
    """The primary or a secondary response that nothing measures."""
    words = list(known)
    near = get_close_matches(name, words, n=1)
    hint = f'did you mean "{near[0]}"?' if near else f"this load and its probes yield: {', '.join(words)}"
    return UsageError(f'nothing measures the response "{name}"', hint)


def bare_blocks(name: str, value: str) -> UsageError:
    """A number of blocks, while blocks have several sizes."""
    return UsageError(
        f'"{name}" = {value} counts blocks, whose size this study varies',
        f'give it a unit, so that it means the same for every page size: "{name}" = "64MB"',
    )


def too_little_space(place: Path, needed: int, free: int) -> PgassayError:
    """The disk check before a run."""
    return PgassayError(
        f'"{place}" has {format_size(free)} free, this study needs about {format_size(needed)}',
        "free space there (pgassay drive snapshots tells what prepared data take, and removes them), name another place"
        " with --data-dir, or make the data smaller (--set load.scale=…, load.rows or load.warehouses)",
    )


NO_AMCHECK = "drive.check wants the extension amcheck, which is not installed beside this server"


def damaged_page(table: str, block: int, said: str) -> str:
    """What amcheck found first."""
    return f'table "{table}", block {block}: {said}'


def host_factors_unavailable(reasons: Mapping[str, str]) -> UsageError:
    """Factors of the machine that cannot be had here, all at once."""
    named = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    hint = "leave them out with --without-host-factors"
    return UsageError(
        f"this machine cannot have some of the study's factors: {named}",
        f"run as root, or {hint}" if NO_ROOT in reasons.values() else hint,
    )


def buffers_beyond(typed: str, limit: str) -> UsageError:
    """Shared buffers that cannot all be in memory."""
    return UsageError(
        f"server.shared_buffers = {typed} does not fit in {limit}",
        "give less: --set or --levels server.shared_buffers=…, or more: --set host.memory=…",
    )


def machine_memory(total_bytes: int) -> str:
    """The machine's memory as the limit."""
    return f"the memory of this machine, {format_size(total_bytes)}"


def huge_pages_taken(count: int) -> str:
    """A server did not start for want of huge pages that were there a moment before."""
    if count == 0:
        return "the server did not get its huge pages at once, although they were free"
    return f"other programs took {count} huge pages before the server started, and as many were obtained again"


def busy_neighbour(detail: str) -> PgassayError:
    """A PostgreSQL that works beside us."""
    return PgassayError(
        detail,
        "stop it or wait; with --allow-busy the study runs all the same, and its record says so",
    )


def unusable_place(place: Path, error: OSError) -> PgassayError:
    """The directory for clusters cannot be made."""
    return PgassayError(
        f'could not make "{place}" for clusters: {(error.strerror or str(error)).lower()}',
        "name a directory that this account may write in with --data-dir, or with $PGASSAY_DATA_DIR",
    )


def finished_already(path: Path) -> UsageError:
    """Nothing to resume."""
    return UsageError(f'run "{path}" is finished', f"pgassay show {path}")


def operating_system(error: OSError) -> BenchError:
    """The operating system refused something to the bench itself."""
    where = f'"{error.filename}": ' if error.filename else ""
    return BenchError(f"{where}{(error.strerror or str(error)).lower()}")


def bench_failed(detail: str, hint: str | None, path: Path) -> PgassayError:
    """The bench itself could not do its work: the run stops, what is committed stays."""
    return PgassayError(detail, hint or f"what is committed stays; go on with: pgassay resume {path}")


def clusters_gone(cluster: str) -> UsageError:
    """A calibration would go on, but with another cluster than it began with."""
    return UsageError(
        f"{cluster} is gone, and a new one would not be the same", "run pgassay calibrate again, in a new directory"
    )


def calibration_budget_done(blocks: int) -> str:
    """A calibration ends because its time is up."""
    return f"{blocks} blocks are done, another one does not fit in the budget"


def direct_io_too_small(word: str, name: str, typed: str) -> UsageError:
    """A block below what direct I/O is aligned to."""
    return UsageError(
        f'"server.debug_io_direct" = {word} cannot go with "{name}" = {typed}',
        f"direct I/O needs blocks of at least 4kB: leave the smaller ones out with --levels {name}=4kB,8kB",
    )


def too_few_connections(given: str, load: int, needed: int) -> UsageError:
    """The load would be refused by its own server, or we would."""
    return UsageError(
        f'"server.max_connections" = {given} is too small for a load of {load} connections',
        f"give at least {needed}, or leave it out: then it is made large enough",
    )
