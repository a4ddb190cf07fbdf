"""What a run spent beside its windows and warm-ups: by step, a trial's mean, and what preparing snapshots took.

From `timings_s` of every trial (docs/trial.md, "The steps") and the journal; pauses are no part of either.
"""

from collections.abc import Sequence

from pgassay.record.journal import Entry, Kind
from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.study.responses import Status

SHOWN = 4
"""Steps that are named, the longest first."""


def sentence(trials: Sequence[TrialRecord], journal: Sequence[Entry]) -> str:
    """For people; empty where no trial tells its steps."""
    timed = [trial for trial in trials if trial.timings_s]
    if not timed:
        return ""
    steps: dict[str, float] = {}
    for trial in timed:
        for name, seconds in trial.timings_s.items():
            steps[name] = steps.get(name, 0.0) + seconds
        steps["measure"] = steps.get("measure", 0.0) - _loaded_s(trial)
    means = {name: max(0.0, seconds) / len(timed) for name, seconds in steps.items()}
    largest = sorted(means, key=lambda name: -means[name])[:SHOWN]
    listed = ", ".join(f"{name} {means[name]:.1f} s" for name in largest)
    prepared: dict[str, float] = {}
    for entry in journal:
        if entry.kind == Kind.PREPARED and entry.data.get("made"):
            prepared.setdefault(str(entry.data["key"]), float(entry.data["seconds"]))
    made = (
        f"; preparing {words.counted(len(prepared), 'snapshot')} took {sum(prepared.values()):.0f} s"
        if prepared
        else "; no snapshot had to be prepared"
    )
    return f"beside its window and warm-up a trial took {sum(means.values()):.1f} s on average ({listed}){made}"


def disturbance(trials: Sequence[TrialRecord]) -> str:
    """How busy others were in the windows that count; empty where it was not measured."""
    shares = sorted(
        share
        for trial in trials
        if trial.status is Status.VALID and (share := trial.responses.get("foreign_cpu_share")) is not None
    )
    if not shares:
        return ""
    middle = shares[len(shares) // 2]
    return f"other programs used {middle:.0%} of the CPU in the median window, at most {shares[-1]:.0%}"


def _loaded_s(trial: TrialRecord) -> float:
    """The window and the warm-up, in seconds."""
    told = (trial.regime.get("window_s"), trial.regime.get("warmup_s"))
    return sum(float(each) for each in told if isinstance(each, int | float))
