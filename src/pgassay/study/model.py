"""A study as one frozen value: the question, what is varied, what is held, how it is measured and decided.

Everything that a run needs to know is here and nothing that it finds out; `parsing` makes it from TOML, and the
lab's preflight refuses what cannot be run. See docs/studies.md for the file that it mirrors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

from pgassay.study.levels import Arm, Combination, Level, Place
from pgassay.study.scale_model import ScaleModel
from pgassay.study.thresholds import Threshold

PINNED = "pinned"
PLAIN = "plain"
DEFAULTS = (PINNED, PLAIN)

SEQUENTIAL = "sequential"
ALTERNATE = "alternate"
AUTO = "auto"
PAIRINGS = (SEQUENTIAL, ALTERNATE, AUTO)
PAIRED = "paired"
FREE = "free"
PLACEMENTS = (AUTO, PAIRED, FREE)
SLICE_S_MIN, SLICE_S_MAX = 0.2, 10.0


@dataclass(frozen=True)
class Claim:
    """What a published study says it found, in a form that a run can test.

    `low` and `high` bound the effect (ratio, or difference) that counts as reproducing it; None leaves a side open.
    `magnitude` is the effect that was published, on the same scale: the bounds are around it and exclude no effect. A
    claim of a direction only, or of no difference, has none. `untestable` says why it cannot be tested here when it
    cannot (another drive, another load).
    """

    text: str
    source: str
    response: str
    treatment: Mapping[str, str]
    against: Mapping[str, str]
    low: float | None = None
    high: float | None = None
    published: str = ""
    magnitude: float | None = None
    untestable: str = ""
    otherwise: str = ""
    """Why it may come out otherwise here; `{response}` stands for the median measured for its treatment."""
    per: str = ""
    """Another response of the same trial, by which `response` is divided; empty for the response itself."""
    than: tuple[Mapping[str, str], ...] = ()
    """The change is held against the same change with these levels instead: a ratio of two ratios. Of several each."""
    each: str = ""
    """A factor: it is a claim at every level of it that the study has; empty for one claim."""
    data_of_memory: float | None = None
    """It is about data of at least so many times the memory: where there are less a run says nothing about it."""
    window_s: float | None = None
    """It is about windows of at least so many seconds."""


@dataclass(frozen=True)
class Design:
    """How trials are laid out and when they end. Times in seconds; `resolution`, `precision`: shares (0.02 is ±2 %)."""

    baseline: Combination
    resolution: float = 0.02
    precision: float | None = None
    """A comparison that is decided goes on until its interval is as narrow as this, too; None: a verdict is enough."""
    risk_below: float | None = None
    """Each treatment is judged by its own power cuts: it goes on until one did damage, or until the bound on the share
    of damaging cuts is below this (`design.risk`). None: it is compared, and cuts do not end the run."""
    blocks_min: int = 5
    blocks_max: int = 30
    budget_s: float | None = None
    seed: int | None = None
    fixed_order: tuple[str, ...] = ()
    settle: tuple[str, ...] = ()
    """Secondary responses that keep a treatment in play, too, until their comparisons are settled (see `stopping`)."""
    defaults: str = PINNED
    """`pinned` or `plain`: settings counted in blocks while the block size varies (see `lab.settings`)."""
    stage: int | None = None
    """Blocks of the first of two stages of looks; like `moderated` said by a record's rule, never by a study file."""
    horizon: int | None = None
    """Blocks that the looks at what decides are planned for, where they are more than `blocks_max`: a run may be
    extended to them. Said by a record's rule, like `stage`."""
    moderated: bool = False
    """Do treatments tell about each other's noise? See `design.horizon` and docs/statistics.md."""
    blocks_asked: int | None = None
    """The largest number of blocks that the study allows, where its budget holds fewer. Said by a record's rule."""
    inner: bool = False
    """Is equivalence judged by another interval than the one that is shown, as by the rules before 4?"""
    together: bool = False
    """Do the comparisons of all responses in `settle` share one error rate? See `design.stopping.family`."""
    pairing: str = SEQUENTIAL
    """`sequential`: one server after the other; `alternate`: all servers of a block at once, in turns of a slice;
    `auto`: alternate where that is valid here. A run never holds `auto`: it is resolved before."""
    slice_s: float = 0.25
    """How long a turn lasts in an alternating block, in seconds; longer for slow transactions unless `slice_asked`."""
    slice_asked: bool = False
    lead_in_s: float = 0.05
    """How long a server plays unmeasured at the beginning of its turn, in seconds."""
    hosts: int = 1
    """Over a fleet: no verdict ends the run before so many hosts have given blocks; see `design.stopping`."""
    reboots: bool = False
    """Did the authors reboot after each block? A plan says so; a run does not."""
    placement: str = AUTO
    """In turns: `paired`: each thread of the load shares one CPU with its clients' backends, where that comes out even;
    `free`: each runs where the scheduler puts it; `auto`: paired where no treatment writes (see `lab.pairing`). A run
    in turns never holds `auto`: it is resolved before."""


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    question: str
    factors: Mapping[str, tuple[Level, ...]]
    treatments: tuple[Combination, ...]
    design: Design
    primary: str
    conditions: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    linked_conditions: tuple[Combination, ...] = ()
    """The conditions that are run, where those are not all combinations of `conditions`."""
    ran: frozenset[Place] = frozenset()
    """The places of the arms that were run, where others made the runs and left some out; empty for all."""
    covariates: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    fixed: Mapping[str, Level] = field(default_factory=dict)
    """Every held level, the `[load]` table included (as `load.NAME`)."""
    secondary: tuple[str, ...] = ()
    decide: tuple[Threshold, ...] = ()
    """What counts for the user: each gives pass, fail or not known."""
    claims: tuple[Claim, ...] = ()
    ours: tuple[str, ...] = ()
    """Factors whose levels the authors of an as-published size do not give, so that they are chosen here."""
    differs: tuple[str, ...] = ()
    """How an as-published size differs from what its authors did, a clause each: what pgassay has not, or does else."""
    model: ScaleModel | None = None
    """What it is a scale model of; None for the study itself."""
    format: int = 1

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every arm of a whole block: treatments inside conditions, at each covariate point."""
        arms = (
            Arm(treatment, condition, covariate)
            for condition in self.linked_conditions or combinations(self.conditions)
            for covariate in combinations(self.covariates)
            for treatment in self.treatments
        )
        return tuple(arm for arm in arms if not self.ran or arm.place in self.ran)

    def levels_of(self, arm: Arm) -> dict[str, Level]:
        """All levels that hold in a trial of `arm`: the fixed ones first, then the arm's own."""
        return {**self.fixed, **arm.levels}


def combinations(factors: Mapping[str, tuple[Level, ...]]) -> tuple[Combination, ...]:
    """The cross product of levels in the study's order; one empty combination for no factors."""
    names = list(factors)
    return tuple(Combination(dict(zip(names, chosen, strict=True))) for chosen in product(*factors.values()))
