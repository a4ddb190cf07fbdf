"""What the machine did while servers took turns: its speed over time, where the noise came from, what turns left.

From the slices that trials keep (docs/record.md); a run whose servers had the machine to themselves has none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import TYPE_CHECKING

from pgassay.analysis.alternation import Turns, Washout, block_values, turns_of, washout
from pgassay.analysis.numbers import rounded
from pgassay.errors import PgassayError
from pgassay.record.slices import SliceRecord, read_slices
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.section import Brief, Part, Section, Sentences, Table, Values
from pgassay.report.trials import grouped
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings


@dataclass(frozen=True)
class Played:
    """The slices of a valid trial."""

    trial: TrialRecord
    slices: Sequence[SliceRecord]


@dataclass(frozen=True)
class TurnsAt:
    """What turns came to among the arms that were compared with each other at one place (condition, covariate).

    `blocks` are those in which rounds enough were left, `lost` the rounds that count for no arm. `turns` is None where
    blocks are too few to tell.
    """

    place: str
    blocks: int
    rounds: int
    lost: int
    turns: Turns | None
    washout: Washout


@dataclass(frozen=True)
class Slices:
    """All slices of a run, and what could not be read of them, a sentence each."""

    played: Sequence[Played]
    unread: Sequence[str]


def slices_of(findings: "Findings") -> Slices:
    """The slices of every valid trial that has any."""
    played, unread = [], []
    for trial in findings.trials:
        if trial.status is not Status.VALID or trial.number in dict(findings.run.left_out):
            continue
        try:
            slices = read_slices(findings.run, trial.number)
        except PgassayError as error:
            unread.append(f"the slices of trial {trial.number} cannot be read and are left out here: {error.message}")
            continue
        if slices:
            played.append(Played(trial, slices))
    return Slices(played, unread)


def places_of(findings: "Findings") -> tuple[TurnsAt, ...]:
    """One for each condition and covariate point at which servers took turns."""
    cells = grouped(findings.once(slices_of).played, lambda each: (each.trial.condition, each.trial.covariate))
    found = []
    for (condition, covariate), mine in cells.items():
        rows = [one.row(each.trial.block, each.trial.treatment) for each in mine for one in each.slices]
        values = block_values(rows)
        rounds = {(row.block, row.round) for row in rows}
        found.append(
            TurnsAt(
                formatting.place(condition, covariate),
                len({value.block for value in values.values}),
                len(rounds),
                len(values.lost),
                turns_of(rows, findings.baseline),
                washout(rows, findings.baseline),
            )
        )
    return tuple(found)


def lengthened(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """In how many blocks slices proved too short, and how long they were made instead."""
    found = [each for each in trials if each.regime.get("slice_too_short_s") is not None]
    if found:
        longest_s = max(float(each.regime["slice_s"] or 0.0) for each in found)
        yield (
            f"slices were longer than the planned {found[0].regime['slice_too_short_s']:g} s in"
            f" {formatting.counted(len({each.block for each in found}), 'block')}, up to {longest_s:g} s: too few"
            " transactions ended in them, because of the load or a busy machine"
        )


def busy(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """In how many blocks other programs were busy all the time, so that all rounds count."""
    blocks = {each.block for each in trials if each.status is Status.VALID and each.regime.get("rounds_busy")}
    if blocks:
        yield (
            f"in {formatting.counted(len(blocks), 'block')} other programs were busy in most rounds; these count, since"
            " what goes on all the time slows all servers in turns equally: trust comparisons, not absolute speeds"
        )


def _describe(findings: "Findings") -> Iterator[Part]:
    read, places = findings.once(slices_of), findings.once(places_of)
    if places or read.unread:
        yield Values({"turns": [_values(place) for place in places], "slices_unread": list(read.unread)})
    yield Sentences(read.unread)
    if not places:
        return
    known = [(place, place.turns) for place in places if place.turns is not None]
    brief = "speed over time, slice by slice"
    if known:
        widest = max((turns for _, turns in known), key=lambda turns: turns.noise)
        brief = f"a comparison scattered by {_contrast(widest.noise)} from block to block in turns"
    yield Brief(brief)
    yield Sentences(tuple(sentence for place in places for sentence in _sentences(place, len(places) > 1)))
    yield Sentences(tuple(lengthened(findings.trials)))
    yield from (_sources(place, turns, len(places) > 1) for place, turns in known)


def _sentences(place: TurnsAt, named: bool) -> Iterator[str]:
    at = f"{place.place}: " if named and place.place else ""
    lost = f"; {place.lost} more {'was' if place.lost == 1 else 'were'} left out, for all of them" if place.lost else ""
    yield (
        f"{at}the servers of a block lived at once and took turns: {place.rounds - place.lost} rounds in"
        f" {formatting.counted(place.blocks, 'block')}, each with a slice of every server{lost}"
    )
    turns = place.turns
    if turns is None:
        yield f"{at}where the noise came from is not known: that takes two blocks with two rounds each"
        return
    yield (
        f"{at}comparisons of a block scattered by {_contrast(turns.noise)} in turns"
        f" [{_contrast(turns.noise_low)}, {_contrast(turns.noise_high)}]"
    )
    if place.washout.complete:
        yield (
            f"{at}no comparison shifts by more than ±{_percent(place.washout.limit)} when the first tenth of each slice"
            " is left out: what a server finds after another's turn has passed by then"
        )


def carried_over(findings: "Findings") -> Iterator[str]:
    """A sentence for each comparison that the first tenth of its slices shifts by more than may be."""
    for place in findings.once(places_of):
        at = f"{place.place}: " if len(findings.once(places_of)) > 1 and place.place else ""
        for each in place.washout.shifted:
            ends = f"[{_percent(each.low)}, {_percent(each.high)}]"
            yield (
                f"{at}{each.arm}: the first tenth of its slices shifts the comparison by {_percent(each.shift)} {ends},"
                " so a server still feels the turn before its own: ask for a longer design.lead_in"
            )


def _contrast(noise: float) -> str:
    """A trial's noise as that of a comparison of two."""
    return _percent(noise * sqrt(2.0))


def _percent(share: float) -> str:
    return f"{rounded(100.0 * share)} %"


def _sources(place: TurnsAt, turns: Turns, named: bool) -> Table:
    shares = turns.shares
    parts = [
        ("the machine over time: turns take it out", shares.machine),
        ("the start of a server: stays", shares.instance),
        ("from slice to slice: averaged", shares.slice - (shares.residual or 0.0)),
    ]
    if shares.residual is not None:
        parts.append(("within a slice: averaged", shares.residual))
    whole = sum(variance for _, variance in parts)
    rows = [
        (source, _percent(sqrt(variance)), _percent(variance / whole) if whole > 0.0 else formatting.MISSING)
        for source, variance in parts
    ]
    title = "Where the noise of a slice comes from"
    return Table(
        ("source", "standard deviation", "share of variance"),
        rows,
        f"{title}: {place.place}" if named and place.place else title,
        (
            f"estimated from {formatting.counted(place.blocks, 'block')}; a share that came out negative is 0;"
            " only more blocks narrow what the start of a server brings",
        ),
        whole=True,
    )


def _values(place: TurnsAt) -> dict[str, object]:
    return {
        "place": place.place,
        "blocks": place.blocks,
        "rounds": place.rounds,
        "rounds_left_out": place.lost,
        "noise": place.turns and asdict(place.turns),
        "washout": asdict(place.washout),
    }


SECTION = Section("turns", "What the machine did", _describe, link="What the machine did")
