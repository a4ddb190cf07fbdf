"""Which lines go to the proof, and at which level: what the screening has shown stays, the rest is tried in and out.

What a search saw is no evidence, so it takes away nothing that the screening has shown to help. It may choose another
level than PostgreSQL's default, or than the one that was screened: then both are tried along with all other lines.
"""

from collections.abc import Collection, Mapping, MutableSequence, Sequence
from dataclasses import dataclass
from math import log

from pgassay.advise import screening
from pgassay.advise.elimination import Line, shown_to_help
from pgassay.advise.screening import Screened, Standing
from pgassay.advise.screenings import screened_pairs
from pgassay.advise.space import Configuration, allowed, differing, is_level
from pgassay.advise.task import Laboratory, Noted, Task, Tell, Values, fitting, whatever_is_kept
from pgassay.errors import UsageError
from pgassay.report.formatting import counted
from pgassay.study.units import canonical

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
    tell: Tell,
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
    tell(f"trying {'; '.join(what)}")
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
        return whatever_is_kept(laboratory)(name, tried[0], tried[1:], seed)

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


def unearned(
    best: Configuration, kept: Configuration, start: Configuration, tried: Sequence[Screened], levels: Collection[str]
) -> tuple[Line, ...]:
    """The lines of `best` that nothing has shown to help, with what the trials of lines in and out said of them."""
    said: Mapping[str, Screened] = {each.name: each for each in tried}
    return tuple(
        Line(name, value, start.values[name], None, False, screened=said.get(name))
        for name, value in best.changes_from(kept).items()
        if name not in levels
    )
