"""What the numbers are true for, said once: how many whole checkpoint cycles the windows covered, and how many too few.

A window of less than two cycles sees mostly the burst of full-page images after a checkpoint (PostgreSQL manual, "WAL
Configuration"), so its trials are counted apart.
"""

from collections.abc import Iterator, Sequence
from math import isfinite, prod

from pgassay.analysis.factorial import confounded
from pgassay.analysis.numbers import per_cent
from pgassay.design.blocks import cautions
from pgassay.record.values import TrialRecord
from pgassay.report.drives import slowed
from pgassay.report.trials import grouped
from pgassay.study.drives import dilation
from pgassay.study.model import PAIRED, Study
from pgassay.study.regime import BURST, CUT_OFF_MAX, CYCLES_WANTED, SOMEWHERE, WORDS, WORK
from pgassay.study.responses import Status
from pgassay.study.work import TRANSACTION, Work

_KINDS = {mode: words for mode, words in WORDS.items() if mode not in (BURST, SOMEWHERE, WORK)}


def regimes_of(trials: Sequence[TrialRecord], work: Work = TRANSACTION) -> tuple[str, ...]:
    """A sentence for each kind of regime among the valid trials."""
    valid = (trial for trial in trials if trial.status is Status.VALID)
    by_mode = grouped(valid, lambda trial: str(trial.regime.get("checkpoint", "")))
    found = []
    for mode, members in by_mode.items():
        if all(_writes_nothing(trial) for trial in members):
            found.append("loads that write next to no WAL, so checkpoints hardly matter to them")
            continue
        found.append(_cycles(_KINDS[mode], members) if mode in _KINDS else "")
        if work.regime and mode == BURST:
            found.append(work.regime)
        else:
            found += [str(trial.regime.get("checkpoint_words", "")) for trial in members if mode not in _KINDS]
        found += [str(trial.regime.get("defaults", "")) for trial in members]
    every = (*found, *_dilation(trials), *_placement(trials), *_huge_pages(trials))
    return tuple(dict.fromkeys(text for text in every if text))


_RECORD_BYTES = 24
"""A WAL record has at least its header."""


def _writes_nothing(trial: TrialRecord) -> bool:
    """Did most of its transactions write no WAL record at all? Then no full-page image slows it after a checkpoint."""
    wal = trial.responses.get("wal_bytes_per_transaction")
    return wal is not None and wal < _RECORD_BYTES


def _dilation(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """Drives by a slower clock: to them the processor is faster than it is."""
    valid = [trial.levels for trial in trials if trial.status is Status.VALID]
    for slower in sorted({dilation(levels) for levels in valid} - {1}):
        yield f"{slowed(slower)}: rates and times by the drives' clock, as with a processor {slower} times as fast"


def _placement(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """Pairs take out a part of what a CPU-bound server pays elsewhere, and so a part of what it is compared by."""
    if any(trial.status is Status.VALID and trial.regime.get("placement") == PAIRED for trial in trials):
        yield (
            "clients on the same CPU as their backends (placement = paired: a CPU-bound treatment is faster so than"
            " where the scheduler places both)"
        )


def _huge_pages(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """Trials whose pages others took before the server started: the machine's memory was not the study's alone."""
    remarks = [
        str(said) for trial in trials if trial.status is Status.VALID and (said := trial.regime.get("huge_pages"))
    ]
    if remarks:
        several = " (in the first of them)" if len(remarks) > 1 else ""
        yield f"in {len(remarks)} of the valid trials {remarks[0]}{several}"


def _cycles(kind: str, trials: Sequence[TrialRecord]) -> str:
    values = (trial.regime.get("checkpoint_cycles") for trial in trials)
    counts = [float(value) for value in values if isinstance(value, int | float) and isfinite(value)]
    if not counts:
        return f"{kind}; the number of cycles could not be read"
    few = sum(count < CYCLES_WANTED for count in counts)
    if few == len(counts):
        return "windows of less than two checkpoint cycles: mostly the burst of full-page images after a checkpoint"
    least, most = min(counts), max(counts)
    span = f"{most:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
    covered = f"{span} {kind}{_cut_off(trials)}"
    if not few:
        return covered
    return f"{covered}; {few} of {len(counts)} windows covered less than two: mostly the burst after a checkpoint"


def _cut_off(trials: Sequence[TrialRecord]) -> str:
    """How many windows end well inside a cycle; older records do not say."""
    values = (trial.regime.get("checkpoint_cut_off") for trial in trials)
    shares = [float(value) for value in values if isinstance(value, int | float)]
    much = [share for share in shares if share > CUT_OFF_MAX]
    if not much:
        return ""
    most = f"up to {per_cent(max(much))} of the window"
    return f"; {len(much)} of {len(shares)} windows end inside one more cycle, {most}"


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
