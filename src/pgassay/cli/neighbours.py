"""Is another PostgreSQL busy on this machine? A study then runs only when the user says so, and its record tells."""

from pgassay.cli import messages
from pgassay.host.doctor import busy_neighbour
from pgassay.lab.messages import busy_neighbour as refused
from pgassay.lab.workbench import Workbench


def look(bench: Workbench, *, allowed: bool) -> dict[str, str]:
    """Remarks for the record; raises `PgassayError` when a neighbour is busy and that was not allowed."""
    found = busy_neighbour()
    if found.severity in ("ok", "note"):
        return {}
    if not allowed:
        raise refused(found.text)
    messages.warn(f"another PostgreSQL is busy: {found.text}")
    return {"busy_neighbour": found.text}
