"""What trials were lost to, in words: others' work on the machine, or the treatment's own doing.

Told beside the verdicts, where a reader looks for why there are none (docs/trial.md, "What can go wrong").
"""

from collections import Counter
from collections.abc import Sequence

from pgassay.analysis.verdicts import SET_ASIDE
from pgassay.record.values import Status, TrialRecord

MANY = 0.1
"""A larger share of spoilt trials is told."""


def sentence(trials: Sequence[TrialRecord]) -> str:
    """How many trials were spoilt from outside and by what; empty for few."""
    spoilt = [trial for trial in trials if trial.status is Status.INVALID]
    if len(spoilt) <= MANY * len(trials):
        return ""
    causes = Counter(reason.code for trial in spoilt for reason in trial.reasons)
    named = ", ".join(f"{code} in {count}" for code, count in causes.most_common())
    return f"{len(spoilt)} of {len(trials)} trials were spoilt from outside and are left out ({named})"


def failure(trials: Sequence[TrialRecord], place: tuple[str, str, str]) -> str | None:
    """Why a treatment never worked (its condition and covariate given too); None where it did, or never ran."""
    mine = [
        trial
        for trial in trials
        if (trial.treatment, trial.condition, trial.covariate) == place and trial.status is not Status.INVALID
    ]
    if not mine or any(trial.status is Status.VALID for trial in mine):
        return None
    told = [f"{reason.code}: {reason.detail}" for reason in mine[-1].reasons]
    return "; ".join(told) or None


def failed(reason: str | None) -> str | None:
    """Why a treatment was dropped, where it failed; one that was set aside keeps the verdict that it has."""
    return None if reason is None or reason.startswith(SET_ASIDE) else reason
