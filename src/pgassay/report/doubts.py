"""What to distrust: how many trials count, how the run ended, who disturbed it, which trials were not steady.

Trials that other programs disturbed are kept, named and left out; a treatment that fails because of its settings has an
outcome. At an offered rate (pgbench -R) latency counts from the scheduled start, so a server that falls behind shows
mostly the lag behind the schedule, which depends on how long the window was (pgbench's manual).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pgassay.analysis.numbers import per_cent
from pgassay.record import replayed
from pgassay.record.journal import Entry, Kind
from pgassay.record.values import TrialRecord
from pgassay.report import comparison, drives, power_cuts, statements, turns, words
from pgassay.report.adoption import crash_warnings, side_effects
from pgassay.report.seconds import TPS, doubts
from pgassay.report.section import Block, Folded, Section, Sentences, Surface, Table
from pgassay.report.trials import cause, load_level
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

FAILED_SHOWN = 3
STEPS_SHOWN = 4
"""Steps of a trial that are named, the longest first."""
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


def _blocks(findings: "Findings") -> Iterator[Block]:
    yield Sentences(reasons(findings))
    kinds = Counter(trial.status for trial in findings.trials)
    counted = f"{words.counted(len(findings.trials), 'trial')} in {words.counted(findings.blocks, 'block')}"
    general = [", ".join((counted, *(f"{count} {kind}" for kind, count in kinds.items())))]
    lost = (*findings.discarded, *findings.outcomes)
    if not lost:
        general.append("no trial was discarded, none failed")
    general += [f"the run ended: {findings.end}", overhead(findings.trials, findings.run.journal)]
    yield Sentences([each for each in general if each], small=True, joined=True)
    if lost:
        table = _lost(lost)
        yield replace(table, on=Surface.TERMINAL)
        yield Folded(f"{words.counted(len(lost), 'trial')} discarded or failed", (table,))
    compared = () if power_cuts.decide(findings) else findings.verdicts
    left_out = [each.effect for each in compared if each.effect.left_out]
    alike: dict[str, list[str]] = {}
    for effect in left_out:
        alike.setdefault("; ".join(effect.left_out), []).append(effect.place.name)
    told = (f"{names[0] if len(names) == 1 else f'{len(names)} comparisons'}: {why}" for why, names in alike.items())
    yield Sentences(tuple(told), small=True)


def reasons(findings: "Findings") -> tuple[str, ...]:
    """What speaks against believing the numbers, a sentence each and the gravest first."""
    # First, since what could not be read is known only when it was asked for.
    steadiness = tuple(doubts(findings.trials, findings.courses, findings.run.responses))
    trials = findings.trials
    found = [*failed(findings), *statements.doubts(findings), losses(trials)]
    failures = {place.name for place in findings.failures}
    found += [f"dropped: {arm}: {reason}" for arm, reason in findings.dropped.items() if arm not in failures]
    found += [] if findings.finished else [f"the run has not come to its end: {findings.end}"]
    # Where power was cut, the section on power cuts says what became of each treatment.
    found += [] if findings.once(power_cuts.arms) else crash_warnings(findings.study)
    found += [*side_effects(trials), *overloads(trials), *late_clock(trials)]
    found += [unplayed(findings), *findings.remarks, disturbance(trials), drives.late_logs(trials)]
    found += [*turns.busy(trials), *turns.carried_over(findings), *steadiness]
    if findings.study.design.fixed_order and not findings.imported:
        found.append(comparison.order(findings.study))
    return tuple(each for each in (*found, *findings.seconds.unread) if each)


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


def _lost(trials: Sequence[TrialRecord]) -> Table:
    """Trials that do not count, with why."""
    rows = [
        (
            str(trial.number),
            trial.place.name,
            _KINDS[trial.status],
            "; ".join(f"{reason.code}: {reason.detail}" for reason in trial.reasons),
        )
        for trial in trials
    ]
    return Table(("trial", "treatment", "kind", "why"), rows, texts=True)


def overhead(trials: Sequence[TrialRecord], journal: Sequence[Entry]) -> str:
    """What a run spent beside its windows and warm-ups, a trial's mean by step, and what preparing snapshots took.

    From `timings_s` of every trial (docs/record.md, "The life of a trial") and the journal; pauses are no part of
    either. Empty where no trial tells its steps. Hosts of a fleet prepare their own, and do not say how long that took.
    """
    timed = [trial for trial in trials if trial.timings_s]
    if not timed:
        return ""
    steps: dict[str, float] = {}
    for trial in timed:
        for name, seconds in trial.timings_s.items():
            steps[name] = steps.get(name, 0.0) + seconds
        steps["measure"] = steps.get("measure", 0.0) - _loaded_s(trial)
    means = {name: max(0.0, seconds) / len(timed) for name, seconds in steps.items()}
    largest = sorted(means, key=lambda name: -means[name])[:STEPS_SHOWN]
    listed = ", ".join(f"{name} {means[name]:.1f} s" for name in largest)
    prepared: dict[str, float] = {}
    for entry in journal:
        if entry.kind == Kind.PREPARED and entry.data.get("made"):
            prepared.setdefault(str(entry.data["key"]), float(entry.data["seconds"]))
    if prepared:
        made = f"; preparing {words.counted(len(prepared), 'snapshot')} took {sum(prepared.values()):.0f} s"
    else:
        made = "" if any(trial.host for trial in trials) else "; no snapshot had to be prepared"
    return f"apart from its window and warm-up a trial took {sum(means.values()):.1f} s on average ({listed}){made}"


def disturbance(trials: Sequence[TrialRecord]) -> str:
    """How busy other programs were in the windows that count; empty where it was not measured."""
    shares = sorted(
        share
        for trial in trials
        if trial.status is Status.VALID and (share := trial.responses.get("foreign_cpu_share")) is not None
    )
    if not shares:
        return ""
    middle = shares[len(shares) // 2]
    return f"other programs used {per_cent(middle)} of the CPU in the median window, at most {per_cent(shares[-1])}"


def late_clock(trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    """A sentence if the client's clock let answers seem to take no time in any trial that counts, by the worst."""
    shares = [
        share
        for trial in trials
        if trial.status is Status.VALID and (share := trial.responses.get(IMPOSSIBLE)) is not None
    ]
    told = [share for share in shares if share > IMPOSSIBLE_TOLD]
    if not told:
        return ()
    counted = f"in {len(told)} of {words.counted(len(shares), 'trial')}, at worst {per_cent(max(told), 2)}"
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


def _loaded_s(trial: TrialRecord) -> float:
    """The window and the warm-up, in seconds."""
    loaded_s = (trial.regime.get("window_s"), trial.regime.get("warmup_s"))
    return sum(float(each) for each in loaded_s if isinstance(each, int | float))


def overloads(trials: Sequence[TrialRecord]) -> tuple[str, ...]:
    """A sentence for each arm of which a valid trial fell behind the rate that it was offered, by the worst one."""
    worst: dict[tuple[str, float], list[float]] = {}
    for trial in trials:
        offered, done = _offered(trial), trial.responses.get(TPS)
        if trial.status is Status.VALID and offered is not None and done is not None:
            place = trial.arm
            worst.setdefault((place, offered), []).append(done)
    return tuple(_sentences(worst))


def _sentences(done_by_arm: dict[tuple[str, float], list[float]]) -> Iterator[str]:
    for (place, offered), done in done_by_arm.items():
        behind = [each for each in done if each < KEPT_UP_SHARE * offered]
        if behind:
            counted = f"in {len(behind)} of {len(done)} valid trials" if len(done) > 1 else "in its only valid trial"
            rates = f"offered {words.number(offered)}/s, done {words.number(min(behind))}/s"
            yield f"the load fell behind its rate with {place} {counted}: {rates}: latencies are mostly schedule lag"


def _offered(trial: TrialRecord) -> float | None:
    level = trial.levels.get(RATE)
    try:
        return float(level.canonical) if level is not None else None
    except ValueError:
        return None  # none: as many as possible


def _plain(findings: "Findings") -> Mapping[str, object]:
    _ = findings.courses  # what could not be read is known only when it was asked for
    return {
        "ended": findings.end,
        "finished": findings.finished,
        "blocks": findings.blocks,
        "trials": {
            "all": len(findings.trials),
            "invalid": len(findings.discarded),
            "outcome": len(findings.outcomes),
        },
        "unread": findings.seconds.unread,
        "remarks": list(findings.remarks),
        "not_crash_safe": list(crash_warnings(findings.study)),
        "overloads": list(overloads(findings.trials)),
        "late_clock": list(late_clock(findings.trials)),
        "overhead": overhead(findings.trials, findings.run.journal),
        "dropped": dict(findings.dropped),
    }


SECTION = Section("trust", "What to distrust", _blocks, _plain, link="What to distrust", open=True)
