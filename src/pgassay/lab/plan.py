"""The plan of a run before it starts: what runs where, in which order, how long it takes, what it can resolve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pgassay.design.blocks import cells, order, rounds_of
from pgassay.design.plan import plan as size_up
from pgassay.host.accounts import describe as describe_account
from pgassay.lab.forecast import forecast, length_known, window_s
from pgassay.lab.machine import known_noise, known_trial_s
from pgassay.lab.run import PAIRING, Prepared, installations
from pgassay.lab.settings import describe_defaults
from pgassay.study.model import ALTERNATE
from pgassay.study.scale_model import ScaleModel


@dataclass(frozen=True)
class Plan:
    """What `pgassay run --dry-run` shows; None where it is not known.

    `trial_s` is one trial, `load_s` of it under load; `noise` and `resolution` are shares; `difference_blocks` and
    `equivalence_blocks` are what this noise needs to tell a difference of `resolution`, and to show that there is none.
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
    account: str
    data_directory: str
    filesystem: str
    device: str
    needed_bytes: int
    free_bytes: int
    snapshots: int
    blocks_min: int
    blocks_max: int
    trial_s: float | None
    load_s: float | None
    preparation_s: float
    ageing_s: float
    trial_calibrated: bool
    time_min_s: float | None
    time_max_s: float | None
    budget_s: float | None
    noise: float | None
    noise_source: str | None
    resolution: float
    equivalence_blocks: int | None
    difference_blocks: int | None
    block_s: float | None
    defaults: str
    scale_model: ScaleModel | None
    warnings: tuple[str, ...]


def plan(prepared: Prepared, seed: int) -> Plan:
    """The plan of a study that passed the checks, in the order that `seed` gives."""
    resolved, checked = prepared.resolved, prepared.checked
    study, mount = resolved.study, checked.mount
    noise = known_noise(resolved, mount)
    timed = length_known(study)
    ahead = forecast(resolved)
    trial_s = ahead.trial_s if timed else known_trial_s(resolved, mount)
    first_s = ahead.preparation_s + ahead.ageing_s
    sizes = size_up(study, trial_s, preparation_s=first_s, noise=noise.noise.noise if noise else None)
    return Plan(
        study=study.name,
        title=study.title,
        question=study.question,
        primary=study.primary,
        settle=tuple(study.design.settle),
        baseline=study.design.baseline.name,
        seed=seed,
        arms=tuple(arm.name for arm in study.arms),
        first_block=tuple(arm.name for arm in order(study, seed, 1, study.arms)),
        pairing=_pairing(prepared),
        fixed={name: level.typed for name, level in study.fixed.items()},
        postgres=installations(resolved),
        account=describe_account(prepared.bench.account),
        data_directory=str(mount.path),
        filesystem=mount.filesystem,
        device=mount.device,
        needed_bytes=checked.needed_bytes,
        free_bytes=mount.free_bytes,
        snapshots=checked.snapshots,
        blocks_min=study.design.blocks_min,
        blocks_max=study.design.blocks_max,
        trial_s=trial_s,
        load_s=ahead.load_s if timed else None,
        preparation_s=ahead.preparation_s,
        ageing_s=ahead.ageing_s,
        trial_calibrated=trial_s is not None and not timed,
        time_min_s=sizes.time_min_s,
        time_max_s=sizes.time_max_s,
        budget_s=study.design.budget_s,
        noise=None if noise is None else noise.noise.noise,
        noise_source=None if noise is None else noise.source,
        resolution=study.design.resolution,
        equivalence_blocks=sizes.equivalence_needed,
        difference_blocks=sizes.difference_needed,
        block_s=sizes.block_s,
        defaults=describe_defaults(study),
        scale_model=study.model,
        warnings=tuple(sizes.warnings),
    )


def _pairing(prepared: Prepared) -> str:
    """How the servers of a block are run, in words, and why not in turns where that was to be chosen."""
    study = prepared.resolved.study
    design = study.design
    if design.pairing != ALTERNATE:
        return next((each.recorded for each in prepared.remarks if each.code == PAIRING), "one server after the other")
    together = max(len(each) for each in cells(study.arms))
    rounds = rounds_of(window_s(study), design.slice_s)
    return f"{together} servers at once take turns: {rounds} slices of {design.slice_s:g} s each"
