"""The commits of a repository: blocks of two of them run here, which one changed a result, and their history.

Each commit becomes a level of one factor; everything else stays as the study has it. What the commits are of:
PostgreSQL, an extension, or the schema and data of an application. Of a study the baseline's levels, the load and the
responses are taken. Each step is a run of its own; what has to be built is built at first use, into the cache of
builds.

A bisection adds blocks of two commits, mostly against the good one, until one commit is as good as certain: where the
next block goes follows from those before it (`analysis.commits`). A history measures each commit once against one
reference, in the same blocks, and is kept for years. A step is named by the commit at which its level begins; where
commits before that one were not measured it lies between two, and `pgassay bisect` finds which. Neither loop holds a
state: killed and begun again, it reads what is there and goes on with the run that was cut short.

What a directory was made to answer is written once as JSON, before anything is measured, and never changed. Whoever
begins again must ask the same, and nobody else works there meanwhile.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from math import exp, inf, isfinite, log
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Generic, Protocol, TypeVar

import msgspec

from pgassay.analysis import commits as analysis
from pgassay.analysis.boundaries import FIRST_LOOK, LEVEL
from pgassay.analysis.commits import POINTS_MIN, SURE, Change, Course, Measured, NextBlock, Span, Step, course_of
from pgassay.analysis.compare import cost_effects
from pgassay.analysis.effects import BlockMean, Effect, informative
from pgassay.analysis.observations import Observation
from pgassay.errors import PgassayError, UsageError
from pgassay.files import Directory
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.running import Runner
from pgassay.lab.arms import resolve
from pgassay.lab.counted import counts
from pgassay.lab.preparation import prepare_snapshot
from pgassay.lab.run import Watching, WrittenStudy, run_at, write_study
from pgassay.lab.workbench import BenchOptions, Workbench
from pgassay.load.pgbench.data import is_dump
from pgassay.postgres.builds.commits import Commit, after, commit_of, first_parents, has_file
from pgassay.postgres.builds.recipe import BuildError
from pgassay.postgres.builds.sources import export
from pgassay.record import formats
from pgassay.record.disk import Disk, HeldError, keep_file
from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.document import Document
from pgassay.study.model import Study
from pgassay.study.responses import Better, Response, Scale, Status

FORMAT = 1


Q = TypeVar("Q", bound="CommitsQuestion")


@dataclass(frozen=True)
class QuestionFile(Generic[Q]):
    """Questions of one type, in the file of this name; `kind` is what people call them ("bisection")."""

    type: type[Q]
    file: str
    kind: str

    def read(self, disk: Disk, folder: Path) -> Q | None:
        """What is asked there; None where nothing is. Raises `UsageError` for anything else."""
        if not disk.exists(folder):
            return None
        try:
            found = msgspec.json.decode(disk.read(folder / self.file), type=self.type)
            if found.format == FORMAT:
                return found
            why = f"its format is {found.format}, {FORMAT} is known"
        except (OSError, msgspec.MsgspecError) as error:
            why = str(error).partition("\n")[0]
        raise UsageError(
            f'could not go on with the {self.kind} in "{folder}": {why}', "name another directory with --out"
        )

    def require_same(self, disk: Disk, folder: Path, asked: Q) -> None:
        """Raise `UsageError` where the directory is another question's."""
        before = self.read(disk, folder)
        if before is not None and before.key != asked.key:
            raise UsageError(f'"{folder}" holds a {self.kind} of {before.what}', "name another directory with --out")

    @contextmanager
    def opened(self, disk: Disk, folder: Path, asked: Q) -> Iterator[Q]:
        """The directory for this question, made or gone on with; raises `UsageError` where it is another's."""
        before = self.read(disk, folder)
        if before is None:
            keep_file(disk, folder / self.file, formats.encode(asked))
            before = asked
        self.require_same(disk, folder, asked)
        try:
            lock = disk.lock(folder / "lock", self.kind)
        except HeldError:
            raise UsageError(f'another pgassay is working on "{folder}"', "wait until it has ended") from None
        try:
            yield before
        finally:
            lock.release()


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
    """`Blocks` by real servers; `written` is the study, `trees` where commits of a schema are written."""

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
                        prepare_snapshot(arm)
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


ANSWER = "answer.json"


@dataclass(frozen=True, kw_only=True)
class Question(CommitsQuestion):
    """The commits from good to bad, and how many blocks at most: of good against bad, and of all."""

    commits: Annotated[tuple[Commit, ...], msgspec.Meta(min_length=2)]
    first: int
    blocks: int

    @property
    def what(self) -> str:
        return f"{self.study} from {self.commits[0].sha[:12]} to {self.commits[-1].sha[:12]} of {self.subject.what}"

    @property
    def key(self) -> tuple[Any, ...]:
        return *super().key, self.commits


BISECTIONS = QuestionFile(Question, "bisection.json", "bisection")


GOOD, CHANGED = "good", "changed"


@dataclass(frozen=True)
class Answer:
    """What was found. `span` is None where good and bad are not shown to differ, or the blocks were used up."""

    commits: tuple[Commit, ...]
    primary: Response
    difference: BlockMean
    blocks: int
    known: tuple[Span, ...]
    span: Span | None
    change: Change | None
    costs: tuple[Effect, ...]
    skipped: Mapping[int, str]
    least: float = 0.0

    @property
    def differ(self) -> bool:
        return analysis.shown(self.difference, self.least)

    def _ends(self) -> tuple[float, float]:
        return self.difference.mean - self.difference.half, self.difference.mean + self.difference.half

    def _named(self, span: Span) -> str:
        if span.upto - span.after == 1:
            return self.commits[span.upto].name
        between = span.upto - span.after
        return f"between {self.commits[span.after].name} and {self.commits[span.upto].name} ({between} commits)"

    def headline(self) -> str:
        title = self.primary.title
        if not self.differ:
            if self.difference.half == inf:
                return f"no difference shown in {title}: {self.blocks} blocks have no interval"
            ends = [abs(exp(end) - 1.0) for end in self._ends()]
            return f"no difference shown: {title} differs by at most ± {100.0 * max(ends):.1f} % ({self.blocks} blocks)"
        if self.span is None or self.change is None:
            best = max(self.known, key=lambda span: span.share)
            return (
                f"not found in {self.blocks} blocks: most probable is {self._named(best)} ({100.0 * best.share:.0f} %)"
            )
        change = self.change
        effect = percent(change.estimate, change.low, change.high)
        return f"{self._named(self.span)}: {title} {effect} ({100.0 * self.span.share:.0f} %, {self.blocks} blocks)"

    def text(self) -> str:
        lines = [self.headline()]
        if self.change is not None and self.change.doubtful:
            lines.append(
                f"doubtful: the commits do not fit one change (p = {self.change.fit:.2g}); there may be several"
            )
        if self.span is not None:
            moved = []
            for each in self.costs:
                change = percent(each.estimate, each.low, each.high)
                if each.scale is not Scale.RATIO:
                    change = f"{each.estimate:+.3g} [{each.low:+.3g}, {each.high:+.3g}]"
                moved.append(f"  {each.response}: {change}")
            lines += ["costs that moved:", *moved] if moved else ["no cost is shown to have moved"]
        elif self.differ:
            likely = sorted(self.known, key=lambda span: -span.share)[:_LISTED]
            lines += [f"  {100.0 * each.share:3.0f} %  {self._named(each)}" for each in likely]
        lines += [f"skipped: {self.commits[place].name}: {why}" for place, why in sorted(self.skipped.items())]
        return "\n".join(lines)

    def plain(self) -> dict[str, Any]:
        low, high = (exp(end) if abs(end) != inf else None for end in self._ends())
        change, span = self.change, self.span
        commits = self.commits
        return {
            "format": 1,
            "response": self.primary.name,
            "differ": self.differ,
            "good_against_bad": {"estimate": exp(self.difference.mean), "low": low, "high": high},
            "blocks": self.blocks,
            "sure": SURE,
            "commit": commits[span.upto].sha if span and span.upto - span.after == 1 else None,
            "after": commits[span.after].sha if span else None,
            "upto": commits[span.upto].sha if span else None,
            "probability": span.share if span else None,
            "effect": {"estimate": change.estimate, "low": change.low, "high": change.high} if change else None,
            "fit": change.fit if change else None,
            "costs": [
                {"response": each.response, "estimate": each.estimate, "low": each.low, "high": each.high}
                for each in self.costs
            ],
            "spans": [
                {"after": commits[each.after].sha, "upto": commits[each.upto].sha, "probability": each.share}
                for each in self.known
            ],
            "skipped": [{"commit": commits[place].sha, "why": why} for place, why in sorted(self.skipped.items())],
        }


@dataclass(frozen=True)
class Limits:
    """Blocks of good against bad at most, and of all; and the share that a difference must exceed to be looked for.

    A count has hardly any noise, so without `least` the addresses of another build would be named as a change.
    """

    first: int = 30
    blocks: int = 300
    least: float = 0.0


@dataclass
class Bisection:
    """One bisection of `commits` (good first, bad last), recorded below `folder`."""

    commits: Sequence[Commit]
    source: Blocks
    folder: Path
    disk: Disk
    limits: Limits
    notify: Callable[[str], None] = lambda text: None
    _steps: int = field(default=0, init=False)
    _pairs: list[tuple[NextBlock, Pair]] = field(default_factory=list, init=False)
    _skipped: dict[int, str] = field(default_factory=dict, init=False)

    @property
    def last(self) -> int:
        return len(self.commits) - 1

    def run(self) -> Answer:
        """To the end; raises `PgassayError` for what is no fault of one commit between."""
        mean = BlockMean(0, 0.0, inf)
        while len(self._seen) < self.limits.first and not analysis.measured(mean, self.limits.least):
            self._step(NextBlock(self.last), FIRST_LOOK if not self._seen else 1)
            if self.last in self._skipped:
                raise PgassayError(
                    f"the bad commit {self.commits[self.last].name} cannot be measured: {self._skipped[self.last]}",
                    "name another one with --bad",
                )
            mean = analysis.difference([each.contrast for each in self._seen], self.limits.first)
            self.notify(good_against_bad(mean, len(self._seen)))
        if not analysis.shown(mean, self.limits.least):
            return self._answer(mean, None)
        known = self._known()
        while (span := analysis.found(known)) is None and len(self._seen) < self.limits.blocks:
            asked = analysis.next_block(self.last, self._seen, known)
            assert asked is not None  # where one span is left it was found
            self._step(asked, 1)
            known = self._known()
            best = max(known, key=lambda each: each.share)
            self.notify(
                f"{len(self._seen)} blocks; most probable: {self.commits[best.upto].name} ({100.0 * best.share:.0f} %)"
            )
        return self._answer(mean, span)

    @property
    def _seen(self) -> list[Measured]:
        name = self.source.primary.name
        ratios = ((asked, log_ratio(pair, name)) for asked, pair in self._pairs)
        return [Measured(asked.commit, ratio, asked.against) for asked, ratio in ratios if ratio is not None]

    def _known(self) -> tuple[Span, ...]:
        return analysis.spans(self.last, self._seen, self._skipped.keys())

    def _step(self, asked: NextBlock, blocks: int) -> None:
        place = asked.commit
        commit, reference = self.commits[place], self.commits[asked.against]
        self._steps += 1
        path = self.folder / "steps" / f"{self._steps:04}-{commit.sha[:12]}"
        if asked.against:
            path = path.with_name(f"{path.name}-{reference.sha[:12]}")
        note = path.with_name(path.name + SKIPPED)
        if self.disk.exists(note):
            self._skipped[place] = self.disk.read(note).decode(errors="replace").strip()
            return
        try:
            pairs = self.source.measure(reference, commit, blocks, path)
            usable = [pair for pair in pairs if log_ratio(pair, self.source.primary.name) is not None]
            if not usable:
                raise UnmeasuredError(NO_VALID_BLOCK)
        except UnmeasuredError as error:
            if any(each.commit == place for each, _ in self._pairs):
                raise PgassayError(
                    f"commit {commit.name} was measured before and cannot be now: {error!s}", "call it again to go on"
                ) from None
            keep_file(self.disk, note, f"{error}\n".encode())
            self._skipped[place] = str(error)
            self.notify(f"skipped: {commit.name}: {error}")
            return
        self._pairs += [(asked, pair) for pair in usable]

    def _answer(self, mean: BlockMean, span: Span | None) -> Answer:
        found = analysis.change(self.last, self._seen, span, self.limits.blocks, self.limits.least) if span else None
        costs = self._costs(span) if span else ()
        known = self._known()
        return Answer(
            tuple(self.commits),
            self.source.primary,
            mean,
            len(self._seen),
            known,
            span,
            found,
            costs,
            self._skipped,
            self.limits.least,
        )

    def _costs(self, span: Span) -> tuple[Effect, ...]:
        """Costs that moved: blocks with the change between their two commits, the later one against the earlier."""
        changed = [pair for asked, pair in self._pairs if asked.against <= span.after and span.upto <= asked.commit]
        seen = {
            response.name: [
                Observation(block, name, "", "", values.get(response.name))
                for block, pair in enumerate(changed, start=1)
                for name, values in ((GOOD, pair.good), (CHANGED, pair.other))
                if values.get(response.name) is not None
            ]
            for response in self.source.responses
        }
        effects = cost_effects(seen, self.source.responses, GOOD, blocks_max=len(changed))
        return tuple(
            each
            for each in effects
            if informative(each.low, each.high, each.scale) and not each.low <= each.none <= each.high
        )


def good_against_bad(mean: BlockMean, blocks: int) -> str:
    if mean.half == inf:
        return f"good against bad: {blocks} blocks, no interval yet"
    change = percent(*map(exp, (mean.mean, mean.mean - mean.half, mean.mean + mean.half)))
    return f"good against bad: {change} after {blocks} blocks"


_LISTED = 5


ACCEPTED = "accepted"


@dataclass(frozen=True, kw_only=True)
class Tracked(CommitsQuestion):
    branch: str
    reference: Commit

    @property
    def what(self) -> str:
        return f"{self.study} on {self.branch} against {self.reference.sha[:12]} of {self.subject.what}"

    @property
    def key(self) -> tuple[Any, ...]:
        return *super().key, self.branch, self.reference.sha


TRACKS = QuestionFile(Tracked, "track.json", "history")


def accept(disk: Disk, folder: Path, commit: Commit) -> None:
    """From now on steps up to this commit are known and wanted."""
    keep_file(disk, folder / ACCEPTED, f"{commit.sha}\n".encode())


def accepted(disk: Disk, folder: Path) -> str | None:
    path = folder / ACCEPTED
    return disk.read(path).decode(errors="replace").strip() if disk.exists(path) else None


POINTS = "points"
POINT = ".json"
_GIVEN_UP = b"its run was cut short, and the commit is asked for no more\n"
"""Why a commit whose run was cut short is not gone on with."""

Machine = Callable[[Path], str]
"""Where a run was measured, in words that two hosts do not share."""


@dataclass(frozen=True)
class Point:
    """One measured commit. `contrasts` has for each response the log-ratios to the reference, block by block."""

    commit: Commit
    parent: str
    """The hash of the commit before it on its branch, empty where that is not known."""
    measured: datetime
    machine: str
    primary: Response
    contrasts: Mapping[str, Sequence[float]]
    blocks: int

    @property
    def mean(self) -> float:
        mine = self.contrasts[self.primary.name]
        return sum(mine) / len(mine)


@dataclass(frozen=True)
class _File:
    """A point as it is kept, with the checksum of its JSON."""

    point: msgspec.Raw
    sha256: str
    format: int = FORMAT


@dataclass(frozen=True)
class History:
    """All points in the order in which they were measured, and the commits that could not be."""

    points: tuple[Point, ...]
    skipped: tuple[tuple[str, str], ...]
    """Their abbreviated hashes, each with its reason."""
    unfinished: tuple[str, ...] = ()
    """The abbreviated hashes of commits whose run was cut short, or whose point was removed."""
    last: str | None = None
    """That of the last commit that was measured or skipped: what is due begins after it."""

    def due(self, line: Sequence[Commit]) -> tuple[Commit, ...]:
        """Of a line of commits, oldest first, those after the last one that was measured or skipped."""
        done = [place for place, each in enumerate(line) if self.last is not None and each.sha.startswith(self.last)]
        return tuple(line[done[-1] + 1 :]) if done else tuple(line)

    def measured_on(self, day: datetime) -> bool:
        return any(each.measured.date() == day.date() for each in self.points)

    @property
    def machines(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.machine for each in self.points))


def read(disk: Disk, folder: Path) -> History:
    """What is kept there; raises `UsageError` for a point that is damaged."""
    names = sorted(disk.list(folder / POINTS)) if disk.exists(folder / POINTS) else []
    points, skipped = [], []
    for name in names:
        path = folder / POINTS / name
        if name.endswith(POINT):
            points.append(_decoded(disk.read(path), path))
        elif name.endswith(SKIPPED):
            skipped.append((_hash(name.removesuffix(SKIPPED)), disk.read(path).decode(errors="replace").strip()))
    ended = [name.removesuffix(POINT).removesuffix(SKIPPED) for name in names if name.endswith((POINT, SKIPPED))]
    open_ = [name for name in names if not name.endswith((POINT, SKIPPED)) and name not in ended]
    return History(tuple(points), tuple(skipped), tuple(map(_hash, open_)), _hash(ended[-1]) if ended else None)


@dataclass(frozen=True)
class Branch:
    """A branch of a repository, along first parents."""

    repository: Path
    name: str
    runner: Runner

    def commit(self, name: str) -> Commit:
        return commit_of(self.runner, self.repository, name)

    def due(self, history: History, since: str | None, notify: Callable[[str], None]) -> Sequence[Commit]:
        """The commits after the last one; the newest alone where a history begins or the branch was rewritten."""
        if history.last is not None:
            with suppress(UsageError):  # gone with a branch that was rewritten
                found = after(self.runner, self.repository, history.last, self.name)
                if found is not None:
                    return found
            notify(
                f'"{self.name}" no longer has {history.last}, the last measured commit: going on with the newest one'
            )
        if history.last is not None or since is None:
            return (self.commit(self.name),)
        found = after(self.runner, self.repository, since, self.name)
        if found is None:
            raise UsageError(
                f'"{since}" is not on the line of first parents of "{self.name}"',
                "name an older commit of that branch",
            )
        return found

    def unfinished(self, history: History, line: Sequence[Commit]) -> list[Commit]:
        """As the repository still has them."""
        found = []
        for name in history.unfinished:
            if not any(each.sha.startswith(name) for each in line):
                with suppress(UsageError):
                    found.append(self.commit(name))
        return found

    def parents(self, points: Sequence[Commit]) -> Mapping[str, str]:
        return first_parents(self.runner, self.repository, points)


@dataclass(frozen=True)
class Track:
    """One history below `folder`, every commit of it against `reference`."""

    reference: Commit
    source: Blocks
    folder: Path
    disk: Disk
    blocks: int = field(kw_only=True)
    machine: Machine = field(kw_only=True)
    now: Callable[[], datetime] = field(kw_only=True)
    notify: Callable[[str], None] = field(kw_only=True, default=lambda text: None)

    def measure(
        self, commits: Sequence[Commit], parents: Mapping[str, str], enough: Callable[[], bool] = lambda: False
    ) -> None:
        """Measure these in this order, until `enough`; `parents` has the hash before each, by hash.

        A run that was cut short is gone on with where its commit is among them, and else given up. Raises
        `PgassayError` for what is no fault of a commit.
        """
        for name in read(self.disk, self.folder).unfinished:
            if not any(each.sha.startswith(name) for each in commits):
                keep_file(self.disk, _with_ending(self._path(name), SKIPPED), _GIVEN_UP)
        for commit in commits:
            if enough():
                break
            self._step(commit, parents.get(commit.sha, ""))

    def _step(self, commit: Commit, parent: str) -> None:
        path = self._path(commit.sha[:12])
        try:
            pairs = self.source.measure(self.reference, commit, self.blocks, path)
            point = self._point(commit, parent, pairs, path)
        except UnmeasuredError as error:
            keep_file(self.disk, _with_ending(path, SKIPPED), f"{error}\n".encode())
            self.notify(f"skipped: {commit.name}: {error}")
            return
        data = msgspec.json.encode(point)
        whole = _File(msgspec.Raw(data), hashlib.sha256(data).hexdigest())
        keep_file(self.disk, _with_ending(path, POINT), msgspec.json.encode(whole) + b"\n")
        change = percent(exp(point.mean))
        self.notify(f"measured: {commit.name}: {change} against the reference, {point.blocks} blocks")

    def _path(self, name: str) -> Path:
        """That of the commit's run: the one that is there, or the next number."""
        folder = self.folder / POINTS
        there = {each.partition(".")[0] for each in self.disk.list(folder)} if self.disk.exists(folder) else set()
        mine = [each for each in there if _hash(each) == name]
        number = max((int(each.partition("-")[0]) for each in there), default=0) + 1
        return folder / (mine[0] if mine else f"{number:06}-{name}")

    def _point(self, commit: Commit, parent: str, pairs: Sequence[Pair], path: Path) -> Point:
        primary = self.source.primary
        usable = [pair for pair in pairs if log_ratio(pair, primary.name) is not None]
        if not usable:
            raise UnmeasuredError(NO_VALID_BLOCK)
        known = {each.name: each for each in (*self.source.responses, primary) if each.scale is Scale.RATIO}
        contrasts = {}
        for name in known:
            found = [log_ratio(pair, name) for pair in usable]
            if all(each is not None for each in found):
                contrasts[name] = [each for each in found if each is not None]
        kept = {name: values for name, values in contrasts.items() if name == primary.name or known[name].cost}
        return Point(commit, parent, self.now(), self.machine(path), primary, kept, len(usable))


def _with_ending(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _hash(name: str) -> str:
    return name.partition("-")[2]


def _decoded(data: bytes, path: Path) -> Point:
    try:
        whole = msgspec.json.decode(data, type=_File)
        if whole.format != FORMAT:
            detail = f"its format is {whole.format}, {FORMAT} is known"
        elif hashlib.sha256(whole.point).hexdigest() != whole.sha256:
            detail = "its checksum is another"
        else:
            found = msgspec.json.decode(whole.point, type=Point)
            if found.contrasts.get(found.primary.name):
                return found
            detail = f"it has no {found.primary.name}"
    except msgspec.MsgspecError as error:
        detail = str(error).partition("\n")[0]
    raise UsageError(
        f'"{path}" is not a point of a history: {detail}',
        "remove the file: its run is kept next to it and will be read again",
    )


@dataclass(frozen=True)
class TrackAnswer:
    """A history with its course, and how many of its points are accepted."""

    history: History
    course: Course
    accepted: int
    waiting: int = 0
    """Commits that are due and were not measured this time."""

    @property
    def worse(self) -> tuple[Step, ...]:
        """Steps to the bad side that nobody has accepted."""
        better = self.history.points[-1].primary.better if self.history.points else Better.NEITHER
        if better is Better.NEITHER:
            return ()
        return tuple(each for each in self.open if (each.estimate < 1.0) == (better is Better.HIGHER))

    @property
    def open(self) -> tuple[Step, ...]:
        return tuple(each for each in self.course.steps if each.at >= self.accepted)

    def headline(self) -> str:
        points = self.history.points
        if not points:
            return "nothing is measured yet"
        title = points[-1].primary.title
        if self.open:
            return _of_step(self.history, self.open[-1], title)
        if len(points) < POINTS_MIN:
            return f"{_commits(len(points))} measured: steps are looked for from {POINTS_MIN} on"
        since = " that is not accepted" if self.course.steps else ""
        least = self.course.smallest
        seen = f": one of {100.0 * least:.1f} % at the last two would have been shown" if isfinite(least) else ""
        return f"no step{since} in {title} over {_commits(len(points))}{seen}"

    def text(self) -> str:
        history, course = self.history, self.course
        lines = [self.headline()]
        if history.points:
            title = history.points[-1].primary.title
            for step in reversed(course.steps):
                known = "" if step in self.open else ", accepted"
                lines.append(f"  {history.points[step.at].measured:%Y-%m-%d}  {_of_step(history, step, title)}{known}")
            level = course.levels[-1]
            lines.append(f"now: {percent(exp(level.mean))} against the reference, by {_commits(level.points)}")
            if len(history.points) >= POINTS_MIN:
                lines.append(f"noise of a commit: {100.0 * course.noise:.1f} % (standard deviation)")
        if len(history.machines) > 1:
            lines.append(f"measured on {len(history.machines)} machines or kernels: {'; '.join(history.machines)}")
        if self.waiting:
            lines.append(f"{_commits(self.waiting)} due and not measured this time")
        hidden = len(history.skipped) - _LISTED
        lines += [f"skipped: {name}: {why}" for name, why in history.skipped[-_LISTED:]]
        return "\n".join([*lines, f"skipped before: {hidden} more"] if hidden > 0 else lines)

    def plain(self) -> dict[str, Any]:
        history, course = self.history, self.course
        points = history.points
        return {
            "format": 1,
            "response": points[-1].primary.name if points else None,
            "level": LEVEL,
            "regressions": [_plain_step(history, each) for each in self.worse],
            "steps": [{**_plain_step(history, each), "accepted": each not in self.open} for each in course.steps],
            "levels": [
                {"first": points[each.first].commit.sha, "points": each.points, "ratio": exp(each.mean)}
                for each in course.levels
            ],
            "noise": course.noise if isfinite(course.noise) else None,
            "smallest_step": course.smallest if course.smallest != inf else None,
            "points": [
                {
                    "commit": each.commit.sha, "subject": each.commit.subject, "measured": each.measured.isoformat(),
                    "machine": each.machine, "blocks": each.blocks, "ratio": exp(each.mean),
                }
                for each in points
            ],
            "skipped": [{"commit": name, "why": why} for name, why in history.skipped],
            "waiting": self.waiting,
        }  # fmt: skip


def answer_of(history: History, accepted: str | None, waiting: int = 0, least: float = 0.0) -> TrackAnswer:
    """`accepted` is a commit's hash; one that was not measured accepts nothing. Steps exceed the share `least`."""
    known = [place for place, each in enumerate(history.points) if accepted and each.commit.sha == accepted]
    course = course_of([each.mean for each in history.points], least)
    return TrackAnswer(history, course, known[-1] + 1 if known else 0, waiting)


def _of_step(history: History, step: Step, title: str) -> str:
    new, old = history.points[step.at], history.points[step.at - 1]
    direct = new.parent == old.commit.sha  # else commits between them were not measured
    where = new.commit.name if direct else f"between {old.commit.name} and {new.commit.name}"
    return f"{where}: {title} {percent(step.estimate, step.low, step.high)}"


def _plain_step(history: History, step: Step) -> dict[str, Any]:
    points = history.points
    return {
        "commit": points[step.at].commit.sha,
        "after": points[step.at - 1].commit.sha,
        "direct": points[step.at].parent == points[step.at - 1].commit.sha,
        "estimate": step.estimate, "low": step.low, "high": step.high,
    }  # fmt: skip


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"
