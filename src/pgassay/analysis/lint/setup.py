"""How a run was set up, as far as its source says: what a DBA asks before looking at any number.

Names of settings are those that tools and tables use. What no source says is None and is never judged.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pgassay.errors import PgassayError
from pgassay.study.units import parse_memory, split_quantity

_NAMES: Mapping[str, tuple[str, ...]] = {
    "load": (
        "script",
        "scenario",
        "workload",
        "mode",
        "test",
        "benchmark",
        "statements",
        "load.script",
        "load.scenario",
    ),
    "scale": ("scale", "scale_factor", "scaling_factor", "load.scale"),
    "clients": ("clients", "connections", "load.clients"),
    "threads": ("threads", "jobs", "load.jobs"),
    "rate_limited": ("rate_limited",),
    "rate": ("rate", "load.rate"),
    "lag_ms": ("schedule_lag_ms",),
    "checkpoint_timeout": ("checkpoint_timeout", "server.checkpoint_timeout"),
    "host": ("pg_host", "db_host", "server_host"),
    "memory": ("memory", "ram", "host.memory", "memory_total"),
    "database": ("database_bytes", "database_size"),
}
NAMES = tuple(name for names in _NAMES.values() for name in names)
"""Every name of a setting that is judged."""

_LOCAL = re.compile(r"localhost|127\.[0-9.]+|::1|/.*", re.IGNORECASE)
_TPC_B = re.compile(r"tpc-?b", re.IGNORECASE)
_READS_ONLY = re.compile(r"select.only|read.?only|\bro\b|point_select|^reads,", re.IGNORECASE)
_WRITES = re.compile(r"tpc-?[bc]|tpcc|update|read.?write|\brw\b|write.?only|insert|delete|writes", re.IGNORECASE)
_DISK = re.compile(
    r"(?<![a-z])(disks?|drives?|ssds?|nvme|hdds?|storage|iops|volumes?|mount(point|s)?|mnt|raid([ -]?[0-9]+)?"
    r"|file ?systems?|zfs|xfs|ext4|btrfs|f2fs|lvm|luks|nfs|iscsi|san|nas|ebs|gp[23]|optane)(?![a-z])",
    re.IGNORECASE,
)
_SCALE_BYTES = 15e6
"""What a unit of pgbench's scale takes: 100000 accounts of about 130 bytes, and their index."""


@dataclass(frozen=True)
class Setup:
    """What is known of a run's load and machine; None: not known. Times in s, sizes in bytes, `rate` in transactions/s.

    `tpc_b` says that each transaction updates one of as many branches as the scale; `about_disk` that levels or title
    speak of a drive; `cycles` is how many whole checkpoint cycles the window held.
    """

    tpc_b: bool = False
    writes: bool | None = None
    scale: float | None = None
    clients: float | None = None
    threads: float | None = None
    rate_limited: bool = False
    rate: float | None = None
    lag_ms: float | None = None
    checkpoint_timeout_s: float | None = None
    cycles: float | None = None
    same_machine: bool = False
    database_bytes: float | None = None
    memory_bytes: float | None = None
    about_disk: bool = False

    @staticmethod
    def of(fields: Mapping[str, str], title: str = "") -> "Setup":
        """What fields of a run say, and the title of the study."""
        said = {
            key: next((fields[name].strip() for name in names if fields.get(name)), "") for key, names in _NAMES.items()
        }
        loads = [fields[name] for name in _NAMES["load"] if fields.get(name)]
        tpc_b = any(_TPC_B.search(each) for each in loads)
        reads_only, writes = (any(each.search(load) for load in loads) for each in (_READS_ONLY, _WRITES))
        scale, clients, rate = (_number(said[name]) for name in ("scale", "clients", "rate"))
        database_bytes = _bytes(said["database"])
        if database_bytes is None and scale is not None and (tpc_b or "builtin" in " ".join(loads)):
            database_bytes = scale * _SCALE_BYTES
        return Setup(
            tpc_b=tpc_b,
            writes=False if reads_only else True if writes else None,
            scale=scale,
            clients=clients,
            threads=clients if said["threads"] == "clients" else _number(said["threads"]),
            rate_limited=said["rate_limited"] == "yes" or bool(rate),
            rate=rate,
            lag_ms=_number(said["lag_ms"]),
            checkpoint_timeout_s=_seconds(said["checkpoint_timeout"]),
            same_machine=bool(_LOCAL.fullmatch(said["host"])),
            database_bytes=database_bytes,
            memory_bytes=_bytes(said["memory"]),
            about_disk=bool(_DISK.search(" ".join((title, *fields, *fields.values())))),
        )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


_SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "ms": 0.001}


def _seconds(text: str) -> float | None:
    found = re.fullmatch(r"([0-9.]+)\s*([a-z]*)", text)
    return float(found[1]) * _SECONDS[found[2]] if found and found[2] in _SECONDS else None


def _bytes(text: str) -> float | None:
    """A size as PostgreSQL writes it (`16GB`); a bare number is bytes."""
    quantity = split_quantity(text.replace(" ", ""))
    if quantity is None:
        return None
    try:
        return float(parse_memory(text.replace(" ", ""))) if quantity[1] else float(text)
    except (PgassayError, ValueError):
        return None
