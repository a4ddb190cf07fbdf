"""What speaks against measuring here although the user wants to: a busy PostgreSQL beside us, a place that is no drive.

A study then runs only when the user says so, and its record and report tell.
"""

from pgassay.bench.places import Mount
from pgassay.cli import messages
from pgassay.host.doctor import busy_neighbour
from pgassay.host.storage import unsuitable
from pgassay.lab.messages import busy_neighbour as refused
from pgassay.lab.workbench import Workbench


def look(bench: Workbench, *, allowed: bool) -> dict[str, str]:
    """Remarks for the record; raises `PgassayError` when a neighbour is busy and that was not allowed."""
    found = busy_neighbour()
    if found.severity in ("ok", "note"):
        return {}
    if not allowed:
        raise refused(found.text)
    messages.warn(found.text)
    return {"busy_neighbour": found.text}


def place(mount: Mount) -> dict[str, str]:
    """Remarks on where the clusters live: a place that the user allowed although it is none to measure storage on."""
    wrong = unsuitable(mount)
    if wrong is None:
        return {}
    messages.warn(f"clusters live in {mount.path}: {wrong}")
    return {"place": f"the clusters lived in {mount.path}: {wrong}"}
