"""What the numbers are true for, and how treatments were compared, in a sentence each.

How many whole checkpoint cycles the windows covered is said once. A window of less than two cycles sees mostly the
burst of full-page images after a checkpoint (PostgreSQL manual, "WAL Configuration"), so its trials are counted apart.

Factors are crossed or linked: those that moved together cannot be separated, as page and WAL block in Vondra 2012.
Costs are compared at equal time or at equal work: at equal time they carry the speed in them, since a page's image goes
into the WAL once in each checkpoint cycle (docs/report.md).
"""

from collections.abc import Sequence
from math import isfinite, prod

from pgassay.analysis.factorial import confounded
from pgassay.analysis.numbers import per_cent
from pgassay.design.schedule import cautions
from pgassay.record.values import TrialRecord
from pgassay.report.drives import slowed
from pgassay.report.trials import grouped, of_regime
from pgassay.study.drives import dilation
from pgassay.study.model import PAIRED, Study
from pgassay.study.responses import Status
from pgassay.study.work import (
    BURST,
    COUNTED,
    COUNTED_ALONG,
    CUT_OFF_MAX,
    CYCLES_WANTED,
    RESTARTED_BY,
    SOMEWHERE,
    STANDBYS,
    TRANSACTION,
    WORDS,
    WORK,
    Work,
)

_KINDS = {mode: words for mode, words in WORDS.items() if mode not in (BURST, SOMEWHERE, WORK)}


_RECORD_BYTES = 24
"""A WAL record has at least its header."""


def regimes_of(trials: Sequence[TrialRecord], work: Work = TRANSACTION) -> tuple[str, ...]:
    """A sentence for each kind of regime among the valid trials."""
    valid = [trial for trial in trials if trial.status is Status.VALID]
    found = []
    for mode, members in grouped(valid, lambda trial: str(trial.regime.get("checkpoint", ""))).items():
        # Most transactions wrote no WAL record at all: then no full-page image slows them after a checkpoint.
        wal = [trial.responses.get("wal_bytes_per_transaction") for trial in members]
        if all(each is not None and each < _RECORD_BYTES for each in wal):
            found.append("loads that write next to no WAL, so checkpoints hardly matter to them")
            continue
        found.append(_cycles(_KINDS[mode], members) if mode in _KINDS else "")
        if work.regime and mode == BURST:
            found.append(work.regime)
        else:
            found += [str(trial.regime.get("checkpoint_words", "")) for trial in members if mode not in _KINDS]
        found += [str(trial.regime.get("defaults", "")) for trial in members]
    found += _each(valid, COUNTED, "instructions in user space, counted by {}: no system calls, no JIT, one client")
    found += _each(valid, COUNTED_ALONG, "instructions of one client after a checkpoint, in trials of their own: {}")
    # To drives by a slower clock the processor is faster than it is.
    for slower in sorted({dilation(trial.levels) for trial in valid} - {1}):
        times = f"rates and times by the drives' clock, as with a processor {slower} times as fast"
        found.append(f"{slowed(slower)}: {times}")
    # Pairs take out a part of what a CPU-bound server pays elsewhere, and so a part of what it is compared by.
    if any(trial.regime.get("placement") == PAIRED for trial in valid):
        found.append(
            "clients on the same CPU as their backends (placement = paired: a CPU-bound treatment is faster so than"
            " where the scheduler places both)"
        )
    found += _each(valid, STANDBYS, f"commits that wait for standbys: {STANDBYS} = '{{}}'")
    found += _each(valid, RESTARTED_BY, "your server, restarted before each trial by: {}")
    # Others took pages before the server started: the machine's memory was not the study's alone.
    if remarks := [str(said) for trial in valid if (said := trial.regime.get("huge_pages"))]:
        several = " (in the first of them)" if len(remarks) > 1 else ""
        found.append(f"in {len(remarks)} of the valid trials {remarks[0]}{several}")
    return tuple(dict.fromkeys(text for text in found if text))


def _each(trials: Sequence[TrialRecord], name: str, words: str) -> list[str]:
    """The words with each value that the trials' regimes have under a name."""
    return [words.format(said) for trial in trials if (said := trial.regime.get(name))]


def _cycles(kind: str, trials: Sequence[TrialRecord]) -> str:
    counts = list(filter(isfinite, of_regime(trials, "checkpoint_cycles")))
    if not counts:
        return f"{kind}; the number of cycles could not be read"
    few = sum(count < CYCLES_WANTED for count in counts)
    if few == len(counts):
        return "windows of less than two checkpoint cycles: mostly the burst of full-page images after a checkpoint"
    least, most = min(counts), max(counts)
    span = f"{most:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
    covered = f"{span} {kind}"
    shares = of_regime(trials, "checkpoint_cut_off")  # older records do not have it
    if much := [share for share in shares if share > CUT_OFF_MAX]:
        most_of_one = f"up to {per_cent(max(much))} of the window"
        covered += f"; {len(much)} of {len(shares)} windows end inside one more cycle, {most_of_one}"
    if not few:
        return covered
    return f"{covered}; {few} of {len(counts)} windows covered less than two: mostly the burst after a checkpoint"


TRANSACTIONS = "load.transactions"
EQUAL_WORK = {"build.block_size": "page-size-costs", "table.fillfactor": "fillfactor-costs"}
"""The built-in study that compares levels of a factor at equal work."""


def layout(study: Study) -> str:
    """Are several factors crossed, linked, or only partly combined? Empty for one factor."""
    if len(study.factors) < 2:
        return ""
    named = " and ".join(study.factors)
    together = confounded(
        {each.name: {name: level.typed for name, level in each.levels.items()} for each in study.treatments}
    )
    if together:
        return f"linked: {'; '.join(together)}"
    used = [{each.levels[name].typed for each in study.treatments if name in each.levels} for name in study.factors]
    if len(study.treatments) == prod(len(levels) for levels in used):
        return (
            f"crossed: every level of {named} was run with every other, so main effects and interaction can be"
            " separated"
        )
    return (
        f"partly crossed: only some combinations of {named} were run; main effects come from pairs that differ in one"
        " factor"
    )


def equality(study: Study, work: Work) -> str:
    """What was equal between the treatments when costs were taken: the transactions, the time, or that differed."""
    if work.equality:
        return work.equality
    where = study.fixed.get(TRANSACTIONS)
    if TRANSACTIONS in (*study.factors, *study.conditions, *study.covariates):
        return "costs of a transaction are compared at equal work where transactions are counted, else at equal time"
    if where is not None and where.typed != "none":
        return f"costs are compared at equal work: {where.typed} transactions of each client in every trial"
    if study.fixed.get("load.rate") is not None and study.fixed["load.rate"].typed != "none":
        return "costs are compared at equal time and at an equal offered rate"
    text = (
        "costs are compared at equal time, so a faster treatment did more between checkpoints, which makes it cheaper"
    )
    studies = [EQUAL_WORK[name] for name in study.factors if name in EQUAL_WORK]
    return f"{text} (at equal work: pgassay run {studies[0]})" if len(studies) == 1 else text


def order(study: Study) -> str:
    """In which order a block ran its treatments; a factor that chance did not order is named with what that costs."""
    if not study.design.fixed_order:
        return "every treatment ran once in random order"
    return f"every treatment ran once; {'; '.join(cautions(study))}"
