"""What a disk study finds out about the drive behind its numbers: is it a drive, and does it keep its pace?

From the trials of the driver `fio`: direct reads of one thread, the pattern `reread`, and the seconds of patterns that
only write. Nothing for other studies.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pgassay.analysis.disk_caches import SECONDS_LEAST, Sign, cliff, reread, too_fast
from pgassay.record.values import TrialRecord
from pgassay.report.part import Part
from pgassay.report.trials import load_level
from pgassay.study.responses import Status
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
    rates = _rates(findings, [trial for trial in trials if _level(trial, "pattern") in _WRITING])
    for treatment, mine in drives.items():
        place = treatment or "the drive"
        signs = list(_signs(mine))
        rows += [(place, sign.text) for sign in signs]
        if not signs:
            rows.append((place, "no sign of a cache beneath the guest"))
        written = {trial.number: rates[trial.number] for trial in mine if trial.number in rates}
        if written:
            rows.append((place, _sustained(written)))
    return Part("The drive itself", tuple(rows), (_CAVEAT,))


def _sustained(rates: Mapping[int, Sequence[float]]) -> str:
    """What trials that only write say of a cliff, by number and rate of each second."""
    long = {number: each for number, each in rates.items() if len(each) >= SECONDS_LEAST}
    if not long:
        return f"windows are too short to see a cliff under sustained writing: below {SECONDS_LEAST} s"
    falls = {number: fall for number, each in long.items() if (fall := cliff(each)) is not None}
    if not falls:
        most = max(sum(each) for each in long.values())
        return f"no cliff under sustained writing in windows of this length (up to {most / 1e9:.3g} GB written)"
    numbers = ", ".join(map(str, falls))
    return f"{next(iter(falls.values())).text} (in {len(falls)} of {len(long)} trials that only write: {numbers})"


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


def _rates(findings: "Findings", trials: Sequence[TrialRecord]) -> Mapping[int, list[float]]:
    """Bytes written in each second, by trial; a trial whose seconds cannot be read is left out, and told so."""
    if not trials:
        return {}
    import polars as pl

    sizes = {trial.number: parse_memory(_level(trial, "io_size")) for trial in trials}
    table = findings.seconds.gather(
        lambda series: series.filter(
            (pl.col("source") == "fio") & (pl.col("name") == "write_iops") & pl.col("trial").is_in(sorted(sizes))
        ).select("trial", "monotonic_ns", "value")
    )
    found: dict[int, list[float]] = {number: [] for number in sizes}
    for number, value in table.sort("trial", "monotonic_ns").select("trial", "value").drop_nulls().iter_rows():
        found[number].append(value * sizes[number])
    return {number: rates for number, rates in found.items() if rates}


_DEFAULTS = {"driver": "pgbench", "threads": "1", "depth": "1", "direct": "on", "io_size": "8kB"}


def _level(trial: TrialRecord, option: str) -> str:
    return load_level(trial, option, _DEFAULTS.get(option, ""))
