"""May the servers of a block take turns here? Why not, in words; and what `design.pairing = "auto"` then comes to.

Turns are valid only where nothing that lives longer than a slice differs between the arms, and where all servers of a
block fit into memory together with their data: else they would compete for the page cache, and the one that uses more
of it would win (docs/record.md, "Servers in turns").
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pgassay.design.schedule import cells
from pgassay.errors import UsageError
from pgassay.interfaces.factor import Factor, Stage
from pgassay.interfaces.kinds import NONE
from pgassay.lab.arms import ResolvedArm, ResolvedStudy, resolve
from pgassay.lab.settings import mode_of
from pgassay.load.options import OPEN_LOOP
from pgassay.load.responses import IN_SLICES
from pgassay.study.model import ALTERNATE, AUTO, FREE, PAIRED, SEQUENTIAL, Study
from pgassay.study.units import format_size
from pgassay.study.work import UNPINNED

ONE_SERVER = "the treatments are databases of a server of yours, which cannot stand still for one of them"
WRITES = "the load writes, and a server of yours goes on writing its dirty pages back in the other one's turn"
NO_PAIRS = "backends of another account, or on another machine, share no CPU with clients (placement = paired)"

MEMORY_SHARE = 0.9
"""Of the machine's memory: the rest is the system's, the lab's and the load program's."""


def refusals(resolved: ResolvedStudy) -> tuple[str, ...]:
    """Every reason why the servers of a block cannot take turns, each a clause; empty if they can."""
    return tuple(dict.fromkeys(_refusals(resolved)))


def factor_refusals(study: Study, factors: Mapping[str, Factor]) -> Iterator[str]:
    """Why this study's factors cannot be compared in turns, a clause for each; `factors` has each by its name.

    Treatments must not differ in what shows too late; conditions and covariates vary within a block, too, and must not
    be what all its servers share.
    """
    varied = [name for name, levels in study.factors.items() if len(set(levels)) > 1]
    for name in (*varied, *study.conditions, *study.covariates):
        factor = factors.get(name)
        turns = None if factor is None else factor.turns(name)
        if turns is None:
            yield f"{name}: it is not known how soon it shows"
        elif turns.refusal and (turns.one_value or name in study.factors):
            yield f"{name}: {turns.refusal}"
    rate = study.fixed.get("load.rate")
    if rate is not None and rate.canonical != NONE:
        yield f"load.rate: {OPEN_LOOP.refusal}"


def resolve_pairing(resolved: ResolvedStudy) -> tuple[ResolvedStudy, tuple[str, ...]]:
    """The study with `sequential` or `alternate` for `auto`, and why it is not `alternate`; servers in turns in pairs
    with their load only where their account is ours and no treatment writes: one that waits less for flushes would gain
    more by pairs than elsewhere (docs/statistics.md).

    Raises `UsageError` where it asks for `alternate` by name and that cannot be.
    """
    design = resolved.study.design
    reasons = refusals(resolved) if design.pairing != SEQUENTIAL else ()
    if design.pairing == ALTERNATE and reasons:
        raise UsageError(
            f"the servers of a block cannot take turns: {'; '.join(reasons)}",
            "run them one after the other (--pairing sequential), or let pgassay choose (--pairing auto)",
        )
    pairing = SEQUENTIAL if design.pairing == SEQUENTIAL or reasons else ALTERNATE
    placement = design.placement
    if placement == AUTO and pairing == ALTERNATE:
        paired = all(arm.setup.load.reads_only and arm.environment.server.pairs for arm in resolved.arms)
        placement = PAIRED if paired else FREE
    found = replace(design, pairing=pairing, placement=placement)
    if found == design:
        return resolved, reasons
    return resolve(replace(resolved.study, design=found), resolved.environment), reasons


def _refusals(resolved: ResolvedStudy) -> Iterator[str]:
    study, arms = resolved.study, resolved.arms
    together = [tuple(resolved.of(arm) for arm in each) for each in cells(study.arms)]
    if all(len(each) < 2 for each in together):
        yield "no two treatments are compared with each other"
        return
    if not resolved.environment.server.ours:
        if any(len({arm.setup.server for arm in each}) < len(each) for each in together):
            yield ONE_SERVER
            return
        yield from filter(None, (arm.environment.server.in_one_piece for arm in arms))
        if not all(arm.setup.load.reads_only for arm in arms):
            yield WRITES
        if study.design.placement == PAIRED and not all(arm.environment.server.pairs for arm in arms):
            yield NO_PAIRS
    yield from factor_refusals(study, {each.name: each.factor for arm in arms for each in arm.bound})
    asked = set()
    for arm in arms:
        options = arm.setup.load
        yield from _of_arm(arm)
        programs = (options, arm.installation.bindir)
        if programs not in asked:  # one load of thousands of arms starts them once
            asked.add(programs)
            yield from filter(None, (arm.load.ungated,))
    for name in (study.primary, *study.design.settle):
        if name not in IN_SLICES and any(name == each.name for arm in arms for each in arm.load.responses):
            yield f"{name} is not measured in slices"
    try:
        wanted, most = max(
            ((sum(arm.memory_bytes for arm in each), each) for each in together), key=lambda found: found[0]
        )
    except UsageError:
        return  # A size that is no size is refused by PostgreSQL itself, in its own words.
    limit = int(MEMORY_SHARE * resolved.environment.memory_bytes)
    if wanted > limit:
        yield (
            f"{len(most)} servers at once need {format_size(wanted)} of memory with their data"
            f" (one needs {format_size(most[0].memory_bytes)}), and {format_size(limit)} may be used"
        )


def _of_arm(arm: ResolvedArm) -> Iterator[str]:
    options = arm.setup.load
    if mode_of(options) in ("cycle", UNPINNED):
        yield (
            "checkpoints by the clock (load.checkpoint = cycle or default) would start while a server stands still;"
            " wal and none do not"
        )
    if options.transactions is not None or options.duration_s is None:
        yield "slices have a length, and the study counts the work instead (load.transactions)"
    for bound in arm.at(Stage.HOST):
        if not bound.factor.places_only:
            yield f"{bound.name} changes the whole machine, and all servers of a block would see it"
    if arm.setup.drive.data.kind.holds_one_cluster:
        yield f"a drive of the kind {arm.drive.kind} holds one cluster at a time"
