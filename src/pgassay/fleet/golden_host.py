"""Prepared data on a host: which of a study's it has; to make, pack or unpack them. What the head asks a host for.

`python -m pgassay.fleet.golden_host WORKER PLACE`, an order on standard input; the answer is left in PLACE/answer. A
snapshot that was unpacked is put in its place as one that was made here: whole, by one rename, under this host's own
key; the first of a key stays.
"""

import os
import platform
import sys
import time
from pathlib import Path

import msgspec

from pgassay.fleet import golden_place, messages, pieces
from pgassay.fleet.child import attending, bench_of
from pgassay.fleet.job import GoldenOrder
from pgassay.fleet.pieces import Store
from pgassay.fleet.sharing_plan import Holding, Made, Seen
from pgassay.fleet.task import ANSWER
from pgassay.lab import failures
from pgassay.lab.arms import ResolvedArm, ResolvedStudy
from pgassay.lab.forecast import PREPARATION_S, PREPARATION_S_PER_GB
from pgassay.lab.preparation import contents, prepare


def main(words: list[str]) -> int:
    """Do what the order says; 2 for what the bench refused, told on standard error."""
    place = Path(words[1])

    def work(said: bytes) -> None:
        order = msgspec.json.decode(said, type=GoldenOrder)
        with bench_of(order.bench) as resolved:
            (place / ANSWER).write_bytes(msgspec.json.encode(_done(resolved, order)))

    return attending(int(words[0]), work)


def _done(resolved: ResolvedStudy, order: GoldenOrder) -> object:
    if order.action == "look":
        return look(resolved, order.host)
    arm = next(each for each in resolved.arms if each.arm.name == order.arm)
    started = time.monotonic()
    {"make": make, "pack": pack, "repack": repack, "unpack": unpack}[order.action](arm)
    return Made(time.monotonic() - started)


def look(resolved: ResolvedStudy, host: str) -> list[Seen]:
    """All data that a study's trials start from, each once, in the study's order."""
    first: dict[str, ResolvedArm] = {}
    for arm in resolved.arms:
        first.setdefault(arm.snapshot_key, arm)
    return [_seen(arm, host) for arm in first.values()]


def _seen(arm: ResolvedArm, host: str) -> Seen:
    place = golden_place.place_of(arm)
    size = arm.kept_bytes
    expected_s = PREPARATION_S + PREPARATION_S_PER_GB * size / 1e9
    if place is None:
        kept = Holding(host, kin(arm), there=False, bytes=size, expected_s=expected_s, refusal=messages.OWN_DRIVE)
        return Seen(arm.arm.name, contents(arm), "", kept)
    files = arm.drive.snapshot_files(arm.snapshot_key)
    started, found = time.monotonic(), None if files is None else pieces.sample(files)
    packing_s = 0.0 if found is None else (time.monotonic() - started) * found.bytes / max(found.seen, 1)
    holding = Holding(
        host, kin(arm), files is not None, size if found is None else found.bytes, expected_s,
        place.made_s, 0 if found is None else found.packed_bytes, packing_s,
    )  # fmt: skip
    return Seen(arm.arm.name, contents(arm), str(place.store), holding)


def machine() -> dict[str, str]:
    """What of the machine must be the same for one host's files and programs to be of use on another."""
    return {
        "architecture": platform.machine(),
        "byte order": sys.byteorder,
        "memory page": f"{os.sysconf('SC_PAGE_SIZE')} bytes",
        "C library": " ".join(platform.libc_ver()),
    }


def kin(arm: ResolvedArm) -> dict[str, str]:
    """What must be the same on two hosts for the files of one to be read by the other (manual, "Migrating")."""
    return {
        **machine(),
        "PostgreSQL": arm.installation.version.text,
        "page size": f"{arm.setup.block_bytes} bytes",
        "data": arm.data_identity,
    }


def make(arm: ResolvedArm) -> None:
    """Make the data here, if they are not there."""
    golden_place.note(arm, prepare(arm))


def pack(arm: ResolvedArm, *, anew: bool = False) -> None:
    """Put the pieces of the data beside them; what is there of an earlier time stays."""
    place, files = golden_place.place_of(arm), arm.drive.snapshot_files(arm.snapshot_key)
    if place is None or files is None:
        raise messages.not_there(arm.arm.name)
    pieces.pack(files, arm.data_identity, Store(place.store), anew=anew)


def repack(arm: ResolvedArm) -> None:
    """The same, whatever is there: a piece was damaged."""
    pack(arm, anew=True)


def unpack(arm: ResolvedArm) -> None:
    """Put the data together from the pieces that came, as this host's snapshot; the pieces go."""
    place, drive, key = golden_place.place_of(arm), arm.drive, arm.snapshot_key
    if place is None:
        raise messages.not_there(arm.arm.name)
    store = Store(place.store)
    if not drive.has_snapshot(key):
        listing = store.listing()
        if listing.identity != arm.data_identity:
            raise messages.damaged_listing(f"it is of {listing.identity}")
        workspace = drive.workspace(f"unpack-{key}")
        try:
            owner = workspace.stat()
            with failures.of_full_drive(drive, workspace):
                pieces.unpack(listing, store, workspace, (owner.st_uid, owner.st_gid) if os.geteuid() == 0 else None)
            with arm.site.held():
                drive.take_snapshot(key, workspace, contents(arm))
        except BaseException:
            with arm.site.held():
                drive.discard(workspace)
            raise
    store.forget()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
