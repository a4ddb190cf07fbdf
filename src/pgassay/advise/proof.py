"""Which lines go to the proof, at which level, and the proof: against the start, the default and the rule of thumb.

What the screening has shown stays, the rest is tried in and out. What a search saw is no evidence, so it takes away
nothing that the screening has shown to help. It may choose another level than PostgreSQL's default, or than the one
that was screened: then both are tried along with all other lines.

In the proof, one study of fresh trials, the candidate is also set against itself without each of its lines: backward
elimination by the lab's own verdicts, which hold for all lines together, so that the chance that a setting without any
effect stays is at most that of the family (5 %). What is equivalent goes back to the start, and what is not resolved,
too, unless the screening has shown that the setting helps: that is an experiment by itself, with intervals for all
settings together. Each of both errs to that side for at most one advice in forty, so both together for one in twenty.
Where lines went, the rest is proved in a study of its own.

Two lines of which either one is enough would both go: so the rest is set against the whole, and where it is worse,
those stay that the screening has shown to matter, and it is said that they are missed only together.

Where the default or the rule of thumb does better than what is left, it is taken as a whole, since that is what was
shown, and that is said.
"""

from collections.abc import Collection, Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, replace
from math import log

from pgassay.advise import screening
from pgassay.advise.screening import Screened, Standing
from pgassay.advise.screenings import screened_pairs
from pgassay.advise.smoothing import SURE
from pgassay.advise.space import Configuration, Space, allowed, differing, index_of, is_level, within
from pgassay.advise.task import Compared, Laboratory, Noted, Notify, Task, Values, fitting, ignoring_limits
from pgassay.analysis.verdicts import Kind
from pgassay.errors import UsageError
from pgassay.report.formatting import counted
from pgassay.study.units import canonical


@dataclass(frozen=True)
class Line:
    """A changed setting with what leaving it out does: the configuration without it against that with it."""

    name: str
    value: str
    start: str
    without: Compared | None
    kept: bool
    together: bool = False
    """Was it kept only because all lines that would have gone are missed together?"""
    screened: Screened | None = None
    """What keeps it, where leaving it out alone was not resolved."""
    taken_from: str = ""
    """The default or the rule of thumb, where it came with that, which was shown to do better as a whole."""


def left_out_in_turn(best: Configuration, start: Configuration) -> dict[str, Configuration]:
    """The configuration without each of its changes, by the setting's name."""
    return {name: Configuration({**best.values, name: start.values[name]}) for name in best.changes_from(start)}


def judged(best: Configuration, start: Configuration, compared: Mapping[Configuration, Compared]) -> tuple[Line, ...]:
    """Each change of `best` with its verdict, those that stay first."""
    lines = []
    for name, without in left_out_in_turn(best, start).items():
        found = compared.get(without)
        lines.append(Line(name, best.values[name], start.values[name], found, worse(found)))
    return tuple(sorted(lines, key=lambda each: not each.kept))


def shown_to_help(space: Space, screened: Screened, value: str, *, higher: bool) -> bool:
    """Has the screening shown that this level helps? It has of its far level, and so of what is on the way there."""
    if screened.standing is not Standing.ACTIVE or (screened.effect > 1) != higher:
        return False
    if canonical(value) == canonical(screened.far):
        return True
    dimension = space.dimension(screened.name)
    if not all(is_level(dimension.levels, each) for each in (screened.start, screened.far, value)):
        return False
    start, far, here = (index_of(dimension.levels, each) for each in (screened.start, screened.far, value))
    return dimension.ordered and min(start, far) < here < max(start, far)


def supported(lines: tuple[Line, ...], screened: Iterable[Screened], space: Space, *, higher: bool) -> tuple[Line, ...]:
    """The lines, those kept that were not resolved and of which the screening has shown that they help."""
    shown = {each.name: each for each in screened}
    found = []
    for line in lines:
        open_ = line.without is not None and line.without.verdict.kind is Kind.UNRESOLVED
        seen = shown.get(line.name) if open_ else None
        helps = seen is not None and shown_to_help(space, seen, line.value, higher=higher)
        found.append(replace(line, kept=True, screened=seen) if helps else line)
    return tuple(sorted(found, key=lambda each: not each.kept))


def kept_together(lines: tuple[Line, ...], shown: Collection[str]) -> tuple[Line, ...]:
    """The lines, those of `shown` settings that went by themselves kept as a group."""
    found = (
        replace(each, kept=True, together=True) if not each.kept and each.name in shown else each for each in lines
    )
    return tuple(sorted(found, key=lambda each: not each.kept))


def reduced(start: Configuration, lines: tuple[Line, ...]) -> Configuration:
    return start.with_values({each.name: each.value for each in lines if each.kept})


IDLE = 0.5
"""A line of which less than this share of the margin is expected is not put to the proof, unless it is shown to help;
and a level that gains less than this over the default is not worth a line of its own."""
_PAIRS_A_LINE = 12
"""Of the trials of lines in and out at most: one or two lines take a run of the lab for each pair."""


@dataclass(frozen=True)
class Level:
    """A line for which the search chose another level than the usual one, and which of both was taken."""

    name: str
    usual: str
    """PostgreSQL's default, or else the level that was screened: shown to help."""
    chosen: str
    taken: str
    found: Screened | None
    """From the usual level to the chosen one, along with the other lines; None where that was not measured."""


def shown(task: Task, best: Configuration, screened: Sequence[Screened]) -> dict[str, Screened]:
    """What has shown that a line of `best` helps at its level, by setting."""
    lines = best.changes_from(task.space.start)
    return {each.name: each for each in screened if each.name in lines and helps(task, each, lines[each.name])}


def helps(task: Task, found: Screened, value: str) -> bool:
    return shown_to_help(task.space, found, value, higher=task.more[found.objective])


def completed(task: Task, best: Configuration, screened: Sequence[Screened]) -> Configuration:
    """The configuration with a line for each setting that the screening has shown to help and that it leaves alone.

    Without them where it would not fit the machine's limits.
    """
    lines = best.changes_from(task.space.start)
    missing = [each for each in screened if each.name not in lines and helps(task, each, each.far)]
    found = best.with_values({each.name: _usual(task, each) or each.far for each in missing})
    return found if allowed(found, task.limits) else best


def contested(task: Task, best: Configuration, screened: Sequence[Screened]) -> dict[str, str]:
    """The usual level of each line that the screening has shown to help, and that the search set to another one."""
    lines = best.changes_from(task.space.start)
    usual = {each.name: _usual(task, each) for each in screened if each.name in lines and helps(task, each, each.far)}
    usual |= {
        each.name: each.far
        for each in screened
        if each.name in usual and usual[each.name] is None and not helps(task, each, lines[each.name])
    }
    return {
        name: level for name, level in usual.items() if level is not None and canonical(level) != canonical(lines[name])
    }


def _usual(task: Task, found: Screened) -> str | None:
    """PostgreSQL's default, where it is a level of which the screening has shown that it helps."""
    dimension = task.space.dimension(found.name)
    default = dimension.setting.default
    return default if is_level(dimension.levels, default) and helps(task, found, default) else None


def in_and_out(
    task: Task,
    best: Configuration,
    screened: Sequence[Screened],
    laboratory: Laboratory,
    notify: Notify,
    noted: MutableSequence[Noted] | None = None,
) -> tuple[tuple[Screened, ...], float]:
    """What the lines do that the screening has not shown to help, and levels against the usual ones; and seconds.

    Each line is in or out, and each level the one or the other, along with all that the screening has shown. What may
    not be tried is `noted`.
    """
    levels = contested(task, best, screened)
    known = shown(task, best, screened)
    unshown = [name for name in best.changes_from(task.space.start) if name not in known and name not in levels]
    names = [*unshown, *levels]
    if not names:
        return (), 0.0
    what = []
    if unshown:
        what.append(
            f"{counted(len(unshown), 'line')} in and out that no trial has shown to help yet: {', '.join(unshown)}"
        )
    what += [f"{name} = {best.values[name]} along with {usual}" for name, usual in levels.items()]
    notify(f"trying {'; '.join(what)}")
    out = task.space.start.with_values(levels)
    trial_s = task.trial_s(names)
    most = min(int(task.amounts.lines_s / trial_s / 2) if trial_s else 0, _PAIRS_A_LINE * len(names))
    plan = screening.plan_of_lines(out, best, names, task.seed, most)
    return _measured(task, plan, laboratory, noted)


def _measured(
    task: Task,
    plan: screening.Plan,
    laboratory: Laboratory,
    noted: MutableSequence[Noted] | None,
) -> tuple[tuple[Screened, ...], float]:
    """What the pairs of a plan say, and their seconds; what may not be tried is `noted`."""
    spent_s = 0.0

    def measure(name: str, wanted: Sequence[Configuration], seed: int) -> Values:
        nonlocal spent_s
        tried = fitting(wanted, task.limits, noted)
        if len(tried) < 2:
            return {}
        spent_s += len(tried) * task.trial_s(differing(tried[0], tried))
        return ignoring_limits(laboratory)(name, tried[0], tried[1:], seed)

    values = screened_pairs(task, plan, measure, "lines", 300)
    try:
        return screening.effects(plan, screening.of_objective(values, 0), margin=task.margin), spent_s
    except UsageError:  # too many of them failed: nothing is shown
        return (), spent_s


def levels_of(
    task: Task, best: Configuration, screened: Sequence[Screened], tried: Sequence[Screened]
) -> tuple[Level, ...]:
    """Which level is taken of each line that has two.

    The search's, where the trials along with each other let expect more of it than half of the margin; of a level about
    which the screening says nothing they must have shown it. Else the usual one.
    """
    found = {each.name: each for each in tried}
    by_name = {each.name: each for each in screened}
    levels = []
    for name, usual in contested(task, best, screened).items():
        chosen, said = best.values[name], found.get(name)
        gain = 0.0 if said is None else log(said.effect) * (1 if task.higher else -1)
        surely = said is not None and said.standing is Standing.ACTIVE
        better = gain > IDLE * log(1 + task.margin) and (surely or helps(task, by_name[name], chosen))
        levels.append(Level(name, usual, chosen, chosen if better else usual, said))
    return tuple(levels)


def earned(
    task: Task, best: Configuration, screened: Sequence[Screened], tried: Sequence[Screened], levels: Sequence[Level]
) -> tuple[Configuration, tuple[Screened, ...]]:
    """The start with the lines of which trials have shown that they help, each at its level, and what shows it."""
    settled = best.with_values({each.name: each.taken for each in levels})
    two = {each.name for each in levels}
    found = shown(task, settled, [*(each for each in tried if each.name not in two), *screened])
    found = {**shown(task, settled, [each for each in tried if each.name in two]), **found}
    lines = settled.changes_from(task.space.start)
    return task.space.start.with_values({name: lines[name] for name in found}), tuple(found.values())


def unproven(
    best: Configuration, kept: Configuration, start: Configuration, tried: Sequence[Screened], levels: Collection[str]
) -> tuple[Line, ...]:
    """The lines of `best` that nothing has shown to help, with what the trials of lines in and out said of them."""
    said: Mapping[str, Screened] = {each.name: each for each in tried}
    return tuple(
        Line(name, value, start.values[name], None, False, screened=said.get(name))
        for name, value in best.changes_from(kept).items()
        if name not in levels
    )


CONFIRMATION = "confirmation"
"""The name of the study that proves a candidate, line by line."""
AGAIN = "confirmation-of-the-rest"
"""The same of what is left where lines went."""
_REDUCTION = "reduction"
"""The study that sees whether lines that went are missed together."""
START, DEFAULT, RULE = "start", "default", "rule of thumb"
_FIRST = 0.7
"""Of the time beyond the least: the rest is for what is left when lines have gone."""


_CONFIRMS = "confirming what is left against the start, the default and the rule of thumb"


@dataclass(frozen=True)
class Proved:
    """What the proof left of a candidate. `study` is the one that says so."""

    lines: tuple[Line, ...]
    final: Configuration | None
    proof: Mapping[str, Compared]
    """The start, the default and the rule of thumb against `final`."""
    chosen: Compared | None
    """The start against the candidate."""
    study: str = CONFIRMATION


def proved(
    task: Task,
    candidate: Configuration,
    shown: Sequence[Screened],
    laboratory: Laboratory,
    notify: Notify,
    total_s: float,
) -> Proved:
    """The candidate's proof; `shown` is what shows that its lines help.

    It takes `total_s`; what the rest does not need is nobody's.
    """
    start, others = task.space.start, [*references(task).values()]
    least_s = min(total_s, task.amounts.least.confirmation_s)
    first_s = least_s + _FIRST * (total_s - least_s)
    alone = left_out_in_turn(candidate, start)
    each = f", and without each of its {len(alone)} lines" if len(alone) > 1 else ""
    notify(f"{_CONFIRMS}{each}")
    arms = [each for each in dict.fromkeys([*others, *alone.values()]) if each != candidate]
    compared = laboratory.study(CONFIRMATION, candidate, arms, task.seed + 3, first_s)
    lines = supported(judged(candidate, start, compared), shown, task.space, higher=task.higher)
    lines = _minimal(task, candidate, lines, compared.get(start), [each.name for each in shown], laboratory)
    final, chosen = reduced(start, lines), compared.get(start)
    if final == start:
        return Proved(lines, None, {}, chosen)
    if final != candidate:
        notify(_CONFIRMS)
        arms = [each for each in dict.fromkeys(others) if each != final]
        compared = laboratory.study(AGAIN, final, arms, task.seed + 8, total_s - first_s)
    proof = {name: compared[each] for name, each in references(task).items() if each in compared}
    return Proved(lines, final, proof, chosen, CONFIRMATION if final == candidate else AGAIN)


def references(task: Task) -> dict[str, Configuration]:
    usual = within(task.space.dimensions, task.space.rule_of_thumb, task.limits)
    return {START: task.space.start, DEFAULT: task.space.default, RULE: usual}


def worse(found: Compared | None) -> bool:
    return found is not None and found.verdict.kind in (Kind.WORSE, Kind.FAILED)


def _minimal(
    task: Task,
    best: Configuration,
    lines: tuple[Line, ...],
    whole: Compared | None,
    shown: Sequence[str],
    laboratory: Laboratory,
) -> tuple[Line, ...]:
    """The lines, those that went and that are `shown` to matter put back where all of them together are missed.

    A line that nothing shows stays out, whatever the `whole` is worth.
    """
    rest = reduced(task.space.start, lines)
    if rest == best or sum(not each.kept for each in lines) < 2:
        return lines
    missed = (
        whole if rest == task.space.start else laboratory.study(_REDUCTION, best, [rest], task.seed + 4, 0.0).get(rest)
    )
    return kept_together(lines, shown) if worse(missed) else lines


TAKEN = "confirmation-of-what-did-better"
"""The study of the default or the rule of thumb, where that was shown to do better than what was left."""


@dataclass(frozen=True)
class Outdone:
    """The default or the rule of thumb was shown to do better than what was left of the search's lines."""

    by: str
    found: Compared
    """What was left of them against what did better, in fresh trials."""


def answered(
    task: Task, before: Proved, laboratory: Laboratory, notify: Notify, given_s: float
) -> tuple[Proved, Outdone | None]:
    """What the proof left; or the default or the rule of thumb, where it is shown to do better by more than the margin.

    Where it does better by no more than the margin it is not taken: that much does not matter. `given_s` is what
    search and proof left to the proof; what it has not used is for the proof of what does better.
    """
    more = 1 + task.margin
    better = {
        name: each
        for name, each in before.proof.items()
        if name != START
        and each.verdict.kind is Kind.BETTER
        and (each.effect.estimate > more if task.higher else each.effect.estimate * more < 1)
    }
    takeover_s, left = task.amounts.takeover_s, before.final
    if left is None or not takeover_s or not better or not worse(before.proof.get(START)):
        return before, None
    name = max(better, key=lambda each: better[each].effect.estimate * (1 if task.higher else -1))
    others = references(task)
    taken, start = others[name], others[START]
    used_s = sum(map(laboratory.spent_s, (CONFIRMATION, AGAIN, _REDUCTION)))
    notify(f"confirming the {name}, which was shown to do better than what was left")
    arms = [each for each in dict.fromkeys([*others.values(), left]) if each != taken]
    compared = laboratory.study(TAKEN, taken, arms, task.seed + 9, max(given_s + takeover_s - used_s, takeover_s))
    if not worse(compared.get(start)) or left not in compared:
        return before, None
    if compared[left].verdict.kind in (Kind.BETTER, Kind.EQUIVALENT):
        return before, None
    kept = [all(each.probability >= SURE for each in laboratory.kept(study)) for study in (before.study, TAKEN)]
    if kept == [True, False]:
        return before, None
    proof = {each: compared[one] for each, one in others.items() if one in compared}
    lines = _whole(before.lines, taken, start, name)
    return replace(before, lines=lines, final=taken, proof=proof, study=TAKEN), Outdone(name, compared[left])


def _whole(before: Sequence[Line], taken: Configuration, start: Configuration, name: str) -> tuple[Line, ...]:
    """The lines of what did better: those that were left where they are the same, the others named after it."""
    mine, known = taken.changes_from(start), {each.name: each for each in before}
    kept = tuple(
        known[each]
        if each in known and known[each].kept and canonical(known[each].value) == canonical(value)
        else Line(each, value, start.values[each], None, True, taken_from=name)
        for each, value in mine.items()
    )
    return (*kept, *(replace(each, kept=False) for each in before if each.name not in mine))
