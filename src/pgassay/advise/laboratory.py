"""Measures on real servers: every batch and every study of an advice is an ordinary run of the lab, in its folder.

A run that is there already is read, one that was cut short is gone on with; so an advice that was killed goes on where
it was. Configurations are treatments, the verdicts are the lab's, and each run has its own record and report.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from pgassay import scratch, untrusted
from pgassay.advise import screenings
from pgassay.advise.budget import BLOCKS_MAX, BLOCKS_MIN
from pgassay.advise.proof import CONFIRMATION
from pgassay.advise.smoothing import Holding, LimitChance, holding, kept_limits
from pgassay.advise.space import Configuration, Space, differing
from pgassay.advise.task import (
    Cause,
    Compared,
    Failure,
    Noted,
    Notify,
    PointTrials,
    Question,
    Task,
    Values,
    broken,
    document,
    gathered,
    names_of,
)
from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import moved_in_words
from pgassay.analysis.numbers import duration
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Kind, Verdict
from pgassay.errors import PgassayError, RunStoppedError, UsageError
from pgassay.interfaces.errors import SettingError
from pgassay.lab.arms import resolve as resolve_arms
from pgassay.lab.attached import bench_of
from pgassay.lab.run import continue_run, prepare, run_study, write_study
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.report import contents, page
from pgassay.report.findings import Findings
from pgassay.report.section import Section
from pgassay.study.document import Document
from pgassay.study.model import ALTERNATE, Study
from pgassay.study.responses import Scale, Status
from pgassay.study.thresholds import Limit, resolve

REPORT = "report"
_PATIENCE = 1.3
"""How much longer than forecast a study of fixed blocks may take."""
OVERHEAD = 1.15
"""What a run takes in addition to its trials: checks, decisions, the record."""
REFUSED_FILE = "refused.json"
OURS = (UsageError, SettingError)
"""What is said of a configuration; a busy machine or a full disk is no fault of any."""
Check = Callable[[Sequence[Configuration]], None]
"""Raises what a study of these configurations would be refused with."""
Watching = Callable[[Study], AbstractContextManager[Watcher]]


@dataclass(frozen=True)
class RealLaboratory:
    """See `task.Laboratory`; `folder` holds a run directory for each name."""

    folder: Path
    question: Question
    space: Space
    options: BenchOptions
    watching: Watching
    command: Sequence[str] = field(default=())
    notify: Notify = lambda text: None
    named: Mapping[Configuration, str] = field(default_factory=dict)
    """What everything is proved against, by name."""
    noted: list[Noted] = field(default_factory=list)
    """What was refused or failed in the runs that were asked for so far."""
    holding: dict[str, Holding] = field(default_factory=dict)
    """Of each batch how far its trials were from the limits."""
    budget_s: float = 0.0
    """Of all runs; 0: without a limit."""

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One block of all; None for what failed or did not keep what must hold, nothing for what was disturbed."""
        if self.left_s(name) <= 0.0 and not any((self.folder / each).exists() for each in (name, CONFIRMATION)):
            raise UsageError(
                f"the budget was used up before {name}, because trials took longer than planned: nothing is"
                " recommended",
                "give a larger --budget; plans here go by what these trials took",
            )
        everything = [start, *configurations]
        design = {"blocks": {"min": 1, "max": 1}, "seed": seed}
        findings, named, refused = self._tried(name, everything, design)
        found: dict[Configuration, tuple[float, ...] | None] = dict.fromkeys(refused)
        if findings is None:
            return found
        limits = self._limits(findings)
        valid = [each for each in findings.trials if each.status is Status.VALID]
        responses = {named[each.treatment]: each.responses for each in valid}
        self.holding[name] = holding(responses, self.question.objectives, limits)
        for objective in self.question.objectives:
            if valid and all(each.responses.get(objective) is None for each in valid):
                raise UsageError(
                    f"no trial of {name} has a value of {objective}, so nothing can be found by it",
                    "see why in its report, and give another --for",
                )
        for trial in findings.trials:
            values = [trial.responses.get(each) for each in self.question.objectives]
            if trial.status is not Status.INVALID:
                breaks = broken(trial, limits) if trial.status is Status.VALID else ()
                self.noted.extend((named[trial.treatment], Cause.LIMIT, each.text) for each in breaks)
                usable = trial.status is Status.VALID and not breaks
                known = tuple(each for each in values if each is not None)
                found[named[trial.treatment]] = known if usable and len(known) == len(values) else None
        return found

    def held(self, name: str) -> Holding:
        return self.holding.get(name, {})

    def points(
        self, name: str, start: Configuration, arms: Sequence[Configuration], seed: int, blocks: int, budget_s: float
    ) -> PointTrials:
        """So many blocks of all of them, whatever they show."""
        everything = [start, *arms]
        design = {
            "blocks": {"min": blocks, "max": blocks}, "budget": self._within(name, _PATIENCE * budget_s), "seed": seed,
            "settle": list(self.question.others),
        }  # fmt: skip
        findings, named, refused = self._tried(name, everything, design)
        if findings is None:
            raise UsageError(
                f"every point of the front is refused: {'; '.join(sorted(set(refused.values())))}",
                "narrow the space with --space, so that its levels can be run",
            )
        numbers = {treatment: str(everything.index(each)) for treatment, each in named.items()}
        limits = self._limits(findings)
        trials = [each.responses for each in findings.trials if each.status is Status.VALID]
        known = {name for each in trials for name, value in each.items() if value is not None}
        known -= {*self.question.objectives}
        costs = [name for name, each in findings.responses.items() if each.cost and name in known]
        wanted = {*self.question.objectives, *(each.response.name for each in limits), *costs}
        observations = _observed(findings, wanted, numbers)
        outcomes = dict(refused) | {
            named[each.treatment]: "; ".join(reason.detail for reason in each.reasons) for each in findings.outcomes
        }
        return PointTrials(
            self.question.objectives, everything, observations, findings.responses, limits, self.question.resolution,
            outcomes, costs,
        )  # fmt: skip

    def refused(self) -> tuple[Failure, ...]:
        """What was refused or failed in the runs that were asked for so far, by its reasons."""
        return gathered(self.noted, self.space.start)

    def report(self, name: str, sections: Sequence[Section]) -> None:
        """The page of a study, with sections of one's own at its head; they are kept for every page of it."""
        findings = Findings(Run.open(self.folder / name))
        page.write(findings, self.folder / name / REPORT, own=contents.keep_sections(findings, sections))

    def study(
        self, name: str, baseline: Configuration, arms: Sequence[Configuration], seed: int, budget_s: float
    ) -> Mapping[Configuration, Compared]:
        """Blocks until all verdicts are settled or the budget is used; its report is written, too."""
        everything = [baseline, *arms]
        # By trials of the screening that were played as these will be: where they take longer than was forecast, the
        # study would else end before any verdict can be reached.
        runs = [each.parent for each in sorted(self.folder.glob("screening-*/study.toml"))]
        turned = differing(baseline, everything) <= {*screenings.in_turns(self.space)}
        seen_s = usual_s([trial for each in runs for trial in Run.open(each).trials], turned=turned)
        least_s = BLOCKS_MIN * len(everything) * OVERHEAD * seen_s
        design = {
            "blocks": {"min": BLOCKS_MIN, "max": BLOCKS_MAX},
            "budget": self._within(name, max(budget_s, least_s)), "seed": seed,
        }  # fmt: skip
        findings, named, refused = self._tried(name, everything, design, against_first=True)
        if findings is None:
            return {}
        page.write(findings, self.folder / name / REPORT)
        return {each: failed(self.question.objective, why) for each, why in refused.items()} | {
            named[each.effect.treatment]: Compared(each.effect, each.verdict, moved(findings, each.effect))
            for each in findings.verdicts
        }

    def spent_s(self, name: str) -> float:
        """See `task.Laboratory`: by the record of the study that is in its folder."""
        path = self.folder / name
        return OVERHEAD * sum(each.length_s for each in Run.open(path).trials) if path.exists() else 0.0

    def left_s(self, name: str) -> float:
        """What is left of the budget before the run of this name, by the records of the others."""
        if not self.budget_s:
            return inf
        others = [each.parent.name for each in self.folder.glob("*/journal.jsonl") if each.parent.name != name]
        return self.budget_s - sum(map(self.spent_s, others))

    def _within(self, name: str, budget_s: float) -> str:
        """The budget of a run, within what is left of that of the whole; its first block is played in any case."""
        return f"{max(1.0, min(budget_s, self.left_s(name))):.0f}s"

    def kept(self, name: str) -> tuple[LimitChance, ...]:
        """See `task.Laboratory`: by the trials of the study that is in its folder."""
        findings = Findings(Run.open(self.folder / name))
        limits = self._limits(findings)
        names = [each.name for each in findings.study.treatments]
        observations = _observed(findings, [each.response.name for each in limits], {each: each for each in names})
        return kept_limits(limits, observations, names[0], names[1])

    def _tried(
        self,
        name: str,
        everything: Sequence[Configuration],
        design: Mapping[str, Any],
        *,
        against_first: bool = False,
    ) -> tuple[Findings | None, dict[str, Configuration], dict[Configuration, str]]:
        """The run of all that is not refused beforehand, what that is by treatment, and the others with the reason.

        No run where fewer than two are left, or all are set `against_first` and that is refused.
        """

        def wanted(configurations: Sequence[Configuration]) -> Document:
            called = names_of(configurations, self.space.start, self.named, against_first=against_first)
            return document(self.question, self.space, name, configurations, design, called)

        known = refused_in(self.folder)
        while True:
            refused = {each: known[each] for each in everything if each in known}
            self.noted.extend((each, Cause.REFUSED, why) for each, why in refused.items())
            tried = [each for each in everything if each not in refused]
            if len(tried) < 2 or (against_first and everything[0] in refused):
                return None, {}, refused
            try:
                findings = self._measured(name, wanted(tried))
                named = {each.name: one for each, one in zip(findings.study.treatments, tried, strict=True)}
                self.noted.extend(
                    (named[each.treatment], Cause.FAILED, "; ".join(reason.detail for reason in each.reasons))
                    for each in findings.outcomes
                )
                return findings, named, refused
            except OURS:
                if (self.folder / name).exists():
                    raise
                new = refused_by(lambda some: self._check(wanted(some)), self.space.start, tried)
                if not new:
                    raise
                known = {**known, **new}
                kept = msgspec.json.encode([Refused(each, why) for each, why in known.items()])
                (self.folder / REFUSED_FILE).write_bytes(msgspec.json.format(kept, indent=1))
                for each, why in new.items():
                    changes = each.changes_from(self.space.start).items()
                    self.notify(f"left out, since it is refused: {', '.join(map(' = '.join, changes))}: {why}")

    def _check(self, wanted: Document) -> None:
        with bench_of(self.options) as bench:
            prepare(resolve_arms(write_study("advise", wanted).study, bench.environment()), bench)

    def _measured(self, name: str, wanted: Document) -> Findings:
        path, written = self.folder / name, write_study(name, wanted)
        try:
            if path.exists():
                found = Findings(Run.open(path))
                if found.run.study.get("treatments") != written.document.get("treatments"):
                    raise UsageError(
                        f'"{path.name}" does not hold the configurations that would be tried next',
                        "another version of pgassay or Optuna made it: continue with that one, or name a new directory",
                    )
                if not found.finished:
                    with self.watching(written.study) as watcher:
                        continue_run(path, self.options, watcher)
            else:
                if self.budget_s:
                    left = f"{duration(max(0.0, self.left_s(name)))} of {duration(self.budget_s)}"
                    self.notify(f"{name}: {left} are left")
                with self.watching(written.study) as watcher:
                    run_study(written, path, self.options, watcher, self.command)
        except RunStoppedError as error:
            raise PgassayError(
                f"{name}: {error.message}",
                f"committed trials are kept; continue with: pgassay advise --resume {self.folder}",
            ) from None
        return Findings(Run.open(path))

    def _limits(self, findings: Findings) -> tuple[Limit, ...]:
        return resolve(findings.study.decide, findings.run.responses, self.question.objectives, compared=True)


def play_once(task: Task, question: Question, options: BenchOptions, watching: Watching) -> float:
    """Play a block of the start and of another configuration, as the screening will, and forget what it showed: from
    what it took a plan knows this machine's pace today. Returns the seconds that it took.
    """
    began_s = time.monotonic()
    space, turned = task.space, screenings.in_turns(task.space)
    alone = [each.name for each in space.dimensions if each.name not in turned]
    other = space.dimension((task.turned or alone or turned)[0])
    tried = [space.start, space.start.with_values({other.name: other.far})]
    design = {"blocks": {"min": 1, "max": 1}, "seed": task.seed}
    written = write_study("pace", document(question, space, "pace", tried, design))
    with scratch.folder("pace") as folder, watching(written.study) as watcher:
        try:
            run_study(written, folder / "pace", options, watcher)
        except RunStoppedError as error:  # its record is thrown away, so nothing can be gone on with
            raise PgassayError(error.message) from None
    return time.monotonic() - began_s


def usual_s(trials: Sequence[TrialRecord], *, turned: bool) -> float:
    """How long a trial takes, by the longest of the usual ones that took turns or did not; by any where none did so."""
    mine = [each for each in trials if (each.regime.get("pairing") == ALTERNATE) == turned]
    lengths = sorted(each.length_s for each in mine or trials)
    return lengths[9 * len(lengths) // 10] if lengths else 0.0


def moved(findings: Findings, effect: Effect) -> tuple[str, ...]:
    """The costs that surely moved where an effect is, in words, the largest first: why it may be so, and no proof."""
    mine = [each for each in findings.costs if each.place == effect.place and each.response != effect.response]
    return moved_in_words(mine, findings.responses)


def _observed(findings: Findings, responses: Iterable[str], called: Mapping[str, str]) -> dict[str, list[Observation]]:
    """The valid trials by response, each treatment as it is `called`."""
    valid = [each for each in findings.trials if each.status is Status.VALID]
    return {
        name: [Observation(each.block, called[each.treatment], "", "", each.responses.get(name)) for each in valid]
        for name in responses
    }


@dataclass(frozen=True)
class Refused:
    """A configuration and why no server was started with it."""

    configuration: Configuration
    why: str


def refused_in(folder: Path) -> Mapping[Configuration, str]:
    path = folder / REFUSED_FILE
    if not path.exists():
        return {}
    return {each.configuration: each.why for each in untrusted.json(untrusted.read_bytes(path), list[Refused])}


def refused_by(check: Check, start: Configuration, configurations: Sequence[Configuration]) -> dict[Configuration, str]:
    """Those of a study that was refused that are refused along with the start, too, with the reason.

    None where all of several are refused in the same words: then it is not they that are refused.
    """
    found: dict[Configuration, str] = {}
    others = [each for each in dict.fromkeys(configurations) if each != start]
    for each in others:
        try:
            check([start, each])
        except OURS as error:
            found[each] = str(error)
    alike = len(others) > 1 and len(found) == len(others) and len(set(found.values())) == 1
    return {} if alike else found


def failed(objective: str, why: str) -> Compared:
    """What is known of a refused configuration against any other: it fails."""
    effect = Effect("", "", "", objective, Scale.RATIO, 0, float("nan"), 0.0, float("inf"), 0.95, "", (why,))
    return Compared(effect, Verdict(Kind.FAILED, why))
