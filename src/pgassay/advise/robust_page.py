"""What is told of an advice at other loads: sentences, a table for its page, values for scripts.

The answer first: whether the advice still wins, and where it does not, between which loads the winner changes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pgassay.advise.elimination import Compared, inverted
from pgassay.advise.robust import DEFAULT, SCALE, START, Condition, Standing, Tried, amount
from pgassay.report.json_values import effect_values
from pgassay.report.section import Table
from pgassay.report.words import duration, ratio_interval

NO_SCALE = "at twice the data: not tried, since the data of this load have no scale"
"""Of a capture, or of scripts with data of their own."""


def planned(conditions: Sequence[Condition], robust_s: float) -> str:
    """Where an advice will be tried again, for its plan."""
    if not conditions:
        return "the advice is not tried at other loads (--robust does)"
    told = f"then at most {duration(robust_s)} at {', '.join(each.name for each in conditions)}"
    return told if _scaled(conditions) else f"{told}; {NO_SCALE}"


def _scaled(conditions: Iterable[Condition]) -> bool:
    """Is the size of the data one of those that are varied, whether it could be tried or not?"""
    return any(each.varied == SCALE for each in conditions)


def sentences(tried: Sequence[Tried], objective: str) -> Iterator[str]:
    """A sentence for each condition, and one where the data cannot grow; one in all where none was tried."""
    if not tried:
        yield "other loads: not tried (--robust does)"
    for each in tried:
        yield f"at {each.condition.name}: {_found(each, objective)}"
    if tried and not _scaled(each.condition for each in tried):
        yield NO_SCALE


def _found(tried: Tried, objective: str) -> str:
    seen = "; ".join(
        f"{objective} {ratio_interval(*inverted(each))} against the {name}" for name, each in tried.against.items()
    )
    if tried.better:
        usual = amount(tried.condition.varied, tried.condition.usual)
        between = f"the winner changes between {usual} and {tried.condition.name}"
        return f"the {' and the '.join(tried.better)} {_is(tried)} better: {seen}; {between}"
    words = {
        Standing.HOLDS: "the advice holds",
        Standing.ALIKE: "the advice makes no difference",
        Standing.OPEN: "not resolved",
        Standing.FAILS: "the advice fails",
        Standing.NOT_TRIED: "not tried",
    }
    told = words[tried.standing]
    return ": ".join(part for part in (told, tried.why or seen) if part)


def _is(tried: Tried) -> str:
    return "are" if len(tried.better) > 1 else "is"


def table(tried: Sequence[Tried], objective: str) -> Table | None:
    """A row for each condition; None where none was tried."""
    rows = [[each.condition.name, _cell(each, START), _cell(each, DEFAULT), _standing(each)] for each in tried]
    head = ["load", f"{objective} against the start", "against the default", "standing"]
    note = "all else as in the confirmation; the intervals hold for all of these loads together, at 95 %"
    return Table(head, rows, notes=(note,), texts=True) if rows else None


def _cell(tried: Tried, name: str) -> str:
    found = tried.against.get(name)
    return ratio_interval(*inverted(found)) if found else "–"


def _standing(tried: Tried) -> str:
    if tried.better:
        return f"the {' and the '.join(tried.better)} {_is(tried)} better"
    return f"{tried.standing.value}: {tried.why}" if tried.why else tried.standing.value


def values(tried: Sequence[Tried]) -> list[dict[str, Any]]:
    """For scripts, a table for each condition."""
    return [
        {
            "varied": each.condition.varied, "usual": each.condition.usual, "tried": each.condition.tried,
            "standing": each.standing.name.lower(), "better": list(each.better), "why": each.why,
            "against": {name: compared_values(found) for name, found in each.against.items()},
        }
        for each in tried
    ]  # fmt: skip


def compared_values(found: Compared) -> Mapping[str, Any]:
    """Effect and verdict of one comparison."""
    return {"verdict": found.verdict.kind.value, "text": found.verdict.text, **effect_values(found.effect)}
