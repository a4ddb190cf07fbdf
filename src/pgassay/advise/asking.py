"""From a user's words to a task: the start, the space, the objective and what the budget allows.

Everything that can be refused is refused here, before the first trial, with what it would need.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pgassay import untrusted
from pgassay.advise import budget, screenings
from pgassay.advise.budget import Amounts, Turns
from pgassay.advise.knowledge import (
    NO_SETTINGS,
    OF_THE_HOST,
    SERVER,
    Setting,
    known_settings,
    nearest,
    setting_of,
    unknown_setting,
)
from pgassay.advise.knowledge import Scale as SettingScale
from pgassay.advise.laboratory import OURS, OVERHEAD
from pgassay.advise.space import (
    MEMORY,
    Limits,
    Machine,
    Space,
    limit_bytes,
    require_room,
    space_of,
    within,
)
from pgassay.advise.task import Question, Task, document
from pgassay.errors import PgassayError, UsageError
from pgassay.host import huge_pages
from pgassay.interfaces.errors import ClusterError, HostError, NotSettableError, SettingError
from pgassay.interfaces.factor import Factor
from pgassay.lab import measurements, power_cuts, preparation
from pgassay.lab.arms import resolve, setup_of
from pgassay.lab.catalogue import FactorCatalogue
from pgassay.lab.drives import DRIVES, NEEDED
from pgassay.lab.machine import Forecast, forecast, known_pace, window_s
from pgassay.lab.run import Prepared, prepare, write_study
from pgassay.lab.workbench import Workbench
from pgassay.postgres.settings import Described, belongs_to_place, describe, read_conf
from pgassay.record.known import LATEST
from pgassay.study.document import read
from pgassay.study.model import ALTERNATE, SEQUENTIAL
from pgassay.study.responses import Better, Response, Scale, full_name

_TURNED_LEAST = 4
"""Fewer settings are screened with the others, one server after the other."""
_FLASH, _COMPRESSING = "--set drive.data=ssd", "--set drive.data=csd"
_COMPRESSED = ("physical_bytes", "compression_ratio")
"""What only a drive that compresses makes different from what it was sent."""
BROUGHT_BY: Mapping[str, str] = {
    **{name: _COMPRESSING if name in _COMPRESSED else _FLASH for name in NEEDED},
    **{each.name: f"{_FLASH} --set load.cuts=2" for each in power_cuts.RESPONSES},
    **{each.name: "--set load.maintenance=on" for each in (*measurements.CHECKPOINT, *measurements.VACUUM)},
    **{each.name: "--set load.page_space=on" for each in measurements.PAGE_SPACE},
    **{each.name: "--set load.compressibility=on" for each in measurements.COMPRESSION},
}
"""The options with which a response is measured that usually nothing measures."""
CheckSettings = Callable[[Mapping[str, str]], None]
"""Raises for the first setting or value that PostgreSQL refuses; see `interfaces.server.Installation`."""
_FIXED = "internal"
HUGE_PAGES, RESERVED = "huge_pages", "host.huge_pages"
"""PostgreSQL's setting, and the factor by which the lab reserves what the server asks for."""
SETTINGS = "settings"
OBJECTIVES_MAX = 3


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    question: Question
    start: Mapping[str, str]
    space: Mapping[str, Mapping[str, Any]]
    """Tables of a space file, by setting."""
    only: tuple[str, ...]
    allowed: tuple[str, ...]
    quick: bool
    budget_s: float
    margin: float
    seed: int
    own: Collection[str] = ()
    """Settings that the user gave a value: a capture's are its server's, and none of them is to be tried for that."""


def read_configuration(path: Path, check: CheckSettings | None = None) -> tuple[dict[str, str], tuple[str, ...]]:
    """The settings of a postgresql.conf that a server of ours can have, and sentences on what of it is left out.

    `check` raises for settings that this PostgreSQL does not have, as another version does; what else it refuses is
    refused later. Raises `UsageError` for a line that is no setting.
    """
    found = read_conf(path)
    settings = {name: value for name, value in found.settings.items() if not belongs_to_place(name)}
    left_out, remarks = sorted(found.settings.keys() - settings.keys()), []
    if left_out:
        remarks.append(f"left out of {path}, because they are specific to that server: {', '.join(left_out)}")
    if found.absent:
        remarks.append(f"left out of {path}, because they are not there: {', '.join(found.absent)}")
    unknown: list[str] = []
    while check:  # it names one at a time
        try:
            check(settings)
        except NotSettableError as failure:
            if settings.pop(failure.name, None) is None:
                break
            unknown.append(failure.name)
        except PgassayError:
            break
        else:
            break
    if unknown:
        names = ", ".join(unknown)
        remarks.append(f"left out of {path}, because this version of PostgreSQL does not have them: {names}")
    return settings, tuple(remarks)


def read_space(path: Path) -> dict[str, dict[str, Any]]:
    """A space file: `[settings]`, in which each setting has a table, or a list of its levels; raises `UsageError`.

    Factors of the host, the tables and the schema have their namespace before them: `"host.huge_pages"`, with quotation
    marks or, as TOML reads it, without.
    """
    try:
        text = untrusted.read_text(path, pipes=True)
    except ValueError as failure:
        raise UsageError(f'space file "{path}": {failure}') from None
    tables = read(str(path), text)
    in_full: dict[str, Any] = {}
    for name, table in tables.get(SETTINGS, tables).items():
        if f"{name}." in (*NO_SETTINGS, SERVER) and isinstance(table, dict):  # TOML makes tables of a namespace
            in_full |= {f"{name}.{each}": of for each, of in table.items()}
        else:
            in_full[name] = table
    return {
        name.removeprefix(SERVER): table if isinstance(table, dict) else {"levels": table, "scale": "enum"}
        for name, table in in_full.items()
    }


def settings_of(
    space: Mapping[str, Mapping[str, Any]], only: Collection[str], described: Mapping[str, Described] | None = None
) -> tuple[Setting, ...]:
    """The settings to try: those that the space names, or else all that are known; of these `only` some.

    What we do not know is as this PostgreSQL has `described` it. What changes the machine is tried only where it is
    named. Raises `UsageError`.
    """
    known = known_settings()
    unknown = {
        name: setting_from_description(each)
        for name, each in (described or {}).items()
        if name in space and name not in known
    }
    for name in only:
        if name not in known and name not in space:
            raise unknown_setting(name, (*known, *space))
    below = {**known, **unknown}
    usual = {name: each for name, each in known.items() if not name.startswith(OF_THE_HOST)}
    found = {name: setting_of(name, table, below.get(name), known) for name, table in space.items()} or usual
    for name in only:
        found.setdefault(name, known[name]) if name in known else None
    return tuple(each for name, each in found.items() if not only or name in only)


def task_of(request: Request, bench: Workbench, latest: int = LATEST, spent_s: float | None = None) -> Task:
    """The task on this machine; raises `UsageError` for what cannot be searched, measured or proved in the budget.

    Trials take what those of the `latest` runs took here; with none as on a quiet machine, so that only what no pace
    could hold is refused. `spent_s` are gone of the budget; None where data are still to be made.
    """
    environment, installation = bench.environment(), bench.installation()
    major = installation.version.major
    memory_bytes = min(environment.memory_bytes, limit_bytes(request.question.held.get(MEMORY, "")))
    machine = Machine(memory_bytes, len(os.sched_getaffinity(0)), major)
    short_form = request.quick and not (request.only or request.space)
    described = describe(bench.runner, bench.account, installation.bindir, request.space)
    settings = built(settings_of(request.space, request.only, described), major, installation.check_settings)
    draft = {
        "treatments": [{"server.jit": "on"}, {"server.jit": "off"}], "load": dict(request.question.load),
        "responses": {"primary": request.question.objective},
    }  # fmt: skip
    study = write_study("advise", draft).study
    space = space_of(
        settings,
        machine,
        request.start,
        allowed=[*request.allowed],
        barred=barred(settings, request.question, environment.catalogue),
        window_s=window_s([setup_of(study, arm, environment.catalogue).load for arm in study.arms]),
        quick=short_form,
    )
    require_levels(space, environment.catalogue, described, installation.check_settings)
    nodes = next((each.nodes for each in settings if each.name == "work_mem"), known_settings()["work_mem"].nodes)
    limits = Limits(machine.memory_bytes, int(str(request.question.load.get("clients", 1))), nodes)
    require_room(space, limits)
    (higher, *others), ahead = _tried(request.question, space, bench, latest)
    trial_s = ahead.trial_s * OVERHEAD
    gone_s = ahead.preparation_s if spent_s is None else spent_s
    references = len({space.start, space.default, within(space.dimensions, space.rule_of_thumb, limits)})
    turned_s = None if others else _turned_s(request.question, space, bench, latest)

    def turned(of: Space) -> tuple[str, ...]:
        """The settings that are screened by servers in turns."""
        found = screenings.in_turns(of) if turned_s else ()
        return found if len(found) >= _TURNED_LEAST else ()

    def steps(of: Space) -> Amounts:
        """Of this space; raises `UsageError` where the budget is too small."""
        finalists = (budget.POINTS_QUICK, budget.POINTS) if others else (1, 3)
        return budget.amounts(
            request.budget_s,
            trial_s,
            len(of.dimensions),
            finalists=finalists[not request.quick],
            objectives=1 + len(others),
            references=references,
            lines_max=budget.LINES_QUICK if request.quick else budget.LINES_MAX,
            turns=Turns(len(names), turned_s) if turned_s and (names := turned(of)) else None,
            spent_s=gone_s,
        )

    if short_form:
        space = as_many_as_fit(space, request.own, steps)
    return Task(
        space,
        limits,
        steps(space),
        higher,
        request.margin,
        request.seed,
        tuple(others),
        turned=turned(space),
        budget_s=request.budget_s - gone_s,
    )


def as_many_as_fit(space: Space, own: Collection[str], steps: Callable[[Space], Amounts]) -> Space:
    """The space with as many settings as there is time for: those that are not the user's `own` go, the last first.

    The user's own stay, or the first setting where there are none: where even that is too much, the refusal says what
    it needs.
    """
    spare = [each.name for each in space.dimensions if each.name not in own]
    while spare and len(space.dimensions) > 1:
        with suppress(UsageError):
            steps(space)
            break
        space = space.without(spare.pop(), "the budget of the quick form has no time for it")
    return space


def objectives_of(text: str) -> tuple[str, ...]:
    """The names in `--for`, in full; raises `UsageError` where there are too many, or one twice."""
    names = tuple(full_name(each.strip()) for each in text.split(",") if each.strip()) or (text,)
    if len(names) > OBJECTIVES_MAX:
        raise UsageError(
            f'--for takes at most {OBJECTIVES_MAX} objectives, not "{text}"',
            'state the others as limits: --keep "latency_p99_ms < 10 ms"',
        )
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"--for names {name} twice", "name two or three different responses, such as tps,latency_p99_ms"
            )
    return names


def _tried(question: Question, space: Space, bench: Workbench, latest: int) -> tuple[tuple[bool, ...], Forecast]:
    """Whether more is better of each objective, and what trials take, by a study that is checked and not run: one
    server after the other, unless whatever is tried takes turns."""
    prepared = _prepared(replace(question, objective="tps", others=()), space, bench)
    found = [objective_of(each, prepared.checked.responses) for each in question.objectives]
    for each in found:
        if len(found) > 1 and each.scale is Scale.DIFFERENCE:
            raise UsageError(
                f"{each.name} may be 0, so it has no ratio to search by",
                f'state it as a limit: --keep "{each.name} < …"',
            )
    if NEEDED.keys() & set(question.objectives):
        silent = [each.recorded for each in _prepared(question, space, bench).remarks if each.code == DRIVES]
        if silent:
            first = next(each for each in question.objectives if each in NEEDED)
            raise UsageError(silent[0], f"an emulated drive counts everything: {BROUGHT_BY[first]}")
    resolved = prepared.resolved
    if len(screenings.in_turns(space)) < len(space.dimensions):
        design = replace(resolved.study.design, pairing=SEQUENTIAL)
        resolved = resolve(replace(resolved.study, design=design), resolved.environment)
    return tuple(each.better is Better.HIGHER for each in found), forecast(resolved, known_pace(resolved, latest))


def _prepared(question: Question, space: Space, bench: Workbench) -> Prepared:
    """A study of the start and of the first setting's far level that may be tried; raises where none may."""
    refused: PgassayError | None = None
    for each in space.dimensions:
        other = space.start.with_values({each.name: each.far})
        try:
            asked = document(question, space, "advise", [space.start, other], {})
            return prepare(resolve(write_study("advise", asked).study, bench.environment()), bench)
        except OURS as error:
            refused = refused or error
    assert refused is not None, "a space has a setting"
    raise refused


def require_start(question: Question, space: Space, bench: Workbench) -> None:
    """Start PostgreSQL once with what the search starts from; raises `UsageError` in its words where that fails."""
    try:
        preparation.require_start(_prepared(question, space, bench).resolved.arms[0])
    except (ClusterError, HostError) as failure:
        raise UsageError(
            f"the start configuration fails: {failure.message}",
            "change what --from and --set say, or install what they ask for; nothing was measured",
        ) from None


def _turned_s(question: Question, space: Space, bench: Workbench, latest: int) -> float | None:
    """How long a trial takes whose servers take turns in batches; None where they cannot, or some may not be tried.

    Whether they can is asked of a study of as many servers as a batch has, each with one setting at its far level.
    """
    names = screenings.in_turns(space)[: 2 * budget.PAIRS_A_BATCH]
    batch = [space.start.with_values({name: space.dimension(name).far}) for name in names]
    if len(batch) < _TURNED_LEAST:
        return None
    try:
        asked = document(question, space, "advise", batch, {})
        resolved = prepare(resolve(write_study("advise", asked).study, bench.environment()), bench).resolved
    except OURS:
        return None
    if resolved.study.design.pairing != ALTERNATE:
        return None
    return forecast(resolved, known_pace(resolved, latest)).trial_s * OVERHEAD


def objective_of(name: str, responses: Sequence[Response]) -> Response:
    """The response of that name; raises `UsageError` where nothing measures it, or neither more nor less is better."""
    known = {each.name: each for each in responses}
    if name not in known:
        hint = f"it is measured with {BROUGHT_BY[name]}" if name in BROUGHT_BY else nearest(name, known)
        raise UsageError(f'nothing measures "{name}" under this load', hint)
    if known[name].better is Better.NEITHER:
        raise UsageError(
            f"neither more nor less of {name} is better", "give an objective such as tps or latency_p99_ms"
        )
    return known[name]


def barred(
    settings: Iterable[Setting], question: Question, catalogue: FactorCatalogue, root: Path = Path("/")
) -> dict[str, str]:
    """What cannot be tried here, with the reason; raises `UsageError` for a factor that there is not."""
    every = tuple(settings)
    names = {each.name for each in every}
    found: dict[str, str] = {}
    for each in every:
        if each.factor in question.held:
            found[each.name] = f"--set holds {each.factor} in every trial"
        elif each.name.startswith(OF_THE_HOST):
            found[each.name] = factor_of(each, catalogue).unavailable(each.factor) or ""
        elif each.name.startswith("table.") and "scale" not in question.load:
            found[each.name] = "this load brings its own tables"
        elif each.name == HUGE_PAGES and (RESERVED in names or RESERVED in question.held):
            found[each.name] = f"{RESERVED} sets it"
        elif each.name == HUGE_PAGES and not huge_pages.available(root):
            instead = (
                f"the lab reserves some with --only {RESERVED},… or in a --space"
                if os.geteuid() == 0
                else "only root may reserve some"
            )
            found[each.name] = (
                f"no huge pages are available on this machine, so that try and off are the same; {instead}"
            )
    return {name: why for name, why in found.items() if why}


def setting_from_description(described: Described) -> Setting:
    """A setting that we know nothing of, by what this PostgreSQL says of it; raises `UsageError` for one that is fixed.

    A boolean has its two levels; of anything else the space says what to try.
    """
    if described.context == _FIXED:
        raise UsageError(
            f"{described.name} cannot be tried: PostgreSQL calls it {described.context}", "leave it out of the space"
        )
    levels = ("on", "off") if described.kind == "bool" else ()
    return Setting(described.name, described.default, SettingScale.ENUM, levels=levels, apply=described.apply)


def built(settings: Iterable[Setting], major: int, check: CheckSettings) -> tuple[Setting, ...]:
    """The settings without the levels that this PostgreSQL was not built with; `check` raises for what it refuses."""
    found = []
    for setting in settings:
        levels = list(setting.levels)
        if setting.built and setting.since <= major <= setting.until:
            for level in setting.levels:
                try:
                    check({setting.name: level})
                except SettingError:
                    levels.remove(level)
        found.append(replace(setting, levels=tuple(levels)))
    return tuple(found)


def require_levels(
    space: Space, catalogue: FactorCatalogue, described: Mapping[str, Described], check: CheckSettings
) -> None:
    """Raise for a level that its factor or this PostgreSQL does not accept, or that this machine cannot have.

    `described` are the settings whose levels the user gave: numbers must lie within PostgreSQL's limits, of words it is
    asked itself. Raises `UsageError`, or `SettingError` in PostgreSQL's words.
    """
    for dimension in space.dimensions:
        name, setting = dimension.setting.factor, described.get(dimension.name)
        if not name.startswith(SERVER):
            factor = factor_of(dimension.setting, catalogue)
            for each in dimension.levels:
                factor.require_here(name, factor.parse(name, each))
        elif setting is not None:
            for each in dimension.levels:
                if not setting.within(each):
                    raise UsageError(f'{dimension.name} cannot be "{each}"', f"this PostgreSQL takes {setting.limits}")
                if not setting.limits:
                    check({dimension.name: each})


def factor_of(setting: Setting, catalogue: FactorCatalogue) -> Factor:
    """What applies a dimension; raises `UsageError` where there is nothing of that name."""
    found = catalogue.find(setting.factor)
    if found is None:
        namespace = setting.factor.partition(".")[0]
        known = [each for each in catalogue.names() if each.startswith(f"{namespace}.")]
        raise UsageError(f'there is no factor "{setting.factor}" to try', nearest(setting.factor, known))
    return found
