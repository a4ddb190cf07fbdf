"""An advice in words: lines with reasons and intervals, what they risk, what does not matter, how it was found.

Numbers are the confirmation's, never the search's; what the search saw stands beside it, so that the shrinkage is seen.
"""

from collections.abc import Iterator, Sequence
from math import exp, isfinite
from typing import Any

from pgassay.advise import drift, failures, robust
from pgassay.advise.elimination import Line, inverted, shown_to_help
from pgassay.advise.knowledge import Risk, Setting, known_settings
from pgassay.advise.lines import Level
from pgassay.advise.screening import LINES, Screened, Standing
from pgassay.advise.takeover import Apart, Outdone
from pgassay.advise.task import Task
from pgassay.advise.walk import Advice
from pgassay.analysis.verdicts import Kind
from pgassay.report.words import counted, duration, number, ratio_interval

_OTHERS = ("default", "rule of thumb")
"""What an advice is confirmed against, beside the start."""


def auto_conf(task: Task, advice: Advice, objective: str) -> str:
    """The lines for postgresql.auto.conf, each under its reason; a comment alone where nothing was confirmed."""
    if not advice.confirmed:
        return "# pgassay advise: no change was confirmed to help\n"
    told = []
    for line in advice.lines:
        if line.kept:
            setting = setting_in(task, line.name)
            told.append(f"# {gain(line, objective)}; {setting.reason}; takes effect by {setting.apply}")
            told.append(setting.line(line.value))
    return "\n".join(told) + "\n"


def render(task: Task, advice: Advice, objective: str, folder: str) -> str:
    """All of it, for a terminal."""
    return "\n".join(_sentences(task, advice, objective, folder)) + "\n"


def _sentences(task: Task, advice: Advice, objective: str, folder: str) -> Iterator[str]:
    yield headline(advice, objective)
    yield ""
    yield auto_conf(task, advice, objective).rstrip("\n")
    yield ""
    yield from proof_sentences(task, advice, objective)
    placebos = [each for each in advice.known if each.standing is Standing.PLACEBO]
    count = counted(len(placebos), "setting")
    yield f"do not matter within ±{100 * task.margin:.3g} % from start to far level: {count}"
    yield from (f"  {screened_words(each)}" for each in placebos)
    open_ = [each for each in advice.known if each.standing is Standing.OPEN]
    if open_:
        yield f"not told apart from no effect, nor shown to have none: {', '.join(each.name for each in open_)}"
    active = [each for each in advice.known if each.standing is Standing.ACTIVE]
    if active:
        yield "matter:"
        yield from (f"  {screened_words(each)}" for each in active)
    yield f"searched: {counted(advice.trials, 'configuration')}; {counted(advice.failed, 'trial')} without a result"
    yield from failures.sentences(advice.refused)
    if task.space.left_out:
        yield f"not tried: {', '.join(task.space.left_out)} (pgassay advise --explain NAME says why)"
    yield f"record: {folder}"


def proof_sentences(task: Task, advice: Advice, objective: str) -> Iterator[str]:
    """What the fresh trials showed beside the headline, what the lines risk, and which lines went."""
    yield from task.remarks
    for name in _OTHERS:
        if advice.confirmed and name in advice.proof:
            found = advice.proof[name]
            failed = f"it fails: {found.verdict.text}" if found.verdict.kind is Kind.FAILED else ""
            yield f"against the {name}: {failed or f'{objective} {ratio_interval(*inverted(found))}'}"
    if advice.chosen is not None and advice.searched is not None:
        seen = advice.searched if task.higher else -advice.searched
        told = ratio_interval(*inverted(advice.chosen))
        yield f"shrinkage: the search expected ×{number(exp(seen))} over the start; fresh trials of it found {told}"
    for each in advice.kept:
        yield f"limit {each.limit}: a further trial of what is left keeps it: {chance(each.probability)}"
    if advice.confirmed:
        yield from robust.sentences(advice.robust, objective)
    risks = [
        f"{line.name}: {setting_in(task, line.name).risks}" for line in advice.lines if line.kept and _risky(task, line)
    ]
    if advice.confirmed:
        yield f"risks: {'; '.join(risks) if risks else 'none of these lines trades durability'}"
    yield from map(level_words, advice.levels)
    if advice.confirmed and advice.outdone:
        by = advice.outdone
        told = ratio_interval(*inverted(by.found))
        yield (
            f"the {by.by} was shown to do better than the lines of the search, and was taken: {told} against them;"
            f" {_apart(by, sum(each.kept for each in advice.lines))}"
        )
    yield from _removed(task, advice)
    if advice.idle:
        told = ", ".join(f"{name} = {value}" for name, value in advice.idle.items())
        yield f"left out before the proof, since next to nothing was expected of it: {told}"
    yield from drift.sentences({objective: advice.starts})


def _apart(outdone: Outdone, kept: int) -> str:
    """What came of its lines."""
    if outdone.apart is Apart.DONE:
        return f"of its {counted(outdone.lines, 'line')} {kept} {'is' if kept == 1 else 'are'} left, {outdone.apart}"
    return outdone.apart


def _removed(task: Task, advice: Advice) -> Iterator[str]:
    """The lines that went: those that nothing showed to help, and those that do not beside the others."""
    screened = {each.name: each for each in advice.screened}
    nothing: list[str] = []
    beside: dict[str, list[str]] = {}
    for line in advice.lines:
        if not line.kept:
            found = screened.get(line.name)
            shown = found and shown_to_help(task.space, found, line.value, higher=task.higher)
            told = beside.setdefault(where(found), []) if found and shown else nothing
            told.append(f"{line.name} = {line.value} ({without(line)})")
    if nothing:
        yield f"tried and removed, nothing showed that it helps: {', '.join(nothing)}"
    for place, lines in beside.items():
        yield f"removed, since it helps {place} and not beside the other lines: {', '.join(lines)}"


def where(screened: Screened) -> str:
    """Which part of the screening an effect is of."""
    return f"in the screening beside {screened.beside}" if screened.beside else "over all of the screening"


def by_screening(line: Line) -> bool:
    """Is it kept by what the screening has shown of it, and not by trials of lines in and out?"""
    return line.kept and line.screened is not None and line.screened.beside != LINES


def level_words(level: Level) -> str:
    """Which level of a line was taken, and why."""
    other = level.chosen if level.taken == level.usual else level.usual
    said = "not measured"
    if level.found:
        said = ratio_interval(level.found.effect, level.found.low, level.found.high)
    return (
        f"{level.name} = {level.taken} and not {other}: beside the other lines {level.usual} to {level.chosen} {said}"
    )


def headline(advice: Advice, objective: str) -> str:
    """The answer in one sentence."""
    if advice.best is None:
        return "nothing to change: no setting of this space was shown to matter for this load"
    if not advice.confirmed:
        found = advice.proof.get("start") or advice.chosen
        if found is None:
            return "no change was confirmed to help"
        what = "all lines of the search together" if advice.recommended is None else "what was left of the lines"
        more = "; a longer --budget may resolve it" if found.verdict.kind is Kind.UNRESOLVED else ""
        seen = ratio_interval(*inverted(found))
        if advice.helps:
            told = ", ".join(f"{each.limit} ({chance(each.probability)})" for each in advice.kept)
            return f"no change is advised: {what} made {objective} {seen} against the start, and may not keep {told}"
        return f"no change was confirmed to help: {what} made {objective} {seen} against the start{more}"
    kept = sum(each.kept for each in advice.lines)
    told = f"{counted(kept, 'line')}: {objective} {ratio_interval(*inverted(advice.proof['start']))} against the start"
    faster = [each for each in _OTHERS if each in advice.proof and advice.proof[each].verdict.kind is Kind.BETTER]
    return f"{told}; the {' and the '.join(faster)} did better still" if faster else told


def _in_turns(task: Task) -> str:
    return f" ({counted(len(task.turned), 'setting')} by servers in turns)" if task.turned else ""


def plan(task: Task, objectives: Sequence[str]) -> str:
    """What would be tried, and how the budget is spent."""
    steps, names = task.amounts, [each.name for each in task.space.dimensions]
    proof = (
        f" at most {duration(steps.lines_s)} of lines in and out and {duration(steps.confirmation_s)} of confirmation"
    )
    if len(objectives) > 1:
        proof = (
            f" {counted(steps.finalists, 'point')} of the front in a confirmation of at most"
            f" {counted(steps.blocks, 'block')}, fewer where lines are left out in it"
        )
    told = [
        f"advice for {' and '.join(objectives)}: {counted(len(names), 'setting')}: {', '.join(names)}",
        f"screening of {2 * steps.screening_pairs} configurations{_in_turns(task)}, a search in {steps.batches}"
        f" batches,{proof}",
        *(() if len(objectives) > 1 else (robust.planned(task.conditions, steps.robust_s),)),
        f"at least {duration(steps.needed_s)}; seed {task.seed}",
    ]
    told += task.remarks
    told += [f"not tried: {name}: {why}" for name, why in task.space.left_out.items()]
    told += [f"longer windows would try {'; '.join(each.text for each in task.longer)}"] if task.longer else []
    return "\n".join(told) + "\n"


def values(task: Task, advice: Advice, objective: str, folder: str) -> dict[str, Any]:
    """The same for scripts, numbers unrounded."""
    return {
        "format": 1,
        "objective": objective,
        "confirmed": advice.confirmed,
        "settings": {each.name: each.value for each in advice.lines if each.kept} if advice.confirmed else {},
        "lines": [
            {
                "name": each.name, "value": each.value, "start": each.start, "kept": each.kept,
                "together": each.together, "taken_from": each.taken_from or None, "screened": by_screening(each),
                "without": robust.compared_values(each.without) if each.without else None,
            }
            for each in advice.lines
        ],
        "proof": {name: robust.compared_values(found) for name, found in advice.proof.items()},
        "limits": [{"limit": each.limit, "probability": each.probability} for each in advice.kept],
        "robust": robust.values(advice.robust),
        "shrinkage": {
            "searched": exp(advice.searched if task.higher else -advice.searched) if advice.searched else None,
            "chosen": robust.compared_values(advice.chosen) if advice.chosen else None,
        },
        "screened": [screened_values(each) for each in advice.screened],
        "levels": [
            {"name": each.name, "usual": each.usual, "chosen": each.chosen, "taken": each.taken}
            for each in advice.levels
        ],
        "outdone_by": advice.outdone.by if advice.outdone else None,
        "outdone_lines": advice.outdone.apart.name if advice.outdone else None,
        "taken_in_and_out": [screened_values(each) for each in advice.taken_in_and_out],
        "in_and_out": [screened_values(each) for each in advice.in_and_out],
        "refused": failures.values(advice.refused),
        "drift": drift.values({objective: advice.starts}),
        "known": [{**screened_values(each), "beside_lines": each.beside == LINES} for each in advice.known],
        "left_out": dict(task.space.left_out),
        "start": dict(task.space.start.values),
        "study": advice.study if advice.proof else None,
        "record": folder,
    }  # fmt: skip


def screened_values(each: Screened) -> dict[str, Any]:
    """An effect of a screening for scripts."""
    return {
        "name": each.name, "start": each.start, "far": each.far, "effect": each.effect, "low": each.low,
        "high": each.high, "standing": each.standing.value, "beside": each.beside or None,
    }  # fmt: skip


def chance(probability: float) -> str:
    """A probability as a reader sees it; never quite none or all."""
    if not isfinite(probability):
        return "not known"
    return "> 99 %" if probability > 0.99 else "< 1 %" if probability < 0.01 else f"{100 * probability:.0f} %"


def setting_in(task: Task, name: str) -> Setting:
    """What is known of a setting, by the space or else by us."""
    own = {each.name: each.setting for each in task.space.dimensions}
    return own[name] if name in own else known_settings()[name]


def _risky(task: Task, line: Line) -> bool:
    return setting_in(task, line.name).risk is not Risk.SAFE


def gain(line: Line, objective: str) -> str:
    """What a line earns: the configuration with it against that without it."""
    if line.taken_from:
        said = "not tried by itself"
        if line.screened:
            found = line.screened
            said = f"in and out beside its other lines {ratio_interval(found.effect, found.low, found.high)}"
        return f"a line of the {line.taken_from}, which was shown to do better as a whole; {said}"
    if line.screened:
        return f"{shown_by(line.screened)}; in the confirmation {without(line)}"
    if line.together:
        return f"kept with the other lines that are missed only together; alone {without(line)}"
    if line.without is None or line.without.verdict.kind is Kind.FAILED:
        return "without it the server fails"
    return f"{objective} {ratio_interval(*inverted(line.without))} with it"


def shown_by(each: Screened) -> str:
    """What shows that a line helps, beside the confirmation."""
    what = "in and out beside the other lines" if each.beside == LINES else "by the screening"
    return f"shown {what} ({screened_words(each)})"


def without(line: Line) -> str:
    """What leaving a line out did, or what its trials in and out say where nothing showed that it helps."""
    if line.without is None and line.screened is not None:
        return f"in and out: {ratio_interval(line.screened.effect, line.screened.low, line.screened.high)}"
    if line.without is None:
        return "not measured"
    effect = line.without.effect
    return f"without it {ratio_interval(effect.estimate, effect.low, effect.high)}, {line.without.verdict.kind}"


def screened_words(each: Screened) -> str:
    """A screened setting with its effect."""
    where = f" beside {each.beside}" if each.beside else ""
    return f"{each.name} {each.start} to {each.far}{where}: {ratio_interval(each.effect, each.low, each.high)}"
