"""The probes of a usual trial, for one server and the directory that its data lie in.

The system's probes come first: they are read before the questions to the server cost it anything.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from pgassay.bench.counters import Probe
from pgassay.bench.drive_counters import DriveCounters
from pgassay.bench.running import Clock
from pgassay.bench.server import Server
from pgassay.probe import checkpoints, database, io, sizes, tables, tuples, wal
from pgassay.probe.devices import device_under
from pgassay.probe.diskstats import Diskstats
from pgassay.probe.drives import DriveProbe
from pgassay.probe.group_io import GroupIo
from pgassay.probe.machine import Machine
from pgassay.probe.process_io import ProcessIo
from pgassay.probe.process_tree import ProcessTree
from pgassay.probe.session import Session
from pgassay.probe.statistics import Statistics
from pgassay.probe.waits import Waits

NO_DRIVES: Mapping[str, DriveCounters] = {}
_PER_SECOND = (database, tables, wal, checkpoints, io)
_AT_EDGES = (sizes, tuples)


def standard_probes(
    server: Server, directory: Path, clock: Clock, drives: Mapping[str, DriveCounters] = NO_DRIVES
) -> tuple[Probe, ...]:
    """All probes; `directory` is the cluster's, whose `pg_wal` may lie on another device.

    `drives` are the drives that count of themselves, by source.
    """
    version, postmaster = server.version.major, server.postmaster_pid
    session = Session(server.endpoint)
    return (
        ProcessTree("process_tree", postmaster, clock),
        ProcessTree("lab_tree", os.getpid(), clock, excluded=frozenset({postmaster})),
        ProcessIo(postmaster, clock),
        Machine(clock),
        *_disks(directory, postmaster, clock),
        *(DriveProbe(source, read, clock) for source, read in drives.items()),
        Statistics(
            session, version, [module.view(version) for module in _PER_SECOND], clock, other_session=server.query
        ),
        Statistics(session, version, [module.view(version) for module in _AT_EDGES], clock, per_second=False),
        Waits(Session(server.endpoint), clock),  # a session of its own: it looks between the others' questions
    )


def _disks(directory: Path, postmaster: int, clock: Clock) -> tuple[Probe, ...]:
    data = device_under(directory)
    wal_device = device_under(directory / "pg_wal") if (directory / "pg_wal").exists() else None
    found: list[Probe] = []
    if data is not None:
        found += [Diskstats("diskstats", data, clock), GroupIo(postmaster, data, clock)]
    if wal_device is not None and wal_device != data:
        found.append(Diskstats("diskstats_wal", wal_device, clock))
    return tuple(found)
