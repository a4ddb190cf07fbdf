"""What a pgbench run came to: its responses, what went wrong in codes, and the options as pgbench echoed them; pure.

tps is pgbench's own "without initial connection time". Latencies run from the scheduled start of a transaction when a
rate is set, so waiting behind a slow one counts (no coordinated omission); failed and skipped ones have none.
"""

from collections.abc import Mapping

from pgassay.bench.running import Completed
from pgassay.load import responses as shared
from pgassay.load.options import JOBS
from pgassay.load.pgbench.options import BUILTINS, OURS, PgbenchOptions, Script, show_scripts
from pgassay.load.pgbench.output import Summary, first_abort, first_error
from pgassay.study.responses import Better, Response, Scale

_LOWER = Better.LOWER
_DIFFERENCE = Scale.DIFFERENCE

RESPONSES: tuple[Response, ...] = (
    Response("tps", "transactions per second", "1/s", Better.HIGHER),
    Response("latency_ms", "mean latency", "ms", _LOWER),
    Response("latency_stddev_ms", "standard deviation of latency", "ms", _LOWER),
    *shared.LATENCIES,
    Response("schedule_lag_ms", "mean lag behind the schedule", "ms", _LOWER, _DIFFERENCE),
    Response("schedule_lag_max_ms", "greatest lag behind the schedule", "ms", _LOWER, _DIFFERENCE),
    Response("failed_share", "share of transactions that failed", "share", _LOWER, _DIFFERENCE),
    Response("skipped_share", "share of transactions skipped as too late", "share", _LOWER, _DIFFERENCE),
    Response("late_share", "share of transactions over the latency limit", "share", _LOWER, _DIFFERENCE),
    Response("retries_per_transaction", "retries per transaction", "count", _LOWER, _DIFFERENCE),
    shared.IMPOSSIBLE,
)
_MANY = "multiple scripts"


def of_summary(summary: Summary) -> dict[str, float | None]:
    """Every response that the summary knows; shares are of all transactions that were due."""
    failed, skipped = summary.failed, summary.skipped
    due = summary.processed + (failed or 0) + (skipped or 0)
    return {
        "tps": summary.tps,
        "latency_ms": summary.latency_ms,
        "latency_stddev_ms": summary.latency_stddev_ms,
        "schedule_lag_ms": summary.schedule_lag_ms,
        "schedule_lag_max_ms": summary.schedule_lag_max_ms,
        "failed_share": _share(failed, due),
        "skipped_share": _share(skipped, due),
        "late_share": _share(summary.late, summary.processed),
        "retries_per_transaction": _share(summary.retries, summary.processed),
    }


def complete(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it was not found."""
    return shared.complete(RESPONSES, found)


def problems_of_status(done: Completed) -> dict[str, str]:
    """What the exit status and stderr say (status 1: it could not begin; 2: errors during the run)."""
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
    """The problems that the summary's counts show, code to detail."""
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


def read_back(said: Summary, options: PgbenchOptions) -> dict[str, str]:
    """`load.NAME` to what pgbench echoed, in the canonical form of the levels so that each can be compared.

    pgbench runs no more threads than clients, and names a lone script by its title; both are put back into the words of
    the levels where they agree, and left as pgbench says them where they do not.
    """
    echoed = {
        "load.clients": str(said.clients),
        "load.jobs": JOBS.show(options.jobs) if said.threads == options.threads else str(said.threads),
        "load.protocol": said.protocol,
        "load.script": _script(said),
    }
    if said.duration_s is not None:
        echoed["load.duration"] = f"{said.duration_s}s"
    if said.transactions_per_client is not None:
        echoed["load.transactions"] = str(said.transactions_per_client)
    if said.max_tries is not None:
        echoed["load.max_tries"] = str(said.max_tries)
    return echoed


def _script(said: Summary) -> str:
    names = {Script(name).echo: name for name in (*BUILTINS, *OURS)}
    if said.transaction_type != _MANY:
        return names.get(said.transaction_type, said.transaction_type)
    return show_scripts(tuple(Script(names.get(each.name, each.name), each.weight) for each in said.scripts))


def _share(part: int | None, whole: int) -> float | None:
    return None if part is None or whole == 0 else part / whole
