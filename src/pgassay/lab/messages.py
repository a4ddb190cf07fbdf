"""Every message of the lab for users, in PostgreSQL's manner."""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, inf
from pathlib import Path

from pgassay.analysis.effects import BlockMean
from pgassay.bench.errors import BenchError
from pgassay.errors import PgassayError, RunStoppedError, UsageError, did_you_mean
from pgassay.host.messages import NO_ROOT
from pgassay.study.units import format_size

_LINES_LISTED = 5
"""As many lines of a journal are named."""


def unknown_response(name: str, known: Iterable[str]) -> UsageError:
    """For a primary or secondary response that neither the load nor a probe yields."""
    words = list(known)
    hint = did_you_mean(name, words, f"this load and its probes measure: {', '.join(words)}")
    return UsageError(f'the response "{name}" is not measured', hint)


def no_setting_but(error: BenchError, namesakes: Sequence[str]) -> UsageError:
    """For `scale`, which is taken for a setting of the server, where other factors have that name."""
    return UsageError(error.message, f"did you mean {' or '.join(namesakes)}?")


def bare_blocks(name: str, value: str) -> UsageError:
    """For a setting given in blocks while the study varies the block size."""
    return UsageError(
        f'"{name}" = {value} counts blocks, whose size this study varies',
        f'give it a unit, so that it means the same for every page size: "{name}" = "64MB"',
    )


def too_little_space(place: Path, needed: int, free: int, *, holds_snapshots: bool) -> PgassayError:
    """For a file system with too little room, in bytes; `holds_snapshots`: of those that could lie elsewhere."""
    apart = " keep them on another drive (pgassay run --snapshots-in DIR)," if holds_snapshots else ""
    return PgassayError(
        f'"{place}" has {format_size(free)} free, this study needs about {format_size(needed)}',
        f"make room there (pgassay drive snapshots shows and removes prepared data),{apart} name another place"
        " with --data-dir, or make the data smaller (--set load.scale=…, load.rows or load.warehouses)",
    )


def scant_room(place: Path, needed: int, free: int) -> str:
    """For a file system that is too small only if the load writes all the WAL that the settings admit."""
    return (
        f'"{place}" has {format_size(free)} free, and a load that writes WAL as fast as any can would need'
        f" {format_size(needed)} in all: server.max_wal_size or a shorter load.duration takes less"
    )


def nothing_kept(place: Path) -> UsageError:
    """For `--snapshots-in` without a directory or device among the drives."""
    why = "images, emulated drives and the server of --server keep it by themselves"
    return UsageError(f'no prepared data of this study would be kept in "{place}": {why}', "leave out --snapshots-in")


NO_AMCHECK = "drive.check needs the extension amcheck, which is not installed with this server"


def damaged_page(table: str, block: int, said: str) -> str:
    """The first damage that amcheck found: `said` is its own message."""
    return f'table "{table}", block {block}: {said}'


def host_factors_unavailable(reasons: Mapping[str, str]) -> UsageError:
    """For host factors that are not available here, by name with the reason; all of them in one message."""
    named = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    hint = "leave them out with --without-host-factors"
    return UsageError(
        f"some of the study's factors are not available on this machine: {named}",
        f"run as root, or {hint}" if NO_ROOT in reasons.values() else hint,
    )


def buffers_beyond(typed: str, limit: str) -> UsageError:
    """For shared_buffers (as typed) that exceed the memory, which `limit` names."""
    return UsageError(
        f"server.shared_buffers = {typed} does not fit in {limit}",
        "use less (--set or --levels server.shared_buffers=…) or allow more memory (--set host.memory=…)",
    )


def server_memory(limit_bytes: int) -> str:
    """What a host factor leaves the server, as the limit in `buffers_beyond`."""
    return f"host.memory = {format_size(limit_bytes)}"


def machine_memory(total_bytes: int) -> str:
    """The machine's memory, as the limit in `buffers_beyond`."""
    return f"the memory of this machine, {format_size(total_bytes)}"


def huge_pages_taken(count: int) -> str:
    """What the record says where a server missed its huge pages at first, though they had been free a moment before."""
    if count == 0:
        return "the server did not get its huge pages at once, although they were free"
    return f"other programs took {count} huge pages before the server started; as many were obtained again"


def unusable_place(place: Path, error: OSError) -> PgassayError:
    """For a directory for clusters that cannot be made."""
    return PgassayError(
        f'could not make "{place}" for clusters: {(error.strerror or str(error)).lower()}',
        "name a directory that this account may write in with --data-dir, or with $PGASSAY_DATA_DIR",
    )


def operating_system(error: OSError) -> BenchError:
    """For a system call that failed for pgassay itself."""
    where = f'"{error.filename}": ' if error.filename else ""
    return BenchError(f"{where}{(error.strerror or str(error)).lower()}")


def bench_failed(detail: str, hint: str | None, path: Path) -> PgassayError:
    """For a run that stops because pgassay, not a treatment, failed; committed trials stay."""
    kept = f"committed trials are kept; continue with: pgassay resume {path}"
    return PgassayError(detail, hint) if hint else RunStoppedError(detail, kept)


def clusters_gone(cluster: str) -> UsageError:
    """For a calibration that cannot be resumed, because a cluster that it began with is gone."""
    hint = "run pgassay calibrate again, in a new directory"
    return UsageError(f"{cluster} no longer exists, and a new one would not be the same", hint)


def calibration_budget_done(blocks: int) -> str:
    """Why a calibration ends: another block does not fit in its budget."""
    return f"{blocks} blocks are done; another one does not fit in the budget"


def direct_io_too_small(word: str, name: str, typed: str) -> UsageError:
    """For direct I/O with a block size that it cannot be aligned to."""
    return UsageError(
        f'"server.debug_io_direct" = {word} does not work with "{name}" = {typed}',
        f"direct I/O needs blocks of at least 4kB: leave out the smaller ones with --levels {name}=4kB,8kB",
    )


def too_few_connections(given: str, load: int, needed: int) -> UsageError:
    """For a max_connections that leaves too few for the load and for pgassay's own sessions."""
    return UsageError(
        f'"server.max_connections" = {given} is too small for a load of {load} connections',
        f"set it to at least {needed}, or leave it out: pgassay then makes it large enough",
    )


def other_postgres(before: Iterable[str], now: Iterable[str]) -> UsageError:
    """`resume` would go on with another version than the run began with."""
    return UsageError(
        f"the run began with {', '.join(sorted(before))} and would continue with {', '.join(sorted(now))}",
        "name the same PostgreSQL with --pg-bindir, or start a new run",
    )


def host_factors_left_out(reasons: Mapping[str, str]) -> str:
    """What --without-host-factors left out, for the record and as a warning."""
    named = "; ".join(f"{name} ({reason})" for name, reason in reasons.items())
    return f"host factors left out, because this machine does not support them: {named}"


def not_replayed(error: str) -> str:
    """`check` could not ask the design again."""
    return f"its decisions could not be replayed: {error}"


def other_decision() -> str:
    """The design, asked again, decides otherwise."""
    return "the decision differs from the one that follows from the study, the seed and the trials before it"


def other_rule(version: str, rules: Sequence[int], rule: int) -> str:
    """`check` does not ask the design again, which decides by another rule than the record's."""
    theirs = " and ".join(map(str, rules))
    made = f"pgassay {version} made them with rule {theirs}, this one has rule {rule}"
    return f"its decisions were not replayed: {made}"


def older_decisions(version: str, lines: Sequence[int], *, rule_known: bool) -> str:
    """The design, asked again, decides otherwise, and may have changed since."""
    named = ", ".join(map(str, lines[:_LINES_LISTED])) + (" …" if len(lines) > _LINES_LISTED else "")
    why = "" if rule_known else " before records named the rule of their decisions, which may have changed since"
    return (
        f"{len(lines)} {'decision' if len(lines) == 1 else 'decisions'} (journal line {named}) would be "
        f"different now: pgassay {version} wrote the record{why}"
    )


def round_ended(arm: str) -> str:
    """Why a round of an alternating block is left out: one of its servers did not reach its end."""
    return f"{arm} failed in this round"


def clock_jumped(seconds: float) -> str:
    """What a wall clock did during a slice."""
    return f"the wall clock jumped by {seconds:.2g} s during the slice"


def rounds_disturbed(lost: int, rounds: int, count: int, code: str) -> str:
    """Why an alternating block is invalid: `count` of the `lost` rounds because of `code`."""
    return f"{lost} of {rounds} rounds of the block were disturbed, {count} of them by {code}"


def slices_too_short(arm: str, slice_s: float, transactions: int, connections: int, drain_s: float) -> UsageError:
    """For slices that hold hardly a transaction of each client, or whose last transactions outlast them."""
    return UsageError(
        f"slices of {slice_s:g} s are too short for this load: {arm} ended {transactions} transactions of"
        f" {connections} clients in one, and its last ones took {drain_s:.2g} s more",
        "run the treatments one after the other (--pairing sequential)",
    )


NOBODY_TO_TAKE_TURNS = "no two treatments are compared with each other"
CHECKPOINTS_BY_THE_CLOCK = (
    "checkpoints by the clock (load.checkpoint = cycle or default) would start while a server stands still;"
    " wal and none do not"
)
WORK_IS_COUNTED = "slices have a length, and the study counts the work instead (load.transactions)"


def changes_the_host(name: str) -> str:
    """Why servers cannot take turns: a factor changes the machine for one of them."""
    return f"{name} changes the whole machine, and all servers of a block would see it"


def one_cluster(kind: str) -> str:
    """Why servers cannot take turns: their drive has no room for two."""
    return f"a drive of the kind {kind} holds one cluster at a time"


def not_in_slices(response: str) -> str:
    """Why servers cannot take turns: what the study asks for is not told of slices."""
    return f"{response} is not measured in slices"


def memory_for_turns(servers: int, wanted: int, limit: int, one: int) -> str:
    """Why servers cannot take turns: the memory does not hold all of them. Sizes in bytes."""
    return (
        f"{servers} servers at once need {format_size(wanted)} of memory with their data"
        f" (one needs {format_size(one)}), and {format_size(limit)} may be used"
    )


def no_turns(reasons: Sequence[str]) -> UsageError:
    """For a study that asks for turns where they cannot be."""
    return UsageError(
        f"the servers of a block cannot take turns: {'; '.join(reasons)}",
        "run them one after the other (--pairing sequential), or let pgassay choose (--pairing auto)",
    )


def one_after_the_other(reasons: Sequence[str]) -> str:
    """What `auto` came to, for the plan and the record."""
    return f"one server after the other: {'; '.join(reasons)}"


def risk_of_another_response(primary: str, needed: str) -> UsageError:
    """`design.risk_below` where verdicts are about something else than power cuts, or about more."""
    return UsageError(
        f'"design.risk_below" is about power cuts, and the study settles "{primary}"',
        f'set responses.primary = "{needed}", and leave design.settle out',
    )


def risk_without_cuts() -> UsageError:
    """`design.risk_below` where some treatment's power is never cut."""
    return UsageError(
        '"design.risk_below" needs power cuts in every treatment', "add --set load.cuts=100, or run pgassay cut"
    )


def balances_differ(count: int) -> str:
    """Likewise: rows of the ledger say otherwise."""
    return f"a transaction is there in part: {count} balances are not what the last row of the ledger for them says"


def lost_commits(lost: int, holes: int, loss_ms: float) -> str:
    """Commits that were acknowledged are not there."""
    if holes:
        return f"{lost + holes} acknowledged commits are missing, {holes} of them before one that is there"
    return f"{lost} acknowledged commits are missing, the first from {loss_ms:.0f} ms before the cut"


def invented_commits(count: int) -> str:
    """Rows of transactions that no client had sent."""
    return f"{count} transactions are there that no client had sent"


def good_against_bad(mean: BlockMean, blocks: int) -> str:
    """Progress of a bisection's first part."""
    if mean.half == inf:
        return f"good against bad: {blocks} blocks, no interval yet"
    estimate, low, high = (
        100.0 * (exp(end) - 1.0) for end in (mean.mean, mean.mean - mean.half, mean.mean + mean.half)
    )
    return f"good against bad: {estimate:+.1f} % [{low:+.1f}, {high:+.1f}] after {blocks} blocks"


def most_probable(name: str, share: float, blocks: int) -> str:
    """Progress of a bisection."""
    return f"{blocks} blocks; most probable: {name} ({100.0 * share:.0f} %)"


def commit_skipped(name: str, why: str) -> str:
    """A commit of a bisection that is left out."""
    return f"skipped: {name}: {why}"


def no_valid_block() -> str:
    """A run of two commits ended without one."""
    return "no block in which both commits have a valid value"


def no_longer_measured(name: str, why: str) -> PgassayError:
    """A commit that was measured, and is not any more: that is the machine's fault and not the commit's."""
    return PgassayError(f"commit {name} was measured before and cannot be now: {why}", "call it again to go on")


def bad_not_measured(name: str, why: str) -> PgassayError:
    """Without the bad commit there is no question."""
    return PgassayError(f"the bad commit {name} cannot be measured: {why}", "name another one with --bad")


def commits_held(factor: str, level: str) -> UsageError:
    """A study that names the source itself."""
    return UsageError(f'the study has "{factor}" at {level}', "name the repository with --git DIR, and leave it out")


def same_version(version: str) -> UsageError:
    """A history of installed versions whose reference is the followed one."""
    hint = "keep another version installed as the reference, or track the tags of a clone with --git"
    return UsageError(f"the reference and what is followed are both PostgreSQL {version}", hint)


def no_schema_file(file: str) -> str:
    """Why a commit of a schema is skipped."""
    return f"it has no {file}"


def not_bisected_by(name: str) -> UsageError:
    """A response without ratios."""
    return UsageError(f'"{name}" has no ratios to go by', "name a response on a ratio scale with --primary, as tps")


def other_question(path: Path, kind: str, what: str) -> UsageError:
    """The directory holds another question."""
    return UsageError(f'"{path}" holds a {kind} of {what}', "name another directory with --out")


def no_question(path: Path, kind: str, detail: str) -> UsageError:
    """The directory holds something else, or a damaged record."""
    return UsageError(f'"{path}" is no {kind} that can be gone on with: {detail}', "name another directory with --out")


def directory_in_use(path: Path) -> UsageError:
    """Another process works there."""
    return UsageError(f'another pgassay works on "{path}"', "wait until it has ended")


def given_up() -> str:
    """Why a commit of a history whose run was cut short is not gone on with."""
    return "its run was cut short, and the commit is asked for no more"


def point_measured(name: str, mean: float, blocks: int) -> str:
    """Progress of a history."""
    return f"measured: {name}: {100.0 * (exp(mean) - 1.0):+.1f} % against the reference, {blocks} blocks"


def damaged_point(path: Path, detail: str) -> UsageError:
    """A file of a history that cannot be read."""
    return UsageError(
        f'"{path}" is no point of a history: {detail}', "its run is beside it: remove the file, and it is read again"
    )
