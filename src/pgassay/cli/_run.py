"""Opening a run to read it: trials that cannot be read are left out, and named on standard error."""

from pathlib import Path
from typing import TYPE_CHECKING

from pgassay.cli import messages

if TYPE_CHECKING:
    from pgassay.record.reading import Run


def open_run(path: Path) -> "Run":
    """The run without what is damaged, each with a warning; raises `RecordError` for what is no run at all."""
    from pgassay.record.reading import Run
    from pgassay.report.messages import unread_trial

    run = Run.open(path, leave_out=True)
    for each in run.left_out:
        messages.warn(unread_trial(*each))
    return run
