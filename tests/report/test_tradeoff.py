"""Space against speed: who is on the front, who may be compared, and how long a TB of flash lasts."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pgassay.analysis.verdicts import Kind
from pgassay.record.reading import Run
from pgassay.report.contents import document
from pgassay.report.findings import Findings
from pgassay.report.space import CYCLES, TRADEOFF, Point, front
from pgassay.study.levels import Level
from pgassay.testing.planted import make_run
from tests.report.blocks import tables
from tests.report.driven import make_driven


def point(name: str, space_bytes: float | None, speed: float | None, drive: str = "directory", **told: float) -> Point:
    return Point(name, {"drive.data": Level(drive, drive)}, space_bytes, speed, told)


def by_means(every: Sequence[Point]) -> set[str]:
    """The front where every speed is known without error."""

    def compared(point: Point, other: Point) -> Kind:
        one, two = point.speed or 0.0, other.speed or 0.0
        return Kind.BETTER if one > two else Kind.WORSE if one < two else Kind.EQUIVALENT

    return {name for name, on_front in front(every, compared).items() if on_front}


def test_the_front_is_open_where_the_verdict_on_speed_is() -> None:
    """By means the larger one is slower, which was not shown."""
    every = [point("small", 1.0, 10.0), point("large", 2.0, 9.9)]
    assert front(every, lambda point, other: Kind.UNRESOLVED) == {"small": True, "large": None}


def test_the_front_holds_what_nothing_beats_on_both_sides() -> None:
    every = [point("small", 1.0, 10.0), point("fast", 2.0, 20.0), point("worse", 2.5, 15.0), point("same", 1.0, 10.0)]
    assert by_means(every) == {"small", "fast", "same"}
    assert by_means([*every, point("unknown", None, 99.0)]) == {"small", "fast", "same"}


def test_a_drive_whose_speed_does_not_compare_beats_nobody() -> None:
    every = [point("ssd", 4.0, 10.0, "ssd"), point("csd", 1.0, 20.0, "csd"), point("csd, worse", 2.0, 5.0, "csd")]
    assert by_means(every) == {"ssd", "csd"}


def test_timed_drives_beat_each_other_if_they_kept_their_times() -> None:
    def timed(name: str, speed: float, error: float | None) -> Point:
        levels = {"drive.data": Level(name, name), "drive.timing": Level("sata-ssd", "sata-ssd")}
        return Point(name, levels, 1.0, speed, {}, error)

    assert by_means([timed("ssd", 10.0, 0.01), timed("csd", 20.0, 0.05)]) == {"csd"}
    assert by_means([timed("ssd", 10.0, 0.01), timed("csd", 20.0, 0.5)]) == {"ssd", "csd"}
    assert by_means([timed("ssd", 10.0, None), timed("csd", 20.0, 0.0)]) == {"ssd", "csd"}


def test_the_life_of_flash_follows_from_what_is_programmed_a_second() -> None:
    one = point("x", 1.0, 1.0, tps=1000.0, nand_bytes_per_transaction=CYCLES * 1e12 / 1000.0 / (365.25 * 86400))
    assert one.life_years == pytest.approx(1.0)
    assert point("x", 1.0, 1.0, tps=0.0).life_years is None


def test_a_run_has_a_table_with_every_treatment(tmp_path: Path) -> None:
    (table,) = tables(TRADEOFF, Findings(make_run(tmp_path / "run")))
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


def test_a_value_under_a_name_that_the_run_does_not_declare_has_no_table(tmp_path: Path) -> None:
    """A record that was changed by hand can have one."""
    make_run(tmp_path / "run")
    plan = tmp_path / "run" / "run.json"
    document = json.loads(plan.read_text())
    kept = [each for each in document["responses"] if each["name"] != "database_bytes"]
    assert len(kept) == len(document["responses"]) - 1
    plan.write_text(json.dumps({**document, "responses": kept}))
    assert not tables(TRADEOFF, Findings(Run.open(tmp_path / "run")))
