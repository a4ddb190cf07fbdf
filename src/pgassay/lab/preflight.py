"""What is refused before anything runs: unknown responses, settings PostgreSQL refuses, loads that cannot run, too
little disk.

Every arm is looked at, so that a study never fails in its third hour for what could be known in its first second.
Small pages waste a larger share of the disk on headers, and most on the smallest: published runs at 1 kB pages filled
their disk and were stored as results (Vondra 2022), so room is asked for by page size.

Drives are attached one by one, and writing a device over takes hours: a second one that is in use, or carries data of
others, or has too little room, must not be found after them. So every arm is looked at as a plan sees it first
(`ResolvedStudy.foreseen`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pgassay.design.schedule import cells
from pgassay.drive.options import WAL_KEPT_BYTES
from pgassay.errors import PgassayError, UsageError, did_you_mean
from pgassay.interfaces.errors import NotSettableError
from pgassay.interfaces.places import Mount
from pgassay.interfaces.store import DATABASES, DriveOutline
from pgassay.lab import counted, host_stage, measurements, power_cuts
from pgassay.lab.arms import WAL_BYTES, ResolvedArm, ResolvedStudy, wal_least_bytes
from pgassay.lab.places import STAND_IN
from pgassay.lab.settings import require_connections
from pgassay.probe.registry import every_probe
from pgassay.study import thresholds
from pgassay.study.drives import DATA, WAL
from pgassay.study.model import ALTERNATE
from pgassay.study.responses import METRONOME, Response
from pgassay.study.units import format_size


@dataclass(frozen=True)
class Room:
    """What a study needs on one file system beyond what is there: bytes, of which snapshots so many are kept."""

    mount: Mount
    needed_bytes: int
    """At most; with all the WAL that the settings admit."""
    snapshots: int
    at_most_bytes: int = 0
    """Of these the WAL beyond `WAL_BYTES` a server, which only a load writes that is as fast as any can be."""

    @property
    def least_bytes(self) -> int:
        return self.needed_bytes - self.at_most_bytes


@dataclass(frozen=True)
class Checked:
    """What the checks learned: the declared responses, and the room that is needed on each file system, the first
    arm's first."""

    responses: tuple[Response, ...]
    rooms: tuple[Room, ...]

    @property
    def mount(self) -> Mount:
        return self.rooms[0].mount

    @property
    def tight(self) -> tuple[Room, ...]:
        """Those that are too small only if a load writes WAL as fast as any can."""
        return tuple(room for room in self.rooms if room.least_bytes <= room.mount.free_bytes < room.needed_bytes)


def check(resolved: ResolvedStudy) -> Checked:
    """Raise `PgassayError` for the first thing that would fail; no server is started (one may have to be built).

    What the machine lacks (room, memory, programs, host factors) is named to the environment's `missing`.
    """
    study, arms = resolved.study, resolved.arms
    responses = _responses(resolved)
    for driver in dict.fromkeys(arm.setup.load.driver for arm in arms):
        try:
            resolved.environment.require_program(driver)
        except UsageError as error:
            resolved.environment.missing.name(f"program of {driver}", error)
    known = [response.name for response in responses]
    for name in (study.primary, *study.secondary):
        if name not in known:
            hint = did_you_mean(name, known, f"this load and its probes measure: {', '.join(known)}")
            raise UsageError(f'the response "{name}" is not measured', hint)
    thresholds.resolve(study.decide, responses, (study.primary, *study.secondary), compared=len(study.treatments) > 1)
    for arm in arms:
        host_stage.require(arm)
        arm.load.check()
        require_connections(arm.setup)
        power_cuts.require(arm)
        counted.require(arm)
        name = arm.setup.load.host
        client = arm.environment.client(name)
        if client is not None:  # it must be there, and the servers must be such as it can reach
            try:
                client.require()
                if arm.installation.found_by != STAND_IN:
                    arm.installation.require_network()
            except PgassayError as error:
                arm.environment.missing.name(f"load.host={name}", error)
    for arm in resolved.counted.arms if resolved.counted is not None else ():
        counted.require(arm)
    host_stage.require_rest(arms)
    power_cuts.require_risk(study, [arm.setup.load for arm in arms])
    seen: set[tuple[str, str, tuple[tuple[str, str], ...]]] = set()
    for arm in resolved.arms:
        if arm.installation.found_by == STAND_IN:
            continue  # of another version, perhaps, which knows other settings
        mark = (arm.setup.server, str(arm.installation.bindir), tuple(sorted(arm.settings.items())))
        if mark not in seen:
            seen.add(mark)
            try:
                arm.installation.check_settings(arm.settings)
            except NotSettableError as error:
                # Factors that are no settings of the server, as load.scale for scale.
                namesakes = [
                    each
                    for each in resolved.environment.catalogue.names()
                    if each.endswith(f".{error.name}") and not each.startswith("server.") and "*" not in each
                ]
                if namesakes:
                    raise UsageError(error.message, f"did you mean {' or '.join(namesakes)}?") from None
                raise
    return Checked(responses, _require_room(resolved))


def _responses(resolved: ResolvedStudy) -> tuple[Response, ...]:
    options, references = [arm.setup.load for arm in resolved.arms], resolved.environment.references
    asked = dict.fromkeys(found for load in options for each in references for found in each.responses(load))
    alternates = resolved.study.design.pairing == ALTERNATE and resolved.environment.metronome is not None
    return (
        *resolved.arms[0].load.responses,
        *asked,
        *every_probe().responses,
        *measurements.responses(options),
        *power_cuts.responses(options),
        *counted.responses(options),
        *(METRONOME if alternates else ()),
    )


def _of_wal(arms: Sequence[ResolvedArm], least_bytes: int, alternates: bool) -> dict[object, Room]:
    """What the WAL needs that lies on a real drive of its own, with what of it is kept there in snapshots.

    An image or an emulated drive has the size that the study gives it.
    """
    apart: dict[object, list[tuple[ResolvedArm, DriveOutline]]] = {}
    for arm in arms:
        asked, wal = arm.setup.drive.wal, arm.drive.wal()
        if wal is not None and asked is not None and not asked.kind.holds_one_cluster:
            apart.setdefault(wal.mount().identity, []).append((arm, wal))
    rooms: dict[object, Room] = {}
    for place, found in apart.items():
        missing = {
            arm.snapshot_key
            for arm, wal in found
            if wal.snapshot_mount() is None and not arm.drive.has_snapshot(arm.snapshot_key)
        }
        clones = max(map(len, cells([arm.arm for arm, _ in found]))) if alternates else 1
        beyond_bytes = clones * (max(arm.wal_room_bytes for arm, _ in found) - WAL_BYTES)
        needed_bytes = clones * least_bytes + len(missing) * WAL_KEPT_BYTES
        rooms[place] = Room(found[0][1].mount(), needed_bytes + beyond_bytes, 0, beyond_bytes)
    return rooms


def _elsewhere(arms: Iterable[ResolvedArm]) -> dict[object, Room]:
    """What the snapshots need that are kept in a place of their own, by file system, also those of a WAL that lies
    apart from its data; each is there once, and data with their WAL are one.
    """
    mounts: dict[object, Mount] = {}
    sizes: dict[object, dict[tuple[str, str], int]] = {}
    for arm in arms:
        key, wal = arm.snapshot_key, arm.drive.wal()
        there = arm.drive.has_snapshot(key)
        wals = None if wal is None else wal.snapshot_mount()
        for half, mount, size_bytes in (
            (DATA, arm.drive.snapshot_mount(), arm.kept_bytes),
            (WAL, wals, WAL_KEPT_BYTES),
        ):
            if mount is not None:
                mounts[mount.identity] = mount
                sizes.setdefault(mount.identity, {})[key, half] = 0 if there else size_bytes
    return {
        place: Room(mounts[place], sum(found.values()), sum(half == DATA for _, half in found))
        for place, found in sizes.items()
    }


def _room(arms: Sequence[ResolvedArm], least_bytes: int, alternates: bool) -> Room:
    """Of arms that share a drive.

    One clone is there at a time, the largest, or those of servers that take turns; by reference a clone takes what its
    trial writes over. A drive that is sized for the study has room for as much WAL as its settings admit, 1 GB at most.
    """
    sizes: dict[str, int] = {}
    missing, first = 0, arms[0]
    with_clones = not first.setup.drive.data.kind.holds_one_cluster
    for arm in arms:
        key = arm.snapshot_key
        if key in sizes:
            continue
        sizes[key] = arm.clone_bytes if with_clones else arm.data_bytes
        if with_clones and arm.drive.snapshot_mount() is None and not arm.drive.has_snapshot(key):
            missing += arm.kept_bytes
    wal_bytes, beyond_bytes = least_bytes, 0
    if with_clones:
        wal_bytes, beyond_bytes = WAL_BYTES, max(arm.wal_room_bytes for arm in arms) - WAL_BYTES
    if all(arm.setup.drive.wal is not None for arm in arms):
        wal_bytes, beyond_bytes = 0, 0  # it lies on a drive of its own
    clones_bytes = max(sizes.values()) + wal_bytes
    if alternates:
        by_name = {arm.arm.name: arm for arm in arms}
        at_once = cells([arm.arm for arm in arms])
        clones_bytes = max(sum(by_name[arm.name].clone_bytes + wal_bytes for arm in each) for each in at_once)
        beyond_bytes *= max(map(len, at_once))
    snapshots = len(sizes) if first.drive.snapshot_mount() is None else 0
    return Room(first.drive.mount(), missing + clones_bytes + beyond_bytes, snapshots, beyond_bytes)


def _require_room(resolved: ResolvedStudy) -> tuple[Room, ...]:
    """What each file system needs, of which those that are too small are named to the environment's `missing`.

    Arms whose clusters live apart do not add up.
    """
    elsewhere = _elsewhere(resolved.arms)
    apart: dict[object, list[ResolvedArm]] = {}
    # Where snapshots are kept with their clones, by a directory or device that could have them elsewhere.
    movable: set[object] = set()
    for arm in resolved.arms:
        drive = arm.drive
        with_clones = not arm.setup.drive.data.kind.holds_one_cluster
        apart.setdefault(drive.mount().identity if with_clones else id(drive), []).append(arm)
        if with_clones and drive.kind != DATABASES and drive.snapshot_mount() is None:
            movable.add(drive.mount().identity)
    alternates = resolved.study.design.pairing == ALTERNATE
    least_bytes = wal_least_bytes(each.settings for each in resolved.arms)
    rooms: dict[object, Room] = {place: _room(arms, least_bytes, alternates) for place, arms in apart.items()}
    of_wal = _of_wal(resolved.arms, least_bytes, alternates)
    for where, more in (*of_wal.items(), *elsewhere.items()):
        here = rooms.get(where, Room(more.mount, 0, 0))
        rooms[where] = Room(
            here.mount,
            here.needed_bytes + more.needed_bytes,
            here.snapshots + more.snapshots,
            here.at_most_bytes + more.at_most_bytes,
        )
    for room in rooms.values():
        place, free_bytes = room.mount.path, room.mount.free_bytes
        if room.least_bytes > free_bytes:
            to_move = " keep them on another drive (pgassay run --snapshots-in DIR),"
            error = PgassayError(
                f'"{place}" has {format_size(free_bytes)} free, this study needs about {format_size(room.least_bytes)}',
                "make room there (pgassay drive snapshots shows and removes prepared data),"
                f"{to_move if room.mount.identity in movable else ''} name another place"
                " with --data-dir, or make the data smaller (--set load.scale=…, load.rows or load.warehouses)",
            )
            resolved.environment.missing.name(f"room on {place}", error)
    return tuple(rooms.values())
