"""What every source of blocks of commits keeps: so many valid blocks, kept by their path, and a broken commit named."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from pgassay.lab.commits import Blocks, UnmeasuredError
from pgassay.postgres.builds.commits import Commit


@dataclass(frozen=True)
class BlocksCase:
    """A source, a commit that is measured beside the good one, one that does not build, and where runs may lie."""

    source: Blocks
    good: Commit
    other: Commit
    broken: Commit
    folder: Path


class BlocksContract:
    """Give a fixture `case`, of the scope of the class."""

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> BlocksCase:
        """The source under test."""
        raise NotImplementedError("the test class must have a fixture `case`")

    def test_blocks_have_the_primary_of_both_commits_and_are_kept_by_their_path(self, case: BlocksCase) -> None:
        first = case.source.measure(case.good, case.other, 2, case.folder / "0001-first")
        name = case.source.primary.name
        assert len(first) == 2
        assert all((values[name] or 0.0) > 0.0 for pair in first for values in (pair.good, pair.other))
        assert case.source.measure(case.good, case.other, 2, case.folder / "0001-first") == first
        assert name in {response.name for response in case.source.responses}
        again = case.source.measure(case.good, case.other, 1, case.folder / "0002-again")
        assert len(again) == 1
        assert again[0] not in first

    def test_a_commit_that_does_not_build_is_told_with_its_reason(self, case: BlocksCase) -> None:
        with pytest.raises(UnmeasuredError, match=r"\w+"):
            case.source.measure(case.good, case.broken, 1, case.folder / "0003-broken")
