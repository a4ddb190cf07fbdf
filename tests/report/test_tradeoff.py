"""Space against speed: who is on the front, who may be compared, and how long a TB of flash lasts."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, inf, log
from pathlib import Path
from statistics import correlation as correlation_coefficient

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.effects import Effect
from pgassay.analysis.verdicts import Kind
from pgassay.report.findings import Findings
from pgassay.report.forms import document
from pgassay.report.tradeoff import CYCLES, SECTION, Point, front
from pgassay.report.tradeoff_figure import ellipse
from pgassay.study.levels import Level
from pgassay.study.responses import Scale
from pgassay.testing.planted import make_run
from tests.report.blocks import drawing, tables
from tests.report.driven import make_driven


def point(name: str, space_bytes: float | None, speed: float | None, drive: str = "directory", **told: float) -> Point:
    return Point(name, {"drive.data": Level(drive, drive)}, space_bytes, speed, told)


def by_medians(every: Sequence[Point]) -> set[str]:
    """The front where every speed is known without error."""

    def compared(point: Point, other: Point) -> Kind:
        one, two = point.speed or 0.0, other.speed or 0.0
        return Kind.BETTER if one > two else Kind.WORSE if one < two else Kind.EQUIVALENT

    return {name for name, on_front in front(every, compared).items() if on_front}


def test_the_front_is_open_where_the_verdict_on_speed_is() -> None:
    """By medians the larger one is slower, which was not shown."""
    every = [point("small", 1.0, 10.0), point("large", 2.0, 9.9)]
    assert front(every, lambda point, other: Kind.UNRESOLVED) == {"small": True, "large": None}


def test_the_front_holds_what_nothing_beats_on_both_sides() -> None:
    every = [point("small", 1.0, 10.0), point("fast", 2.0, 20.0), point("worse", 2.5, 15.0), point("same", 1.0, 10.0)]
    assert by_medians(every) == {"small", "fast", "same"}
    assert by_medians([*every, point("unknown", None, 99.0)]) == {"small", "fast", "same"}


def test_a_drive_whose_speed_does_not_compare_beats_nobody() -> None:
    every = [point("ssd", 4.0, 10.0, "ssd"), point("csd", 1.0, 20.0, "csd"), point("csd, worse", 2.0, 5.0, "csd")]
    assert by_medians(every) == {"ssd", "csd"}


def test_timed_drives_beat_each_other_if_they_kept_their_times() -> None:
    def timed(name: str, speed: float, error: float | None) -> Point:
        levels = {"drive.data": Level(name, name), "drive.timing": Level("sata-ssd", "sata-ssd")}
        return Point(name, levels, 1.0, speed, {}, error)

    assert by_medians([timed("ssd", 10.0, 0.01), timed("csd", 20.0, 0.05)]) == {"csd"}
    assert by_medians([timed("ssd", 10.0, 0.01), timed("csd", 20.0, 0.5)]) == {"ssd", "csd"}
    assert by_medians([timed("ssd", 10.0, None), timed("csd", 20.0, 0.0)]) == {"ssd", "csd"}


def test_the_life_of_flash_follows_from_what_is_programmed_a_second() -> None:
    one = point("x", 1.0, 1.0, tps=1000.0, nand_bytes_per_transaction=CYCLES * 1e12 / 1000.0 / (365.25 * 86400))
    assert one.life_years == pytest.approx(1.0)
    assert point("x", 1.0, 1.0, tps=0.0).life_years is None


def test_a_run_has_a_table_with_every_treatment(tmp_path: Path) -> None:
    (table,) = tables(SECTION, Findings(make_run(tmp_path / "run")))
    head = table.head
    assert "WA" not in head, "no drive counted"
    found = {row[0]: dict(zip(head, row, strict=True)) for row in table.rows}
    assert found["table.fillfactor=100"]["÷ baseline"] == "×1.00"
    assert found["table.fillfactor=75"]["÷ baseline"] == "×1.25"
    assert found["table.fillfactor=75"]["÷ first on its drive"] in ("×1.19", "×1.20", "×1.21")
    assert {name: row["on the Pareto front"] for name, row in found.items()} == {
        "table.fillfactor=100": "yes", "table.fillfactor=75": "yes", "table.fillfactor=50": "no",
    }  # fmt: skip


def test_json_tells_the_front_and_the_life_at_every_place(tmp_path: Path) -> None:
    updates, deletes = document(Findings(make_driven(tmp_path / "run")))["tradeoff"]
    assert "oltp_update_non_index" in updates["condition"]
    found = {each["treatment"]: each for each in updates["points"]}
    assert [each["on_the_front"] for each in updates["points"]] == [True] * 4, "each is smaller or faster on its drive"
    ssd, csd = found["drive.data=ssd, table.fillfactor=100"], found["drive.data=csd, table.fillfactor=100"]
    assert csd["life_years"] == pytest.approx(2.5 * ssd["life_years"], rel=0.1), "the planted WA, 0.6 and 1.5"
    gone = [each["treatment"] for each in deletes["points"] if not each["on_the_front"]]
    assert gone == [f"drive.data={drive}, table.fillfactor=75" for drive in ("ssd", "csd")], (
        "it takes more, gains nothing"
    )


def test_the_figure_sets_treatments_only_against_those_that_compare(tmp_path: Path) -> None:
    figure = drawing(SECTION, Findings(make_driven(tmp_path / "run")), "space-against-speed")
    values = figure.chart.to_dict()["data"]["values"]
    treatments = [row for row in values if row["kind"] == "treatment"]
    assert {(row["treatment"], row["against"]) for row in treatments} == {
        (f"drive.data={drive}, table.fillfactor=75", f"drive.data={drive}, table.fillfactor=100")
        for drive in ("ssd", "csd")
    }
    assert len({row["panel"] for row in values}) == 4, "two scenarios on two drives"
    updates = [row for row in treatments if "update" in row["panel"]]
    assert [row["space"] for row in updates] == pytest.approx([20.0, 235 / 230 * 100 - 100], abs=0.3)
    assert [row["speed"] for row in updates] == pytest.approx([20.0, 20.0], abs=1.5)
    assert sum(row["kind"] == "block" for row in values) == 4 * 6


def effect(treatment: str, logs: Sequence[float], half: float) -> Effect:
    """In ratios, with an interval of half a width in logarithms."""
    middle = sum(logs) / len(logs)
    return Effect(
        treatment=treatment, condition="", covariate="", response="x", scale=Scale.RATIO, blocks=len(logs),
        estimate=exp(middle), low=exp(middle - half), high=exp(middle + half), level=0.95, simultaneous=False,
        method="", left_out=(), contrasts=tuple((block, exp(value)) for block, value in enumerate(logs, 1)),
    )  # fmt: skip


def test_the_shadows_of_an_ellipse_are_the_printed_intervals_and_its_tilt_the_correlation() -> None:
    space, speed = [0.20, 0.22, 0.24, 0.26, 0.28], [-0.1, -0.05, -0.1, 0.1, 0.05]
    one, other = effect("a", space, 0.03), effect("a", speed, 0.2)
    found = ellipse(one, other)
    assert found is not None
    expected = correlation_coefficient(space, speed)
    assert found.correlation == pytest.approx(expected)
    corners = found.outline(3600)
    assert (min(x for x, _ in corners), max(x for x, _ in corners)) == pytest.approx((one.low, one.high))
    assert (min(y for _, y in corners), max(y for _, y in corners)) == pytest.approx((other.low, other.high), rel=1e-5)
    _, at_the_right = max(corners)
    assert log(at_the_right / other.estimate) == pytest.approx(0.2 * expected, abs=1e-3), (
        "the regression's height there"
    )


def test_what_never_varies_has_no_tilt_and_what_is_not_known_no_ellipse() -> None:
    space, speed = effect("a", [0.2] * 5, 0.0), effect("a", [0.1, 0.0, 0.2, 0.1, 0.1], 0.1)
    flat = ellipse(space, speed)
    assert flat is not None
    assert flat.correlation == 0.0
    assert [x for x, _ in flat.outline()] == pytest.approx([exp(0.2)] * len(flat.outline()))
    assert ellipse(space, replace(speed, low=0.0, high=inf)) is None


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=5, max_size=12))
def test_no_outline_leaves_the_intervals(logs: list[tuple[float, float]]) -> None:
    found = ellipse(effect("a", [x for x, _ in logs], 0.1), effect("a", [y for _, y in logs], 0.3))
    assert found is not None
    for x, y in found.outline():
        assert abs(log(x) - found.x) <= 0.1 + 1e-9
        assert abs(log(y) - found.y) <= 0.3 + 1e-9
