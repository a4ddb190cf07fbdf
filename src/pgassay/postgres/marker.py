"""The marker that tells our clusters from all others: `PGASSAY_CLUSTER`, a JSON file inside the data directory.

It lies inside so that copies, reflinks and snapshots carry it along. A directory without it is never started, stopped
or removed.
"""

import json
import os
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from pgassay.bench.places import Account
from pgassay.postgres import messages

FILE = "PGASSAY_CLUSTER"
FORMAT = 1


@dataclass(frozen=True)
class Marker:
    """Who made a cluster and when: `made_wall_ns` since the epoch."""

    format: int
    identity: str
    made_wall_ns: int
    made_by_uid: int
    version: str


def write(directory: Path, made_wall_ns: int, version: str, account: Account) -> Marker:
    """Mark `directory` as ours."""
    marker = Marker(FORMAT, str(uuid.uuid4()), made_wall_ns, os.getuid(), version)
    path = directory / FILE
    path.write_text(json.dumps(asdict(marker), indent=1) + "\n", encoding="utf-8")
    if account.name is not None:
        os.chown(path, account.uid, account.gid)
    return marker


def require(directory: Path) -> Marker:
    """The marker of a cluster of ours; raises `ClusterError` for every other directory."""
    path = directory / FILE
    if path.is_symlink() or not path.is_file():
        raise messages.foreign_cluster(directory)
    try:
        return Marker(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise messages.bad_marker(path, str(error)) from None
