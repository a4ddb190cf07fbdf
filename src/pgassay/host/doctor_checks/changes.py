"""Doctor's look at what a killed pgassay still owes this machine: huge pages, control groups, kernel settings."""

from pgassay.host.ledger import Ledger
from pgassay.study.findings import Finding, Severity


def changes_owed(ledger: Ledger) -> Finding:
    """Nothing owed, a living lab at work, or changes to put back."""
    owed = ledger.owed()
    if not owed:
        return Finding("host_changes", Severity.OK, "pgassay has left no changes to this machine")
    paths = ", ".join(dict.fromkeys(change.path for change in owed))
    if not ledger.take():
        return Finding("host_changes", Severity.NOTE, f"a pgassay at work has changed {paths}")
    ledger.release()
    return Finding(
        "host_changes", Severity.WARNING, f"a killed pgassay has left changed: {paths}", "pgassay doctor --repair"
    )
