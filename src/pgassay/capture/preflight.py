"""What a capture would find wanting after its window, which may be long: found before it begins, in a dry run too."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import disk_usage

from pgassay import untrusted
from pgassay.capture import logs, reads
from pgassay.capture.errors import LACKS_STATISTICS, CaptureError
from pgassay.capture.mixture import PLAYED_LEAST, scripted
from pgassay.capture.physical import cost as costs
from pgassay.capture.physical.cost import Estimate
from pgassay.capture.source import Readable
from pgassay.capture.taking import Identity, Request, so_far
from pgassay.study.units import format_size

_HEAD_BYTES = 1 << 18
_LEAST_SHARE = 0.05
"""Of the database's bytes: a dump without its indexes, and compressed, is hardly smaller."""
_NAMED = 5


def require(
    session: Readable, identity: Identity, request: Request, path: Path, cost: Estimate | None
) -> tuple[str, ...]:
    """What the user is warned of; raises `CaptureError` for rights, a log or room that the capture cannot do without.

    `cost` is that of the server's files, where these are wanted.
    """
    warnings = [*_of_load(session, identity, request)]
    if request.logs is not None:
        _require_log(request.logs, identity)
    if request.data in ("dump", "synthetic"):
        ((unreadable, filtered),) = session.read("the rights", reads.rights()).rows
        if unreadable:
            raise CaptureError(
                f"the role may not read all tables and sequences, so pg_dump would fail after the window:"
                f" {_named(unreadable)}",
                "grant pg_read_all_data to it, before version 14 USAGE on the schemas and SELECT on what is in them",
            )
        if filtered:
            raise CaptureError(
                f"row-level security hides rows from the role, so pg_dump would fail after the window:"
                f" {_named(filtered)}",
                "the role must see every row: ALTER ROLE … BYPASSRLS, or capture as a superuser",
            )
    where = costs.existing(path)
    if cost is not None:
        costs.require_room(cost, where)
    if request.data == "dump":
        free, whole = disk_usage(where).free, identity.database_bytes
        said = f'{format_size(free)} are free below "{where}", and a dump has {format_size(whole)} at most'
        if free < whole * _LEAST_SHARE:
            raise CaptureError(said, "name a directory on another file system with --out")
        if free < whole:
            warnings.append(f"{said}: it is compressed and has no indexes, so they may suffice")
    return tuple(warnings)


def _of_load(session: Readable, identity: Identity, request: Request) -> Iterator[str]:
    """By the statements that were counted so far: `ask` will judge those of the window as this does."""
    if not request.with_load or identity.schema is None:
        return
    if not session.read("the rights", reads.sees_all()).rows[0][0]:
        yield LACKS_STATISTICS
    elif request.foresees:
        found = so_far(session, identity, request)
        said = scripted(found).too_little if found.load is not None and found.load.statements else ""
        if said:
            yield (
                f"by what pg_stat_statements has counted so far, {said}; ask refuses less than {PLAYED_LEAST:.0%}:"
                " --log FILE --with-literals captures the values that are missing"
            )


def _require_log(files: logs.LogFiles, identity: Identity) -> None:
    """By its first bytes: the window may end before anybody sees that no line can be read. Pipes are read once."""
    for path in files.paths:
        if not stat.S_ISREG(path.stat().st_mode):
            continue
        with untrusted.open_file(path) as file:
            head = file.read(_HEAD_BYTES)
        descriptor = os.memfd_create("log")
        try:
            os.write(descriptor, head[: head.rfind(b"\n") + 1])
            prefixes = files.prefixes or (identity.log_line_prefix,)
            logs.require_readable(Path(f"/proc/self/fd/{descriptor}"), prefixes, identity.source.database)
        finally:
            os.close(descriptor)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
