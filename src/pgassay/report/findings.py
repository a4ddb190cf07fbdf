"""A run, analysed: what several sections of a report need, each computed once from the record.

Everything comes from the run directory and the analysis; nothing here touches the machine, so a record made elsewhere
reads the same. What one section alone needs it computes itself, kept by `Findings.once`.

Python's search for cyclic garbage can be paused meanwhile: a large run is a million small values without cycles, and
the search takes longer than the analysis itself (benchmarks/analysis_scale.py). For a command that ends soon, or around
one report: what was made meanwhile is never searched, and freed as usual when nothing refers to it.
"""

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from pgassay.analysis.capacities import MeasuredCapacity
from pgassay.analysis.claims import ClaimJudgement, instances
from pgassay.analysis.compare import Errors, Looks, compare, cost_effects, without_refused
from pgassay.analysis.curves import Curve
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import Explanation, explain
from pgassay.analysis.lint import lint
from pgassay.analysis.observations import Layout, ResponseColumn, Summary, summarise
from pgassay.analysis.seconds import TrialCourse
from pgassay.analysis.verdicts import SET_ASIDE, SETTLED, Verdict, imported_verdict, verdict
from pgassay.design.horizon import Extension, ruled
from pgassay.design.stopping import family
from pgassay.record import directory
from pgassay.record.errors import damaged
from pgassay.record.formats import IMPORTED
from pgassay.record.journal import Kind, Step, decisions_in, extended_in, horizon_in
from pgassay.record.linted import benchmark_of
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.report import bottleneck, curves, drives, formatting, likeness, power_cuts, published
from pgassay.report.bottleneck import Processors
from pgassay.report.curves import Scaling
from pgassay.report.regimes import regimes_of
from pgassay.report.seconds import Seconds, courses_of, has_seconds
from pgassay.report.trials import cause, failures, grouped
from pgassay.study.findings import Severity
from pgassay.study.levels import Level, Place
from pgassay.study.model import Study
from pgassay.study.responses import Response, Status
from pgassay.study.thresholds import Limit, Threshold, resolve
from pgassay.study.work import COUNTED, recorded_work

T = TypeVar("T")
Capacities = Sequence[MeasuredCapacity]
_RESPECTED = ("aborted", "short", "missing", "too-few", "noisy", "below-resolution")
"""Reasons of lint that import and verdicts already respect: such runs are no results, and such intervals are wide."""


@dataclass(frozen=True)
class Judged:
    """One comparison: the effect on a response with its verdict."""

    effect: Effect
    verdict: Verdict


class Findings:
    """A run, analysed; what it offers is computed when first asked for, and then kept."""

    def __init__(
        self, run: Run, disk: Capacities | None = None, weigh: Sequence[Threshold] = (), hosts: Collection[str] = ()
    ) -> None:
        """`disk` is what a disk study measured of the drive, None for what the record took along.

        `weigh` are thresholds besides the study's own; `hosts` takes the blocks of these hosts of a fleet alone.
        """
        self.run = run
        self.hosts = hosts
        more = extended_in(run.journal)
        extension = None if more is None else Extension(more.blocks_min, more.blocks_max, more.budget_s)
        self.study: Study = ruled(run.asked, run.header.rule, horizon_in(run.journal), extension)
        if self.imported:
            self.study = replace(self.study, ran=frozenset(trial.place for trial in run.trials))
        self.work = run.header.work or recorded_work(self.study)
        self.baseline = self.study.design.baseline.name
        self._disk = disk
        self._weigh = tuple(weigh)
        self._observed: dict[str, ResponseColumn] = {}
        self._objected: dict[str, Sequence[str]] = {}
        self.seconds = Seconds(run)
        self._summed: dict[str, tuple[Summary, ...]] = {}
        self._kept: dict[object, Any] = {}

    def once(self, compute: Callable[["Findings"], T]) -> T:
        """What a function makes of this run, computed at its first call only: page and JSON ask for the same."""
        if compute not in self._kept:
            self._kept[compute] = compute(self)
        found: T = self._kept[compute]
        return found

    @cached_property
    def trials(self) -> tuple[TrialRecord, ...]:
        """Every committed trial, in order of number: valid ones, discarded ones, outcomes. Raises `DamagedError`."""
        known = {arm.place for arm in self.study.arms}
        for each in self.run.trials:
            if each.place not in known:
                raise damaged(self.run.path, f'trial {each.number} is of "{each.arm}", not an arm of the study')
        return tuple(each for each in self.run.trials if each.host in self.hosts) if self.hosts else self.run.trials

    @cached_property
    def responses(self) -> Mapping[str, Response]:
        """Declared responses by name; a disk study's costs are those of an I/O, and are called so."""
        return {each.name: replace(each, title=self.work.titled(each)) for each in self.run.responses}

    @cached_property
    def counted(self) -> bool:
        """Were instructions counted? Then no time that a load took says anything."""
        return any(COUNTED in trial.regime for trial in self.trials)

    @cached_property
    def disk(self) -> Capacities:
        """What a disk study measured of the drive; nothing where this study itself chooses the drives."""
        return drives.recorded(self.run.host, self.study) if self._disk is None else self._disk

    @property
    def primary(self) -> Response:
        """The response that error control holds for."""
        if self.study.primary not in self.responses:
            what = f'the primary response "{self.study.primary}" of study.toml is not declared in run.json'
            raise damaged(self.run.path, what)
        return self.responses[self.study.primary]

    @cached_property
    def secondary(self) -> tuple[Response, ...]:
        """The secondary responses that the study or a threshold names, the run declares and some trial has."""
        weighed = (each.response.name for each in self.limits if each.response.name != self.study.primary)
        names = dict.fromkeys((*self.study.secondary, *weighed))
        known = (self.responses[name] for name in names if name in self.responses)
        return tuple(each for each in known if any(trial.responses.get(each.name) is not None for trial in self.trials))

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The thresholds of the study and those asked for in addition; raises `UsageError` where one cannot be."""
        return resolve(
            (*self.study.decide, *self._weigh),
            tuple(self.responses.values()),
            (self.study.primary, *self.study.secondary),
            compared=len(self.study.treatments) > 1,
        )

    @cached_property
    def blocks(self) -> int:
        """How many blocks were begun, the last one perhaps not ended."""
        return max((trial.block for trial in self.trials), default=0)

    @cached_property
    def discarded(self) -> tuple[TrialRecord, ...]:
        """Trials that other programs disturbed: kept, left out, run again."""
        return tuple(trial for trial in self.trials if trial.status is Status.INVALID)

    @cached_property
    def outcomes(self) -> tuple[TrialRecord, ...]:
        """Trials that failed because of their treatment."""
        return tuple(trial for trial in self.trials if trial.status is Status.OUTCOME)

    @cached_property
    def dropped(self) -> Mapping[str, str]:
        """Arms that left without a verdict, with the reason: they failed, or were set aside; settled ones have one."""
        drops = {each.arm: each.reason for each in decisions_in(self.run.journal) if each.step is Step.DROP}
        return {arm: reason for arm, reason in drops.items() if not reason.startswith(SETTLED)}

    @property
    def end(self) -> str:
        """Why the run ended, or that it did not."""
        last = self.run.journal[-1]
        if last.kind == Kind.FINISHED:
            return str(last.data.get("reason", "finished"))
        if last.kind == Kind.INTERRUPTED:
            return f"interrupted ({last.data.get('reason', 'no reason recorded')})"
        return "not finished"

    @property
    def finished(self) -> bool:
        """Did the design itself end the run?"""
        return self.run.journal[-1].kind == Kind.FINISHED

    @cached_property
    def _layout(self) -> Layout:
        return Layout(self.trials)

    def observations(self, response: str) -> ResponseColumn:
        """One response's values of the valid trials, by block and place; empty for a response that no trial has."""
        if response not in self._observed:
            self._observed[response] = ResponseColumn(self._layout, response)
        return self._observed[response]

    def summaries(self, response: Response) -> tuple[Summary, ...]:
        """The published form: average, standard deviation, minimum, median, maximum."""
        if response.name not in self._summed:
            rows = summarise(self.observations(response.name))
            places = list(dict.fromkeys(arm.place.cell for arm in self.study.arms))
            order = [treatment.name for treatment in self.study.treatments]
            self._summed[response.name] = tuple(
                sorted(rows, key=lambda row: (places.index(row.place.cell), order.index(row.treatment)))
            )
        return self._summed[response.name]

    @cached_property
    def looks(self) -> Looks:
        """How often the data were looked at before they were complete: imported ones were not."""
        return "once" if self.imported else "every block"

    def effects(
        self,
        response: Response,
        baseline: str | None = None,
        only: Collection[str] | None = None,
    ) -> tuple[Effect, ...]:
        """Every treatment, or `only` these, against the baseline, with intervals for the response's whole family.

        Against another baseline a comparison shares its error rate with no other.
        """
        ours = (against := baseline or self.baseline) == self.baseline
        primary = response.name == self.study.primary and ours
        decides = family(self.study, response.name) is not None
        found = compare(
            self.observations(response.name),
            response,
            against,
            blocks_max=(self.study.design.horizon if decides else None) or self.study.design.blocks_max,
            comparisons=self._family(response) if ours else 1,
            looks=self.looks,
            primary=primary,
            arms=[place for place in self._places if only is None or place[0] in only],
            inner=self.study.design.inner and not self.imported,
            stage=self.study.design.stage if decides else None,
            moderated=self.study.design.moderated and primary,
        )
        return without_refused(found, self.study, response, against, self.service_errors)

    def _family(self, response: Response) -> int:
        """How many comparisons share an error rate with those of `response`: the same wherever a page shows them.

        The primary's are one, those that the run was to settle with it another, as the design judged them; costs are
        the third, other secondary responses the fourth. A comparison of any other response stands for itself.
        """
        if (deciding := family(self.study, response.name)) is not None:
            return deciding
        if response.cost:
            return self._other_costs[0].comparisons if self._other_costs else 1
        compared = sum(treatment != self.baseline for treatment, _, _ in self._places)
        together = [each.name for each in self.secondary if not each.cost and family(self.study, each.name) is None]
        return max(1, compared * len(together)) if response.name in together else 1

    @cached_property
    def _places(self) -> Sequence[Place]:
        return [arm.place for arm in self.study.arms]

    @cached_property
    def levels(self) -> Mapping[Place, Mapping[str, Level]]:
        """The levels of each arm, those that the study fixes among them."""
        return {arm.place: self.study.levels_of(arm) for arm in self.study.arms}

    @cached_property
    def service_errors(self) -> Errors:
        """How far emulated drives were from their service times, by place."""
        return drives.errors_of(self.trials)

    def judged(self, response: Response) -> tuple[Judged, ...]:
        """Effects on one response with their verdicts, their intervals as in `effects`."""
        found = []
        for effect in self.effects(response):
            if self._fault:
                effect = replace(effect, refused=self._fault)
            baseline = effect.place._replace(treatment=self.baseline)
            if not effect.refused and baseline in self.failures:  # nothing to compare with, however well it ran
                effect = replace(effect, refused=f"the baseline failed: {cause(self.trials, baseline)}")
            found.append(Judged(effect, self._verdict(effect, response)))
        return tuple(found)

    def _verdict(self, effect: Effect, response: Response) -> Verdict:
        design, failure = self.study.design, self.failure(effect.place)
        if failure is None and response.name == self.study.primary and power_cuts.decide(self):
            return power_cuts.verdict_at(self, effect.place)
        resolution, most = design.resolution, design.blocks_max
        found = verdict(effect, response, resolution=resolution, blocks_max=most, block_s=self.block_s, failure=failure)
        if self.imported:
            return imported_verdict(found, effect, self.objections(response))
        return likeness.labelled(self, drives.labelled(self.study, response, effect, found, self.service_errors))

    def objections(self, response: Response) -> Sequence[str]:
        """Lint's reasons against a verdict on runs that others made; what verdicts themselves respect is left out."""
        if response.name not in self._objected:
            found = lint(benchmark_of(self.run, self.study, response.name))
            self._objected[response.name] = [
                f"{each.code}: {each.text}"
                for each in found
                if each.severity in (Severity.WARNING, Severity.ERROR) and each.code not in _RESPECTED
            ]
        return self._objected[response.name]

    @cached_property
    def verdicts(self) -> tuple[Judged, ...]:
        """Effects on the primary with their verdicts, in the study's order."""
        return self.judged(self.primary)

    @cached_property
    def secondary_verdicts(self) -> tuple[tuple[Response, tuple[Judged, ...]], ...]:
        """The same of every secondary response, labelled so: they decide nothing."""
        named = (each for each in self.secondary if each.name != self.study.primary)
        return tuple((response, self.judged(response)) for response in named)

    @cached_property
    def costs(self) -> tuple[Effect, ...]:
        """Effects on the costs of a transaction; one that decides when the run ends has its verdict's interval."""
        deciding = (each for each in self.responses.values() if each.cost and family(self.study, each.name) is not None)
        return (*(effect for each in deciding for effect in self.effects(each)), *self._other_costs)

    @cached_property
    def _other_costs(self) -> tuple[Effect, ...]:
        named = (name for name, response in self.responses.items() if response.cost)
        observed = {name: self.observations(name) for name in named if family(self.study, name) is None}
        declared, most = tuple(self.responses.values()), self.study.design.blocks_max
        return cost_effects(observed, declared, self.baseline, blocks_max=most, looks=self.looks)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """Which costs moved with the primary, a sentence for each treatment; none for space, which nothing pays for."""
        if self.primary.unit in formatting.BYTES and not self.primary.cost:
            return ()
        costs = grouped(self.costs, lambda cost: cost.place)
        declared = tuple(self.responses.values())
        work = self.work.name
        return tuple(explain(each.effect, costs.get(each.effect.place, ()), declared, work) for each in self.verdicts)

    @cached_property
    def claims(self) -> tuple[ClaimJudgement, ...]:
        """What the study's authors found, each marked reproduced, contradicted or not testable here."""
        return tuple(published.judged(self, one) for claim in self.study.claims for one in instances(claim, self.study))

    @cached_property
    def courses(self) -> Mapping[int, TrialCourse]:
        """How each trial went second by second, by number."""
        return courses_of(self.trials, self.seconds.gather if has_seconds(self.run.responses) else None)

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """The primary along the covariates; empty without any."""
        return curves.curves_of(self)

    @cached_property
    def processors(self) -> Processors:
        """Of the machine that the record was made on."""
        return bottleneck.processors_of(self.run.host)

    @cached_property
    def scalings(self) -> tuple[Scaling, ...]:
        """Kink and Universal Scalability Law of each curve over clients; empty for other covariates."""
        return curves.scalings(self, self.primary.name)

    @cached_property
    def yardsticks(self) -> tuple[Scaling, ...]:
        """The same fits of the CPU yardstick; empty where it was not measured."""
        return curves.scalings(self, curves.YARDSTICK) if curves.YARDSTICK in self.responses else ()

    @cached_property
    def bottlenecks(self) -> tuple[bottleneck.Diagnosed, ...]:
        """What stops each arm; empty where no trial measured waits or costs."""
        return bottleneck.diagnoses(self.study, self.trials, self.responses, self.run.host, self.disk)

    @cached_property
    def disk_signs(self) -> tuple[tuple[str, str], ...]:
        """What a disk study found out about its drive, and where; empty for others."""
        return drives.signs(self.trials, self.seconds)

    @cached_property
    def block_s(self) -> float | None:
        """Mean seconds that a trial takes, times the arms of a block; None where no length is known."""
        lengths = [trial.length_s for trial in self.trials]
        # Runs that are imported may come from a source without times.
        return sum(lengths) / len(lengths) * len(self.study.arms) if any(lengths) else None

    @cached_property
    def imported(self) -> str:
        """For runs that others made: that pgassay did not measure them, and how blocks were formed; else empty."""
        source = self.run.host.get(IMPORTED)
        if not isinstance(source, dict):
            return ""
        return "; ".join((str(source.get("label", "")), *map(str, source.get("remarks", ()))))

    @cached_property
    def regimes(self) -> tuple[str, ...]:
        """What the numbers are true for, in words."""
        return regimes_of(self.trials, self.work)

    @property
    def remarks(self) -> Sequence[str]:
        """What spoke against measuring there, though the user allowed it, when the run was started or resumed."""
        resumed = (entry.data.get("remarks") for entry in self.run.journal if entry.kind == Kind.RESUMED)
        remarks = [each for each in (self.run.host.get("remarks"), *resumed) if isinstance(each, Mapping)]
        return list(dict.fromkeys(str(text) for each in remarks for text in each.values()))

    @cached_property
    def failures(self) -> Mapping[Place, str]:
        """Why arms failed in each of their trials that nothing disturbed, by place."""
        return failures(self.trials)

    @property
    def _fault(self) -> str:
        """What ended the run before its first trial was measured; empty for a run that was asked to end, and others."""
        last = self.run.journal[-1]
        reason = str(last.data.get("reason", ""))
        return reason if last.kind == Kind.INTERRUPTED and not self.trials and reason not in directory.ASKED else ""

    @cached_property
    def unmeasured(self) -> str:
        """Why there is nothing to compare, as a clause with the server's words; empty where anything was compared."""
        if self._fault:
            return f"nothing was measured: {self._fault}"
        lost = self.failures.keys()
        places = [each.effect.place for each in self.verdicts] or self._places
        pairs = [(place._replace(treatment=self.baseline), place) for place in places]
        if not lost or any(lost.isdisjoint(pair) for pair in pairs) or self.imported or power_cuts.decide(self):
            return ""
        first = next(place for side in zip(*pairs, strict=True) for place in side if place in lost)
        if self.verdicts and first.treatment == self.baseline:
            return f"nothing was measured: the baseline failed: {cause(self.trials, first)}"
        what = "compared" if self.verdicts else "measured"
        return f"nothing was {what}: {first.name or 'every trial'} failed: {cause(self.trials, first)}"

    def failure(self, place: Place) -> str | None:
        """Why a treatment has no results at a place, where it failed."""
        return self.failures.get(place) or failed(self.dropped.get(place.name))


def failed(reason: str | None) -> str | None:
    """Why a treatment was dropped, where it failed; one that was set aside keeps the verdict that it has."""
    return None if reason is None or reason.startswith(SET_ASIDE) else reason


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause Python's cyclic garbage collector; one that is off already stays off."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()
