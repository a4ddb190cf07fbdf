"""The effect on each host day by day, and whether it changed: where blocks lie more than a day apart.

A run over days shows it by itself; several runs of one study are put together by `pgassay show RUN RUN`. None of it
takes part in a verdict: a verdict is about all the days together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import exp, isfinite, log
from typing import TYPE_CHECKING, Any

from pgassay.analysis.hosts import Drift, HostDay, Moment, drift
from pgassay.report import words
from pgassay.report.section import Brief, Drawing, Figure, Part, Section, Sentences, Table, Values
from pgassay.study.levels import Place
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.record.reading import Run
    from pgassay.report.findings import Findings

_DAY_NS = 86_400 * 10**9
_HERE = "this machine"
_HEIGHT_PX = 220


@dataclass(frozen=True)
class Drifting:
    """How the effect at one place changed over days."""

    place: Place
    drift: Drift


def drifts(all_findings: Sequence["Findings"]) -> list[Drifting]:
    """Of each comparison of the primary, over the blocks of these runs of one study together."""
    found: dict[Place, list[Moment]] = {}
    for findings in all_findings:
        began = _began(findings.run)
        ratio = findings.primary.scale is Scale.RATIO
        for judged in findings.verdicts:
            moments = found.setdefault(judged.effect.place, [])
            for block, value in judged.effect.contrasts:
                if block in began:
                    moments.append(Moment(*began[block], log(value) if ratio else value))
    drifting = ((place, drift(moments)) for place, moments in found.items())
    return [Drifting(place, each) for place, each in drifting if each is not None]


def _began(run: "Run") -> dict[int, tuple[str, float]]:
    """Of each block its host and when it began, in days since the epoch; blocks of unknown times are left out."""
    found: dict[int, tuple[str, float]] = {}
    for trial in run.trials:
        if trial.started_wall_ns > 0:
            began = trial.started_wall_ns / _DAY_NS
            before = found.get(trial.block, ("", began))[1]
            found[trial.block] = (trial.host or host_of(run.host), min(before, began))
    return found


def host_of(facts: Mapping[str, Any]) -> str:
    """A run's one machine, as workers of a fleet are called: `host-` and six digits of its hash."""
    place = facts.get("place")
    name = place.get("host") if isinstance(place, Mapping) else None
    return f"host-{str(name)[:6]}" if name else _HERE


def sentence(found: Drifting, response: Response) -> str:
    """What is said of one comparison."""
    over = f"{found.place.name}: over {found.drift.span_days:.1f} days"
    if not isfinite(found.drift.low):
        return f"{over} too few blocks to tell whether the effect changed"
    change = " to ".join(_shown(end, response) for end in (found.drift.low, found.drift.high))
    if found.drift.shown:
        return f"{over} the effect changed by {_shown(found.drift.per_day, response)} a day ({change})"
    return f"{over} no change of the effect is shown: {change} a day"


def _shown(value: float, response: Response) -> str:
    """A change in the scale of contrasts."""
    if response.scale is Scale.RATIO:
        return f"{(exp(value) - 1) * 100:+.2g} %"
    return words.quantity(value, response)


def table(found: Sequence[Drifting], response: Response) -> Table:
    """A row for each host and day, a column for each comparison."""
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for each in found:
        for day in each.drift.days:
            cells.setdefault((day.host, day.day), {})[each.place.name] = _cell(day, response)
    names = [each.place.name for each in found]
    rows = [[host, date_of(day), *(cells[host, day].get(name, "–") for name in names)] for host, day in sorted(cells)]
    note = "a day is one of UTC; an interval is of that host and day alone, at 95 % and at one look"
    return Table(["host", "day", *names], rows, "Effect by host and day", (note,), texts=True)


def _cell(day: HostDay, response: Response) -> str:
    ends = _ends(day, response)
    blocks = words.counted(day.blocks, "block")
    if not all(map(isfinite, ends)):
        return f"{_shown(day.mean, response)} ({blocks})"
    return f"{words.interval(*ends, response.scale, response)} ({blocks})"


def _ends(day: HostDay, response: Response) -> tuple[float, float, float]:
    return words.of_contrasts(day.mean, day.low, day.high, response)


def date_of(day: int) -> str:
    """A day since the epoch as a date."""
    return datetime.fromtimestamp(day * 86_400, UTC).strftime("%Y-%m-%d")


def drawing(found: Sequence[Drifting], response: Response) -> Drawing | None:
    """Points over days, a panel for each comparison, a colour for each host; None without any."""
    import altair as alt

    from pgassay.report import charts
    from pgassay.report.colours import INK

    ratio = response.scale is Scale.RATIO
    hosts = tuple(sorted({day.host for each in found for day in each.drift.days}))
    rows: list[dict[str, Any]] = []
    for each in found:
        for day in each.drift.days:
            # No bar hides another host's: each has its place within the day.
            minutes = 24 * 60 * (hosts.index(day.host) + 1) // (len(hosts) + 1)
            at = f"{date_of(day.day)}T{minutes // 60:02d}:{minutes % 60:02d}:00"
            mean, low, high = ((value - 1) * 100 if ratio else value for value in _ends(day, response))
            bar = {"low": low, "high": high} if isfinite(low) and isfinite(high) else {"low": mean, "high": mean}
            rows.append(
                {"panel": each.place.name, "treatment": day.host, "day": at, "estimate": mean,
                 "blocks": day.blocks, "text": _cell(day, response), **bar}
            )  # fmt: skip
    if not rows:
        return None
    names = tuple(dict.fromkeys(row["panel"] for row in rows))
    base = alt.Chart().encode(
        x=alt.X("day:T", title="day (UTC)", axis=alt.Axis(format="%d %b", tickCount="day")),
        color=charts.colour(hosts, "host"),
        tooltip=[charts.tip("treatment:N", "host"), charts.tip("text:N", "effect")],
    )
    unit = "%" if ratio else response.unit
    title = charts.wrapped(f"{response.title}, change against the baseline, {unit}", charts.NARROW)
    bars = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    points = base.mark_line(point=True).encode(y="estimate:Q")
    none = alt.Chart().mark_rule(color=INK, strokeWidth=1).encode(y=alt.YDatum(0))
    chart = charts.layered([none, bars, points], rows, _HEIGHT_PX, "panel", names)
    return Drawing(
        "The effect on each host day by day",
        "Bars: a host's own interval of that day at 95 %. Days are told apart by their date in UTC.",
        chart,
    )


def _describe(findings: "Findings") -> Iterator[Part]:
    found = drifts([findings])
    if not found:
        return
    yield Values({"drift": plain(found, findings.primary)})
    said = tuple(sentence(each, findings.primary) for each in found)
    yield Brief(said[0])
    yield Sentences(said)
    yield Figure("effects-by-day", lambda: drawing(found, findings.primary))
    yield table(found, findings.primary)


def plain(found: Sequence[Drifting], response: Response) -> list[dict[str, object]]:
    """For JSON: changes as factors a day on a ratio scale, else in the response's unit; None where not known."""
    rows: list[dict[str, object]] = []
    for each in found:
        drifted = words.of_contrasts(each.drift.per_day, each.drift.low, each.drift.high, response)
        per_day, low, high = map(_known, drifted)
        days = [
            {"host": day.host, "day": date_of(day.day), "blocks": day.blocks,
             **dict(zip(("estimate", "low", "high"), map(_known, _ends(day, response)), strict=True))}
            for day in each.drift.days
        ]  # fmt: skip
        changes = {"span_days": each.drift.span_days, "per_day": per_day, "low": low, "high": high}
        rows.append({**each.place._asdict(), **changes, "days": days})
    return rows


def _known(value: float) -> float | None:
    return value if isfinite(value) else None


SECTION = Section("drift", "Over days", _describe, link="Over days")
