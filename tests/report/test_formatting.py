"""Numbers as a reader wants them."""

from dataclasses import replace
from math import inf, nan
from pathlib import Path

import pytest

from pgassay.record.values import LevelRecord
from pgassay.report import formatting
from pgassay.report.adoption import adopted_by, advice
from pgassay.report.provenance import facts
from pgassay.study.levels import Combination, Level
from pgassay.study.responses import Better, Response, Scale
from pgassay.testing.planted import make_run


@pytest.mark.parametrize(
    ("value", "shown"), [(1234.5, "1,230"), (123.45, "123"), (1.2345, "1.23"), (0.01234, "0.0123"), (6.9, "6.90"),
                         (999.6, "1,000"), (-0.5286, "-0.529"), (42.0, "42.0"), (0.0, "0"), (1234567.0, "1,230,000"),
                         (None, "–"), (nan, "–"), (inf, "–")],
)  # fmt: skip
def test_numbers(value: float | None, shown: str) -> None:
    assert formatting.number(value) == shown


def test_shares_and_bytes_by_their_unit() -> None:
    assert formatting.quantity(0.123, Response("x", "x", "share", Better.HIGHER)) == "12.3 %"
    bytes_ = Response("x", "x", "bytes", Better.LOWER)
    assert formatting.quantity(52428800, bytes_) == "50.0 MB"
    assert formatting.quantity(10300, bytes_) == "10.1 kB"
    assert formatting.quantity(7312, bytes_) == "7,310"
    assert formatting.size(3 << 30) == "3.00 GB"


def test_bytes_beside_each_other_have_one_unit() -> None:
    """A table had an average of 10,100 and a greatest value of 10.0 kB, which reads as less."""
    bytes_ = Response("x", "x", "bytes", Better.LOWER)
    assert formatting.quantities([10100.0, 9910.0, 10250.0], bytes_) == ["9.86 kB", "9.68 kB", "10.0 kB"]
    assert formatting.quantities([7312.0, None, 3.0, nan, inf], bytes_) == ["7,310", "–", "3.00", "–", "–"]
    assert formatting.quantities([52428800.0, 20480.0, 0.0], bytes_) == ["50.0 MB", "20.0 kB", "0"]
    assert formatting.quantities([10300.0, 1440.0], bytes_) == ["10.1 kB", "1.41 kB"], "the deviation, too"
    assert formatting.quantities([None], bytes_) == ["–"]
    assert formatting.value_interval(10100.0, 9910.0, 10250.0, bytes_) == "9.86 kB [9.68 kB, 10.0 kB]"
    assert formatting.quantities([0.5, 20480.0], Response("x", "x", "ms", Better.LOWER)) == ["0.5", "20,500"]


@pytest.mark.parametrize(
    ("unit", "shown"), [("us", "µs"), ("share", ""), ("count", ""), ("bytes", "bytes"), ("ms", "ms")]
)
def test_units_as_people_write_them(unit: str, shown: str) -> None:
    assert formatting.unit(Response("x", "x", unit, Better.LOWER)) == shown


def test_an_interval_that_tells_nothing_is_not_shown() -> None:
    of = Response("x", "x", "us", Better.LOWER)
    assert formatting.interval(1.2, 0.05, 6.0, Scale.RATIO, of) == "+20.0 % [not known]"
    assert formatting.interval(4.0, 0.0, 50.0, Scale.RATIO, of) == "×4.00 [not known]"
    assert formatting.interval(1.2, 0.5, 40.0, Scale.RATIO, of) == "×1.20 [×0.5, ×40.0]"


def test_nothing_has_no_sign_and_a_hundred_no_decimals() -> None:
    ms = Response("x", "x", "ms", Better.LOWER)
    assert formatting.interval(1.0, 0.9962, 1.00004, Scale.RATIO, ms) == "0.0 % [-0.38, +0.004]"
    assert formatting.interval(1.009, 0.355, 2.866, Scale.RATIO, ms) == "+0.9 % [-64.5, +187]"


def test_an_interval_narrower_than_half_a_point_has_the_digits_that_show_it() -> None:
    assert formatting.ratio_interval(1.00139, 1.00132, 1.00147) == "+0.14 % [+0.13, +0.15]"
    assert formatting.ratio_interval(1.349, 1.348, 1.350) == "+34.9 % [+34.8, +35.0]", "three digits are enough"
    assert formatting.ratio_interval(1.0014, 0.996, 1.007) == "+0.1 % [-0.4, +0.7]", "more would be noise"
    assert formatting.points_interval(0.0014, 0.0013, 0.0015) == "+0.14 points [+0.13, +0.15]"


def test_axes_of_bytes_are_in_the_table_s_units() -> None:
    bytes_ = Response("x", "x", "bytes", Better.LOWER)
    assert formatting.scale_of([52428800.0, 3.0], bytes_) == (1048576.0, "MB")
    assert formatting.scale_of([20480.0], bytes_) == (1024.0, "kB")
    assert formatting.scale_of([900.0], bytes_) == (1.0, "bytes")
    assert formatting.scale_of([52428800.0], Response("x", "x", "us", Better.LOWER)) == (1.0, "µs")


def test_one_has_no_plural() -> None:
    assert [formatting.counted(count, "block") for count in (0, 1, 2)] == ["0 blocks", "1 block", "2 blocks"]


@pytest.mark.parametrize(("seconds", "shown"), [(9, "9 s"), (90, "1 min 30 s"), (600, "10 min"), (7260, "2 h 1 min")])
def test_durations(seconds: float, shown: str) -> None:
    assert formatting.duration(seconds) == shown


def test_advice_names_the_step_and_its_risk() -> None:
    levels = {
        "table.fillfactor": Level("75", "75"),
        "server.synchronous_commit": Level("off", "off"),
        "server.shared_buffers": Level("1GB", "1GB"),
        "server.work_mem": Level("8MB", "8MB"),
    }
    told = {"server.shared_buffers": "restart", "server.synchronous_commit": "reload"}
    fill, commit, buffers, memory = advice(Combination(levels), told)
    assert "VACUUM FULL" in fill
    assert "risk: a crash loses commits" in commit
    assert "restart the server" in buffers
    assert "pg_settings.context says" in memory, "no server said it, so nobody guesses"


def test_what_a_setting_takes_is_the_servers_own_word(tmp_path: Path) -> None:
    (trial, *_) = make_run(tmp_path / "run").trials
    level = LevelRecord("on", "on", "on", "restart")
    assert adopted_by([trial]) == {}
    assert adopted_by([trial, replace(trial, levels={"server.wal_log_hints": level})]) == {
        "server.wal_log_hints": "restart"
    }


def test_facts_become_rows() -> None:
    assert facts({"cpu": {"model": "x", "flags": ["a", "b"]}, "none": None, "disks": [{"name": "vda"}]}) == [
        ("cpu.model", "x"),
        ("cpu.flags", "a, b"),
        ("disks[0].name", "vda"),
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no trial was discarded", "No trial was discarded"),
        ("host.huge_pages=2MB: slow", "host.huge_pages=2MB: slow"),
        ("pgassay show RUN shows it", "pgassay show RUN shows it"),
        ("shared_buffers is large", "shared_buffers is large"),
        ("medians, before the first probes", "Medians, before the first probes"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_with_a_name(text: str, shown: str) -> None:
    assert formatting.sentence(text) == shown


def test_a_factor_of_the_host_says_itself_how_it_is_adopted() -> None:
    host = Combination({"host.numa": Level("0", "0")})
    assert advice(host, {"host.numa": "do this\nthen that"}) == ["do this", "then that"]
    assert "docs/studies.md" in advice(host, {})[0], "records of earlier versions have no steps"


def test_an_interval_that_leaves_out_no_effect_is_shown_however_wide() -> None:
    of = Response("x", "x", "us", Better.LOWER)
    assert formatting.interval(0.05, 0.001, 0.9, Scale.RATIO, of) == "-95.0 % [-99.9, -10.0]"
    assert formatting.interval(50.0, 3.0, 1041.6, Scale.RATIO, of) == "×50.0 [×3.00, ×1,040]"
