"""Is an advice still one when the load grows? It is tried at half and double the load and at twice the data.

Every condition sets the start and the default against what is recommended, all in one study, whose verdicts hold for
all conditions together. Where another one wins, the winner changes somewhere between that and the usual load. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from pgassay.advise.elimination import Compared, inverted
from pgassay.advise.space import Configuration, Limits, objections
from pgassay.analysis.verdicts import Kind
from pgassay.report.json_values import effect_values
from pgassay.report.section import Table
from pgassay.report.words import duration, ratio_interval
from pgassay.study.units import format_number

CLIENTS, RATE, SCALE = "clients", "rate", "scale"
START, DEFAULT = "start", "default"
ARMS_MAX = 3
"""What is recommended, the start, the default."""
NO_SCALE = "at twice the data: not tried, since the data of this load have no scale"
"""Of a capture, or of scripts with data of their own."""


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
        return amount(self.varied, self.tried)


def amount(varied: str, value: float) -> str:
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
    tried = []
    for condition in conditions:
        compared = found.get(condition, {})
        against = {name: compared[each] for name, each in arms.items() if each in compared} if compared else {}
        if compared is None:
            one = Tried(condition, Standing.FAILS, why="what is recommended has no result there")
        elif START not in against:
            one = Tried(condition, Standing.OPEN, against, "the start has no trial left there")
        else:
            one = Tried(condition, _STANDINGS.get(against[START].verdict.kind, Standing.OPEN), against)
            one = replace(one, standing=Standing.OVERTAKEN) if one.better else one
        tried.append(one)
    return tuple(tried)


_STANDINGS = {
    Kind.WORSE: Standing.HOLDS,
    Kind.FAILED: Standing.HOLDS,
    Kind.EQUIVALENT: Standing.ALIKE,
}
"""By the verdict of the start against what is recommended."""


def planned(conditions: Sequence[Condition], robust_s: float) -> str:
    """Where an advice will be tried again, for its plan."""
    if not conditions:
        return "the advice is not tried at other loads (--robust does)"
    planned_at = f"then at most {duration(robust_s)} at {', '.join(each.name for each in conditions)}"
    return planned_at if any(each.varied == SCALE for each in conditions) else f"{planned_at}; {NO_SCALE}"


def sentences(tried: Sequence[Tried], objective: str) -> Iterator[str]:
    """A sentence for each condition, and one where the data cannot grow; one in all where none was tried."""
    if not tried:
        yield "other loads: not tried (--robust does)"
    for each in tried:
        yield f"at {each.condition.name}: {_found(each, objective)}"
    if tried and all(each.condition.varied != SCALE for each in tried):
        yield NO_SCALE


def _found(tried: Tried, objective: str) -> str:
    seen = "; ".join(
        f"{objective} {ratio_interval(*inverted(each))} against the {name}" for name, each in tried.against.items()
    )
    if tried.better:
        usual = amount(tried.condition.varied, tried.condition.usual)
        return f"{_standing(tried)}: {seen}; the winner changes between {usual} and {tried.condition.name}"
    known = tried.standing not in (Standing.OPEN, Standing.NOT_TRIED)
    answer = f"the advice {tried.standing}" if known else tried.standing.value
    return ": ".join(part for part in (answer, tried.why or seen) if part)


def table(tried: Sequence[Tried], objective: str) -> Table | None:
    rows = []
    for each in tried:
        found = [each.against.get(name) for name in (START, DEFAULT)]
        cells = [ratio_interval(*inverted(one)) if one else "–" for one in found]
        rows.append([each.condition.name, *cells, _standing(each)])
    head = ["load", f"{objective} against the start", "against the default", "standing"]
    note = "all else as in the confirmation; the intervals hold for all of these loads together, at 95 %"
    return Table(head, rows, notes=(note,), texts=True) if rows else None


def _standing(tried: Tried) -> str:
    if tried.better:
        return f"the {' and the '.join(tried.better)} {'are' if len(tried.better) > 1 else 'is'} better"
    return f"{tried.standing.value}: {tried.why}" if tried.why else tried.standing.value


def values(tried: Sequence[Tried]) -> list[dict[str, Any]]:
    return [
        {
            "varied": each.condition.varied, "usual": each.condition.usual, "tried": each.condition.tried,
            "standing": each.standing.name.lower(), "better": list(each.better), "why": each.why,
            "against": {name: compared_values(found) for name, found in each.against.items()},
        }
        for each in tried
    ]  # fmt: skip


def compared_values(found: Compared) -> Mapping[str, Any]:
    return {"verdict": found.verdict.kind.value, "text": found.verdict.text, **effect_values(found.effect)}
