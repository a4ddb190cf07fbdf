"""A bisection on planted histories: found, between commits that do not build, not shown, resumed after a kill."""

import json
from math import exp, log
from pathlib import Path
from random import Random

import pytest

from pgassay.errors import PgassayError, UsageError
from pgassay.lab.commits import BISECTIONS, Answer, Bisection, Limits, Question, require_ratio
from pgassay.record.disk import RealDisk
from pgassay.study.responses import Better, Response, Scale
from tests.fakes.blocks_contract import BlocksCase, BlocksContract
from tests.fakes.commits import FakeBlocks, history

COMMITS = history(16)


def planted(place: int, share: float = -0.05, **more: object) -> FakeBlocks:
    speeds = {commit.sha: log(1.0 + share) for commit in COMMITS[place:]}
    return FakeBlocks(speeds, **more)  # type: ignore[arg-type]


def bisected(source: FakeBlocks, folder: Path, limits: Limits = Limits()) -> Answer:  # noqa: B008
    return Bisection(COMMITS, source, folder, RealDisk(), limits).run()


@pytest.mark.parametrize("place", [1, 7, 16])
def test_the_planted_commit_is_found_with_its_effect_and_the_cost_that_moved(tmp_path: Path, place: int) -> None:
    source = planted(place)
    found = bisected(source, tmp_path)
    assert found.span is not None
    assert found.change is not None
    assert (found.span.after, found.span.upto) == (place - 1, place)
    assert found.change.low < found.change.estimate < found.change.high < 1.0
    assert found.change.estimate == pytest.approx(0.95, abs=0.015)
    assert [each.response for each in found.costs] == ["cpu_us"]
    assert found.costs[0].estimate == pytest.approx(1 / 0.95, abs=0.015)
    assert len(source.builds) < 10, "it builds what it needs"
    said = found.text()
    assert said.startswith(f"{COMMITS[place].sha[:12]} change {place}: transactions per second -")
    assert "  cpu_us: +" in said
    assert found.plain()["commit"] == COMMITS[place].sha


def test_commits_that_do_not_build_are_skipped_and_the_answer_lies_between(tmp_path: Path) -> None:
    broken = {COMMITS[place].sha: "make failed" for place in (7, 8, 9)}
    found = bisected(planted(8, broken=broken), tmp_path)
    assert found.span is not None
    assert (found.span.after, found.span.upto) == (6, 10)
    said = found.text()
    assert said.startswith(f"between {COMMITS[6].name} and {COMMITS[10].name} (4 commits)")
    assert f"skipped: {COMMITS[8].name}: make failed" in said
    again = planted(8, broken=broken)
    assert bisected(again, tmp_path).skipped == found.skipped
    assert not set(broken) & set(again.builds), "it is written down that they do not build"


def test_without_a_difference_it_says_how_large_it_can_be(tmp_path: Path) -> None:
    source = FakeBlocks({})
    found = bisected(source, tmp_path, Limits(first=8))
    assert (found.differ, found.span, source.measured) == (False, None, 8)
    widest = max(abs(exp(end) - 1.0) for end in (found.difference.mean - found.difference.half,
                                                  found.difference.mean + found.difference.half))  # fmt: skip
    assert f"at most ± {100 * widest:.1f} % (8 blocks)" in found.headline()
    assert found.plain()["commit"] is None


def test_blocks_that_are_used_up_leave_the_most_probable(tmp_path: Path) -> None:
    found = bisected(planted(8, noise=0.03), tmp_path, Limits(first=30, blocks=5))
    assert found.differ
    assert found.span is None
    assert found.headline().startswith(f"not found in {found.blocks} blocks: most probable is ")


@pytest.mark.parametrize("kill_at", [0, 5, 6, 7])
def test_killed_and_begun_again_it_ends_as_if_nothing_had_happened(tmp_path: Path, kill_at: int) -> None:
    whole = bisected(planted(5), tmp_path / "whole")
    source = planted(5, kill_at=kill_at)
    with pytest.raises(KeyboardInterrupt):
        bisected(source, tmp_path / "cut")
    source.kill_at = None
    assert bisected(source, tmp_path / "cut") == whole
    assert source.measured == whole.blocks, "no block twice"


COUNTED = Limits(least=0.002)
COUNT_NOISE, ADDRESSES = 0.0002, 0.0001
"""Of a count's log-ratio in a block, at most (docs/evidence/counts.md), and of a build, whose addresses differ."""


def counted(seed: int, effect: float, folder: Path) -> tuple[int, FakeBlocks, Answer]:
    """A history of 64 commits of which one changes what is counted by `effect`; all differ by their addresses."""
    commits, chance = history(64), Random(seed)
    place = chance.randint(1, 64)
    levels = {
        each.sha: (log(1.0 + effect) if at >= place else 0.0) + chance.gauss(0.0, ADDRESSES)
        for at, each in enumerate(commits)
    }
    source = FakeBlocks(levels, noise=COUNT_NOISE, seed=seed)
    return place, source, Bisection(commits, source, folder / str(seed), RealDisk(), COUNTED).run()


def test_half_a_per_cent_of_instructions_among_64_commits_is_found_by_few_builds(tmp_path: Path) -> None:
    right = 0
    for seed in range(100):
        place, source, found = counted(seed, 0.005, tmp_path)
        right += found.span is not None and (found.span.after, found.span.upto) == (place - 1, place)
        assert len(source.builds) <= 14
        assert found.change is None or not found.change.doubtful, "addresses are no second change"
    assert right >= 99


@pytest.mark.parametrize("effect", [0.0, 0.001])
def test_what_is_smaller_than_the_resolution_of_a_count_is_not_named(tmp_path: Path, effect: float) -> None:
    for seed in range(10):
        _, _, found = counted(seed, effect, tmp_path)
        assert (found.differ, found.span) == (False, None)
        assert "no difference shown" in found.headline()


def test_a_bad_commit_that_cannot_be_measured_ends_it(tmp_path: Path) -> None:
    with pytest.raises(PgassayError, match=r"the bad commit .* cannot be measured: no compiler"):
        bisected(planted(5, broken={COMMITS[-1].sha: "no compiler"}), tmp_path)


def test_a_response_without_ratios_is_refused() -> None:
    with pytest.raises(UsageError, match='"share" has no ratios'):
        require_ratio(Response("share", "a share", "share", Better.HIGHER, Scale.DIFFERENCE))


def question(**changed: object) -> Question:
    first = {"study": "s", "document": {"design": {"seed": 1}}, "repository": "/r", "commits": COMMITS}
    return Question(**{**first, "first": 30, "blocks": 300, **changed})  # type: ignore[arg-type]


def test_a_directory_holds_one_question_and_one_process(tmp_path: Path) -> None:
    disk, folder = RealDisk(), tmp_path / "b"
    with BISECTIONS.opened(disk, folder, question()) as asked:
        assert asked == question()
        with pytest.raises(UsageError, match="another pgassay is working"), BISECTIONS.opened(disk, folder, question()):
            pass
    with BISECTIONS.opened(disk, folder, question(document={"design": {"seed": 2}})) as asked:
        assert asked.document["design"]["seed"] == 1, "a seed drawn anew is no other question"
    with (
        pytest.raises(UsageError, match="holds a bisection of s from 0"),
        BISECTIONS.opened(disk, folder, question(study="t")),
    ):
        pass
    path = folder / BISECTIONS.file
    for damaged in ("{", json.dumps({**json.loads(path.read_bytes()), "commits": []})):
        path.write_text(damaged, encoding="utf-8")
        with pytest.raises(UsageError, match=r'could not go on with the bisection in ".*": [A-Z]') as refused:
            BISECTIONS.read(disk, folder)
        assert refused.value.hint == "name another directory with --out"


class TestFakeBlocks(BlocksContract):
    @pytest.fixture(scope="class")
    @classmethod
    def case(cls, tmp_path_factory: pytest.TempPathFactory) -> BlocksCase:
        source = planted(2, broken={COMMITS[3].sha: "make failed"})
        return BlocksCase(source, COMMITS[0], COMMITS[2], COMMITS[3], tmp_path_factory.mktemp("steps"))
