"""The commits of a repository, and blocks of two of them run here.

Each commit becomes a level of one factor; everything else stays as the study has it. What the commits are of:
PostgreSQL, an extension, or the schema and data of an application. Of a study the baseline's levels, the load and the
responses are taken. Each step is a run of its own; what has to be built is built at first use, into the cache of
builds.

What a directory was made to answer is written once as JSON, before anything is measured, and never changed. Whoever
begins again must ask the same, and nobody else works there meanwhile.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from math import log
from pathlib import Path, PurePosixPath
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.running import Runner
from pgassay.lab.arms import resolve
from pgassay.lab.counted import counts
from pgassay.lab.preparation import prepare
from pgassay.lab.run import Watching, WrittenStudy, run_at, write_study
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.load.pgbench.data import is_dump
from pgassay.postgres.builds.commits import Commit, export, has_file
from pgassay.postgres.builds.errors import BuildError
from pgassay.record import formats
from pgassay.record.disk import Disk, HeldError, keep_file
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.document import Document
from pgassay.study.model import Study
from pgassay.study.responses import Better, Response, Scale, Status

FORMAT = 1


Question = TypeVar("Question", bound="CommitsQuestion")


@dataclass(frozen=True)
class QuestionFile(Generic[Question]):
    """Questions of one type, in the file of this name; `kind` is what people call them ("bisection")."""

    type: type[Question]
    file: str
    kind: str
    whole: Callable[[Question], bool] = lambda question: True
    """Can this one be gone on with?"""

    def read(self, disk: Disk, folder: Path) -> Question | None:
        """What is asked there; None where nothing is. Raises `UsageError` for anything else."""
        if not disk.exists(folder):
            return None
        try:
            found = msgspec.json.decode(disk.read(folder / self.file), type=self.type)
        except (OSError, msgspec.MsgspecError) as error:
            raise self._unusable(folder, str(error).partition("\n")[0]) from None
        if found.format != FORMAT or not self.whole(found):
            raise self._unusable(folder, f"its format is {found.format}, {FORMAT} is known")
        return found

    def require_same(self, disk: Disk, folder: Path, asked: Question) -> None:
        """Raise `UsageError` where the directory is another question's."""
        before = self.read(disk, folder)
        if before is not None and before.key != asked.key:
            raise UsageError(f'"{folder}" holds a {self.kind} of {before.what}', "name another directory with --out")

    @contextmanager
    def opened(self, disk: Disk, folder: Path, asked: Question) -> Iterator[Question]:
        """The directory for this question, made or gone on with; raises `UsageError` where it is another's."""
        before = self.read(disk, folder)
        if before is None:
            keep_file(disk, folder / self.file, formats.encode(asked))
            before = asked
        self.require_same(disk, folder, asked)
        try:
            lock = disk.lock(folder / "lock", self.kind)
        except HeldError:
            raise UsageError(f'another pgassay works on "{folder}"', "wait until it has ended") from None
        try:
            yield before
        finally:
            lock.release()

    def _unusable(self, folder: Path, why: str) -> UsageError:
        return UsageError(
            f'"{folder}" is no {self.kind} that can be gone on with: {why}', "name another directory with --out"
        )


WRAPPER = "pgassay-init.sql"
_ABBREVIATED = 12
"""Letters of a hash."""


class SubjectKind(StrEnum):
    POSTGRESQL = "postgresql"
    EXTENSION = "extension"
    SCHEMA = "schema"


FACTORS = {
    SubjectKind.POSTGRESQL: "build.source",
    SubjectKind.EXTENSION: "build.extension",
    SubjectKind.SCHEMA: "load.init",
}
"""The factor that the commits are levels of."""


@dataclass(frozen=True)
class Subject:
    """A repository and what is in it; of a schema `file` is the SQL or dump that makes the data (`load.init`)."""

    kind: SubjectKind
    repository: str
    file: str = ""

    @property
    def factor(self) -> str:
        return FACTORS[self.kind]

    @property
    def what(self) -> str:
        if self.kind is SubjectKind.SCHEMA:
            return f"{self.file} of {self.repository}"
        return self.repository if self.kind is SubjectKind.POSTGRESQL else f"the extension of {self.repository}"


@dataclass(frozen=True, kw_only=True)
class CommitsQuestion:
    """What every question about commits keeps: a study's document (with its seed), and what the commits are of."""

    study: str
    document: dict[str, Any]
    repository: str
    kind: str = SubjectKind.POSTGRESQL
    file: str = ""
    format: int = FORMAT

    @property
    def what(self) -> str:
        """What is asked, for people."""
        raise NotImplementedError

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes two questions the same; each call draws a new seed, which does not."""
        design = {key: value for key, value in self.document.get("design", {}).items() if key != "seed"}
        return self.study, {**self.document, "design": design}, self.subject

    @property
    def subject(self) -> Subject:
        return Subject(SubjectKind(self.kind), self.repository, self.file)


def level(subject: Subject, commit: Commit, trees: Path, runner: Runner) -> str:
    """The level of the subject's factor that is this commit; a schema's files are written below `trees` for it.

    Raises `UnmeasuredError` for a commit without the schema's file, and `BuildError` where git cannot export it.
    """
    if subject.kind is not SubjectKind.SCHEMA:
        return f"git:{subject.repository}@{commit.sha}"
    tree, folder = trees / commit.sha, Path(subject.repository)
    if not tree.is_dir():
        if not has_file(runner, folder, commit.sha, subject.file):
            raise UnmeasuredError(f"it has no {subject.file}")
        trees.mkdir(parents=True, exist_ok=True)
        fresh = trees / f".{commit.sha}"
        export(runner, folder, commit.sha, fresh, str(PurePosixPath(subject.file).parent))
        if not is_dump(fresh / subject.file):
            # Two commits may differ in a file that this one includes: the commit is part of what is run.
            quoted = subject.file.replace("\\", "\\\\").replace("'", "''")  # as psql reads its commands' arguments
            text = f"-- {commit.sha}\n\\ir '{quoted}'\n"
            with Directory.open(fresh) as exported:  # the commit may have a link of this name
                exported.replace(WRAPPER, text, mode=0o644)
        fresh.rename(tree)
    wrapper = tree / WRAPPER
    return str(wrapper if wrapper.is_file() else tree / subject.file)


def called(subject: Subject, commits: Iterable[Commit]) -> list[str]:
    """What studies call the treatments of these commits; nothing where their levels say it.

    A schema's level is the path of our copy, which nobody typed: `db/schema.sql@1a2b3c4d5e6f` is what the copy is of.
    """
    if subject.kind is not SubjectKind.SCHEMA:
        return []
    return [re.sub(r"[,;=\s]+", " ", f"{subject.file}@{each.sha[:_ABBREVIATED]}") for each in commits]


def shows(treatment: str, commit: Commit) -> bool:
    """Is this the treatment of the commit, by its name (`called`) or by its level?"""
    short, rest = commit.sha[:_ABBREVIATED], commit.sha[_ABBREVIATED:]
    return re.search(rf"(?<![\w.]){short}({rest})?(?![\w.])", treatment) is not None


class UnmeasuredError(Exception):
    """A commit cannot be measured: it does not build, or its server gives no valid block. Its words say why."""


SKIPPED = ".skipped"
"""Ends the name of a file that says why a commit cannot be measured."""


@dataclass(frozen=True)
class Pair:
    """One valid block: what was measured of the good commit, or an earlier one, and of the other, by response."""

    good: Mapping[str, float | None]
    other: Mapping[str, float | None]


class Blocks(Protocol):
    @property
    def primary(self) -> Response:
        """What is bisected by; on a ratio scale."""

    @property
    def responses(self) -> Sequence[Response]:
        """Every response that a block may have; known after the first one."""

    def measure(self, good: Commit, other: Commit, blocks: int, path: Path) -> tuple[Pair, ...]:
        """So many blocks of the two, recorded at `path`; what is there already is read, and gone on with.

        `good` is the good commit, or an earlier one that was measured before.

        Raises `UnmeasuredError` where the other commit cannot be measured, `PgassayError` for any other fault.
        """


def require_ratio(response: Response) -> None:
    if response.scale is not Scale.RATIO:
        raise UsageError(
            f'"{response.name}" has no ratios to go by', "name a response on a ratio scale with --primary, as tps"
        )


def least_of(study: Study) -> float:
    """The smallest difference that counts between two commits, a share: the resolution where instructions are counted.

    A count has hardly any noise, so a change of addresses alone, as of a function that nobody calls, would be shown.
    """
    return study.design.resolution if counts(study) else 0.0


def log_ratio(pair: Pair, name: str) -> float | None:
    """The logarithm of the other commit's value over the good one's; None unless both are above 0."""
    one, other = pair.good.get(name), pair.other.get(name)
    return log(other / one) if one and other and one > 0.0 and other > 0.0 else None


_SMALL = 0.01
"""Smaller changes are shown to a hundredth of a per cent."""


def percent(*ratios: float) -> str:
    """A ratio as a change, with the ends of its interval where they are given: `+1.2 % [+0.4, +2.0]`."""
    digits = 1 if abs(ratios[0] - 1.0) >= _SMALL else 2
    shown = [f"{100.0 * (each - 1.0):+.{digits}f}" for each in ratios]
    return f"{shown[0]} %" if len(shown) == 1 else f"{shown[0]} % [{', '.join(shown[1:])}]"


def commit_skipped(name: str, why: str) -> str:
    return f"skipped: {name}: {why}"


NO_VALID_BLOCK = "no block in which both commits have a valid value"
"""Why a commit is left out whose run ended without one."""


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
        def write() -> WrittenStudy:
            levels = [level(self.subject, each, self.trees, self.runner) for each in (good, other)]
            study, names = self.written.study, called(self.subject, (good, other))
            document = pair_document(self.written.document, study, self.subject.factor, levels, blocks, names)
            pair = write_study("commits", document)
            self._build(pair, other)
            return pair

        record = run_at(path, write, self.options, self.watch, self.command)
        self.responses = record.responses
        require_ratio(self.primary)
        return pairs_of(record.trials, good, other)

    def _build(self, pair: WrittenStudy, other: Commit) -> None:
        """Build what is missing, and make a schema's data; only of the other commit a failure is the commit's own."""
        if other.sha in self._built:
            return
        with Workbench(self.options) as bench:
            arms = resolve(pair.study, bench.environment()).arms
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


def pairs_of(trials: Sequence[TrialRecord], good: Commit, other: Commit) -> tuple[Pair, ...]:
    """The blocks in which both commits have a valid trial, in order."""
    found: dict[int, dict[str, Mapping[str, Any]]] = {}
    for trial in trials:
        if trial.status is Status.VALID:
            for each in (good, other):
                if shows(trial.treatment, each):
                    found.setdefault(trial.block, {})[each.sha] = trial.responses
    return tuple(Pair(each[good.sha], each[other.sha]) for _, each in sorted(found.items()) if len(each) == 2)


def machine_of(path: Path) -> str:
    """Where the run at `path` was measured: CPU, memory and kernel, which is what two hosts seldom share."""
    facts = Run.open(path).host
    cpu, memory = facts.get("cpu", {}), facts.get("memory", {})
    kernel = facts.get("kernel", {}).get("release") or "an unknown kernel"
    gib = f"{int(memory['total_bytes']) / 2**30:.3g} GiB" if memory.get("total_bytes") else "unknown memory"
    return f"{cpu.get('model') or 'an unknown CPU'}, {cpu.get('processors') or '?'} CPUs, {gib}, {kernel}"
