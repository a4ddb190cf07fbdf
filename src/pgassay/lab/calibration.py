"""A calibration: one treatment again and again, clusters × restarts × runs, to learn this machine's own noise.

It is kept as a study whose factor is a label that does nothing (`calibration.cluster`) and whose covariate is the run
after a restart (`calibration.run`), so that every tool that reads a run reads it. A block restarts each cluster once,
in the design's random order. Kalibera and Jones (ISMM 2013).
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pgassay.design.schedule import blocks_done, order
from pgassay.drive.options import DriveOptions
from pgassay.errors import UsageError
from pgassay.interfaces.factor import Factor, Readable, Stage
from pgassay.interfaces.store import Needs
from pgassay.lab.arms import ResolvedStudy
from pgassay.lab.catalogue import FactorCatalogue
from pgassay.lab.decisions import preparation_s
from pgassay.lab.environment import Environment
from pgassay.lab.preparation import prepare_snapshot
from pgassay.lab.run import Watching, committed, journalled, run_at, write_study
from pgassay.lab.runner import Done, Watcher, journal_preparation, keep_trials, trial_seed
from pgassay.lab.trial import Cluster, Trial
from pgassay.lab.trial_state import Assignment
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.record.calibrations import AFTER_RESTART, CLUSTER, STUDY, TURNS
from pgassay.record.directory import RunDirectory
from pgassay.record.journal import Decision, Step, inputs_sha256
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.levels import Arm, Level
from pgassay.study.model import ALTERNATE
from pgassay.study.responses import Status
from pgassay.study.units import seconds

SERIES = f"{STUDY}.series"
BLOCKS_LEAST = 2


class Label(Factor):
    """A level that changes nothing; in the init stage it gives each level a snapshot, and so a cluster, of its own."""

    def __init__(self, pattern: str, stage: Stage, summary: str) -> None:
        self.pattern, self.stage, self.summary = pattern, stage, summary

    def parse(self, name: str, typed: str) -> Level:
        """Any text is a level; it stays as it was typed."""
        return Level(typed, typed)

    def read_back(self, name: str, level: Level, readable: Readable) -> str | None:
        return None


LABELS = (
    Label(CLUSTER, Stage.INIT, "a cluster of its own (initdb and data), otherwise like every other"),
    Label(SERIES, Stage.INIT, "keeps the clusters of one calibration apart from those of another"),
    Label(AFTER_RESTART, Stage.RUN, "the first, second … run after a restart"),
)


def with_labels(environment: Environment) -> Environment:
    """The same environment, in which a calibration's labels are factors too."""
    return replace(environment, catalogue=FactorCatalogue((*environment.catalogue.all(), *LABELS)))


class CalibrationBench(Workbench):
    """The workbench of a calibration; its clusters are kept until it is done, so that it can go on after a kill."""

    def environment(self) -> Environment:
        return with_labels(super().environment())


def conduct(resolved: ResolvedStudy, run: RunDirectory, watcher: Watcher) -> None:
    """Run a calibration to its end; committed trials are gone on from. Raises as `lab.run.conduct` does."""
    with journalled(run):
        Calibrator(resolved, run, watcher, committed(run)).conduct()


def discard_clusters(options: BenchOptions) -> None:
    """Remove the clusters of a calibration that is done, and their directory unless another calibration uses it."""
    with CalibrationBench(replace(options, keep_snapshots=False)) as bench:
        bench.environment().drive(DriveOptions(), Needs())  # at its release all that is in it goes
    with suppress(OSError):
        bench.data_directory.rmdir()


def document_of(
    load: Mapping[str, Any], clusters: int, runs: int, blocks: tuple[int, int], budget: str, seed: int
) -> dict[str, Any]:
    """The study document of a calibration; the budget is that of one server after the other."""
    return {
        "study": {
            "format": 1,
            "name": STUDY,
            "title": "Calibration",
            "question": "How much does this machine vary when nothing is changed?",
        },
        "factors": {CLUSTER: [str(number + 1) for number in range(clusters)]},
        "covariates": {AFTER_RESTART: [str(number + 1) for number in range(runs)]},
        "fixed": {SERIES: str(seed)},
        "load": dict(load),
        "responses": {"primary": "tps"},
        "design": {"blocks": {"min": blocks[0], "max": blocks[1]}, "budget": budget, "seed": seed},
    }


SEQUENTIAL_SHARE = 0.5
"""Of a calibration's time, what one server after the other gets; the rest is for servers in turns."""
TURNS_BLOCKS = 10
"""Blocks of equal servers in turns, at most."""
TWINS = "server.cluster_name"
"""A setting that changes a process's title and nothing else: servers that differ in it are equal."""
TURNS_STUDY = "calibration-turns"


def turns_document(calibration: Mapping[str, Any]) -> dict[str, Any]:
    design = calibration["design"]
    budget_s = seconds("[design]", design["budget"]) * (1.0 - SEQUENTIAL_SHARE) / SEQUENTIAL_SHARE
    blocks = min(TURNS_BLOCKS, design["blocks"]["max"])
    return {
        "study": {
            "format": 1,
            "name": TURNS_STUDY,
            "title": "Equal servers in turns",
            "question": "How much do two equal servers differ when they take turns?",
        },
        "factors": {TWINS: ["a", "b"]},
        "load": dict(calibration["load"]),
        "responses": {"primary": "tps"},
        "design": {
            "blocks": {"min": blocks, "max": blocks},
            "budget": str(budget_s),
            "seed": design["seed"],
            "pairing": ALTERNATE,
        },
    }


def play_turns(calibration: Run, options: BenchOptions, watch: Watching) -> None:
    """Run equal servers in turns into the folder of a calibration's run; what was cut short goes on.

    Raises `PgassayError` where this load cannot be played so here, or the bench fails.
    """
    run_at(
        calibration.path / TURNS,
        lambda: write_study(TURNS_STUDY, turns_document(calibration.study)),
        options,
        watch,
        calibration.header.command,
    )


@dataclass
class Calibrator:
    """Runs a calibration's study into a run directory. `trials` are those committed so far (none of a new one).

    A block that was cut short stays as it is, left out by the analysis: another run on another restart would not
    belong to it. The next block begins again.
    """

    resolved: ResolvedStudy
    run: RunDirectory
    watcher: Watcher
    trials: Sequence[TrialRecord] = ()
    used_s: float = 0.0

    def conduct(self) -> str:
        """Blocks until the budget or their number is used up; returns the reason. Committed trials stay."""
        resolved, environment, design = self.resolved, self.resolved.environment, self.resolved.study.design
        self.used_s = sum(trial.length_s for trial in self.trials)
        for arm in self._restarts(1):
            cluster = resolved.of(arm)
            if self.trials and not cluster.drive.has_snapshot(cluster.snapshot_key):
                raise UsageError(
                    f"{arm.treatment.name} no longer exists, and a new one would not be the same",
                    "run pgassay calibrate again, in a new directory",
                )
            self.watcher.preparing(arm)
            self.watcher.prepared(arm, prepare_snapshot(cluster, journal_preparation(self.run, environment)).seconds)
        # Blocks that an interruption left incomplete; a run that failed by itself ends its restart too, and counts.
        blocks = [[trial for trial in self.trials if trial.block == each] for each in {t.block for t in self.trials}]
        failed = [any(trial.status is Status.OUTCOME for trial in each) for each in blocks]
        cut_short = sum(len(each) < len(resolved.arms) and not bad for each, bad in zip(blocks, failed, strict=True))
        reason = blocks_done(design.blocks_max)
        begun = max((trial.block for trial in self.trials), default=0)
        for block in range(begun + 1, design.blocks_max + cut_short + 1):
            ahead_s = self.used_s / (block - 1) if block > 1 else 0.0
            spent_s = self.used_s + preparation_s(self.run.journal.entries)
            if design.budget_s is not None and block > BLOCKS_LEAST and spent_s + ahead_s > design.budget_s:
                reason = f"{block - 1} blocks are done; another one does not fit in the budget"
                break
            for arm in self._restarts(block):
                self._restart(block, arm)
        self._decide(Step.STOP, reason=reason)
        with environment.held():
            self.run.finish(reason)
        return reason

    def _restarts(self, block: int) -> tuple[Arm, ...]:
        first = self.resolved.study.arms[0].covariate
        arms = [arm for arm in self.resolved.study.arms if arm.covariate == first]
        return order(self.resolved.study, self.run.header.seed, block, arms)

    def _restart(self, block: int, first: Arm) -> None:
        """One clone, one server, every run on it; a run that fails because of its settings ends it."""
        resolved, environment, cluster = self.resolved, self.resolved.environment, Cluster(kept=True)

        def work(assignments: Sequence[Assignment]) -> list[Done]:
            return [Trial(resolved.of(each.arm), each, cluster).run() for each in assignments]

        began_ns = environment.clock.monotonic_ns()
        try:
            for number, arm in enumerate(resolved.study.arms, start=1):
                if arm.treatment != first.treatment:
                    continue
                self._decide(Step.NEXT, arm=arm.name, block=block)
                # Every run draws other keys: the noise of a study's blocks, each with its own seed, holds that too.
                seed = trial_seed(self.run.header.seed, block, number)
                (record,) = keep_trials(self.run, environment, self.watcher, [arm], block, 1, seed, work)
                if record.status is Status.OUTCOME:
                    break
        finally:
            cluster.end(resolved.of(first))
        self.used_s += (environment.clock.monotonic_ns() - began_ns) / 1e9

    def _decide(self, step: Step, *, arm: str = "", block: int = 0, reason: str = "") -> None:
        used_s = round(self.used_s, 3)
        trial = self.run.next_number if step is Step.NEXT else 0
        inputs = inputs_sha256(self.run.header.seed, trial, block, arm)
        line = Decision(step, inputs, used_s, used_s, arm, trial, block, 1 if trial else 0, reason)
        with self.resolved.environment.held():
            self.run.decide(line.as_data())
