"""Power cuts: is each treatment safe, how sure is that, what was found; torn pages and lost writes as figures.

A treatment is unsafe as soon as one cut lost or damaged something. A safe one has a bound: how often a cut might still
do so (`analysis.crash_risk`); the confidence sequence decides, since runs end by budget and may be watched. What a cut
is and what it assumes: docs/power-cut.md.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pgassay.analysis.crash_risk import Risk, risk_of
from pgassay.analysis.messages import plural, rounded
from pgassay.record.power_cuts import (
    DAMAGED_FILESYSTEM,
    DAMAGED_PAGE,
    HALF_TRANSACTION,
    LOST_COMMITS,
    NEVER_SENT,
    NO_RECOVERY,
    SOUND,
    CutRecord,
    power_cuts,
)
from pgassay.report import words
from pgassay.report.case import Headline, Text
from pgassay.report.section import Block, Drawing, Figure, Section, Sentences, Surface, Table
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

RESPONSES = ("unsafe_cuts", "power_cuts", "lost_commit_ms")
"""Primaries whose answer is given here, and not by a comparison."""
_SECTOR_BYTES = 512
_SHOWN = 8
"""Kinds of damage that are listed of each treatment."""
FOUND: Mapping[str, str] = {
    LOST_COMMITS: "lost commits that had been acknowledged",
    NEVER_SENT: "showed transactions that were never sent",
    HALF_TRANSACTION: "left a transaction in part",
    DAMAGED_PAGE: "damaged a page",
    DAMAGED_FILESYSTEM: "damaged the file system",
    NO_RECOVERY: "left a server that does not start",
}
"""Verdicts of a cut in words."""
ASSUMED = (
    "emulated: the power of a modelled drive was cut, not that of a real one; the page cache is lost, writes since the "
    "last flush are lost or torn as the drive's options say, and a real PostgreSQL recovers on what is left"
)


@dataclass(frozen=True)
class Treatment:
    """All cuts of one treatment, in their order."""

    name: str
    cuts: Sequence[CutRecord]
    risk: Risk
    loss_ms: float

    @property
    def damage(self) -> Sequence[tuple[int, CutRecord]]:
        """Cuts that did damage, with their place from 1."""
        return [(place, cut) for place, cut in enumerate(self.cuts, start=1) if cut.verdict != SOUND]


def treatments(findings: "Findings") -> Sequence[Treatment]:
    """Every treatment of which cuts were made, in the study's order."""
    found: dict[str, list[tuple[int, CutRecord]]] = {}
    for trial in findings.trials:
        if trial.status is not Status.INVALID:
            cuts = power_cuts(findings.run, trial.number)
            found.setdefault(trial.treatment, []).extend((trial.number, cut) for cut in cuts)
    return [
        Treatment(
            each.name,
            [cut for _, cut in mine],
            risk_of(((number, cut.epoch), cut.verdict != SOUND) for number, cut in mine),
            max((cut.loss_ms for _, cut in mine), default=0.0),
        )
        for each in findings.study.treatments
        if (mine := found.get(each.name, []))
    ]


def told(findings: "Findings") -> Headline | None:
    """The headline of a run whose primary is about power cuts; None for another."""
    if findings.primary.name not in RESPONSES:
        return None
    mine = findings.once(treatments)
    if not mine:
        return None
    text = Text()
    sound = [each for each in mine if not each.damage]
    damaged = [each for each in mine if each.damage]
    parts = [answer(each, text) for each in (*sound, *damaged)]
    return Headline([f"on an emulated drive, {parts[0]}", *parts[1:]], text.figures)


def answer(each: Treatment, text: Text) -> str:
    """One treatment in a sentence."""
    made, risk = len(each.cuts), each.risk
    number = text.count(made, f"power cuts with {each.name}")
    if not each.damage:
        bound = text.number(f"{rounded(risk.upper * 100)} %", risk.upper, f"bound of damage with {each.name}")
        return (
            f"{each.name} is safe here: 0 of {number} cuts lost or damaged anything, so fewer than {bound} do, with "
            "95 % certainty"
        )
    place, first = each.damage[0]
    count = text.count(len(each.damage), f"damaging cuts with {each.name}")
    return (
        f"{each.name} is unsafe: {count} of {number} cuts did damage; the first, at cut {place}, "
        f"{FOUND.get(first.verdict, first.verdict)}"
    )


def _blocks(findings: "Findings") -> Iterator[Block]:
    mine = findings.once(treatments)
    if not mine:
        return
    yield Sentences((ASSUMED,))
    head = (
        "",
        "cuts",
        "epochs",
        "damaging cuts",
        "may do damage, below",
        "recovery, median",
        "recovery, greatest",
        "cut, median",
    )
    yield Table(head, [_row(each) for each in mine], notes=tuple(_notes(mine)), name="power-cuts", whole=True)
    for each in mine:
        if each.damage:
            yield Table(
                ("first at cut", "cuts", "what it did", "first evidence"),
                _found(each),
                title=each.name,
                texts=True,
                name=f"damage {each.name}",
            )
    yield Figure("torn-page", lambda: _torn_page(mine), key=1)
    yield Figure("lost-writes", lambda: _lost_writes(mine))


def _row(each: Treatment) -> Sequence[str]:
    recoveries = sorted(cut.recovery_ms for cut in each.cuts if cut.recovery_ms is not None)
    middle = f"{rounded(recoveries[len(recoveries) // 2])} ms" if recoveries else words.MISSING
    most = f"{rounded(recoveries[-1])} ms" if recoveries else words.MISSING
    cuts_ms = sorted(cut.cut_ms for cut in each.cuts)
    risk = each.risk
    return (
        each.name,
        str(risk.cuts),
        str(risk.epochs),
        str(risk.damaged_cuts),
        f"{rounded(risk.upper * 100)} %",
        middle,
        most,
        f"{rounded(cuts_ms[len(cuts_ms) // 2])} ms",
    )


def _notes(mine: Sequence[Treatment]) -> Iterator[str]:
    yield (
        "the bound is one-sided, at 95 %, by epochs (the time between two flushes: cuts of one epoch are alike), and "
        "holds whenever one looks; for a number of cuts that was fixed beforehand it is "
        + ", ".join(f"{rounded(each.risk.fixed_upper * 100)} %" for each in mine)
        + ", in the order of the rows"
    )
    if any(each.loss_ms and not each.damage for each in mine):
        lost = ", ".join(f"{each.name}: {rounded(each.loss_ms)} ms" for each in mine if each.loss_ms)
        yield f"commits that the settings allow to be lost (synchronous_commit = off), at most before a cut: {lost}"
    unchecked = [each.name for each in mine if not any(cut.ledger for cut in each.cuts)]
    if unchecked:
        named = ", ".join(unchecked)
        yield f"without load.script = ledger, lost commits and half transactions are not looked for: {named}"
    deep = sum(cut.amcheck for each in mine for cut in each.cuts)
    yield f"tables and indexes were checked by amcheck after {words.counted(deep, 'cut')}, the file system after each"


def _found(each: Treatment) -> Sequence[Sequence[str]]:
    counts = Counter(cut.verdict for _, cut in each.damage)
    first: dict[str, tuple[int, CutRecord]] = {}
    for place, cut in each.damage:
        first.setdefault(cut.verdict, (place, cut))
    return [
        (str(first[verdict][0]), str(count), FOUND.get(verdict, verdict), first[verdict][1].detail)
        for verdict, count in counts.most_common(_SHOWN)
    ]


def _torn_page(mine: Sequence[Treatment]) -> Drawing | str | None:
    """Of each treatment the first torn page that did damage, or else one that did none, sector by sector."""
    rows = [row for each in mine for row in _sectors(each)]
    if not rows:
        return "no page was torn by any of the cuts"
    import altair as alt

    from pgassay.report import charts
    from pgassay.report.colours import GREY, PALETTE

    kinds = ("as before the write", "as written", "the same in both")
    shades = alt.Scale(domain=kinds, range=[PALETTE[1], PALETTE[0], GREY])
    base = charts.chart_of(rows)
    tips = [
        charts.tip(f"{name}:N") for name in ("treatment", "bytes", "kind", "outcome", "old_lsn", "new_lsn", "block")
    ]
    marks = base.mark_rect(stroke="white", strokeWidth=1).encode(
        x=alt.X("sector:O", title="sector of 512 bytes within the page", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=charts.NARROW)),
        color=alt.Color("kind:N", scale=shades, legend=alt.Legend(title=None, orient="bottom")),
        tooltip=tips,
    )
    return Drawing(
        "A page that was in flight when the power failed",
        "A row is one page as it lay on the drive after the cut: which sectors hold the old page, and which the new "
        "one. With full-page images in the WAL recovery replaces all of it; without them nothing repairs it.",
        marks.properties(width=charts.WIDTH, height=36 * len({row["label"] for row in rows})),
    )


def _sectors(each: Treatment) -> Iterator[dict[str, Any]]:
    torn = [(place, cut) for place, cut in enumerate(each.cuts, start=1) if cut.page and cut.page.get("torn")]
    if not torn:
        return
    place, cut = min(torn, key=lambda found: (found[1].verdict == SOUND, found[0]))
    page = cut.page
    assert page is not None
    outcome = "sound" if cut.verdict == SOUND else FOUND.get(cut.verdict, cut.verdict)
    for index in range(page["bytes"] // _SECTOR_BYTES):
        arrived, changed = (page[name][index // 8] >> index % 8 & 1 for name in ("sectors", "changed"))
        kind = "the same in both" if not changed else "as written" if arrived else "as before the write"
        yield {
            "treatment": each.name,
            "label": f"cut {place}: {each.name}",
            "sector": index,
            "bytes": f"{index * _SECTOR_BYTES} … {(index + 1) * _SECTOR_BYTES - 1}",
            "kind": kind,
            "outcome": outcome,
            "old_lsn": _lsn(page["old_lsn"]),
            "new_lsn": _lsn(page["new_lsn"]),
            "block": page["block"],
        }


def _lsn(value: int) -> str:
    """As PostgreSQL prints it."""
    return f"{value >> 32:X}/{value & 0xFFFFFFFF:X}"


def _lost_writes(mine: Sequence[Treatment]) -> Drawing | str | None:
    """Of each treatment the cut with the most requests that were not durable: each with what arrived of it."""
    rows: list[dict[str, Any]] = []
    for each in mine:
        place, cut = max(enumerate(each.cuts, start=1), key=lambda found: len(found[1].strip or ()))
        for order, (first, blocks, arrived) in enumerate(cut.strip or (), start=1):
            for kind, count in (("reached the medium", arrived), ("lost", blocks - arrived)):
                if count:
                    rows.append(
                        {
                            "label": f"cut {place}: {each.name}",
                            "request": order,
                            "kind": kind,
                            "kib": count * 4,
                            "block": first,
                        }
                    )
    if not rows:
        return "at no cut were there writes that the drive had not made durable"
    import altair as alt

    from pgassay.report import charts
    from pgassay.report.colours import PALETTE

    kinds = ("reached the medium", "lost")
    chart = (
        charts.chart_of(rows)
        .mark_bar()
        .encode(
            x=alt.X(
                "request:O",
                title="requests since the last flush that was honoured, in order",
                axis=alt.Axis(labelOverlap=True),
            ),
            y=alt.Y("kib:Q", title="KiB"),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[PALETTE[2], PALETTE[1]]),
                legend=alt.Legend(title=None, orient="bottom"),
            ),
            row=alt.Row(
                "label:N", title=None, sort=None, header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="top")
            ),
            tooltip=[charts.tip(f"{name}:N") for name in ("label", "request", "kind", "kib", "block")],
        )
        .properties(width=charts.WIDTH, height=90)
        .resolve_scale(x="independent", y="independent")
    )
    return Drawing(
        "Writes that were not durable, and what the cut took of them",
        "Of each treatment the cut with the most such writes; at most the last hundred.",
        chart,
    )


def _plain(findings: "Findings") -> Mapping[str, object]:
    mine = findings.once(treatments)
    if not mine:
        return {}
    return {
        "power_cuts": [
            {
                "treatment": each.name,
                **asdict(each.risk),
                "loss_ms": each.loss_ms,
                "verdicts": dict(Counter(cut.verdict for cut in each.cuts)),
            }
            for each in mine
        ]
    }


def _brief(findings: "Findings") -> str:
    mine = findings.once(treatments)
    made = sum(len(each.cuts) for each in mine)
    damaged = sum(len(each.damage) for each in mine)
    return f"{made} {plural('cut', made)}, {damaged} did damage" if mine else ""


SECTION = Section(
    "power-cuts", "Power cuts", _blocks, _plain, link="Power cuts", on=Surface.BOTH, open=True, brief=_brief
)
