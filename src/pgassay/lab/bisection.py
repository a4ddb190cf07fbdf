"""Which commit changed it: blocks of two commits, mostly against the good one, until one is as good as certain.

The loop holds no state: where the next block goes follows from the blocks before it (`analysis.commits`), and each
step has a directory of its own, named by its number and commit. Killed and begun again, it reads the steps that are
there, ends the one that was cut short, and goes on.

`commits.json` is written before the first step and never changed. Whoever begins again must ask the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf
from pathlib import Path
from typing import Any

from pgassay.analysis import commits
from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.analysis.commits import SURE, Change, Measured, NextBlock, Span
from pgassay.analysis.compare import cost_effects
from pgassay.analysis.effects import BlockMean, Effect, informative
from pgassay.analysis.observations import Observation
from pgassay.errors import PgassayError
from pgassay.lab.commits import (
    NO_VALID_BLOCK,
    SKIPPED,
    Blocks,
    CommitsQuestion,
    Pair,
    QuestionFile,
    UnmeasuredError,
    commit_skipped,
    log_ratio,
    percent,
)
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
        return f"{self.study} from {self.commits[0].sha[:12]} to {self.commits[-1].sha[:12]} of {self.subject.what}"

    @property
    def key(self) -> tuple[Any, ...]:
        return *super().key, self.commits


BISECTIONS = QuestionFile(Question, "bisection.json", "bisection", lambda question: len(question.commits) > 1)


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
        return commits.shown(self.difference, self.least)


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
    tell: Callable[[str], None] = lambda text: None
    _steps: int = field(default=0, init=False)
    _pairs: list[tuple[NextBlock, Pair]] = field(default_factory=list, init=False)
    _skipped: dict[int, str] = field(default_factory=dict, init=False)

    @property
    def last(self) -> int:
        return len(self.commits) - 1

    def run(self) -> Answer:
        """To the end; raises `PgassayError` for what is no fault of one commit between."""
        mean = BlockMean(0, 0.0, inf)
        while len(self._seen) < self.limits.first and not commits.measured(mean, self.limits.least):
            self._step(NextBlock(self.last), FIRST_LOOK if not self._seen else 1)
            if self.last in self._skipped:
                raise PgassayError(
                    f"the bad commit {self.commits[self.last].name} cannot be measured: {self._skipped[self.last]}",
                    "name another one with --bad",
                )
            mean = commits.difference([each.contrast for each in self._seen], self.limits.first)
            self.tell(good_against_bad(mean, len(self._seen)))
        if not commits.shown(mean, self.limits.least):
            return self._answer(mean, None)
        known = self._known()
        while (span := commits.found(known)) is None and len(self._seen) < self.limits.blocks:
            asked = commits.next_block(self.last, self._seen, known)
            assert asked is not None  # where one span is left it was found
            self._step(asked, 1)
            known = self._known()
            best = max(known, key=lambda each: each.share)
            self.tell(
                f"{len(self._seen)} blocks; most probable: {self.commits[best.upto].name} ({100.0 * best.share:.0f} %)"
            )
        return self._answer(mean, span)

    @property
    def _seen(self) -> list[Measured]:
        name = self.source.primary.name
        ratios = ((asked, log_ratio(pair, name)) for asked, pair in self._pairs)
        return [Measured(asked.commit, ratio, asked.against) for asked, ratio in ratios if ratio is not None]

    def _known(self) -> tuple[Span, ...]:
        return commits.spans(self.last, self._seen, self._skipped.keys())

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
            self.tell(commit_skipped(commit.name, str(error)))
            return
        self._pairs += [(asked, pair) for pair in usable]

    def _answer(self, mean: BlockMean, span: Span | None) -> Answer:
        found = commits.change(self.last, self._seen, span, self.limits.blocks, self.limits.least) if span else None
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
    estimate, low, high = (
        100.0 * (exp(end) - 1.0) for end in (mean.mean, mean.mean - mean.half, mean.mean + mean.half)
    )
    return f"good against bad: {estimate:+.1f} % [{low:+.1f}, {high:+.1f}] after {blocks} blocks"


_LISTED = 5


def headline(answer: Answer) -> str:
    title = answer.primary.title
    if not answer.differ:
        if answer.difference.half == inf:
            return f"no difference shown in {title}: {answer.blocks} blocks have no interval"
        ends = [abs(exp(end) - 1.0) for end in _ends(answer)]
        return f"no difference shown: {title} differs by at most ± {100.0 * max(ends):.1f} % ({answer.blocks} blocks)"
    if answer.span is None or answer.change is None:
        best = max(answer.known, key=lambda span: span.share)
        return (
            f"not found in {answer.blocks} blocks: most probable is {_named(answer, best)} ({100.0 * best.share:.0f} %)"
        )
    change = answer.change
    effect = percent(change.estimate, change.low, change.high)
    return (
        f"{_named(answer, answer.span)}: {title} {effect} ({100.0 * answer.span.share:.0f} %, {answer.blocks} blocks)"
    )


def text(answer: Answer) -> str:
    lines = [headline(answer)]
    if answer.change is not None and answer.change.doubtful:
        lines.append(f"doubtful: the commits do not fit one change (p = {answer.change.fit:.2g}); there may be several")
    if answer.span is not None:
        moved = []
        for each in answer.costs:
            change = percent(each.estimate, each.low, each.high)
            if each.scale is not Scale.RATIO:
                change = f"{each.estimate:+.3g} [{each.low:+.3g}, {each.high:+.3g}]"
            moved.append(f"  {each.response}: {change}")
        lines += ["costs that moved:", *moved] if moved else ["no cost is shown to have moved"]
    elif answer.differ:
        likely = sorted(answer.known, key=lambda span: -span.share)[:_LISTED]
        lines += [f"  {100.0 * each.share:3.0f} %  {_named(answer, each)}" for each in likely]
    lines += [f"skipped: {answer.commits[place].name}: {why}" for place, why in sorted(answer.skipped.items())]
    return "\n".join(lines)


def plain(answer: Answer) -> dict[str, Any]:
    low, high = (exp(end) if abs(end) != inf else None for end in _ends(answer))
    change, span = answer.change, answer.span
    commits = answer.commits
    return {
        "format": 1,
        "response": answer.primary.name,
        "differ": answer.differ,
        "good_against_bad": {"estimate": exp(answer.difference.mean), "low": low, "high": high},
        "blocks": answer.blocks,
        "sure": SURE,
        "commit": commits[span.upto].sha if span and span.upto - span.after == 1 else None,
        "after": commits[span.after].sha if span else None,
        "upto": commits[span.upto].sha if span else None,
        "probability": span.share if span else None,
        "effect": {"estimate": change.estimate, "low": change.low, "high": change.high} if change else None,
        "fit": change.fit if change else None,
        "costs": [
            {"response": each.response, "estimate": each.estimate, "low": each.low, "high": each.high}
            for each in answer.costs
        ],
        "spans": [
            {"after": commits[each.after].sha, "upto": commits[each.upto].sha, "probability": each.share}
            for each in answer.known
        ],
        "skipped": [{"commit": commits[place].sha, "why": why} for place, why in sorted(answer.skipped.items())],
    }


def _ends(answer: Answer) -> tuple[float, float]:
    return answer.difference.mean - answer.difference.half, answer.difference.mean + answer.difference.half


def _named(answer: Answer, span: Span) -> str:
    if span.upto - span.after == 1:
        return answer.commits[span.upto].name
    between = span.upto - span.after
    return f"between {answer.commits[span.after].name} and {answer.commits[span.upto].name} ({between} commits)"
