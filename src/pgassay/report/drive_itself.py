"""What a disk study finds out about the drive behind its numbers: is it a drive, and does it keep its pace?

From the trials of the driver `fio`: direct reads of one thread, the pattern `reread`, and the seconds of patterns that
only write. Nothing for other studies.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pgassay.analysis.cliff import Cliff, cliff
from pgassay.analysis.disk_caches import Sign, reread, too_fast
from pgassay.record.values import Status, TrialRecord
from pgassay.report.part import Part
from pgassay.report.trials import load_level
from pgassay.study.units import parse_memory

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_WRITING = ("write", "random:0%")
_CAVEAT = "neither sign proves that there is no cache: one that holds the whole file shows only in the first"


def part(findings: "Findings") -> Part | None:
    """A row a sign, or that there is none; None for a study without fio."""
    trials = [trial for trial in findings.trials if trial.status is Status.VALID and _level(trial, "driver") == "fio"]
    if not trials:
        return None
    rows = [("where", "finding")]
    drives: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        drives.setdefault(trial.treatment, []).append(trial)
    falls = _cliffs(findings, trials)
    for treatment, mine in drives.items():
        place = treatment or "the drive"
        signs = list(_signs(mine))
        rows += [(place, sign.text) for sign in signs]
        if not signs:
            rows.append((place, "no sign of a cache beneath the guest"))
        found = [(trial.number, falls[trial.number]) for trial in mine if trial.number in falls]
        if found:
            numbers = ", ".join(str(number) for number, _ in found)
            rows.append((place, f"{found[0][1].text} (in {len(found)} of its trials: {numbers})"))
        elif any(_level(trial, "pattern") in _WRITING for trial in mine):
            rows.append((place, "no cliff under sustained writing in windows of this length"))
    return Part("The drive itself", tuple(rows), (_CAVEAT,))


def _signs(trials: list[TrialRecord]) -> Iterator[Sign]:
    alone = [
        trial
        for trial in trials
        if _level(trial, "pattern") in ("random:100%", "reread")
        and (_level(trial, "threads"), _level(trial, "depth"), _level(trial, "direct")) == ("1", "1", "on")
    ]
    found = (
        too_fast([value for trial in alone if (value := trial.responses.get("read_latency_p50_ms")) is not None]),
        reread([value for trial in trials if (value := trial.responses.get("reread_speedup")) is not None]),
    )
    yield from (sign for sign in found if sign is not None)


def _cliffs(findings: "Findings", trials: list[TrialRecord]) -> Mapping[int, Cliff]:
    """By number of the trial; the series holds writes of every second."""
    found = {}
    for trial in trials:
        if _level(trial, "pattern") not in _WRITING:
            continue
        import polars as pl

        io_bytes = parse_memory(_level(trial, "io_size"))
        rows = findings.run.trial_series(trial.number).filter(
            (pl.col("source") == "fio") & (pl.col("name") == "write_iops")
        )
        rates = [value * io_bytes for value in rows.sort("monotonic_ns").collect()["value"] if value is not None]
        fall = cliff(rates)
        if fall is not None:
            found[trial.number] = fall
    return found


_DEFAULTS = {"driver": "pgbench", "threads": "1", "depth": "1", "direct": "on", "io_size": "8kB"}


def _level(trial: TrialRecord, option: str) -> str:
    return load_level(trial, option, _DEFAULTS.get(option, ""))
