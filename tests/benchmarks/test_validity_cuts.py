"""The bound on damaging power cuts, simulated with cuts of one epoch that are alike: it holds, and others would not."""

from dataclasses import replace

from benchmarks.validity.cuts import CUTS, CutCell, Wrong, wrong_bounds

ALIKE = CutCell(0.05, 0.5, 10.0)


def test_by_epochs_it_holds_at_every_look_and_by_cuts_it_would_not() -> None:
    found = wrong_bounds(ALIKE, 60, 5)
    assert not found.broken
    assert found.by_epochs <= 0.05
    assert found.by_cuts > 0.2, "cuts of one epoch are alike"


def test_the_bound_for_one_look_is_wrong_at_many() -> None:
    assert wrong_bounds(CutCell(0.2, 0.5, 1.0), 60, 5).by_looks > 0.1


def test_a_bound_that_is_wrong_too_often_is_called_broken() -> None:
    right = Wrong(ALIKE, 1000, by_epochs=0.05, by_cuts=1.0, by_looks=1.0)
    assert not right.broken
    assert replace(right, by_epochs=0.08).broken
    assert CUTS * ALIKE.share > 5, "damage is seen in a run"
