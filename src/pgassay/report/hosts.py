"""The effect on each host of a fleet, how far hosts differ, and what is the same of them.

A verdict over several hosts is one of this kind of host (docs/fleet.md). A host's own interval is of that host alone,
by the spread of blocks that all hosts share: it says whether one stands out, and takes no part in the verdict.

Would the verdict be another one without a host? The rest is judged by the run's own rules (looks, comparisons,
resolution), so it says what the run would have said without that host. It decides nothing. Of two hosts one would be
left alone: its effect is in the table by host.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, log
from typing import TYPE_CHECKING, Any

from pgassay.analysis.hosts import HOSTS_MIN, BetweenHosts, HostEffect, host_interval
from pgassay.analysis.verdicts import Kind
from pgassay.report import words
from pgassay.report.colours import INK, PALETTE
from pgassay.report.findings import Findings, Judged
from pgassay.report.json_values import effect_values
from pgassay.report.provenance import facts, lasting
from pgassay.report.section import (
    Block,
    Brief,
    Drawing,
    Figure,
    Folded,
    Part,
    Section,
    Sentences,
    Surface,
    Table,
    Values,
)
from pgassay.study.responses import Response, Scale

if TYPE_CHECKING:
    from pgassay.analysis.effects import Effect
    from pgassay.report.findings import Findings

KIND = "this kind of host"
"""The row of a forest that the verdict is about."""
_KNOWN_FOLD = 2.0
"""Where the spread between hosts may be more than twofold, its interval tells nothing: two hosts allow anything."""


def _of_hosts(findings: "Findings") -> list[tuple["Effect", BetweenHosts]]:
    return [(each.effect, each.effect.between) for each in findings.verdicts if each.effect.between is not None]


def _sentence(effect: "Effect", found: BetweenHosts, response: Response) -> str:
    hosts = words.counted(len(found.hosts), "host")
    spread, low, high = (_spread(value, response) for value in (found.deviation, found.low, found.high))
    about = f"{effect.place.name}: {words.effect(effect, response)} on {KIND}, by {hosts}"
    if not isfinite(found.deviation):
        return f"{about}; how far hosts differ is not known: none has two blocks"
    within = _spread(found.within, response)
    apart = f"between hosts the effect differs by {spread}"
    if response.scale is not Scale.RATIO or found.high <= log(_KNOWN_FOLD):
        return f"{about}; {apart} [{low}, {high}], from block to block by {within}"
    if found.low > 0:
        return f"{about}; {apart}, at least {low}, from block to block by {within}"
    return f"{about}; how far hosts differ is not known from so few: {spread} was seen, {within} from block to block"


def _spread(value: float, response: Response) -> str:
    """A standard deviation in the scale of contrasts."""
    if not isfinite(value):
        return "unknown"
    if response.scale is Scale.RATIO:
        return f"{words.number((exp(value) - 1) * 100)} %"
    return words.quantity(value, response)


def _shown(host: HostEffect, found: BetweenHosts, response: Response) -> tuple[float, float, float]:
    return words.of_contrasts(host.mean, *host_interval(found, host), response)


def _table(findings: "Findings", effects: Sequence[tuple["Effect", BetweenHosts]]) -> Table:
    response = findings.primary
    names = list(dict.fromkeys(host.host for _, found in effects for host in found.hosts))
    rows = []
    for name in names:
        cells = []
        for _, found in effects:
            mine = next((host for host in found.hosts if host.host == name), None)
            shown = mine and words.interval(*_shown(mine, found, response), response.scale, response)
            cells.append(f"{shown} ({words.counted(mine.blocks, 'block')})" if mine else words.MISSING)
        rows.append([name, *cells])
    kind = [words.effect(effect, response) for effect, _ in effects]
    head = ["host", *(effect.place.name for effect, _ in effects)]
    note = "a host's interval is of that host alone, at 95 % and at one look; the last row is the verdict's"
    return Table(head, [*rows, [KIND, *kind]], "Effect by host", (note,), texts=True)


def drawing(findings: "Findings") -> Drawing | None:
    """A forest of hosts, a panel for each comparison; None without an interval."""
    from pgassay.report.charts import forest

    response = findings.primary
    rows: list[dict[str, Any]] = []
    for effect, found in _of_hosts(findings):
        panel = effect.place.name
        for host in found.hosts:
            rows += _row(host.host, host.blocks, _shown(host, found, response), response, panel)
        rows += _row(KIND, effect.blocks, (effect.estimate, effect.low, effect.high), response, panel)
    if not rows:
        return None
    import altair as alt

    order = list(dict.fromkeys(row["label"] for row in sorted(rows, key=lambda row: row["label"] == KIND)))
    shades = alt.Color("shade:N", scale=alt.Scale(domain=["host", "kind"], range=[PALETTE[0], INK]), legend=None)
    names = tuple(dict.fromkeys(row["panel"] for row in rows))
    title = f"{response.title}, change against the baseline, %"
    return Drawing(
        "The effect on each host",
        f"Lines: a host's own interval at 95 %, by the spread of blocks that hosts share; {KIND}: the verdict's, which "
        "takes the differences between hosts into account.",
        forest(rows, order, title, shades, field="panel", names=names),
    )


def _row(
    label: str, blocks: int, values: tuple[float, float, float], response: Response, panel: str
) -> list[dict[str, Any]]:
    ratio = response.scale is Scale.RATIO
    if not all(map(isfinite, values)):
        return []
    shown = [(value - 1) * 100 if ratio else value for value in values]
    return [
        {
            "label": label, "estimate": shown[0], "low": shown[1], "high": shown[2], "blocks": blocks, "panel": panel,
            "text": words.interval(*values, response.scale, response), "shade": "kind" if label == KIND else "host",
        }
    ]  # fmt: skip


_COMPARED = (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT, Kind.EQUIVALENT, Kind.UNRESOLVED)
_TOLD = 3
"""Hosts that a sentence names; the table has all."""


@dataclass(frozen=True)
class WithoutHosts:
    """One comparison by all hosts, and by each host's name as it is without that host."""

    whole: Judged
    without: Mapping[str, Judged]

    def changes(self, host: str) -> bool:
        """Is it another verdict without this host? That two differ the other way round is another one, too."""
        return _said(self.whole) != _said(self.without[host])

    @property
    def changing(self) -> list[str]:
        """The hosts that the verdict hangs on."""
        return [host for host in self.without if self.changes(host)]


def _said(judged: Judged) -> tuple[Kind, bool]:
    kind, effect = judged.verdict.kind, judged.effect
    return kind, kind is Kind.DIFFERENT and effect.estimate > effect.none


def without_hosts(whole: Sequence[Judged], rest: Callable[[str], Sequence[Judged]]) -> list[WithoutHosts]:
    """Those of `whole` that three hosts or more have blocks of; `rest` judges what is left without a host."""
    between = [(each, each.effect.between) for each in whole if each.verdict.kind in _COMPARED]
    known = [(each, found.hosts) for each, found in between if found is not None and len(found.hosts) > HOSTS_MIN]
    names = dict.fromkeys(host.host for _, hosts in known for host in hosts)
    left = {name: {each.effect.place: each for each in rest(name)} for name in names}
    return [
        WithoutHosts(each, {host.host: left[host.host][each.effect.place] for host in hosts}) for each, hosts in known
    ]


def without_each(findings: Findings) -> list[WithoutHosts]:
    """Of a run's primary; empty below three hosts."""
    names = list(dict.fromkeys(trial.host for trial in findings.trials))
    return without_hosts(
        findings.verdicts,
        lambda left_out: Findings(findings.run, hosts=[name for name in names if name != left_out]).verdicts,
    )


def without_sentence(found: WithoutHosts, response: Response) -> str:
    """`75: better by all 3 hosts, but without h3: +2.1 % [-0.3, +4.5], unresolved`."""
    name, kind = found.whole.effect.place.name, found.whole.verdict.kind
    changing = found.changing
    if not changing:
        return f"{name}: {kind} whichever host is left out"
    said = [f"without {host}: {_judged_in_words(found.without[host], response)}" for host in changing[:_TOLD]]
    if len(changing) > _TOLD:
        said.append(f"another verdict without each of {words.counted(len(changing) - _TOLD, 'other host')}, too")
    return f"{name}: {kind} by all {words.counted(len(found.without), 'host')}, but {'; '.join(said)}"


def _judged_in_words(judged: Judged, response: Response) -> str:
    return f"{words.effect(judged.effect, response)}, {judged.verdict.kind}"


def without_table(found: Sequence[WithoutHosts], response: Response) -> Table:
    """A row for each host that is left out, a column for each comparison; rows with another verdict are marked."""
    names = list(dict.fromkeys(name for each in found for name in each.without))
    rows = []
    for name in names:
        cells = []
        for each in found:
            kept = f" instead of {each.whole.verdict.kind}" if name in each.changing else ""
            cells.append(
                f"{_judged_in_words(each.without[name], response)}{kept}" if name in each.without else words.MISSING
            )
        rows.append([name, *cells])
    marked = [place for place, name in enumerate(names) if any(name in each.changing for each in found)]
    note = "by the rules of the run itself, at as many looks and for as many comparisons; it decides nothing"
    head = ["without", *(each.whole.effect.place.name for each in found)]
    return Table(head, rows, "Effect without each host", (note,), marked=marked, texts=True)


def without_values(found: Sequence[WithoutHosts]) -> list[dict[str, object]]:
    """For JSON: each comparison without each host, and whether the verdict is another one then."""
    return [
        {
            **effect_values(judged.effect), "without": host, "verdict": judged.verdict.kind,
            "verdict_changes": each.changes(host),
        }
        for each in found
        for host, judged in each.without.items()
    ]  # fmt: skip


def _facts(fleet: Mapping[str, Any]) -> Iterator[Block]:
    """What is recorded of the hosts: what differs among them first."""
    leaves: dict[str, dict[str, str]] = {}
    for name, host in fleet.items():
        found = host.get("facts") if isinstance(host, Mapping) else None
        mine = facts(found) if isinstance(found, Mapping) else []
        leaves[str(name)] = {fact: text for fact, text in mine if lasting(fact)}
    names = list(dict.fromkeys(name for each in leaves.values() for name in each))
    rows = [[name, *(each.get(name, words.MISSING) for each in leaves.values())] for name in names]
    different = [row for row in rows if len(set(row[1:])) > 1]
    alike = [row for row in rows if len(set(row[1:])) == 1]
    yield Folded(
        f"What differs among the hosts: {words.counted(len(different), 'fact')}",
        (Table(["fact", *leaves], different, on=Surface.PAGE),),
    )
    yield Folded("What is the same", (Table(["fact", "all hosts"], [row[:2] for row in alike], on=Surface.PAGE),))


def _describe(findings: Findings) -> Iterator[Part]:
    effects, response = _of_hosts(findings), findings.primary
    if not effects:
        return
    places = [
        {
            **effect.place._asdict(), "host": host.host, "blocks": host.blocks,
            **dict(zip(("estimate", "low", "high"), _shown(host, between, response), strict=True)),
        }
        for effect, between in effects
        for host in between.hosts
    ]  # fmt: skip
    left_out = without_each(findings)
    without = without_values(left_out)
    yield Values({**({"hosts": places} if places else {}), **({"without_host": without} if without else {})})
    said = tuple(_sentence(each, found, response) for each, found in effects)
    yield Brief(said[0])
    yield Sentences(said)
    yield Figure("effects-by-host", lambda: drawing(findings))
    yield _table(findings, effects)
    if left_out:
        yield Sentences(tuple(without_sentence(each, response) for each in left_out))
        yield without_table(left_out, response)
    fleet = findings.run.host.get("fleet")
    if isinstance(fleet, Mapping) and fleet:
        yield from _facts(fleet)


SECTION = Section("hosts", "By host", _describe, link="By host")
