"""Space against speed: who is on the front, who may be compared, and how long a TB of flash lasts."""

from pathlib import Path

import pytest

from pgassay.report.findings import Findings
from pgassay.report.tradeoff import CYCLES, Point, front, parts
from pgassay.study.levels import Level
from tests.report.made import make_run


def point(name: str, space_bytes: float | None, speed: float | None, drive: str = "directory", **told: float) -> Point:
    return Point(name, {"drive.data": Level(drive, drive)}, space_bytes, speed, told)


def test_the_front_holds_what_nothing_beats_on_both_sides() -> None:
    every = [point("small", 1.0, 10.0), point("fast", 2.0, 20.0), point("worse", 2.5, 15.0), point("same", 1.0, 10.0)]
    assert front(every) == {"small", "fast", "same"}
    assert front([*every, point("unknown", None, 99.0)]) == {"small", "fast", "same"}


def test_a_drive_whose_speed_does_not_compare_beats_nobody() -> None:
    every = [point("ssd", 4.0, 10.0, "ssd"), point("csd", 1.0, 20.0, "csd"), point("csd, worse", 2.0, 5.0, "csd")]
    assert front(every) == {"ssd", "csd"}


def test_the_life_of_flash_follows_from_what_is_programmed_a_second() -> None:
    one = point("x", 1.0, 1.0, tps=1000.0, nand_bytes_per_transaction=CYCLES * 1e12 / 1000.0 / (365.25 * 86400))
    assert one.life_years == pytest.approx(1.0)
    assert point("x", 1.0, 1.0, tps=0.0).life_years is None


def test_a_run_has_a_table_with_every_treatment(tmp_path: Path) -> None:
    (part,) = parts(Findings(make_run(tmp_path / "run")))
    head, *rows = part.rows
    assert "WA" not in head, "no drive counted"
    found = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert found["table.fillfactor=100"]["to the baseline"] == "×1.00"
    assert found["table.fillfactor=75"]["to the baseline"] == "×1.25"
    assert found["table.fillfactor=75"]["to its drive's first"] in ("×1.19", "×1.20", "×1.21")
    assert {name: row["on the front"] for name, row in found.items()} == {
        "table.fillfactor=100": "yes", "table.fillfactor=75": "yes", "table.fillfactor=50": "no",
    }  # fmt: skip
