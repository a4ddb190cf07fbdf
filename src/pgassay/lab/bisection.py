"""Which commit changed it: blocks of two commits, mostly beside the good one, until one is as good as certain.

The loop holds no state: where the next block goes follows from the blocks before it (`analysis.bisection`), and each
step has a directory of its own, named by its number and commit. Killed and begun again, it reads the steps that are
there, ends the one that was cut short, and goes on.

`bisection.json` is written before the first step and never changed. Whoever begins again must ask the same.

"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from pathlib import Path
from typing import Any, Protocol

from pgassay.analysis import bisection
from pgassay.analysis.bisection import Change, Measured, NextBlock, Span
from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.compare import cost_effects
from pgassay.analysis.effects import BlockMean, Effect, informative
from pgassay.analysis.observations import Observation
from pgassay.errors import PgassayError, UsageError
from pgassay.lab.commit_subject import CommitsQuestion, UnmeasuredError
from pgassay.lab.question import Kept, without_seed
from pgassay.postgres.builds.commits import Commit
from pgassay.record.disk import Disk, keep_file
from pgassay.study.responses import Response, Scale

ANSWER = "answer.json"


@dataclass(frozen=True, kw_only=True)
class Question(CommitsQuestion):
    """The commits from good to bad, and how many blocks at most: of good against bad, and of all."""

    commits: tuple[Commit, ...]
    first: int
    blocks: int

    @property
    def what(self) -> str:
        """For people: study and commits."""
        return f"{self.study} from {self.commits[0].sha[:12]} to {self.commits[-1].sha[:12]} of {self.subject.what}"

    @property
    def key(self) -> tuple[Any, ...]:
        """Study, repository and commits; how many blocks at most may change."""
        return self.study, without_seed(self.document), self.subject, self.commits


BISECTIONS = Kept(Question, "bisection.json", "bisection", lambda question: len(question.commits) > 1)


def keep_answer(disk: Disk, folder: Path, text: str) -> None:
    """Keep the answer as JSON."""
    keep_file(disk, folder / ANSWER, text.encode())


SKIPPED = ".skipped"
"""Ends the name of a file that says why a commit cannot be measured."""
GOOD, CHANGED = "good", "changed"


@dataclass(frozen=True)
class Pair:
    """One valid block: what was measured of the good commit, or an earlier one, and of the other, by response."""

    good: Mapping[str, float | None]
    other: Mapping[str, float | None]


class Blocks(Protocol):
    """Where blocks come from."""

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

    @property
    def differ(self) -> bool:
        """Are good and bad shown to differ?"""
        return bisection.shown(self.difference)


@dataclass(frozen=True)
class Limits:
    """Blocks of good against bad at most, and of all."""

    first: int = 30
    blocks: int = 300


class Bisection:
    """One bisection of `commits` (good first, bad last), recorded below `folder`."""

    def __init__(
        self,
        commits: Sequence[Commit],
        source: Blocks,
        folder: Path,
        disk: Disk,
        limits: Limits,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.commits = tuple(commits)
        self.last = len(commits) - 1
        self._source = source
        self._folder = folder
        self._disk = disk
        self._limits = limits
        self._tell = tell
        self._steps = 0
        self._pairs: list[tuple[NextBlock, Pair]] = []
        self._skipped: dict[int, str] = {}

    def run(self) -> Answer:
        """To the end; raises `PgassayError` for what is no fault of one commit between."""
        mean = self._good_against_bad()
        if not bisection.shown(mean):
            return self._answer(mean, None)
        known = self._known()
        while (span := bisection.found(known)) is None and len(self._seen) < self._limits.blocks:
            asked = bisection.next_block(self.last, self._seen, known)
            assert asked is not None  # where one span is left it was found
            self._step(asked, 1)
            known = self._known()
            best = max(known, key=lambda each: each.share)
            self._tell(
                f"{len(self._seen)} blocks; most probable: {self.commits[best.upto].name} ({100.0 * best.share:.0f} %)"
            )
        return self._answer(mean, span)

    def _good_against_bad(self) -> BlockMean:
        mean = BlockMean(0, 0.0, inf)
        while len(self._seen) < self._limits.first and not bisection.measured(mean):
            self._step(NextBlock(self.last), FIRST_LOOK if not self._seen else 1)
            if self.last in self._skipped:
                raise PgassayError(
                    f"the bad commit {self.commits[self.last].name} cannot be measured: {self._skipped[self.last]}",
                    "name another one with --bad",
                )
            mean = bisection.difference([each.contrast for each in self._seen], self._limits.first)
            self._tell(good_against_bad(mean, len(self._seen)))
        return mean

    @property
    def _seen(self) -> list[Measured]:
        name = self._source.primary.name
        return [Measured(asked.commit, _log_ratio(pair, name), asked.against) for asked, pair in self._pairs]

    def _known(self) -> tuple[Span, ...]:
        return bisection.spans(self.last, self._seen, self._skipped.keys())

    def _step(self, asked: NextBlock, blocks: int) -> None:
        """Measure, or learn that it cannot be done."""
        place = asked.commit
        commit, beside = self.commits[place], self.commits[asked.against]
        self._steps += 1
        path = self._folder / "steps" / f"{self._steps:04}-{commit.sha[:12]}"
        if asked.against:
            path = path.with_name(f"{path.name}-{beside.sha[:12]}")
        note = path.with_name(path.name + SKIPPED)
        if self._disk.exists(note):
            self._skipped[place] = self._disk.read(note).decode(errors="replace").strip()
            return
        try:
            pairs = self._source.measure(beside, commit, blocks, path)
            usable = [pair for pair in pairs if _usable(pair, self._source.primary.name)]
            if not usable:
                raise UnmeasuredError(no_valid_block())
        except UnmeasuredError as error:
            if any(each.commit == place for each, _ in self._pairs):
                raise PgassayError(
                    f"commit {commit.name} was measured before and cannot be now: {error!s}", "call it again to go on"
                ) from None
            keep_file(self._disk, note, f"{error}\n".encode())
            self._skipped[place] = str(error)
            self._tell(commit_skipped(commit.name, str(error)))
            return
        self._pairs += [(asked, pair) for pair in usable]

    def _answer(self, mean: BlockMean, span: Span | None) -> Answer:
        found = bisection.change(self.last, self._seen, span, self._limits.blocks) if span else None
        costs = self._costs(span) if span else ()
        known = self._known()
        return Answer(
            self.commits, self._source.primary, mean, len(self._seen), known, span, found, costs, self._skipped
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
            for response in self._source.responses
        }
        effects = cost_effects(seen, self._source.responses, GOOD, blocks_max=len(changed))
        return tuple(
            each
            for each in effects
            if informative(each.low, each.high, each.scale) and not each.low <= each.none <= each.high
        )


def _usable(pair: Pair, name: str) -> bool:
    return all((values.get(name) or 0.0) > 0.0 for values in (pair.good, pair.other))


def _log_ratio(pair: Pair, name: str) -> float:
    other, good = pair.other[name], pair.good[name]
    assert other is not None
    assert good is not None
    return log(other / good)


def require_ratio(response: Response) -> None:
    """Raise `UsageError` for a response without ratios."""
    if response.scale is not Scale.RATIO:
        raise UsageError(
            f'"{response.name}" has no ratios to go by', "name a response on a ratio scale with --primary, as tps"
        )


def good_against_bad(mean: BlockMean, blocks: int) -> str:
    """Progress of a bisection's first part."""
    if mean.half == inf:
        return f"good against bad: {blocks} blocks, no interval yet"
    estimate, low, high = (
        100.0 * (exp(end) - 1.0) for end in (mean.mean, mean.mean - mean.half, mean.mean + mean.half)
    )
    return f"good against bad: {estimate:+.1f} % [{low:+.1f}, {high:+.1f}] after {blocks} blocks"


def commit_skipped(name: str, why: str) -> str:
    """A commit of a bisection that is left out."""
    return f"skipped: {name}: {why}"


def no_valid_block() -> str:
    """A run of two commits ended without one."""
    return "no block in which both commits have a valid value"
