"""The effect without each host of a fleet: would the verdict be another one?

Each is judged by the run's own rules (looks, comparisons, resolution), so it says what the run would have said without
that host. It decides nothing. Of two hosts one would be left alone: its effect is in the table by host.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgassay.analysis.hosts import HOSTS_MIN
from pgassay.analysis.verdicts import Kind
from pgassay.report import words
from pgassay.report.findings import Findings, Judged
from pgassay.report.json_values import effect_values
from pgassay.report.section import Block, Sentences, Table
from pgassay.study.responses import Response

_COMPARED = (Kind.BETTER, Kind.WORSE, Kind.DIFFERENT, Kind.EQUIVALENT, Kind.UNRESOLVED)
_TOLD = 3
"""Hosts that a sentence names; the table has all."""


@dataclass(frozen=True)
class Comparison:
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


def comparisons(whole: Sequence[Judged], rest: Callable[[str], Sequence[Judged]]) -> list[Comparison]:
    """Those of `whole` that three hosts or more have blocks of; `rest` judges what is left without a host."""
    between = [(each, each.effect.between) for each in whole if each.verdict.kind in _COMPARED]
    known = [(each, found.hosts) for each, found in between if found is not None and len(found.hosts) > HOSTS_MIN]
    names = dict.fromkeys(host.host for _, hosts in known for host in hosts)
    left = {name: {each.effect.place: each for each in rest(name)} for name in names}
    return [
        Comparison(each, {host.host: left[host.host][each.effect.place] for host in hosts}) for each, hosts in known
    ]


def of_run(findings: Findings) -> list[Comparison]:
    """Of a run's primary; empty below three hosts."""
    names = list(dict.fromkeys(trial.host for trial in findings.trials))
    return comparisons(
        findings.verdicts,
        lambda left_out: Findings(findings.run, hosts=[name for name in names if name != left_out]).verdicts,
    )


def sentence(found: Comparison, response: Response) -> str:
    """`75: better by all 3 hosts, but without h3: +2.1 % [-0.3, +4.5], unresolved`."""
    name, kind = found.whole.effect.place.name, found.whole.verdict.kind
    changing = found.changing
    if not changing:
        return f"{name}: {kind} whichever host is left out"
    told = [f"without {host}: {_shown(found.without[host], response)}" for host in changing[:_TOLD]]
    if len(changing) > _TOLD:
        told.append(f"another verdict without each of {words.counted(len(changing) - _TOLD, 'other host')}, too")
    return f"{name}: {kind} by all {words.counted(len(found.without), 'host')}, but {'; '.join(told)}"


def _shown(judged: Judged, response: Response) -> str:
    return f"{words.effect(judged.effect, response)}, {judged.verdict.kind}"


def table(found: Sequence[Comparison], response: Response) -> Table:
    """A row for each host that is left out, a column for each comparison; rows with another verdict are marked."""
    names = list(dict.fromkeys(name for each in found for name in each.without))
    rows = [[name, *(_cell(each, name, response) for each in found)] for name in names]
    marked = [place for place, name in enumerate(names) if any(name in each.changing for each in found)]
    note = "by the rules of the run itself, at as many looks and for as many comparisons; it decides nothing"
    head = ["without", *(each.whole.effect.place.name for each in found)]
    return Table(head, rows, "Effect without each host", (note,), marked=marked, texts=True)


def _cell(found: Comparison, host: str, response: Response) -> str:
    if host not in found.without:
        return words.MISSING
    instead = f" instead of {found.whole.verdict.kind}" if found.changes(host) else ""
    return f"{_shown(found.without[host], response)}{instead}"


def blocks(findings: Findings) -> Iterator[Block]:
    """Sentences and table; nothing below three hosts."""
    found = findings.once(of_run)
    if found:
        yield Sentences(tuple(sentence(each, findings.primary) for each in found))
        yield table(found, findings.primary)


def plain(findings: Findings) -> list[dict[str, object]]:
    """For JSON: each comparison without each host, and whether the verdict is another one then."""
    return [
        {
            **effect_values(judged.effect), "without": host, "verdict": judged.verdict.kind,
            "verdict_changes": each.changes(host),
        }
        for each in findings.once(of_run)
        for host, judged in each.without.items()
    ]  # fmt: skip
