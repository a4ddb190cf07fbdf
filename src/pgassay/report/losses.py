"""What trials were lost to, in words: other programs on the machine, or the treatment's settings.

Said with the verdicts, where a reader looks for why there are none (docs/trial.md, "What can go wrong").
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from pgassay.analysis.verdicts import SET_ASIDE
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Place
from pgassay.study.responses import Status

MANY = 0.1
"""A larger share of discarded trials is said with the verdicts."""


def sentence(trials: Sequence[TrialRecord]) -> str:
    """How many trials were discarded and because of what; empty for few."""
    discarded = [trial for trial in trials if trial.status is Status.INVALID]
    if len(discarded) <= MANY * len(trials):
        return ""
    causes = Counter(reason.code for trial in discarded for reason in trial.reasons)
    named = ", ".join(f"{code} in {count}" for code, count in causes.most_common())
    return f"{len(discarded)} of {len(trials)} trials were discarded because other programs disturbed them ({named})"


def failures(trials: Sequence[TrialRecord]) -> Mapping[Place, str]:
    """Why each treatment that never worked did not; none that worked once, or that only other programs disturbed."""
    last: dict[Place, TrialRecord] = {}
    worked: set[Place] = set()
    for trial in trials:
        place = trial.place
        if trial.status is Status.VALID:
            worked.add(place)
        elif trial.status is Status.OUTCOME:
            last[place] = trial
    told = {
        place: "; ".join(f"{reason.code}: {reason.detail}" for reason in trial.reasons)
        for place, trial in last.items()
        if place not in worked
    }
    return {place: text for place, text in told.items() if text}


def failed(reason: str | None) -> str | None:
    """Why a treatment was dropped, where it failed; one that was set aside keeps the verdict that it has."""
    return None if reason is None or reason.startswith(SET_ASIDE) else reason
