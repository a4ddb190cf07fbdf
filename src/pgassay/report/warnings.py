"""What to distrust: how many trials count, how the run ended, who disturbed it, which trials were not steady.

Trials that other programs disturbed are kept, named and left out; a treatment that fails because of its settings has an
outcome. At an offered rate (pgbench -R) latency counts from the scheduled start, so a server that falls behind shows
mostly the lag behind the schedule, which depends on how long the window was (pgbench's manual).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pgassay.analysis import alternation
from pgassay.analysis.numbers import per_cent, rounded
from pgassay.errors import PgassayError
from pgassay.record import replayed
from pgassay.record.slices import read_slices
from pgassay.record.values import TrialRecord
from pgassay.report import drives, formatting, power_cuts, regimes, statements
from pgassay.report.adoption import crash_warnings, side_effects
from pgassay.report.seconds import TPS, warnings
from pgassay.report.section import Folded, Part, Section, Sentences, Surface, Table, Values
from pgassay.report.trials import cause, grouped, load_level, of_regime
from pgassay.study.responses import Status
from pgassay.study.units import format_size
from pgassay.study.work import COUNTED

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

FAILED_SHOWN = 3
_COMPANIONS = ("looks", "session_looks", "active_looks", "wal_sent_bytes", "lag_bytes")
"""Counters of `postgres.attached.watch`."""
KEPT_UP_SHARE = 0.95
"""Of the offered rate; less is called falling behind."""
RATE = "load.rate"
_MANY = 0.1
"""A larger share of discarded trials is a reason for doubt."""
IMPOSSIBLE = "impossible_latency_share"
IMPOSSIBLE_TOLD = 0.001
"""A share of latencies that no answer can have, from which on the run's latencies are doubted aloud."""
_KINDS = {
    Status.INVALID: "discarded because of other programs, run again",
    Status.OUTCOME: "failed, not run again",
}


def _describe(findings: "Findings") -> Iterator[Part]:
    trials, why = findings.trials, reasons(findings)  # first, since what could not be read is known only then
    yield Values(
        {
            "ended": findings.end,
            "finished": findings.finished,
            "blocks": findings.blocks,
            "trials": {"all": len(trials), "invalid": len(findings.discarded), "outcome": len(findings.outcomes)},
            "unread": findings.seconds.unread,
            "remarks": list(findings.remarks),
            "not_crash_safe": list(crash_warnings(findings.study)),
            "overloads": list(overloads(trials)),
            "late_clock": list(late_clock(trials)),
            "dropped": dict(findings.dropped),
        }
    )
    yield Sentences(why)
    kinds = Counter(trial.status for trial in trials)
    counted = f"{formatting.counted(len(trials), 'trial')} in {formatting.counted(findings.blocks, 'block')}"
    general = [", ".join((counted, *(f"{count} {kind}" for kind, count in kinds.items())))]
    lost = (*findings.discarded, *findings.outcomes)
    if not lost:
        general.append("no trial was discarded, none failed")
    general.append(f"the run ended: {findings.end}")
    yield Sentences(general, small=True, joined=True)
    if lost:
        rows = [
            (
                str(trial.number),
                trial.place.name,
                _KINDS[trial.status],
                "; ".join(f"{reason.code}: {reason.detail}" for reason in trial.reasons),
            )
            for trial in lost
        ]
        table = Table(("trial", "treatment", "kind", "why"), rows, texts=True)
        yield replace(table, on=Surface.TERMINAL)
        yield Folded(f"{formatting.counted(len(lost), 'trial')} discarded or failed", (table,))
    compared = () if power_cuts.decide(findings) else findings.verdicts
    alike = grouped((each.effect for each in compared if each.effect.left_out), lambda each: "; ".join(each.left_out))
    said = (
        f"{effects[0].place.name if len(effects) == 1 else f'{len(effects)} comparisons'}: {why}"
        for why, effects in alike.items()
    )
    yield Sentences(tuple(said), small=True)


def reasons(findings: "Findings") -> tuple[str, ...]:
    """What speaks against believing the numbers, a sentence each and the gravest first."""
    # First, since what could not be read is known only when it was asked for.
    steadiness = tuple(warnings(findings.trials, findings.courses, findings.run.responses))
    trials = findings.trials
    found = [*failed(findings), *statements.warnings(findings), losses(trials)]
    failures = {place.name for place in findings.failures}
    found += [f"dropped: {arm}: {reason}" for arm, reason in findings.dropped.items() if arm not in failures]
    found += [] if findings.finished else [f"the run has not come to its end: {findings.end}"]
    # Where power was cut, the section on power cuts says what became of each treatment.
    found += [] if findings.once(power_cuts.arms) else crash_warnings(findings.study)
    found += [*side_effects(trials), *overloads(trials), *late_clock(trials)]
    found += [unplayed(findings), *findings.remarks, companions(trials), disturbance(trials), drives.late_logs(trials)]
    found += [*busy(trials), *lengthened(trials), *findings.once(carried_over), *steadiness]
    if findings.study.design.fixed_order and not findings.imported:
        found.append(regimes.order(findings.study))
    return tuple(each for each in (*found, *findings.seconds.unread) if each)


def busy(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """In how many blocks of turns other programs were busy all the time, so that all rounds count."""
    blocks = {each.block for each in trials if each.status is Status.VALID and each.regime.get("rounds_busy")}
    if blocks:
        yield (
            f"in {formatting.counted(len(blocks), 'block')} other programs were busy in most rounds; these count, since"
            " what goes on all the time slows all servers in turns equally: trust comparisons, not absolute speeds"
        )


def lengthened(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """In how many blocks slices proved too short, and how long they were made instead."""
    found = [each for each in trials if each.regime.get("slice_too_short_s") is not None]
    if lengths_s := of_regime(found, "slice_s"):
        yield (
            f"slices proved too short in {formatting.counted(len({each.block for each in found}), 'block')} and were"
            f" made up to {max(lengths_s):g} s long: too few transactions ended in them, because of the load or a busy"
            " machine"
        )


def carried_over(findings: "Findings") -> Sequence[str]:
    """A sentence for each comparison in turns that the first tenth of its slices shifts by more than may be, and for
    each trial whose slices cannot be read."""
    cells: dict[str, list[alternation.SliceRow]] = {}
    found = []
    for trial in findings.trials:
        if trial.status is not Status.VALID or trial.number in dict(findings.run.left_out):
            continue
        try:
            slices = read_slices(findings.run, trial.number)
        except PgassayError as error:
            found.append(f"the slices of trial {trial.number} cannot be read and are left out here: {error.message}")
            continue
        rows = [each.row(trial.block, trial.treatment) for each in slices]
        cells.setdefault(formatting.place(trial.condition, trial.covariate), []).extend(rows)
    for place, rows in cells.items():
        at = f"{place}: " if len(cells) > 1 and place else ""
        for each in alternation.carried_over(rows, findings.baseline):
            shift, low, high = (f"{rounded(100.0 * share)} %" for share in (each.shift, each.low, each.high))
            found.append(
                f"{at}{each.arm}: the first tenth of its slices shifts the comparison by {shift} [{low}, {high}],"
                " so a server still feels the turn before its own: ask for a longer design.lead_in"
            )
    return found


def failed(findings: "Findings") -> Iterator[str]:
    """A sentence for each arm that failed in every trial; of many the first ones, the baseline before all."""
    places = sorted(findings.failures, key=lambda place: place.treatment != findings.baseline)
    for place in places[:FAILED_SHOWN]:
        count = sum(trial.place == place for trial in findings.outcomes)
        name = f"the baseline, {place.name}," if place.treatment == findings.baseline else place.name
        times = "its only trial" if count == 1 else f"all of its {count} trials"
        yield f"{name} failed in {times}: {cause(findings.trials, place)}"
    if len(places) > FAILED_SHOWN:
        yield f"{len(places) - FAILED_SHOWN} more arms failed in all of their trials"


def losses(trials: Sequence[TrialRecord]) -> str:
    """How many trials were discarded and because of what; empty for few."""
    discarded = [trial for trial in trials if trial.status is Status.INVALID]
    if len(discarded) <= _MANY * len(trials):
        return ""
    causes = Counter(reason.code for trial in discarded for reason in trial.reasons)
    named = ", ".join(f"{code} in {count}" for code, count in causes.most_common())
    return f"{len(discarded)} of {len(trials)} trials were discarded because other programs disturbed them ({named})"


def disturbance(trials: Sequence[TrialRecord]) -> str:
    """How busy other programs were in the windows that count; empty where it was not measured."""
    shares = sorted(
        share
        for trial in trials
        if trial.status is Status.VALID
        and COUNTED not in trial.regime  # whoever else has the CPU, a server executes the same
        and (share := trial.responses.get("foreign_cpu_share")) is not None
    )
    if not shares:
        return ""
    middle = shares[len(shares) // 2]
    return f"other programs used {per_cent(middle)} of the CPU in the median window, at most {per_cent(shares[-1])}"


def companions(trials: Sequence[TrialRecord]) -> str:
    """What declared companions did on a user's server in the windows that count; empty where there were none."""
    active: dict[str, list[float]] = {}
    sessions, sent, lags = [], [], []
    for trial in (each for each in trials if each.status is Status.VALID):
        counted = {name: trial.counters.get(f"companions.{name}") or 0.0 for name in _COMPANIONS}
        looks = counted["looks"]
        if looks and (counted["session_looks"] or counted["wal_sent_bytes"]):
            sessions.append(counted["session_looks"] / looks)
            active.setdefault(trial.place.name, []).append(counted["active_looks"] / looks)
            sent.append(counted["wal_sent_bytes"])
            lags.append(counted["lag_bytes"])
    if not sessions:
        return ""
    by_treatment = ", ".join(f"{formatting.number(sum(each) / len(each))} with {name}" for name, each in active.items())
    mean_sessions = formatting.number(sum(sessions) / len(sessions))
    found = f"companions had {mean_sessions} sessions in a window, active: {by_treatment}"
    if any(sent):
        mean, most = format_size(round(sum(sent) / len(sent))), format_size(round(max(lags)))
        found += f"; standbys were sent {mean} of WAL in a window and were up to {most} behind"
    return found


def late_clock(trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    """A sentence if the client's clock let answers seem to take no time in any trial that counts, by the worst."""
    shares = [
        share
        for trial in trials
        if trial.status is Status.VALID and (share := trial.responses.get(IMPOSSIBLE)) is not None
    ]
    worst = [share for share in shares if share > IMPOSSIBLE_TOLD]
    if not worst:
        return ()
    counted = f"in {len(worst)} of {formatting.counted(len(shares), 'trial')}, at worst {per_cent(max(worst), 2)}"
    return (
        f"the client's clock gave latencies of at most 5 µs, which no answer can have, {counted}: low quantiles and"
        " means of latency are too low; transactions per second are not affected",
    )


def unplayed(findings: "Findings") -> str:
    """What the replays left out of their log, of each kind the most of any trial; empty where they played it all."""
    most: Counter[str] = Counter()
    for trial in (each for each in findings.trials if load_level(each, "driver", "pgbench") == "replay"):
        most |= Counter(replayed.left_out(findings.run, trial.number))
    return f"left out of the log that is played: {'; '.join(phrases)}" if (phrases := replayed.phrases(most)) else ""


def overloads(trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    """A sentence for each arm of which a valid trial fell behind the rate that it was offered, by the worst one."""
    done_by_arm: dict[tuple[str, float], list[float]] = {}
    for trial in trials:
        level, done = trial.levels.get(RATE), trial.responses.get(TPS)
        if trial.status is Status.VALID and level is not None and done is not None:
            with suppress(ValueError):  # none: as many as possible
                done_by_arm.setdefault((trial.arm, float(level.canonical)), []).append(done)
    found = []
    for (place, offered), each in done_by_arm.items():
        behind = [tps for tps in each if tps < KEPT_UP_SHARE * offered]
        if behind:
            counted = f"in {len(behind)} of {len(each)} valid trials" if len(each) > 1 else "in its only valid trial"
            rates = f"offered {formatting.number(offered)}/s, done {formatting.number(min(behind))}/s"
            found.append(
                f"the load fell behind its rate with {place} {counted}: {rates}: latencies are mostly schedule lag"
            )
    return tuple(found)


SECTION = Section("trust", "What to distrust", _describe, link="What to distrust", open=True)
