"""Statements: which scripts of a load get slower or faster with a treatment, by which plan, and whose answers differ.

The mean latency of each script is compared as any response is, block by block. All scripts with all treatments share
one error rate (Bonferroni), since the worst of many would be picked by chance else. Plans and rows were tried before
the run where `pgassay ask` made it (`record.statements`); a script of another load is called by its file's name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.numbers import plural, rounded
from pgassay.analysis.observations import Observation
from pgassay.record.ask import StatementRecord, mean_latencies_us, statements
from pgassay.report import formatting
from pgassay.report.answer import Headline
from pgassay.report.json_values import effect_values
from pgassay.report.section import Brief, Code, Folded, Part, Section, Sentences, Table, Values
from pgassay.report.trials import grouped
from pgassay.study.drives import dilation
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Response, Status
from pgassay.study.work import COUNTED

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

SHOWN = 5
"""Statements that are listed, the worst first; all others are folded."""
_SCRIPT = "load.script"
_NAMED, _SHORT, _LONG = 40, 60, 100
_RESPONSE = Response("statement_latency_ms", "mean latency of a statement", "ms", Better.LOWER)


@dataclass(frozen=True)
class StatementEffect:
    """One statement with one treatment, against the baseline."""

    script: str
    text: str
    effect: Effect

    @property
    def slower(self) -> bool:
        """Does its whole interval lie above no change?"""
        return self.effect.informative and self.effect.low > self.effect.none

    @property
    def faster(self) -> bool:
        """Does its whole interval lie below no change?"""
        return self.effect.informative and self.effect.high < self.effect.none


@dataclass(frozen=True)
class WrongAnswer:
    """A statement that gives another number of rows with an arm than with the baseline."""

    text: str
    place: Place
    calls: int
    baseline_rows: int
    rows: int


@dataclass(frozen=True)
class Statements:
    """What is known of them: effects with the worst first, wrong answers, and as they were tried, by script."""

    effects: Sequence[StatementEffect] = ()
    wrong: Sequence[WrongAnswer] = ()
    tried: Mapping[str, StatementRecord] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many statements were compared."""
        return len({each.script for each in self.effects})


def of_run(findings: "Findings") -> Statements:
    """All of a run; nothing where its load is one script, or where the scripts differ between the trials."""
    tried = {each.script: each for each in statements(findings.run)}
    level = findings.study.fixed.get(_SCRIPT)
    typed = level.typed if level is not None else ""
    parts = [part.strip() for part in (typed.splitlines() if "\n" in typed else typed.split(","))]
    # Their names in their order, as each trial's latencies number them.
    scripts = [PurePath(part.rpartition("@")[0] or part).stem for part in parts if part]
    places = [arm.place for arm in findings.study.arms]
    compared = sum(place.treatment != findings.baseline for place in places)
    # Where instructions were counted all times are long. A drive's clock may be slower than ours.
    timed = [each for each in findings.trials if each.status is Status.VALID and COUNTED not in each.regime]
    kept = [(trial, mean_latencies_us(findings.run, trial.number)) for trial in timed]
    known: list[StatementEffect] = []
    for number, script in enumerate(scripts if len(scripts) > 1 and compared else ()):
        seen = [
            Observation(trial.block, *trial.place, means_us[number] / 1e3 / dilation(trial.levels))
            for trial, means_us in kept
            if number in means_us
        ]
        effects = compare(
            seen,
            _RESPONSE,
            findings.baseline,
            blocks_max=findings.study.design.blocks_max,
            comparisons=len(scripts) * compared,
            looks=findings.looks,
            arms=places,
        )
        text = tried[script].text if script in tried else script
        known += (StatementEffect(script, text, each) for each in effects if each.blocks)
    worst_first = sorted(known, key=lambda each: (not each.slower, -each.effect.estimate))
    wrong = [
        WrongAnswer(each.text, arm.place, each.calls, each.rows[baseline], each.rows[arm.name])
        for each in tried.values()
        for arm in findings.study.arms
        if each.differs(arm.name, baseline := arm.place._replace(treatment=findings.baseline).name)
    ]
    return Statements(tuple(worst_first), tuple(wrong), tried)


def with_sentence(found: Headline, findings: "Findings") -> Headline:
    """A headline with more where the load has several statements: wrong answers first, slower statements last."""
    mine = findings.once(of_run)
    last = [each] if (each := slower(mine)) else []
    first: list[str] = []
    if mine.wrong:
        wrong, many = mine.wrong[0], len({each.text for each in mine.wrong})
        gives = f"{many} {plural('statement', many)} {'gives' if many == 1 else 'give'} another number of rows"
        rows = f"{wrong.rows:,} instead of {wrong.baseline_rows:,} with {wrong.place.name}"
        first = [f"{gives}: {_short(wrong.text)} gives {rows}"]
    return replace(found, sentences=[*first, *found.sentences, *last], rest=[*first, *found.rest, *last])


def slower(found: Statements) -> str:
    """How many statements are slower, and the worst five of them: `SELECT … ×3.01 (×2.76 to ×3.29)`."""
    judged = [each for each in found.effects if each.effect.informative]
    if not judged:
        return ""
    sure = [each for each in judged if each.slower]
    if not sure:
        return f"none of {found.count} statements was shown to be slower"
    many = len({each.script for each in sure})
    alone = len({each.effect.place for each in found.effects}) == 1
    worst = []
    for each in sure[:SHOWN]:
        times, low, high = (f"×{rounded(value)}" for value in (each.effect.estimate, each.effect.low, each.effect.high))
        place = "" if alone else f" with {each.effect.place.name}"
        worst.append(f"{_short(each.text, _NAMED)} {times} ({low} to {high}){place}")
    most = ", most of all" if len(sure) > SHOWN else ""
    slow = f"{many} of {found.count} statements {'is' if many == 1 else 'are'} slower{most}"
    return f"{slow} (intervals for all together): {'; '.join(worst)}"


def _short(text: str, most: int = _SHORT) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def warnings(findings: "Findings") -> Iterator[str]:
    """Where answers differ, a treatment does not do the same work."""
    for arm, wrong in grouped(findings.once(of_run).wrong, lambda each: each.place.name).items():
        many = formatting.counted(len(wrong), "statement")
        said = f"{_short(wrong[0].text)} {wrong[0].rows:,} instead of {wrong[0].baseline_rows:,}"
        yield f"{many} {'gives' if len(wrong) == 1 else 'give'} another number of rows with {arm}: {said}"


def _describe(findings: "Findings") -> Iterator[Part]:
    found = findings.once(of_run)
    if found.effects or found.tried:
        yield Values({"statements": _values(found)})
    if found.wrong:
        rows = [
            (_short(each.text, _LONG), each.place.name, f"{each.calls:,}", f"{each.baseline_rows:,}", f"{each.rows:,}")
            for each in found.wrong
        ]
        head = ("statement", "with", "calls", "rows with the baseline", "rows")
        note = "each was asked with the same values, on a clone of the same data, before the run"
        yield Table(head, rows, "Statements whose answers differ", (note,), whole=True)
    if not found.effects:
        return
    slower, faster = sum(each.slower for each in found.effects), sum(each.faster for each in found.effects)
    of_all = f"of {formatting.counted(len(found.effects), 'comparison')} of statements"
    counted = (
        f"{of_all}, {slower} {'is' if slower == 1 else 'are'} slower and {faster} faster, for all of them together"
    )
    yield Brief(counted)
    yield Sentences((counted,))
    worst = found.effects[:SHOWN]
    yield _table(worst, "The worst statements" if len(found.effects) > SHOWN else "Statements")
    for each in worst:
        plans = found.tried[each.script].plans if each.script in found.tried else {}
        place = each.effect.place
        names = (place._replace(treatment=findings.baseline).name, place.name)
        both = [(name, plans[name]) for name in names if plans.get(name)]
        if both:
            yield Folded(f"Plans of {_short(each.text)}", tuple(Code(plan, f"with {name}") for name, plan in both))
    if len(found.effects) > SHOWN:
        every = _table(found.effects, "All statements")
        yield Folded(every.title, (every,))
    yield Sentences((f"in brackets: {found.effects[0].effect.method}",), small=True)


def _table(effects: Sequence[StatementEffect], title: str) -> Table:
    rows = [
        (
            _short(each.text, _LONG),
            each.effect.place.name,
            f"{formatting.number(each.effect.baseline_mean)} ms",
            formatting.effect(each.effect, _RESPONSE),
        )
        for each in effects
    ]
    return Table(("statement", "with", "baseline", "mean latency"), rows, title=title, whole=True)


def _values(found: Statements) -> dict[str, object]:
    return {
        "effects": [
            {"script": each.script, "statement": each.text, **effect_values(each.effect)} for each in found.effects
        ],
        "other_rows": [
            {
                "statement": each.text,
                "arm": each.place.name,
                "calls": each.calls,
                "baseline_rows": each.baseline_rows,
                "rows": each.rows,
            }
            for each in found.wrong
        ],
    }


SECTION = Section("statements", "Statements", _describe, secondary=True, link="Statements")
