"""What the drives say of themselves at the end of the windows: space on flash, compression, write amplification.

Figures of emulated drives are labelled so. A window that wrote less than one drive saw garbage collection hardly or not
at all: such a number is transient, and said to be.
"""

from collections.abc import Iterator, Mapping, Sequence

from pgassay.record.values import TrialRecord
from pgassay.report import service_times, words
from pgassay.report.findings import Findings
from pgassay.report.part import Part
from pgassay.report.trials import middle, valid_by_place

_EMULATED = ("ssd", "csd", "description:")
_DRIVES = ("drive.data", "drive.wal")
_ROWS = (
    ("physical_bytes", "live bytes on flash"),
    ("compression_ratio", "logical / physical bytes"),
    ("write_amplification", "write amplification in the window"),
    ("drive_writes", "drive writes in the window"),
    ("drive_cpu_us_per_transaction", "CPU of the emulation a transaction, us"),
    *service_times.ROWS,
)
_SHARES = ("service_time_error", "late_answers")
WHOLE = 1.0
"""Drive writes that a window must have for its write amplification to be more than a moment's."""


def parts(findings: Findings) -> Iterator[Part]:
    """A table for each condition and covariate point; nothing where no drive counts."""
    for place, mine in valid_by_place(findings.trials).items():
        found = _part(findings, mine, words.place(*place))
        if found is not None:
            yield found


def _part(findings: Findings, trials: Sequence[TrialRecord], where: str) -> Part | None:
    treatments = [each.name for each in findings.study.treatments]
    rows, written = [], {}
    for name, title in _ROWS:
        values = {
            each: middle(trial.responses.get(name) for trial in trials if trial.treatment == each)
            for each in treatments
        }
        if any(value is not None for value in values.values()):
            rows.append((title, *(_shown(name, values[each]) for each in treatments)))
        if name == "drive_writes":
            written = values
    if not rows:
        return None
    rows.append(("start state", *(_state(trials, each) for each in treatments)))
    title = f"The drives by their own count{f': {where}' if where else ''}"
    return Part(title, (("", *treatments), *rows), tuple(_notes(trials, written)))


def _notes(trials: Sequence[TrialRecord], written: Mapping[str, float | None]) -> Iterator[str]:
    if any(_emulated(trial) for trial in trials):
        yield "emulated: what the flash model makes of the real stream of writes, not a measurement of a real drive"
    if any("aged" in str(trial.regime.get("start_state", "")) for trial in trials):
        yield "space and compression are of what the host can read, without what filled the drives when they were aged"
    yield from service_times.notes(trials)
    least = min((value for value in written.values() if value is not None), default=WHOLE)
    if least < WHOLE:
        yield f"transient: a window wrote {least:.2g} of a drive, so write amplification is not a steady state's"


def _emulated(trial: TrialRecord) -> bool:
    levels = [trial.levels[name].canonical for name in _DRIVES if name in trial.levels]
    return any(level.startswith(_EMULATED) for level in levels)


def _state(trials: Sequence[TrialRecord], treatment: str) -> str:
    found = dict.fromkeys(
        _worn(str(trial.regime.get("start_state", ""))) for trial in trials if trial.treatment == treatment
    )
    return ", ".join(found) or words.MISSING


def _worn(start_state: str) -> str:
    return start_state.partition("; ")[2] or "fresh"


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return words.MISSING
    if name in _SHARES:
        return f"{value:.1%}"
    return words.size(value) if name.endswith("_bytes") else f"{value:.3g}"
