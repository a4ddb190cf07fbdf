"""Every message of `pgassay advise`: what cannot be searched, and what it would need."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from pgassay.errors import PgassayError, UsageError, did_you_mean
from pgassay.report.words import counted
from pgassay.study.units import format_size


def _nearest(word: str, known: Iterable[str]) -> str | None:
    names = sorted(known)
    return did_you_mean(word, names, f"there are: {', '.join(names)}")


def unknown_key(setting: str, key: str, known: Iterable[str]) -> UsageError:
    """A key of a setting's table that means nothing."""
    return UsageError(f'the space says "{key}" of {setting}, which means nothing', _nearest(key, known))


def unknown_word(setting: str, key: str, word: str, known: Iterable[str]) -> UsageError:
    """A word that is none of those that a key takes."""
    return UsageError(f'{key} of {setting} cannot be "{word}"', f"give one of: {', '.join(known)}")


def bad_step(setting: str, step: object) -> UsageError:
    """A step that leads nowhere."""
    return UsageError(
        f"step of {setting} cannot be {step}", "a log scale takes a factor above 1, a linear one more than 0"
    )


def bad_nodes(setting: str, nodes: object) -> UsageError:
    """How often a query takes something."""
    return UsageError(f"nodes of {setting} cannot be {nodes}", "give how many sorts and hashes a query has at a time")


def no_default(setting: str, known: Iterable[str]) -> UsageError:
    """A setting that neither our knowledge nor this PostgreSQL describes, without the default that it needs."""
    return UsageError(
        f'"{setting}" is not a setting that pgassay or this PostgreSQL describes',
        did_you_mean(setting, sorted(known), f'give its default in the space: [{setting}] default = "…"'),
    )


def outside(setting: str, level: str, limits: str) -> UsageError:
    """A level that this PostgreSQL would refuse."""
    return UsageError(f'{setting} cannot be "{level}"', f"this PostgreSQL takes {limits}")


def not_to_be_set(setting: str, context: str) -> UsageError:
    """A setting that is fixed when PostgreSQL is built or a cluster is made."""
    return UsageError(f"{setting} cannot be tried: PostgreSQL calls it {context}", "leave it out of the space")


def no_scale(setting: str) -> UsageError:
    """Bounds without a scale."""
    return UsageError(f"{setting} has bounds and no scale", 'give scale = "log" or "linear", or list its levels')


def levels_no_list(setting: str) -> UsageError:
    """Levels that are no list."""
    return UsageError(f"levels of {setting} must be a list", 'for example levels = ["on", "off"]')


def bad_amount(setting: str, text: str) -> UsageError:
    """A bound that is no quantity."""
    return UsageError(
        f'"{text}" is no amount for {setting}', 'give a quantity (64MB, 200ms, 4), "25% of memory" or "2 per core"'
    )


def empty_range(setting: str, low: str, high: str) -> UsageError:
    """Bounds the wrong way round."""
    return UsageError(f"{setting} has no level between {low} and {high}", "give a low that is not above high")


def one_point(fixed: Sequence[str], left_out: Mapping[str, str]) -> UsageError:
    """Nothing to choose from."""
    told = [f"{', '.join(fixed)} can only be what they are"] if fixed else []
    told += [f"{name}: {why}" for name, why in left_out.items()]
    held = f": {'; '.join(told)}" if told else ""
    return UsageError(f"the space has one point{held}", "give at least one setting two levels or more")


def short_window(needed_s: float, window_s: float) -> str:
    """Why a setting is not tried: no trial is long enough to show its effect."""
    return f"its effect takes windows of {needed_s:g} s, and these are {window_s:g} s"


def with_longer_windows(names: Iterable[str], options: str) -> str:
    """Which settings other options would try."""
    return f"{', '.join(names)} with {options}"


def unknown_setting(name: str, known: Iterable[str]) -> UsageError:
    """A name for which there is no knowledge."""
    return UsageError(f'pgassay advise knows no setting "{name}"', _nearest(name, known))


def unknown_factor(name: str, known: Iterable[str]) -> UsageError:
    """A name of a namespace of ours that nothing applies."""
    return UsageError(f'there is no factor "{name}" to try', _nearest(name, known))


def held(name: str) -> str:
    """Why something is not tried: the command line holds it at one level."""
    return f"--set holds {name} in every trial"


def set_by(name: str) -> str:
    """Why a setting is not tried: a factor sets it."""
    return f"{name} sets it"


def no_huge_pages(factor: str, *, root: bool) -> str:
    """Why huge_pages is not tried: both of its levels are the same here."""
    instead = f"the lab reserves some with --only {factor},… or in a --space" if root else "only root may reserve some"
    return f"no huge pages are available on this machine, so that try and off are the same; {instead}"


def contradiction(why: str) -> UsageError:
    """No configuration of the space satisfies a constraint."""
    return UsageError(
        f"no configuration of the space can be run: {why}", "lower what it names, in the space or in the start"
    )


def too_much_memory(wanted_bytes: int, limit_bytes: int, parts: Sequence[tuple[str, int]]) -> str:
    """Why a configuration is not run: memory."""
    largest = ", ".join(f"{name} {format_size(size)}" for name, size in sorted(parts, key=lambda each: -each[1])[:3])
    wanted, limit = format_size(wanted_bytes), format_size(limit_bytes)
    return f"it may take {wanted} of memory, and at most {limit} may be taken ({largest})"


def above(lower: str, low: str, upper: str, high: str) -> str:
    """Why a configuration is not run: one setting is limited by another."""
    return f"{lower} = {low} is above {upper} = {high}"


def too_few_connections(given: str, needed: int) -> str:
    """Why a configuration is not run: the load's clients."""
    return f"max_connections = {given} leaves no room for the load, which needs {needed}"


def screening_failed(lost: int, pairs: int) -> UsageError:
    """Too few trials of the screening worked."""
    return UsageError(
        f"the screening tells nothing: {lost} of its {pairs} trials have no result",
        "see the reasons in its runs; narrow the space with --space, so that its far levels can be run",
    )


def refused(changes: Mapping[str, str], why: str) -> str:
    """A configuration that is not tried, by what it changes."""
    return f"left out, since it is refused: {', '.join(f'{name} = {each}' for name, each in changes.items())}: {why}"


def all_refused(reasons: Iterable[str]) -> UsageError:
    """Nothing is left to confirm."""
    return UsageError(
        f"every point of the front is refused: {'; '.join(sorted(set(reasons)))}",
        "narrow the space with --space, so that its levels can be run",
    )


def too_small_budget(budget_s: float, needed_s: float, settings: int, trial_s: float) -> UsageError:
    """Not enough time to prove anything."""
    return UsageError(
        f"a budget of {_minutes(budget_s)} is too small: {counted(settings, 'setting')}"
        f" {'needs' if settings == 1 else 'need'} at least {_minutes(needed_s)}",
        f"a trial takes about {trial_s:.3g} s: give a larger --budget, fewer settings with --only, or a shorter -T",
    )


def _minutes(seconds: float) -> str:
    return f"{ceil(seconds / 60)} min"


def unmeasured(response: str, known: Iterable[str], brought_by: str = "") -> UsageError:
    """An objective that no load and no probe gives; `brought_by` are the options with which something would."""
    hint = f"it is measured with {brought_by}" if brought_by else _nearest(response, known)
    return UsageError(f'nothing measures "{response}" under this load', hint)


def silent_drive(said: str, brought_by: str) -> UsageError:
    """An objective that a drive counts, and not this one; `said` names both, `brought_by` a drive that would."""
    return UsageError(said, f"an emulated drive counts everything: {brought_by}")


def no_value(objective: str, run: str) -> UsageError:
    """An objective that no trial could tell."""
    return UsageError(
        f"no trial of {run} has a value of {objective}, so nothing can be found by it",
        "see why in its report, and give another --for",
    )


def no_direction(response: str) -> UsageError:
    """An objective of which neither more nor less is better."""
    return UsageError(
        f"neither more nor less of {response} is better", "give an objective such as tps or latency_p99_ms"
    )


def too_many_objectives(given: str, most: int) -> UsageError:
    """More objectives than a front is searched for."""
    return UsageError(
        f'--for takes at most {most} objectives, not "{given}"',
        'state the others as limits: --keep "latency_p99_ms < 10 ms"',
    )


def twice_an_objective(name: str) -> UsageError:
    """One objective named twice."""
    return UsageError(f"--for names {name} twice", "name two or three different responses, such as tps,latency_p99_ms")


def no_ratio(name: str) -> UsageError:
    """An objective that may be 0, so that a search has no ratio of it."""
    return UsageError(f"{name} may be 0, so it has no ratio to search by", f'state it as a limit: --keep "{name} < …"')


def not_an_advice(path: object) -> UsageError:
    """A directory without a task."""
    return UsageError(f'"{path}" is not an advice', "name the directory that pgassay advise has made")


def other_course(name: str) -> UsageError:
    """What was measured is not what would be measured now."""
    return UsageError(
        f'"{name}" holds other configurations than this advice would try next',
        "it was made by another version of pgassay or Optuna: go on with that one, or begin a new advice",
    )


def screens(settings: int, trials: int) -> str:
    """A step begins."""
    return f"screening {settings} settings in {trials} configurations"


def screens_in_turns(settings: int, trials: int) -> str:
    """A step begins."""
    return f"screening {counted(settings, 'setting')} in {trials} configurations, by servers in turns"


def screens_apart(names: Sequence[str], trials: int, beside: str) -> str:
    """A step begins."""
    where = f", beside {beside}" if beside else ""
    return f"screening {', '.join(names)} in {trials} configurations, one server after the other{where}"


def screens_beside(beside: str, settings: int, trials: int) -> str:
    """A step begins again."""
    return f"beside {beside} the others show: screening {settings} settings in {trials} configurations"


def searches(names: Sequence[str]) -> str:
    """A step begins."""
    return f"searching {counted(len(names), 'setting')} that may matter: {', '.join(names)}"


def lines_in_and_out(names: Sequence[str], levels: Mapping[str, tuple[str, str]], riding: Sequence[str] = ()) -> str:
    """A step begins; `levels` are of the search and the usual ones, by setting; `riding` are no lines."""
    told = []
    if names:
        told.append(f"{counted(len(names), 'line')} in and out that no trial has shown to help yet: {', '.join(names)}")
    told += [f"{name} = {chosen} beside {usual}" for name, (chosen, usual) in levels.items()]
    if riding:
        told.append(f"{counted(len(riding), 'setting')} that the screening could not see: {', '.join(riding)}")
    return f"trying {'; '.join(told)}"


def confirms(lines: int) -> str:
    """A step begins."""
    each = f", and without each of its {lines} lines" if lines > 1 else ""
    return f"confirming what is left against the start, the default and the rule of thumb{each}"


def confirms_better(name: str) -> str:
    """A step begins."""
    return f"confirming the {name}, which was shown to do better than what was left"


def lines_of_better(name: str, lines: Sequence[str]) -> str:
    """A step begins."""
    return f"trying {counted(len(lines), 'line')} of the {name} in and out: {', '.join(lines)}"


def confirms_front(points: int, lines: int, blocks: int) -> str:
    """A step begins."""
    without = f", and without {counted(lines, 'line')} of theirs" if lines else ""
    return (
        f"confirming {counted(points, 'point')} of the front beside the start, the default and the rule of thumb"
        f"{without}, in {counted(blocks, 'block')}"
    )


def tries_elsewhere(names: Sequence[str]) -> str:
    """A step begins."""
    return f"trying what is confirmed at {', '.join(names)}"


def nothing_to_vary() -> UsageError:
    """A load whose size is not known here."""
    return UsageError(
        "this load has neither clients, rate nor scale to vary", "leave out --robust, or take a load such as pgbench"
    )


def robust_of_one() -> UsageError:
    """Other loads are tried for one advice."""
    return UsageError(
        "--robust tries one advice at other loads, and several objectives give a front",
        "leave out --robust, or give --for one objective and state the others as limits with --keep",
    )


def tables_of_its_own() -> str:
    """Why a way to make tables is not tried."""
    return "this load brings its own tables"


def not_ended(path: object) -> UsageError:
    """An advice without a result."""
    return UsageError(f'"{path}" has no result', f"let it end: pgassay advise --resume {path}")


def no_page(path: object) -> UsageError:
    """An advice that ended before anything was confirmed, or one of a version that did not say where its page is."""
    return UsageError(f'"{path}" has no page: nothing was confirmed', f"see it with: pgassay advise --resume {path}")


def stopped(name: str, detail: str, path: object) -> PgassayError:
    """A run of the advice stopped; alone it could be resumed, but nobody would go on with the advice."""
    return PgassayError(
        f"{name}: {detail}", f"committed trials are kept; continue with: pgassay advise --resume {path}"
    )
