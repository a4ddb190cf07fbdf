"""Power cuts: is each treatment safe, how sure is that, and what was found.

A treatment is unsafe as soon as one cut lost or damaged something. A safe one has a bound: how often a cut might still
do so (`analysis.power_cuts`); the confidence sequence decides, since runs end by budget and may be watched. It is safe
only where its cuts met what damage takes, and else not tried. Where cuts are the primary response this is the verdict
of the run, on every surface; elsewhere it comes before the run's own. What a cut assumes: docs/power-cuts.md.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from pgassay.analysis.numbers import bound_per_cent, plural, rounded
from pgassay.analysis.power_cuts import ALPHA, MARGIN_NS, UNRECORDED, Coverage, Risk, coverage_of, risk_of
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.design.risk import UNSAFE, kind_of
from pgassay.record.power_cuts import (
    DAMAGED_FILESYSTEM,
    DAMAGED_PAGE,
    DRIVE_FULL,
    ENDLESS_RECOVERY,
    HALF_TRANSACTION,
    HONEST,
    LOST_COMMITS,
    NEVER_SENT,
    NO_RECOVERY,
    SOUND,
    CutRecord,
    epoch_of,
    power_cuts,
)
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.answer import Headline, joined, short
from pgassay.report.section import (
    Brief,
    Folded,
    Part,
    Section,
    Sentences,
    Surface,
    Table,
    Values,
)
from pgassay.report.trials import grouped
from pgassay.study.levels import Place
from pgassay.study.responses import Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

PRIMARIES = (UNSAFE, "power_cuts", "lost_commit_ms")
"""Primary responses whose verdicts are given here, and not by a comparison of means."""
_SHOWN = 8
"""Kinds of damage that are listed of each treatment."""


_FLUSH = "drive.flush"
_SURE = f"{100 * (1 - ALPHA):.0f}"
DID: Mapping[str, str] = {
    LOST_COMMITS: "lost commits that had been acknowledged",
    NEVER_SENT: "showed transactions that were never sent",
    HALF_TRANSACTION: "left a transaction in part",
    DAMAGED_PAGE: "damaged a page",
    DAMAGED_FILESYSTEM: "damaged the file system",
    NO_RECOVERY: "left a server that does not start",
    ENDLESS_RECOVERY: "left a recovery that did not end in time",
    DRIVE_FULL: "left no room to recover in",
}
"""Verdicts of a cut in words."""
ASSUMED = (
    "emulated: a modelled drive lost its power, with the page cache and those writes since the last flush that its"
    " options let it lose or tear; a real PostgreSQL recovered on what was left"
)
_ON_THE_DRIVE = frozenset({LOST_COMMITS, NEVER_SENT, HALF_TRANSACTION, DAMAGED_PAGE, DAMAGED_FILESYSTEM})
"""What no busy machine does to a crash state: it counts in a discarded trial, too. A recovery may fail for want of CPU
or memory."""
_QUESTION = "does a power cut lose or damage anything? Each treatment is judged by its own cuts"
BLIND = (
    f"not judged are commits answered within the last {MARGIN_NS // 1_000_000} ms before a cut, and whatever no check"
    " reads"
)
"""What no cut would have shown."""
HOW = (
    f"the bounds are one-sided, at {_SURE} %, and hold whenever one looks; they go by epochs, since crash states"
    " between the same two flushes are not independent, and without damage only by those with a cut after a whole"
    f" checkpoint (docs/power-cuts.md); {BLIND}"
)


@dataclass(frozen=True)
class ArmCuts:
    """All cuts of one arm in their order, each with its epoch: what is alike shares one."""

    place: Place
    cuts: Sequence[CutRecord]
    epochs: Sequence[tuple[int, int]]
    blocks: int
    below: float | None = None
    """The bound that was asked for (`design.risk_below`)."""

    @property
    def name(self) -> str:
        """Of the arm."""
        return self.place.name

    @cached_property
    def risk(self) -> Risk:
        """How probable damage is, by the cuts that count."""
        return risk_of(self.counted)

    @cached_property
    def counted(self) -> Sequence[tuple[tuple[int, int], bool]]:
        """Of each cut that the bound counts, its epoch and whether it did damage.

        Where none did, cuts before a whole checkpoint do not count, since they would hardly have shown any. All count
        where it was not recorded: nothing is called safe by them.
        """
        every = bool(self.damage) or UNRECORDED in self.coverage.untried
        return [
            (epoch, cut.verdict != SOUND)
            for epoch, cut in zip(self.epochs, self.cuts, strict=True)
            if every or (cut.met and cut.met.after)
        ]

    @cached_property
    def coverage(self) -> Coverage:
        """What the cuts met."""
        by_trial = grouped(zip(self.epochs, self.cuts, strict=True), lambda each: each[0][0])
        return coverage_of([cut.met for _, cut in mine] for mine in by_trial.values())

    @property
    def ledger(self) -> bool:
        """Were commits compared with the load's own log?"""
        return any(cut.ledger for cut in self.cuts)

    @property
    def loss_ms(self) -> float:
        """How far before a cut the first lost commit was, at most."""
        return max((cut.loss_ms for cut in self.cuts), default=0.0)

    @cached_property
    def damage(self) -> Sequence[tuple[int, CutRecord]]:
        """Cuts that did damage, with their place from 1."""
        return [(place, cut) for place, cut in enumerate(self.cuts, start=1) if cut.verdict != SOUND]

    @property
    def first_damage(self) -> str:
        place, first = self.damage[0]
        return f"the first at cut {place}: {first.detail or DID.get(first.verdict, first.verdict)}"

    @property
    def verdict(self) -> Verdict:
        """Safe with a bound, or unsafe with the first damage; unresolved while the bound is above the one asked for, or
        the cuts did not meet what damage takes."""
        kind = kind_of(len(self.damage), self.risk.upper, self.below, tried=not self.coverage.untried)
        share = f"{len(self.damage):,} of {len(self.cuts):,} {plural('cut', len(self.cuts))}"
        if kind is Kind.UNSAFE:
            return Verdict(kind, f"unsafe: {share} did damage, {self.first_damage}")
        if self.coverage.untried:
            return Verdict(kind, f"{_untried(self)}; {share} {_found(self)}")
        asked = "" if self.below is None else f", and {bound_per_cent(self.below)} % was asked for"
        return Verdict(kind, f"safe: {_sound(self)}" if kind is Kind.SAFE else f"unresolved: {_sound(self)}{asked}")


def _found(each: ArmCuts) -> str:
    return "lost or damaged anything" if each.ledger else "damaged anything (lost commits were not looked for)"


def _untried(each: ArmCuts) -> str:
    return f"not tried {joined(each.coverage.untried, 'or')}"


def _sound(each: ArmCuts) -> str:
    """What was found of a safe treatment, across how many checkpoints, and what its settings allow to be lost."""
    met, counted = each.coverage, each.risk.cuts
    share = f"0 of {counted:,} {plural('cut', counted)} after a whole checkpoint"
    made = f"{len(each.cuts):,} {plural('cut', len(each.cuts))} in all, {met.within:,} within one"
    across = f"across {formatting.counted(met.checkpoints, 'checkpoint')} ({made})"
    sure = f"below {bound_per_cent(each.risk.upper)} % a cut with {_SURE} % certainty, {across}"
    if not each.loss_ms:
        return f"{share} {_found(each)}: {sure}"
    lost = f"at most the last {formatting.number(each.loss_ms)} ms of commits were lost"
    return f"{share} did damage: {sure}; {lost}, as synchronous_commit = off allows"


def arms(findings: "Findings") -> Sequence[ArmCuts]:
    """Every arm of which cuts were made, in the study's order.

    The cuts of a discarded trial count where one of them left damage on the drive: that is no matter of other programs.
    """
    found: dict[Place, list[tuple[TrialRecord, CutRecord]]] = {}
    for trial in findings.trials:
        cuts = power_cuts(findings.run, trial.number)
        if trial.status is not Status.INVALID or any(cut.verdict in _ON_THE_DRIVE for cut in cuts):
            found.setdefault(trial.place, []).extend((trial, cut) for cut in cuts)
    return [
        ArmCuts(
            arm.place,
            [cut for _, cut in mine],
            [
                (trial.number, epoch_of(cut, HONEST if (level := trial.levels.get(_FLUSH)) is None else level.typed))
                for trial, cut in mine
            ],
            len({trial.block for trial, _ in mine}),
            findings.study.design.risk_below,
        )
        for arm in findings.study.arms
        if (mine := found.get(arm.place, []))
    ]


def decide(findings: "Findings") -> bool:
    """Are power cuts what this run's verdicts are about?"""
    return findings.study.primary in PRIMARIES and bool(findings.once(arms))


def verdict_at(findings: "Findings", place: Place) -> Verdict:
    """The verdict on one arm."""
    found = next((each for each in findings.once(arms) if each.place == place), None)
    return found.verdict if found else Verdict(Kind.UNRESOLVED, "not judged: no cut was made")


def question(findings: "Findings") -> str:
    """What the verdicts answer, and which treatment the answer calls the baseline."""
    many = "," in findings.baseline
    return f"{_QUESTION}{f'; the baseline is {findings.baseline}' if many else ''}"


def headline(findings: "Findings") -> Headline | None:
    """What power cuts did, for the headline of a run that has some; None for another."""
    every = findings.once(arms)
    if not every:
        return None
    sound = [each for each in every if not each.damage]
    tried = [each for each in sound if not each.coverage.untried]
    said = [_safe(findings, [each for each in tried if each.verdict.settled], "safe")]
    still = [each for each in tried if not each.verdict.settled]
    below = findings.study.design.risk_below
    untried: list[str] = []  # of these nothing can be said: no cut did damage, and none met what damage takes
    limit = "" if below is None else f" (below {bound_per_cent(below)} % a cut)"
    said.append(_safe(findings, still, f"not shown to be as safe as was asked for{limit}"))
    for why, mine in grouped([each for each in sound if each.coverage.untried], _untried).items():
        found = [f"{called(findings, each)} (0 of {len(each.cuts):,} cuts {_found(each)})" for each in mine]
        untried.append(f"{why}: {joined(found)}")
    said.append("; ".join(untried))
    said.append(_unsafe(findings, [each for each in every if each.damage]))
    first, *others = filter(None, said)
    return Headline([f"on an emulated drive, {first}", *others])


def _safe(findings: "Findings", sound: Sequence[ArmCuts], word: str) -> str:
    """Safe treatments, each with its bound; the first one says all of it."""
    parts: list[str] = []
    for each in sound:
        whole = not parts
        did = " did damage" if each.loss_ms else f" {_found(each)}" if whole or not each.ledger else ""
        lost = ""
        if each.loss_ms:
            lost = (
                f"; at most the last {formatting.number(each.loss_ms)} ms of commits were lost, as its settings allow"
            )
        checkpoints = each.coverage.checkpoints
        met = f" across {checkpoints:,} {plural('checkpoint', checkpoints)}"
        bound = f"below {bound_per_cent(each.risk.upper)} %{' a cut' if whole else ''}"
        parts.append(f"{called(findings, each)} (0 of {each.risk.cuts:,} cuts{met}{did}: {bound}{lost})")
    return f"{word}: {joined(parts)}, with {_SURE} % certainty; {BLIND}" if parts else ""


def _unsafe(findings: "Findings", damaged: Sequence[ArmCuts]) -> str:
    if not damaged:
        return ""
    counts = [f"{each.risk.damaged_cuts:,} of {each.risk.cuts:,} cuts did damage" for each in damaged]
    if len(damaged) > 1:
        found = [f"{called(findings, each)} ({count})" for each, count in zip(damaged, counts, strict=True)]
        return f"unsafe: {joined(found)}"
    return f"{called(findings, damaged[0])} is unsafe: {counts[0]}, {damaged[0].first_damage}"


def called(findings: "Findings", each: ArmCuts) -> str:
    """A short name: `the baseline`, or what tells an arm from it, with the factors' names."""
    if each.name == findings.baseline and "," in each.name:
        return "the baseline"
    found = short(each.name, after=findings.baseline)
    return found if "=" in found else each.name or "the server"


def _describe(findings: "Findings") -> Iterator[Part]:
    mine = findings.once(arms)
    if not mine:
        return
    yield Values({"power_cuts": [_values(each) for each in mine]})
    made = sum(len(each.cuts) for each in mine)
    yield Brief(f"{made} {plural('cut', made)}, {sum(len(each.damage) for each in mine)} did damage")
    yield Sentences((ASSUMED,))
    head = (
        "",
        "cuts",
        "epochs",
        "damaging cuts",
        "may do damage, below",
        "checkpoints",
        "cuts within one, after one",
        "recovery, median",
        "recovery, longest",
        "cut, median",
    )
    rows = [(called(findings, each), *_figures(each)) for each in mine]
    yield Table(head, rows, notes=tuple(_notes(findings, mine)), whole=True)
    damage = []
    for each in mine:
        first: dict[str, tuple[int, CutRecord]] = {}
        for place, cut in each.damage:
            first.setdefault(cut.verdict, (place, cut))
        for verdict, count in Counter(cut.verdict for _, cut in each.damage).most_common(_SHOWN):
            place, cut = first[verdict]
            damage.append((called(findings, each), str(place), str(count), DID.get(verdict, verdict), cut.detail))
    if damage:
        heads = ("", "first at cut", "cuts", "what it did", "first evidence")
        table = Table(heads, damage, title="What was damaged", texts=True, whole=True)
        yield replace(table, on=Surface.TERMINAL)
        yield Folded(table.title, (replace(table, title="", on=Surface.PAGE),))


def _figures(each: ArmCuts) -> Sequence[str]:
    recoveries = [cut.recovery_ms for cut in each.cuts if cut.recovery_ms is not None]
    risk, met = each.risk, each.coverage
    recorded = any(cut.met for cut in each.cuts)
    return (
        f"{len(each.cuts):,}",
        f"{risk.epochs:,}",
        f"{risk.damaged_cuts:,}",
        f"{bound_per_cent(risk.upper)} %",
        f"{met.checkpoints:,}" if recorded else formatting.MISSING,
        f"{met.within:,}, {met.after:,}" if recorded else formatting.MISSING,
        f"{rounded(median(recoveries))} ms" if recoveries else formatting.MISSING,
        f"{rounded(max(recoveries))} ms" if recoveries else formatting.MISSING,
        f"{rounded(median(cut.cut_ms for cut in each.cuts))} ms",
    )


def _notes(findings: "Findings", mine: Sequence[ArmCuts]) -> Iterator[str]:
    sound = [each for each in mine if not each.damage]
    fixed = ", ".join(f"{bound_per_cent(each.risk.fixed_upper)} % with {called(findings, each)}" for each in sound)
    if not decide(findings):  # else the verdicts have it
        yield HOW
        yield from (f"{called(findings, each)}: {_untried(each)}" for each in sound if each.coverage.untried)
    if fixed:
        yield f"for a number of cuts that was fixed beforehand the bound is {fixed}"
    if allowed := [each for each in sound if each.loss_ms]:
        lost = ", ".join(f"{formatting.number(each.loss_ms)} ms with {called(findings, each)}" for each in allowed)
        yield f"commits that the settings allow to be lost (synchronous_commit = off), at most before a cut: {lost}"
    unchecked = [called(findings, each) for each in mine if not each.ledger]
    if unchecked:
        named = ", ".join(unchecked)
        yield (
            "without load.script = ledger lost commits are not looked for, and half transactions only by the rules of "
            f"pgbench's and TPC-C's own tables: {named}"
        )
    deep = sum(cut.amcheck for each in mine for cut in each.cuts)
    yield (
        f"all tables and indexes were checked by amcheck after {formatting.counted(deep, 'cut')}, small ones and the"
        " file system after each"
    )


def _values(each: ArmCuts) -> dict[str, object]:
    return {
        **each.place._asdict(),
        "verdict": each.verdict.kind,
        "text": each.verdict.text,
        **asdict(each.risk),
        "cuts": len(each.cuts),
        "loss_ms": each.loss_ms,
        "checkpoints": each.coverage.checkpoints,
        "cuts_within_checkpoint": each.coverage.within,
        "cuts_after_checkpoint": each.coverage.after,
        "untried": list(each.coverage.untried),
        "verdicts": dict(Counter(cut.verdict for cut in each.cuts)),
    }


SECTION = Section("power-cuts", "Power cuts", _describe, link="Power cuts", open=True)
