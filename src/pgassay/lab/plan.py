"""The plan of a run before it starts: what runs where, in which order, how long it takes, what it can resolve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from pgassay.analysis.forecast import resolution
from pgassay.analysis.power_cuts import epochs_below
from pgassay.design.horizon import Plan as Sizes
from pgassay.design.horizon import plan as size_up
from pgassay.design.schedule import cells, is_baseline, order, rounds_of
from pgassay.host.accounts import describe as describe_account
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.machine import (
    Nearest,
    forecast,
    known_noise,
    known_pace,
    known_trial_s,
    known_turns,
    length_known,
    nearest_calibrations,
    window_s,
)
from pgassay.lab.pairing import refusals
from pgassay.lab.places import STAND_IN
from pgassay.lab.preflight import Room
from pgassay.lab.run import Prepared, installations
from pgassay.lab.settings import describe_defaults
from pgassay.postgres.builds.builder import MissingBuild
from pgassay.record.calibrations import TURNS
from pgassay.study.model import ALTERNATE, Study
from pgassay.study.scale_model import ScaleModel

ONE_AFTER_THE_OTHER = "one-after-the-other"
"""A method of pairing; `record.calibrations` has the other."""


@dataclass(frozen=True)
class MethodNoise:
    """The noise that a method of running a block's servers leaves, by a calibration of this machine: one arm's, a
    share, with its interval; `high` is None where that has no end."""

    method: str
    noise: float
    low: float
    high: float | None
    source: str


@dataclass(frozen=True)
class MethodForecast:
    """What a method of running a block's servers would resolve after so many blocks, by a calibration of this machine.

    `width` is ± a share around an effect, None where blocks are too few for an interval. `low` and `high` are the same
    with the ends of the noise's own interval, as far as the calibration knows it.
    """

    method: str
    blocks: int
    width: float | None
    low: float | None
    high: float | None
    source: str


@dataclass(frozen=True)
class RiskForecast:
    """What it takes to show that damage by a power cut is rarer than the share `below`, while no cut does any.

    `epochs` and `cuts` are those of each treatment, the cuts those of whole blocks. `time_s` is None where a trial's
    length is not known. `ends_first` is what ends the run before that: the most blocks that there may be.
    """

    below: float
    epochs: int
    blocks: int
    cuts: int
    time_s: float | None
    ends_first: int | None


@dataclass(frozen=True)
class Elsewhere:
    data_directory: str
    filesystem: str
    device: str
    needed_bytes: int
    free_bytes: int

    @classmethod
    def of(cls, room: Room) -> "Elsewhere":
        mount = room.mount
        return cls(str(mount.path), mount.filesystem, mount.device, room.needed_bytes, mount.free_bytes)


@dataclass(frozen=True)
class Plan:
    """What `pgassay run --dry-run` shows; None where it is not known.

    `trial_s` is one trial, as the latest `paced_by` runs here have it, `load_s` of it under load, `layout_s` for
    writing the file that a disk study works on (of `layout_bytes`, in each trial); `noise`, `resolution` and
    `precision` are shares. `difference_blocks` and `equivalence_blocks` are what this noise needs to tell a difference
    of `resolution`, and to show that there is none.
    `risk` is None where no bound on damage by power cuts is asked for. `unbuilt` are the PostgreSQLs that a run would
    build first; the reboots are those that the study asks for; `differs` is how an as-published study is not as its
    authors had it; `missing` is what this machine has not, for which a run would be refused.
    """

    study: str
    title: str
    question: str
    primary: str
    settle: tuple[str, ...]
    baseline: str
    seed: int
    arms: tuple[str, ...]
    first_block: tuple[str, ...]
    pairing: str
    fixed: Mapping[str, str]
    postgres: Sequence[Mapping[str, str]]
    unbuilt: Sequence[MissingBuild]
    account: str
    data_directory: str
    filesystem: str
    device: str
    needed_bytes: int
    free_bytes: int
    snapshots: int
    elsewhere: tuple[Elsewhere, ...]
    blocks_min: int
    blocks_max: int
    trial_s: float | None
    load_s: float | None
    layout_s: float
    layout_bytes: int
    preparation_s: float
    ageing_s: float
    trial_calibrated: bool
    paced_by: int
    time_min_s: float | None
    time_max_s: float | None
    budget_s: float | None
    noise: float | None
    noise_source: str | None
    resolution: float
    precision: float | None
    risk: RiskForecast | None
    equivalence_blocks: int | None
    difference_blocks: int | None
    block_s: float | None
    forecasts: tuple[MethodForecast, ...]
    defaults: str
    scale_model: ScaleModel | None
    reboots_min: int
    reboots_max: int
    differs: tuple[str, ...]
    warnings: tuple[str, ...]
    missing: tuple[str, ...]
    servers: Mapping[str, Mapping[str, str | bool]]
    """The user's own servers by name, where the study runs on some; one alone is named ""."""
    changes: tuple[str, ...]
    """What is changed on them and put back."""


def plan(prepared: Prepared, seed: int) -> Plan:
    resolved, checked = prepared.resolved, prepared.checked
    study, mount, loads = resolved.study, checked.mount, [arm.setup.load for arm in resolved.arms]
    design, rounds = study.design, rounds_of(window_s(loads), study.design.slice_s)
    nearest = nearest_calibrations(resolved, mount)
    known, calibrated_s = known_methods(resolved, nearest, rounds, prepared.pairing), known_trial_s(nearest)
    timed, ahead = length_known(loads), forecast(resolved, known_pace(resolved))
    trial_s = ahead.trial_s if timed else calibrated_s
    method, pairing = ONE_AFTER_THE_OTHER, prepared.pairing or "one server after the other"
    if design.pairing == ALTERNATE:
        servers = max(map(len, cells(study.arms)))
        method, pairing = TURNS, f"{servers} servers at once take turns: {rounds} slices of {design.slice_s:g} s each"
    noise = next((each for each in known if each.method == method), None)
    first_s = ahead.preparation_s + ahead.ageing_s
    sizes = size_up(study, trial_s, preparation_s=first_s, noise=noise.noise if noise else None)
    comparisons = max(1, sum(not is_baseline(study, arm) for arm in study.arms))
    return Plan(
        study=study.name,
        title=study.title,
        question=study.question,
        primary=study.primary,
        settle=tuple(design.settle),
        baseline=design.baseline.name,
        seed=seed,
        arms=tuple(arm.name for arm in study.arms),
        pairing=pairing,
        first_block=tuple(arm.name for arm in order(study, seed, 1, study.arms)),
        fixed={name: level.typed for name, level in study.fixed.items()},
        postgres=[each for each in installations(resolved) if each["found_by"] != STAND_IN],
        unbuilt=prepared.bench.missing_builds(arm.setup.build for arm in resolved.arms),
        account=describe_account(prepared.bench.account),
        data_directory=str(mount.path),
        filesystem=mount.filesystem,
        device=mount.device,
        needed_bytes=checked.rooms[0].needed_bytes,
        free_bytes=mount.free_bytes,
        snapshots=sum(room.snapshots for room in checked.rooms),
        elsewhere=tuple(map(Elsewhere.of, checked.rooms[1:])),
        blocks_min=design.blocks_min,
        blocks_max=design.blocks_max,
        trial_s=trial_s,
        load_s=ahead.load_s if timed else None,
        layout_s=ahead.layout_s,
        layout_bytes=ahead.layout_bytes,
        preparation_s=ahead.preparation_s,
        ageing_s=ahead.ageing_s,
        trial_calibrated=trial_s is not None and not timed,
        paced_by=ahead.paced_by if timed else 0,
        time_min_s=sizes.time_min_s,
        time_max_s=sizes.time_max_s,
        budget_s=design.budget_s,
        noise=None if noise is None else noise.noise,
        noise_source=None if noise is None else noise.source,
        resolution=design.resolution,
        precision=design.precision,
        risk=risk_forecast(study, [each.cuts for each in loads], sizes, first_s),
        equivalence_blocks=sizes.equivalence_needed,
        difference_blocks=sizes.difference_needed,
        block_s=sizes.block_s,
        forecasts=tuple(forecast_of(each, sizes.blocks_affordable or design.blocks_max, comparisons) for each in known),
        defaults=describe_defaults(study),
        scale_model=study.model,
        reboots_min=design.blocks_min - 1 if design.reboots else 0,  # one after each block but the last
        reboots_max=design.blocks_max - 1 if design.reboots else 0,
        differs=study.differs,
        warnings=tuple(sizes.warnings),
        missing=resolved.environment.missing.messages,
        servers=prepared.bench.describe(),
        changes=tuple(prepared.bench.changes(resolved)),
    )


def risk_forecast(study: Study, cuts: Sequence[int], sizes: Sizes, first_s: float) -> RiskForecast | None:
    """How long power is cut until the bound that was asked for is reached, with so many `cuts` of each arm in a block.

    `first_s` is what is prepared once.
    """
    design = study.design
    if design.risk_below is None:
        return None
    blocks = max(design.blocks_min, ceil(epochs_below(design.risk_below) / min(cuts)))
    allowed = sizes.blocks_affordable or design.blocks_max
    return RiskForecast(
        below=design.risk_below,
        epochs=epochs_below(design.risk_below),
        blocks=blocks,
        cuts=blocks * min(cuts),
        time_s=None if sizes.block_s is None else first_s + blocks * sizes.block_s,
        ends_first=allowed if allowed < blocks else None,
    )


def known_methods(
    resolved: ResolvedStudy, nearest: Nearest, rounds: int, no_turns: str = ""
) -> tuple[MethodNoise, ...]:
    """Each method of running a block's servers that was calibrated and may answer this study, in turns by `rounds`.

    `no_turns` says why turns are not possible where that is known: asking once more may start programs.
    """
    study, found = resolved.study, []
    alone = known_noise(study.primary, nearest)
    if alone is not None:
        noise = alone.found
        found.append(MethodNoise(ONE_AFTER_THE_OTHER, noise.noise, noise.noise_low, noise.noise_high, alone.source))
    if study.design.pairing != ALTERNATE and (no_turns or refusals(resolved)):
        return tuple(found)
    if (known := known_turns(study.primary, nearest)) is not None:
        turns = known.found
        expected = turns.noise_with(rounds)
        low, high = (expected * end / turns.noise for end in (turns.noise_low, turns.noise_high))
        found.append(MethodNoise(TURNS, expected, low, high, known.source))
    return tuple(found)


def forecast_of(known: MethodNoise, blocks: int, comparisons: int) -> MethodForecast:
    width, low, high = (
        None if noise is None else resolution(noise, blocks, comparisons=comparisons)
        for noise in (known.noise, known.low, known.high)
    )
    return MethodForecast(known.method, blocks, width, low, high, known.source)
