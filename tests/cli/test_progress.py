"""What a build draws on a terminal: a bar with the time left, on one line whatever the terminal's width."""

import pytest

from pgassay.cli.progress import build_bar, build_line
from pgassay.postgres.builds.compilation import Progress

NAME = "15.18, 2kB pages, 8kB WAL blocks"


def test_a_bar_tells_how_far_it_is_and_what_is_left() -> None:
    progress = Progress(NAME, "make", 250, 1000, 30.0)
    assert build_bar(progress, 200) == f"[#####---------------] about 90 s left: PostgreSQL {NAME}: make, 30 s"
    assert build_line(progress).endswith("make, 250 of about 1000 objects, 30 s, about 90 s left")


def test_before_there_is_anything_to_go_by_no_time_is_told() -> None:
    assert build_bar(Progress(NAME, "configure", 0, 1000, 3.0), 200).startswith(
        "[--------------------] PostgreSQL 15.18"
    )


@pytest.mark.parametrize("objects", [900, 1200])
def test_a_finished_build_is_full_whatever_was_expected(objects: int) -> None:
    told = build_bar(Progress(NAME, "installed", objects, 1000, 100.0, done=True), 200)
    assert told.startswith("[####################] done: PostgreSQL")


@pytest.mark.parametrize("columns", [1, 20, 80])
def test_a_line_never_wraps(columns: int) -> None:
    assert len(build_bar(Progress(NAME, "make", 250, 1000, 30.0), columns)) <= max(1, columns - 1)
