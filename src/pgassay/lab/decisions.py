"""Decisions made from the record, and made again from it: pure functions of the study, the trials and the journal.

No more is remembered than what is in the record, so a resumed run decides as an uninterrupted one would have: time is
the sum of what was measured, pauses left out.

What decides a run (`runner`) and what replays one (`disagreements`) is the same function, so a record proves its
own schedule: nobody chose an order, dropped a treatment or stopped when it suited.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pgassay import __version__
from pgassay.analysis.effects import Effect
from pgassay.analysis.observations import observe
from pgassay.analysis.verdicts import SET_ASIDE, SETTLED, Verdict
from pgassay.design import risk
from pgassay.design.horizon import (
    FIXED_AFTER,
    FROM_RULE,
    NEARLY,
    Extension,
    Horizon,
    fixed_before,
    horizon_of,
    reach,
    ruled,
)
from pgassay.design.schedule import (
    RULE,
    RULES,
    Decision,
    Drop,
    FinishedTrial,
    History,
    RunBlock,
    RunTrial,
    Stop,
    between_blocks,
    in_play,
    next_decision,
)
from pgassay.design.stopping import effects_of, merged, verdicts_of, withheld
from pgassay.errors import PgassayError, UsageError
from pgassay.lab.catalogue import every_factor
from pgassay.lab.machine import planned_s
from pgassay.load import drivers
from pgassay.record.calibrations import STUDY
from pgassay.record.check import CODE
from pgassay.record.formats import IMPORTED, RunHeader
from pgassay.record.journal import Decision as Written
from pgassay.record.journal import (
    Entry,
    Extended,
    Kind,
    Step,
    decision_of,
    decisions_in,
    extended_in,
    horizon_in,
    inputs_sha256,
)
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.findings import Finding, Severity
from pgassay.study.levels import Arm
from pgassay.study.model import Study
from pgassay.study.parsing import parse_recorded
from pgassay.study.responses import Response, Status

UNKNOWN_RULE = 0
"""The rule of records from before rules were recorded."""

_LAST_WORDS = (Kind.DECISION, Kind.FINISHED)


@dataclass(frozen=True)
class Decided:
    """A decision, as it is journalled, and the primary's effects that it looked at (none inside a block).

    `study` is as the run's rule judges it from here on.
    """

    decision: Decision
    written: Written
    effects: tuple[Effect, ...]
    study: Study


def decide(study: Study, header: RunHeader, trials: Sequence[TrialRecord], entries: Sequence[Entry]) -> Decided:
    """The next decision after these committed trials and journal lines."""
    history = history_of(study, trials, entries)
    fixed, extension = horizon_in(entries), extension_in(entries)
    study = ruled(study, header.rule, fixed, extension)
    verdicts: Mapping[str, Verdict] = {}
    effects: tuple[Effect, ...] = ()
    line = Written(Step.STOP, inputs_sha256(history), round(history.elapsed_s, 3), 0.0)
    if history.trials and between_blocks(study, header.seed, history):
        if fixed is None and history.block >= FIXED_AFTER and header.rule >= FROM_RULE:
            horizon = horizon_of(study, history)
            study = ruled(study, header.rule, horizon, extension)
            line = replace(line, stage=horizon.first, horizon=horizon.last)
        declared = {each.name: each for each in header.responses}
        verdicts = _verdicts(study, trials, history, declared)
        effects = tuple(effects_of(study, declared[study.primary], observe(trials, study.primary)).values())
    heard = len({trial.host for trial in trials if trial.host})
    verdicts = withheld(verdicts, heard, min(study.design.hosts, hosts_within_reach(entries) or study.design.hosts))
    decision = next_decision(study, header.seed, history, verdicts)
    used_s = history.elapsed_s - preparation_s(entries)
    line = replace(line, budget_used_s=round(used_s, 3))
    return Decided(decision, _worded(decision, line, _next_number(trials)), effects, study)


def _verdicts(
    study: Study, trials: Sequence[TrialRecord], history: History, declared: Mapping[str, Response]
) -> Mapping[str, Verdict]:
    if study.design.risk_below is not None:
        below = study.design.risk_below
        return {arm.name: risk.verdict_of(_cuts(arm, trials), below) for arm in study.arms}
    block_s = history.block_s(tuple(arm.name for arm in study.arms))
    judged = []
    for name in dict.fromkeys((study.primary, *study.design.settle)):
        seen = observe(trials, name)
        found = verdicts_of(study, declared[name], seen, block_s=block_s, gone=history.drops)
        judged.append((declared[name], found))
    return merged(judged)


def _cuts(arm: Arm, trials: Sequence[TrialRecord]) -> risk.Cuts:
    """The power cuts of an arm's trials; those of a trial that others disturbed are not judged, as on the page."""
    mine = [trial for trial in trials if trial.arm == arm.name and trial.status is not Status.INVALID]
    epochs, damaged = (
        round(sum(trial.responses.get(name) or 0.0 for trial in mine)) for name in (risk.EPOCHS, risk.DAMAGED)
    )
    after = round(sum(trial.responses.get(risk.AFTER, trial.responses.get(risk.EPOCHS)) or 0.0 for trial in mine))
    untried = [count for trial in mine if (count := trial.responses.get(risk.UNTRIED)) is not None]
    return risk.Cuts(len({trial.block for trial in mine}), epochs, damaged, min(untried, default=0.0) == 0.0, after)


def _worded(decision: Decision, line: Written, number: int) -> Written:
    match decision:
        case Stop(reason):
            return replace(line, reason=reason)
        case Drop(arm, reason, _):
            return replace(line, step=Step.DROP, arm=arm.name, reason=reason)
        case RunTrial(block, arm, attempt):
            return replace(line, step=Step.NEXT, arm=arm.name, block=block, attempt=attempt, trial=number)
        case RunBlock(block, arms, attempt):
            names = tuple(arm.name for arm in arms)
            return replace(line, step=Step.BLOCK, arms=names, block=block, attempt=attempt, trial=number)


def _next_number(trials: Sequence[TrialRecord]) -> int:
    return max((trial.number for trial in trials), default=0) + 1


def undone(study: Study, trials: Sequence[TrialRecord], entries: Sequence[Entry]) -> Decision | None:
    """The last decision, if a killed run made it and did not carry it out: it stands. None if there is no such one."""
    entry = next((each for each in reversed(entries) if each.kind in _LAST_WORDS), None)
    if entry is None or entry.kind != Kind.DECISION:
        return None
    written = decision_of(entry)
    if written.step is Step.STOP:
        later = entries[entry.seq :]
        return None if any(each.kind == Kind.EXTENDED for each in later) else Stop(written.reason)
    if written.step is Step.NEXT and written.trial == _next_number(trials):
        arm = next(each for each in study.arms if each.name == written.arm)
        return RunTrial(written.block, arm, written.attempt)
    if written.step is Step.BLOCK and written.trial == _next_number(trials):
        by_name = {each.name: each for each in study.arms}
        return RunBlock(written.block, tuple(by_name[name] for name in written.arms), written.attempt)
    return None


def extension_of(
    study: Study,
    header: RunHeader,
    trials: Sequence[TrialRecord],
    entries: Sequence[Entry],
    more_s: float | None,
    blocks: tuple[int, int] | None,
) -> Extended:
    """How far a run goes on that is given so much more time, or this least and largest number of blocks, or both.

    Raises `UsageError` where no look is planned that far, and where nothing is left to go on with.
    """
    history, fixed = history_of(study, trials, entries), horizon_in(entries)
    horizon = Horizon(*fixed) if fixed else fixed_before(study) if header.rule < FROM_RULE else None
    now = ruled(study, header.rule, fixed, extension_in(entries))
    least, most = blocks or (now.design.blocks_min, now.design.blocks_max)
    last = None if horizon is None else reach(header.rule, horizon)
    if blocks is None and more_s is not None:  # the time ends it, not a number of blocks
        block_s = history.block_s(tuple(arm.name for arm in in_play(study, history)))
        fit = int(more_s / block_s + NEARLY) if block_s > 0.0 else 1
        most = last or max(most, history.block + max(1, fit))
    if last is not None:
        if history.block >= last or (blocks is not None and most > last):
            raise UsageError(
                f"the looks at this run's figures are planned for at most {last} blocks, and {history.block} are done",
                "a later end would make false verdicts more likely than 5 %: run the study anew with a larger --budget"
                if history.block >= last
                else f"name at most {last} blocks",
            )
        most = min(most, last)
    if most <= history.block:
        raise UsageError(f"{history.block} blocks are begun or done already", "name more blocks")
    budget_s = None if more_s is None else round(history.elapsed_s + more_s, 3)
    found = Extended(min(least, most), most, budget_s)
    pending = undone(study, trials, entries)
    if pending is None or isinstance(pending, Stop):
        line = Entry(len(entries) + 1, 0, Kind.EXTENDED, asdict(found))
        decision = decide(study, header, trials, (*entries, line)).decision
        if isinstance(decision, Stop):
            raise UsageError(f"the run has nothing to go on with: {decision.reason}")
    return found


def extension_in(entries: Sequence[Entry]) -> Extension | None:
    """The end that a run was extended to last; None where it was not."""
    found = extended_in(entries)
    return None if found is None else Extension(found.blocks_min, found.blocks_max, found.budget_s)


def rules_of(header: RunHeader, entries: Sequence[Entry]) -> frozenset[int]:
    """Numbers of the rules that decided the run (see `schedule.RULE`): as it began, and each time it was resumed."""
    resumed = (int(entry.data.get("rule", UNKNOWN_RULE)) for entry in entries if entry.kind == Kind.RESUMED)
    return frozenset((header.rule, *resumed))


def _without_words(line: Written) -> Written:
    """With only the kind of its reason: its words follow from all the rest, and a later version may put them better."""
    return replace(line, reason=next((kind for kind in (SETTLED, SET_ASIDE) if line.reason.startswith(kind)), ""))


def disagreements(
    study: Study, header: RunHeader, trials: Sequence[TrialRecord], entries: Sequence[Entry]
) -> tuple[int, ...]:
    """Numbers of the journal lines whose decision is not the one that the record leads to; empty if all agree."""
    found = []
    committed: set[object] = set()
    for position, entry in enumerate(entries):
        if entry.kind == Kind.TRIAL_COMMITTED:
            committed.add(entry.data["number"])
        if entry.kind == Kind.DECISION:
            known = [trial for trial in trials if trial.number in committed]
            again = decide(study, header, known, entries[:position]).written
            if _without_words(again) != _without_words(decision_of(entry)):
                found.append(entry.seq)
    return tuple(found)


def hosts_within_reach(entries: Sequence[Entry]) -> int | None:
    """How many hosts have given blocks or still can, as the head last wrote down; None where none was ever missing."""
    return next((int(each.data["within_reach"]) for each in reversed(entries) if each.kind == Kind.HOSTS), None)


def preparation_s(entries: Sequence[Entry]) -> float:
    """How long making the snapshots took, in seconds; one made again after a pause counts once."""
    return sum(float(each.data["seconds"]) for each in _prepared(entries).values())


def making_s(entries: Sequence[Entry]) -> Mapping[str, float]:
    """By key how long each snapshot took that was made and not found, in seconds."""
    return {key: float(each.data["seconds"]) for key, each in _prepared(entries).items() if each.data.get("made")}


def _prepared(entries: Sequence[Entry]) -> dict[str, Entry]:
    first: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind == Kind.PREPARED:
            first.setdefault(str(entry.data["key"]), entry)
    return first


def history_of(study: Study, trials: Sequence[TrialRecord], entries: Sequence[Entry]) -> History:
    """What has happened so far, as the design needs it, from committed trials and journal lines."""
    lengths: dict[str, list[float]] = {}
    for record in trials:
        lengths.setdefault(record.arm, []).append(record.length_s)
    return History(
        trials=tuple(FinishedTrial(each.block, each.arm, each.attempt, each.status) for each in trials),
        drops={each.arm: each.reason for each in decisions_in(tuple(entries)) if each.step is Step.DROP},
        elapsed_s=sum(sum(each) for each in lengths.values()) + preparation_s(entries),
        planned_s=planned_s(study),
        trial_s={arm: sum(each) / len(each) for arm, each in lengths.items()},
    )


_LINES_LISTED = 5
"""As many lines of a journal are named."""


def replay(path: Path) -> Iterator[Finding]:
    """Decisions that the same design would not make from the same record; nothing for calibrations and imported runs.

    Decisions of another rule cannot be made again, nor those of a study whose factor or load this version does not
    know. Another version may round otherwise, and records without a rule may be of another, so for these a difference
    is a note.
    """
    run = Run.open(path)
    if run.header.study == STUDY or IMPORTED in run.host:
        return
    rules, version = rules_of(run.header, run.journal), run.header.program_version
    known = rules - {UNKNOWN_RULE}
    if known - RULES or len(known) > 1:
        theirs = " and ".join(map(str, sorted(known - {RULE})))
        made = f"pgassay {version} made them with rule {theirs}, this one has rule {RULE}"
        yield _finding(Severity.NOTE, f"its decisions were not replayed: {made}")
        return
    try:
        if unknown := _unknown(run):
            what = f"this version does not know {', '.join(unknown)}"
            yield _finding(Severity.NOTE, f"its decisions were not replayed: {what}")
            return
        study = parse_recorded(run.header.study, run.study, every_factor())
        lines = disagreements(study, run.header, run.trials, run.journal)
    except PgassayError as error:
        yield _finding(Severity.ERROR, f"its decisions could not be replayed: {error.message}")
        return
    if lines and (UNKNOWN_RULE in rules or version != __version__):
        named = ", ".join(map(str, lines[:_LINES_LISTED])) + (" …" if len(lines) > _LINES_LISTED else "")
        why = " before records named the rule of their decisions, which may have changed since"
        yield _finding(
            Severity.NOTE,
            f"{len(lines)} {'decision' if len(lines) == 1 else 'decisions'} (journal line {named}) would be different"
            f" now: pgassay {version} wrote the record{why if UNKNOWN_RULE in rules else ''}",
        )
        return
    for line in lines:
        what = "the decision differs from the one that follows from the study, the seed and the trials before it"
        yield _finding(Severity.ERROR, what, line)


def _finding(severity: Severity, what: str, line: int = 0) -> Finding:
    return Finding(CODE, severity, what, where=f"journal.jsonl line {line}" if line else "journal.jsonl")


def _unknown(run: Run) -> list[str]:
    """Factors, loads and levels of plug-ins that are not installed here, or of earlier versions."""
    study, catalogue = parse_recorded(run.header.study, run.study), every_factor()
    levels = dict.fromkeys((name, level.typed) for arm in study.arms for name, level in study.levels_of(arm).items())
    loads = {each.name for each in drivers.known()}
    names = []
    for name, typed in levels:
        factor = catalogue.find(name)
        if factor is None:
            names.append(name)
        elif name == "load.driver":
            names += [] if typed in loads else [f'the load "{typed}"']
        else:
            try:
                factor.parse(name, typed)
            except UsageError:
                names.append(f"{name}={typed}")
    return list(dict.fromkeys(names))
