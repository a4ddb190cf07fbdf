"""A history on planted commits: its steps, commits that do not build, kills, damage, and what is accepted."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import log
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.lab.commits import POINTS, TRACKS, History, Track, Tracked, accept, accepted, answer_of, read
from pgassay.postgres.builds.commits import Commit
from pgassay.record.disk import RealDisk
from tests.fakes.commits import FakeBlocks, history

COMMITS = history(20)
REFERENCE, LINE = COMMITS[0], COMMITS[1:]
PARENTS = {each.sha: before.sha for before, each in zip(COMMITS, LINE, strict=False)}
DISK = RealDisk()
DAY = datetime(2026, 1, 1, 3, tzinfo=UTC)


def planted(place: int, share: float = -0.08, **more: object) -> FakeBlocks:
    return FakeBlocks({each.sha: log(1.0 + share) for each in COMMITS[place:]}, **more)  # type: ignore[arg-type]


def tracked(
    source: FakeBlocks,
    folder: Path,
    commits: Sequence[Commit] = LINE,
    *,
    machine: str = "m",
    told: list[str] | None = None,
) -> History:
    days = (DAY + timedelta(days=number) for number in range(len(COMMITS)))
    said = [] if told is None else told
    track = Track(
        REFERENCE,
        source,
        folder,
        DISK,
        blocks=3,
        machine=lambda path: machine,
        now=lambda: next(days),
        notify=said.append,
    )
    track.measure(commits, PARENTS)
    return read(DISK, folder)


def test_a_planted_step_is_told_by_its_commit_and_its_side(tmp_path: Path) -> None:
    told: list[str] = []
    found = answer_of(tracked(planted(14), tmp_path, told=told), None)
    (step,) = found.course.steps
    assert step.low < 0.92 < step.high
    assert found.worse == (step,)
    said = found.text()
    assert said.startswith(f"{COMMITS[14].name}: transactions per second -")
    assert "now: -" in said
    assert "by 7 commits" in said
    plain = found.plain()
    (regression,) = plain["regressions"]
    assert (regression["commit"], regression["after"]) == (COMMITS[14].sha, COMMITS[13].sha)
    assert regression["direct"]
    assert [each["commit"] for each in plain["points"]] == [each.sha for each in LINE]
    assert told[0].startswith(f"measured: {COMMITS[1].name}: ")


def test_a_gain_is_a_step_and_no_regression(tmp_path: Path) -> None:
    found = answer_of(tracked(planted(14, share=0.08), tmp_path), None)
    assert len(found.open) == 1
    assert found.worse == ()
    assert "+8" in found.headline() or "+7" in found.headline()


def test_what_is_accepted_is_no_regression_any_more(tmp_path: Path) -> None:
    known = tracked(planted(14), tmp_path)
    accept(DISK, tmp_path, COMMITS[15])
    assert accepted(DISK, tmp_path) == COMMITS[15].sha
    found = answer_of(known, accepted(DISK, tmp_path))
    assert found.worse == ()
    assert found.headline().startswith("no step that is not accepted in transactions per second")
    assert ", accepted" in found.text()
    (step,) = found.plain()["steps"]
    assert step["accepted"]


def test_few_points_and_none_are_said_to_be_so(tmp_path: Path) -> None:
    assert answer_of(History((), ()), None).text() == "nothing is measured yet"
    few = answer_of(tracked(planted(14), tmp_path, LINE[:2]), None, waiting=18)
    said = few.text()
    assert said.startswith("2 commits measured: steps are looked for from 6 on")
    assert "18 commits due and not measured this time" in said
    assert few.plain()["noise"] is None


def test_a_step_beside_commits_that_do_not_build_lies_between_two(tmp_path: Path) -> None:
    broken = {COMMITS[14].sha: "make failed"}
    found = answer_of(tracked(planted(14, broken=broken), tmp_path), None)
    assert found.headline().startswith(f"between {COMMITS[13].name} and {COMMITS[15].name}: ")
    assert f"skipped: {COMMITS[14].sha[:12]}: make failed" in found.text()


def test_a_history_goes_on_where_it_ended_and_measures_nothing_twice(tmp_path: Path) -> None:
    source = planted(14)
    first = tracked(source, tmp_path, LINE[:8])
    assert first.last == COMMITS[8].sha[:12]
    assert first.due(LINE) == LINE[8:]
    assert first.due(()) == ()
    measured = source.measured
    whole = tracked(source, tmp_path, first.due(LINE))
    assert source.measured == measured + 3 * len(LINE[8:])
    assert [each.commit for each in whole.points] == list(LINE)
    assert whole.due(LINE) == ()


def test_a_skipped_commit_at_the_end_is_not_due_again(tmp_path: Path) -> None:
    found = tracked(planted(14, broken={COMMITS[4].sha: "make failed"}), tmp_path, LINE[:4])
    assert found.due(LINE) == LINE[4:]


@pytest.mark.parametrize("kill_at", [0, 4, 15])
def test_killed_and_called_again_it_ends_as_if_nothing_had_happened(tmp_path: Path, kill_at: int) -> None:
    whole = tracked(planted(14), tmp_path / "whole")
    source = planted(14, kill_at=kill_at)
    with pytest.raises(KeyboardInterrupt):
        tracked(source, tmp_path / "cut")
    source.kill_at = None
    again = tracked(source, tmp_path / "cut", read(DISK, tmp_path / "cut").due(LINE))
    assert [(each.commit, each.contrasts) for each in again.points] == [
        (each.commit, each.contrasts) for each in whole.points
    ]


def test_a_run_cut_short_of_a_commit_that_is_no_longer_due_is_given_up(tmp_path: Path) -> None:
    tracked(planted(14), tmp_path, LINE[:3])
    (tmp_path / POINTS / f"000004-{COMMITS[4].sha[:12]}").mkdir()
    assert read(DISK, tmp_path).unfinished == (COMMITS[4].sha[:12],)
    found = tracked(planted(14), tmp_path, LINE[5:6])
    assert found.skipped == ((COMMITS[4].sha[:12], "its run was cut short, and the commit is asked for no more"),)
    assert found.points[-1].commit == COMMITS[6]
    assert found.unfinished == ()


def test_a_point_that_was_removed_is_read_again_from_its_run(tmp_path: Path) -> None:
    source = planted(14)
    whole = tracked(source, tmp_path, LINE[:4])
    (path,) = (tmp_path / POINTS).glob(f"000002-{COMMITS[2].sha[:12]}.json")
    path.unlink()
    path.with_suffix("").mkdir()
    measured = source.measured
    again = tracked(source, tmp_path, LINE[1:2])
    assert source.measured == measured
    assert [(each.commit, each.contrasts) for each in again.points] == [
        (each.commit, each.contrasts) for each in whole.points
    ]


def test_points_of_two_machines_are_told(tmp_path: Path) -> None:
    tracked(planted(14), tmp_path, LINE[:10], machine="a, 6.1")
    found = tracked(planted(14), tmp_path, LINE[10:], machine="b, 6.8")
    assert found.machines == ("a, 6.1", "b, 6.8")
    assert "measured on 2 machines or kernels: a, 6.1; b, 6.8" in answer_of(found, None).text()


def test_a_day_with_a_point_is_done(tmp_path: Path) -> None:
    found = tracked(planted(14), tmp_path, LINE[:1])
    assert found.measured_on(DAY.replace(hour=23))
    assert not found.measured_on(DAY + timedelta(days=1))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:20], "is not a point of a history"),
        (lambda data: data.replace(b'"blocks":3', b'"blocks":4'), "its checksum is another"),
        (lambda data: data.replace(b'"format":1', b'"format":9'), "its format is 9, 1 is known"),
    ],
)
def test_a_damaged_point_is_named(tmp_path: Path, damage: object, said: str) -> None:
    tracked(planted(14), tmp_path, LINE[:2])
    (path, *_) = sorted((tmp_path / POINTS).glob("*.json"))
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(UsageError) as error:
        read(DISK, tmp_path)
    assert path.name in error.value.message
    assert said in error.value.message


def test_a_directory_holds_one_history(tmp_path: Path) -> None:
    asked = Tracked(study="s", document={"design": {"seed": 1}}, repository="/r", branch="master", reference=REFERENCE)
    folder = tmp_path / "t"
    TRACKS.require_same(DISK, folder, asked)
    with TRACKS.opened(DISK, folder, asked) as found:
        assert found == asked
        with pytest.raises(UsageError, match="another pgassay is working"), TRACKS.opened(DISK, folder, asked):
            pass
    other = Tracked(study="s", document={}, repository="/r", branch="master", reference=COMMITS[3])
    with pytest.raises(UsageError, match="holds a history of s on master against 0"):
        TRACKS.require_same(DISK, folder, other)
