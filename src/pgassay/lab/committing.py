"""How a trial and a preparation get into the record, for whoever runs trials: a study's conductor, a calibration.

A trial is begun in the journal, worked, and committed; one that is cut short is set aside with its raw output. Nothing
of the record's own is cut into by Ctrl-C.
"""

from collections.abc import Callable

from pgassay.bench.counters import Sample
from pgassay.lab.memory import PREPARED
from pgassay.lab.notes import Assignment
from pgassay.lab.preparation import Prepared, Tell
from pgassay.lab.site import Site
from pgassay.lab.watching import Watcher
from pgassay.record.directory import RunDirectory
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm

Work = Callable[[Assignment], tuple[TrialRecord, tuple[Sample, ...]]]


def keep_trial(
    run: RunDirectory, site: Site, watcher: Watcher, arm: Arm, block: int, attempt: int, seed: int, work: Work
) -> TrialRecord:
    """Do `work` as the run's next trial and commit what it yields."""
    with site.held():
        staging = run.begin_trial(run.next_number, {"block": block, "attempt": attempt, "arm": arm.name})
    assignment = Assignment(staging.number, block, attempt, arm, seed, staging.path)
    watcher.trial_started(assignment)
    try:
        record, series = work(assignment)
    except BaseException:
        with site.held():
            run.abandon_trial(staging)
        raise
    with site.held():
        run.commit_trial(staging, record, series)
    watcher.trial_finished(record)
    return record


def is_prepared(run: RunDirectory, key: str) -> bool:
    """Does the journal know the snapshot of this key? It may be gone since."""
    return any(entry.kind == PREPARED and entry.data["key"] == key for entry in run.journal.entries)


def journal_preparation(run: RunDirectory, site: Site) -> Tell:
    """Tells the journal how long a snapshot took, the first time only: made again after a pause, it costs no budget."""

    def tell(made: Prepared) -> None:
        if not is_prepared(run, made.key):
            with site.held():
                run.journal.append(PREPARED, {"key": made.key, "seconds": round(made.seconds, 3), "made": made.made})

    return tell
