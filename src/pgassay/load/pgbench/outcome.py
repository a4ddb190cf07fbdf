"""What became of a run, in codes: `aborted`, `killed`, `refused`, `failed_transactions`, `skipped_transactions` …

Pure but for keeping a copy of the user's scripts beside the outputs.
"""

import shutil
from pathlib import Path

from pgassay.bench.running import Completed
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.pgbench.progress import first_abort, first_error
from pgassay.load.pgbench.summary import Summary


def problems_of_status(done: Completed) -> dict[str, str]:
    """What the exit status and stderr tell (status 1: it could not begin; 2: errors during the run)."""
    abort = first_abort(done.stderr)
    if abort is not None:
        return {"aborted": abort}
    if done.status == 0:
        return {}
    if done.status < 0:
        return {"killed": f"pgbench was ended by signal {-done.status}"}
    lines = done.stderr.strip().splitlines()
    detail = first_error(done.stderr) or (lines[-1] if lines else "no message")
    return {"refused" if done.status == 1 else "aborted": detail}


def problems_of_summary(said: Summary) -> dict[str, str]:
    """What the counts tell."""
    problems = {}
    due = said.processed + (said.failed or 0) + (said.skipped or 0)
    if said.failed:
        problems["failed_transactions"] = f"{said.failed} of {due} transactions failed ({said.failed / due:.1%})"
    if said.skipped:
        problems["skipped_transactions"] = f"{said.skipped} of {due} transactions were skipped as too late"
    if said.processed == 0:
        problems["no_transactions"] = "no transaction was processed"
    return problems


def problems_of_log(said: Summary, logged: int) -> dict[str, str]:
    """Does the log hold as many transactions as the summary counts? A full disk cuts it short without a word."""
    if logged == said.processed:
        return {}
    return {"log_incomplete": f"the log holds {logged} of {said.processed} transactions"}


def keep_scripts(options: PgbenchOptions, output: Path) -> None:
    """Copy the user's scripts beside the outputs: the record can be repeated elsewhere."""
    for number, script in enumerate(options.scripts, start=1):
        if not script.builtin and script.path.is_file():
            shutil.copyfile(script.path, output / f"script_{number}_{script.path.name}")
