"""What power cuts must have met before anything is called safe: each thing that is missing is named."""

from dataclasses import replace

import pytest

from pgassay.analysis.power_cuts import KINDS, UNRECORDED, ServerAtCut, coverage_of

WITHIN = ServerAtCut(0, in_checkpoint=True, recycled_wal=False, written=("heap", "index", "wal"))
AFTER = ServerAtCut(2, in_checkpoint=False, recycled_wal=True, written=("pg_xact", "control", "maps"))


def test_two_cuts_may_have_met_all_of_it_together() -> None:
    found = coverage_of([[WITHIN, AFTER]])
    assert (found.checkpoints, found.within, found.after, found.untried) == (2, 1, 1, ())


def test_checkpoints_of_several_trials_add_up_and_those_of_one_do_not() -> None:
    found = coverage_of([[WITHIN, AFTER, replace(AFTER, checkpoints=3)], [AFTER], [WITHIN]])
    assert (found.checkpoints, found.within, found.after) == (5, 2, 3)


@pytest.mark.parametrize(
    ("cuts", "untried"),
    [
        ([WITHIN, replace(AFTER, checkpoints=0)], "across a checkpoint"),
        ([replace(WITHIN, in_checkpoint=False), AFTER], "within a checkpoint"),
        ([WITHIN, replace(AFTER, recycled_wal=False)], "with WAL in recycled segments"),
    ],
)
def test_a_moment_that_no_cut_met_is_named(cuts: list[ServerAtCut], untried: str) -> None:
    assert coverage_of([cuts]).untried == (untried,)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_file_that_was_not_written_to_is_named(kind: str) -> None:
    cuts = [replace(cut, written=tuple(name for name in cut.written if name != kind)) for cut in (WITHIN, AFTER)]
    assert coverage_of([cuts]).untried == (f"with writes to {KINDS[kind]}",)


def test_all_that_is_missing_is_named() -> None:
    nothing = ServerAtCut(0, in_checkpoint=False, recycled_wal=False, written=("heap", "index", "wal", "maps"))
    assert coverage_of([[nothing]]).untried == (
        "across a checkpoint", "within a checkpoint", "with WAL in recycled segments",
        "with writes to pg_xact, pg_control",
    )  # fmt: skip


@pytest.mark.parametrize("cuts", [[], [[]], [[None, None], [None]]])
def test_cuts_of_which_nothing_was_recorded_tried_nothing(cuts: list[list[ServerAtCut | None]]) -> None:
    assert coverage_of(cuts).untried == (UNRECORDED,)


def test_a_cut_of_which_nothing_was_recorded_takes_nothing_from_the_others() -> None:
    assert coverage_of([[None, WITHIN], [None], [AFTER]]).untried == ()
