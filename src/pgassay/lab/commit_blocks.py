"""Blocks of two commits on the real machine: each step is a run of its own, of the study with its factors held.

Of the study the baseline's levels, the load and the responses are taken; what varies is the factor of the commits'
subject, as `build.source`. What has to be built is built at first use, into the cache of builds.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgassay.bench.errors import LoadError
from pgassay.bench.running import Runner
from pgassay.errors import UsageError
from pgassay.lab.arms import resolve
from pgassay.lab.bisection import Pair, require_ratio
from pgassay.lab.commit_subject import Subject, SubjectKind, UnmeasuredError, called, level, shows
from pgassay.lab.preparation import prepare
from pgassay.lab.run import WrittenStudy, continue_run, run_study, write_study
from pgassay.lab.runner import Watcher
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.postgres.builds.commits import Commit
from pgassay.postgres.builds.errors import BuildError
from pgassay.record.journal import Kind
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.document import Document
from pgassay.study.model import Study
from pgassay.study.responses import Better, Response, Status

_KEPT = ("load", "responses")


def pair_document(
    document: Document, study: Study, factor: str, levels: Sequence[str], blocks: int, called: Sequence[str] = ()
) -> Document:
    """A study of these levels of one factor, the first one the baseline, with all else as in `study`'s baseline.

    `called` names its treatments; none where the levels do.

    Raises `UsageError` for a study that holds or varies that factor itself.
    """
    first = next(arm for arm in study.arms if arm.treatment == study.design.baseline)
    held = {name: level.typed for name, level in study.levels_of(first).items() if not name.startswith("load.")}
    varied = {name.removeprefix("load."): level.typed for name, level in first.levels.items() if name[:5] == "load."}
    load = {**document.get("load", {}), **varied}
    named = held.get(factor) or load.get(factor.removeprefix("load."))
    if named is not None:
        raise UsageError(
            f'the study has "{factor}" at {named!s}', "name the repository with --git DIR, and leave it out"
        )
    design = {
        key: value for key, value in document.get("design", {}).items() if key in ("pairing", "slice", "defaults")
    }
    kept = {key: document[key] for key in _KEPT if key in document}
    names = {"called": list(called)} if called else {}
    return {
        "study": {"format": 1, "name": "commits", "title": "Two commits", "question": "Do they differ?", **names},
        "factors": {factor: list(levels)},
        "fixed": held,
        **kept,
        "load": load,
        "design": {**design, "blocks": {"min": blocks, "max": blocks}, "precision": "0.1%"},
    }


Watching = Callable[[Study], AbstractContextManager[Watcher]]


@dataclass
class CommitBlocks:
    """`lab.bisection.Blocks` by real servers; `written` is the study, `trees` where commits of a schema are written."""

    written: WrittenStudy
    subject: Subject
    trees: Path
    runner: Runner
    options: BenchOptions
    watch: Watching
    command: tuple[str, ...]
    """What the runs say of who made them."""
    responses: Sequence[Response] = field(default=(), init=False)
    _built: set[str] = field(default_factory=set, init=False)

    @property
    def primary(self) -> Response:
        """By the catalogue of responses of the first run; before it, by name alone."""
        name = self.written.study.primary
        return next((each for each in self.responses if each.name == name), Response(name, name, "", Better.NEITHER))

    def measure(self, good: Commit, other: Commit, blocks: int, path: Path) -> tuple[Pair, ...]:
        """Run, go on with, or read the run at `path`."""
        if not path.exists():
            levels = [level(self.subject, each, self.trees, self.runner) for each in (good, other)]
            document = pair_document(
                self.written.document,
                self.written.study,
                self.subject.factor,
                levels,
                blocks,
                called(self.subject, (good, other)),
            )
            pair = write_study("commits", document)
            self._build(pair, other)
            with self.watch(pair.study) as watcher:
                record = run_study(pair, path, self.options, watcher, self.command)
        else:
            record = Run.open(path)
            if record.journal[-1].kind != Kind.FINISHED:
                record = continue_run(path, self.options)
        self.responses = record.responses
        require_ratio(self.primary)
        return pairs_of(record.trials, self.subject, good, other)

    def _build(self, pair: WrittenStudy, other: Commit) -> None:
        """Build what is missing, and make a schema's data; only of the other commit a failure is the commit's own."""
        if other.sha in self._built:
            return
        with Workbench(self.options) as bench:
            arms = resolve(pair.study, bench.site()).arms
            bench.require_room(bench.missing_builds(arm.setup.build for arm in arms))
            for arm in arms:
                try:
                    _ = arm.installation
                    if self.subject.kind is SubjectKind.SCHEMA:
                        prepare(arm)
                except (BuildError, LoadError) as error:
                    if other.sha not in arm.arm.levels[self.subject.factor].typed:
                        raise
                    raise UnmeasuredError(error.message) from None
        self._built.add(other.sha)


def pairs_of(trials: Sequence[TrialRecord], subject: Subject, good: Commit, other: Commit) -> tuple[Pair, ...]:
    """The blocks in which both commits have a valid trial, in order."""
    found: dict[int, dict[str, Mapping[str, Any]]] = {}
    for trial in trials:
        if trial.status is Status.VALID:
            for each in (good, other):
                if shows(trial.treatment, subject, each):
                    found.setdefault(trial.block, {})[each.sha] = trial.responses
    return tuple(Pair(each[good.sha], each[other.sha]) for _, each in sorted(found.items()) if len(each) == 2)


def machine_of(path: Path) -> str:
    """Where the run at `path` was measured: CPU, memory and kernel, which is what two hosts seldom share."""
    facts = Run.open(path).host
    cpu, memory = facts.get("cpu", {}), facts.get("memory", {})
    kernel = facts.get("kernel", {}).get("release") or "an unknown kernel"
    gib = f"{int(memory['total_bytes']) / 2**30:.3g} GiB" if memory.get("total_bytes") else "unknown memory"
    return f"{cpu.get('model') or 'an unknown CPU'}, {cpu.get('processors') or '?'} CPUs, {gib}, {kernel}"
