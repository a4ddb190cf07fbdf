"""Is an advice still one when the load grows? It is tried at half and double the load and at twice the data.

Every condition sets the start and the default against what is recommended, all in one study, whose verdicts hold for
all conditions together. Where another one wins, the winner changes somewhere between that and the usual load. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pgassay.advise.constraints import Limits, objections
from pgassay.advise.elimination import Compared
from pgassay.advise.space import Configuration
from pgassay.analysis.verdicts import Kind
from pgassay.study.units import format_number

CLIENTS, RATE, SCALE = "clients", "rate", "scale"
START, DEFAULT = "start", "default"
ARMS_MAX = 3
"""What is recommended, the start, the default."""


@dataclass(frozen=True)
class Condition:
    """A load or a size of the data at which an advice is tried again; all else is as the advice was found."""

    varied: str
    """`clients`, `rate` or `scale`."""
    usual: float
    tried: float
    clients: int
    levels: tuple[tuple[str, str], ...]
    """Of every option that any condition changes."""

    @property
    def name(self) -> str:
        """As a reader is told: `8 clients`, `scale 100`."""
        return amount(self.varied, self.tried)


def amount(varied: str, value: float) -> str:
    """So many clients, or a rate or scale."""
    text = format_number(value)
    if varied == CLIENTS:
        return f"{text} client{'' if value == 1 else 's'}"
    return f"{varied} {text}"


class Standing(StrEnum):
    """What is known of an advice at a condition."""

    HOLDS = "holds"
    ALIKE = "makes no difference"
    OVERTAKEN = "another is better"
    FAILS = "fails"
    OPEN = "not resolved"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Tried:
    """A condition with what was found there."""

    condition: Condition
    standing: Standing
    against: Mapping[str, Compared] = field(default_factory=dict)
    """`start` and `default` against what is recommended."""
    why: str = ""
    """Why it was not tried, or why nothing is known."""

    @property
    def better(self) -> tuple[str, ...]:
        """Those of `against` that are shown to be better here than what is recommended."""
        return tuple(name for name, each in self.against.items() if each.verdict.kind is Kind.BETTER)


Found = Mapping[Condition, Mapping[Configuration, Compared] | None]
"""Every arm against what is recommended; None where what is recommended failed."""


def conditions_of(load: Mapping[str, object]) -> tuple[Condition, ...]:
    """Half and double the rate, or else the clients, and twice the data; what the load does not have is left out."""
    usual = {name: found for name in (RATE, CLIENTS, SCALE) if (found := _number(load.get(name))) is not None}
    offered = RATE if RATE in usual else CLIENTS
    wanted: list[tuple[str, float]] = []
    if offered in usual:
        half = usual[offered] / 2 if offered == RATE else usual[offered] // 2
        wanted += [(offered, value) for value in (half, usual[offered] * 2) if value > 0]
    if SCALE in usual:
        wanted.append((SCALE, usual[SCALE] * 2))
    changed = [name for name in usual if name in {varied for varied, _ in wanted}]
    return tuple(
        Condition(
            varied,
            usual[varied],
            value,
            int(value if varied == CLIENTS else usual.get(CLIENTS, 1)),
            tuple((name, format_number(value if name == varied else usual[name])) for name in changed),
        )
        for varied, value in wanted
    )


def _number(value: object) -> float | None:
    try:
        found = float(str(value))
    except ValueError:
        return None
    return found if 0 < found < float("inf") else None


def possible(
    conditions: tuple[Condition, ...], both: tuple[Configuration, ...], limits: Limits
) -> tuple[tuple[Condition, ...], tuple[Tried, ...]]:
    """The conditions at which all configurations may be run, and the others with the reason."""
    run: list[Condition] = []
    kept_out: list[Tried] = []
    for each in conditions:
        there = Limits(limits.memory_bytes, each.clients)
        why = next((reason for one in both for reason in objections(one, there)), "")
        if why:
            kept_out.append(Tried(each, Standing.NOT_TRIED, why=why))
        else:
            run.append(each)
    return tuple(run), tuple(kept_out)


def judged(conditions: tuple[Condition, ...], found: Found, arms: Mapping[str, Configuration]) -> tuple[Tried, ...]:
    """Every condition of a study with its standing; `arms` by their names, the start among them."""
    return tuple(_judged(each, found.get(each, {}), arms) for each in conditions)


def _judged(
    condition: Condition, compared: Mapping[Configuration, Compared] | None, arms: Mapping[str, Configuration]
) -> Tried:
    if compared is None:
        return Tried(condition, Standing.FAILS, why="what is recommended has no result there")
    against = {name: compared[each] for name, each in arms.items() if each in compared}
    if START not in against:
        return Tried(condition, Standing.OPEN, against, "the start has no trial left there")
    tried = Tried(condition, _STANDINGS.get(against[START].verdict.kind, Standing.OPEN), against)
    return replace(tried, standing=Standing.OVERTAKEN) if tried.better else tried


_STANDINGS = {
    Kind.WORSE: Standing.HOLDS,
    Kind.FAILED: Standing.HOLDS,
    Kind.EQUIVALENT: Standing.ALIKE,
}
"""By the verdict of the start against what is recommended."""
