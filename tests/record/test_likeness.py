"""How like the source's load a run's was: written, read, and called unlike below what is enough."""

from pathlib import Path

import pytest

from pgassay.record.ask import LIKENESS_FILE, Likeness, Part, StatementPair, encode_likeness, likeness
from pgassay.record.errors import DamagedError
from pgassay.testing.planted import make_run

PAIR = StatementPair("SELECT 1", 0.9, 0.8, 0.5, 0.4, 1.0, None)


def alike(*shares: float | None, enough: float = 0.8) -> Likeness:
    return Likeness(tuple(Part(f"part {n}", 1.0, None, "", each) for n, each in enumerate(shares)), (PAIR,), enough)


def test_what_is_written_is_read_and_a_run_without_it_has_none(tmp_path: Path) -> None:
    run, found = make_run(tmp_path / "run"), alike(0.5, None)
    assert likeness(run) is None
    (run.path / LIKENESS_FILE).write_bytes(encode_likeness(found))
    assert likeness(run) == found
    (run.path / LIKENESS_FILE).write_text("[]")
    with pytest.raises(DamagedError, match=LIKENESS_FILE):
        likeness(run)


@pytest.mark.parametrize(
    ("shares", "unlike"), [((0.79,), True), ((0.8,), False), ((0.7, 1.0), False), ((None,), False)]
)
def test_a_load_is_unlike_below_what_is_enough(shares: tuple[float | None, ...], unlike: bool) -> None:
    assert alike(*shares).unlike is unlike


def test_a_part_that_does_not_count_is_not_in_the_score() -> None:
    assert Likeness((Part("a", 1, 1, "", 1.0), Part("b", 1, 9, "", 0.1, counts=False))).score == 1.0
