"""Which functions make the difference, where the server's instructions were counted (docs/counts.md).

A function's own instructions for a transaction, without those of the functions that it calls. It may be called more
often or execute more in each call: the part of its difference that its calls alone explain says which. What the kernel
does for a transaction is not executed by the server; its system calls name it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from pgassay.analysis.compare import compare
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import share_explained
from pgassay.analysis.observations import observe
from pgassay.analysis.verdicts import verdict
from pgassay.record.counts import counts
from pgassay.report import formatting
from pgassay.report.findings import Judged
from pgassay.report.json_values import effect_values
from pgassay.report.section import Brief, Part, Section, Sentences, Table, Values
from pgassay.report.trials import by_treatment, valid_by_place
from pgassay.study.document import COUNTED_RESOLUTION, COUNTED_RESPONSE
from pgassay.study.levels import Place
from pgassay.study.responses import Better, Response, Scale
from pgassay.study.units import share
from pgassay.study.work import COUNTED_ALONG

if TYPE_CHECKING:
    from pgassay.record.values import TrialRecord
    from pgassay.report.findings import Findings

SHOWN = 20
"""Functions, those with the largest differences first."""
_CALLED = 1e-3
"""Calls in a transaction; a function that has fewer is not called in it."""
_MOSTLY = 0.8
_NONE = (0.0, 0.0)
_CPU = "server_cpu_us_per_transaction"
Figures: TypeAlias = Mapping[str, tuple[float, float]]
"""Of each function its own instructions, and its calls."""


@dataclass(frozen=True)
class Function:
    """Means over the trials of a treatment and its baseline: (instructions, calls) of a function for a transaction."""

    name: str
    before: tuple[float, float]
    after: tuple[float, float]

    @property
    def why(self) -> str:
        """Whether it is called more often or executes more in each call; empty where its calls are not known."""
        (own, calls), (own_after, calls_after) = self.before, self.after
        if max(calls, calls_after) < _CALLED or own_after == own:
            return ""
        if calls < _CALLED or calls_after < _CALLED:
            return "new" if calls < _CALLED else "gone"
        by_calls = (calls_after - calls) * own / calls
        share = by_calls / (own_after - own)
        often = f"called {calls_after / calls:.3g} times as often"
        each = "dearer per call" if own_after / calls_after > own / calls else "cheaper per call"
        return often if share >= _MOSTLY else each if abs(share) <= 1 - _MOSTLY else f"{often}, {each}"


def _means(found: Sequence[Figures]) -> Figures:
    return {
        name: (
            fmean(each.get(name, _NONE)[0] for each in found),
            fmean(each.get(name, _NONE)[1] for each in found),
        )
        for name in {name for each in found for name in each}
    }


def largest(before: Sequence[Figures], after: Sequence[Figures]) -> tuple[Function, ...]:
    """The functions that differ most between trials of two treatments, the largest difference first."""
    mine, theirs = _means(after), _means(before)
    found = [Function(name, theirs.get(name, _NONE), mine.get(name, _NONE)) for name in {*mine, *theirs}]
    return tuple(sorted(found, key=lambda each: (-abs(each.after[0] - each.before[0]), each.name))[:SHOWN])


@dataclass(frozen=True)
class Along:
    """What counted trials found of a treatment along with its times; each of these changes has neither good nor bad.

    `explained` is the share of the change of CPU time that the instructions make up, with the ends of its interval;
    None where that time cannot be distinguished from the baseline's.
    """

    instructions: "Judged"
    cpu: "Judged"
    explained: tuple[float, float, float] | None


def along(findings: "Findings") -> tuple[Along, ...]:
    """A comparison each, in the study's order; nothing where no counted trials followed timed ones."""
    if findings.counted or not any(COUNTED_ALONG in trial.regime for trial in findings.trials):
        return ()
    resolutions = {COUNTED_RESPONSE: share("", COUNTED_RESOLUTION), _CPU: findings.study.design.resolution}
    found: dict[Place, list[Judged]] = {}
    for name, resolution in resolutions.items():
        response, most = replace(findings.responses[name], better=Better.NEITHER), findings.study.design.blocks_max
        for effect in (each for each in findings.costs if each.response == name):
            judged = Judged(effect, verdict(effect, response, resolution=resolution, blocks_max=most))
            found.setdefault(effect.place, []).append(judged)
    pairs = (each for each in found.values() if len(each) == len(resolutions))
    return tuple(Along(part, whole, share_explained(part.effect, whole.effect)) for part, whole in pairs)


def _describe(findings: "Findings") -> Iterator[Part]:
    known = {each.number: found for each in findings.trials if (found := counts(findings.run, each.number))}
    if not known:
        return
    if not any(each.functions or each.system_calls for each in known.values()):
        instrument = next(iter(known.values())).instrument
        yield Sentences((f"{instrument} knows no functions: load.count = on counts them with Valgrind",))
        return
    functions = {number: each.functions for number, each in known.items()}
    system_calls = {
        number: {name: (made, 0.0) for name, made in each.system_calls.items() if made >= _CALLED}
        for number, each in known.items()
    }
    plain: list[Mapping[str, object]] = []
    calls: list[Mapping[str, object]] = []
    for place, here in valid_by_place(findings.trials, findings.study.arms).items():
        trials = [each for each in here if each.number in known]
        of = {name: [known[each.number] for each in mine] for name, mine in by_treatment(trials).items()}
        for treatment in (each for each in of if each != findings.baseline and findings.baseline in of):
            where = {"treatment": treatment, "condition": place.condition, "covariate": place.covariate}
            wholes = {
                name: fmean(sum(each.processes.values()) for each in of[name])
                for name in (treatment, findings.baseline)
            }
            whole = wholes[treatment] - wholes[findings.baseline]
            rows: list[tuple[str, ...]] = []
            for function, effect in _compared(findings, trials, functions, treatment):
                share = effect.estimate / whole if whole else None
                why = function.why if effect.low > 0.0 or effect.high < 0.0 else ""
                rows.append((*_shown(function, effect), formatting.share(share), why))
                often = {"calls": function.after[1], "baseline_calls": function.before[1]}
                plain.append({**where, "function": function.name, **_ends(effect), **often, "share": share, "why": why})
            head = (findings.baseline, treatment, "difference")
            yield Table(("function", *head, "of all", ""), rows, formatting.place(*place), _NOTES, name=NAME)
            rows = []
            for call, effect in _compared(findings, trials, system_calls, treatment):
                rows.append(_shown(call, effect))
                often = {"calls": call.after[0], "baseline_calls": call.before[0]}
                calls.append({**where, "system_call": call.name, **_ends(effect), **often})
            yield Table(("system call", *head), rows, formatting.place(*place), _CALL_NOTES, name=SYSTEM_CALLS)
    yield Brief("own instructions of each function for a transaction, and what makes the difference")
    if both := findings.once(along):
        values = [
            {
                "instructions": effect_values(each.instructions.effect),
                "server_cpu": effect_values(each.cpu.effect),
                "explained": each.explained,
            }
            for each in both
        ]
        yield Values({COUNTED_ALONG: values})
    yield Values({NAME: plain, SYSTEM_CALLS: calls})


_OWN = Response("own_instructions", "own instructions, per transaction", "count", Better.LOWER, Scale.DIFFERENCE, True)
_NOTES = (
    "own instructions for a transaction, the largest differences first; intervals of 95 %, each by itself",
    "a name such as postgres+0x1ea7b0 is a place in a program without symbols",
)
_CALL_NOTES = ("system calls for a transaction, without clocks and what waits for the client or answers it",)


def _compared(
    findings: "Findings", trials: Sequence["TrialRecord"], figures: Mapping[int, Figures], treatment: str
) -> Iterator[tuple[Function, Effect]]:
    """The largest differences of the figures that each trial has, by its number, with their intervals."""
    before, after = (
        [figures[each.number] for each in trials if each.treatment == name] for name in (findings.baseline, treatment)
    )
    most = findings.study.design.blocks_max
    for function in largest(before, after):
        own = [
            replace(each, responses={_OWN.name: figures[each.number].get(function.name, _NONE)[0]}) for each in trials
        ]
        effects = compare(observe(own, _OWN.name), _OWN, findings.baseline, blocks_max=most, looks=findings.looks)
        yield function, next(each for each in effects if each.treatment == treatment)


def _shown(function: Function, effect: Effect) -> tuple[str, ...]:
    return (
        function.name,
        *map(formatting.number, (function.before[0], function.after[0])),
        formatting.effect(effect, _OWN),
    )


def _ends(effect: Effect) -> Mapping[str, float]:
    return {"difference": effect.estimate, "low": effect.low, "high": effect.high}


NAME, SYSTEM_CALLS = "functions", "system_calls"
SECTION = Section(NAME, "Where the instructions go", _describe, secondary=True, link="Functions")
