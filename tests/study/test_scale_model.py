"""A scale model: every size shrinks by one factor wherever it stands, limits and rounding are named, the rest stays."""

import tomllib
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.study.document import Document, Overrides, resolve, write
from pgassay.study.scale_model import (
    Likeness,
    ModelSize,
    Request,
    ScaleModel,
    parse_model,
    parse_request,
    parse_scale,
    shrink,
    to_table,
)
from pgassay.study.units import parse_memory

ROWS = ModelSize(data="row")
CACHE = ModelSize(least_bytes=128 << 10, step_bytes=8192, bare_bytes=8192)
WAL = ModelSize(least_bytes=32 << 20, step_bytes=1 << 20, bare_bytes=1 << 20)


@dataclass(frozen=True)
class Factor:
    """A factor as a model sees it."""

    sized: ModelSize | None = None
    scales: bool = False

    def size(self, name: str) -> ModelSize | None:
        return self.sized


class Factors:
    """Rows, a cache, WAL and clients; every other name is a factor without a size."""

    def find(self, name: str) -> Factor:
        known = {
            "load.rows": Factor(ROWS), "server.shared_buffers": Factor(CACHE), "server.max_wal_size": Factor(WAL),
            "load.clients": Factor(scales=True),
        }  # fmt: skip
        return known.get(name, Factor())


STUDY: Document = {
    "factors": {"table.fillfactor": [100, 75], "server.shared_buffers": "1GB..4GB*2"},
    "conditions": {"load.rows": [1_000_000, 2_000_000]},
    "fixed": {"server.max_wal_size": "1GB", "drive.live_share": 0.95},
    "load": {"driver": "x", "clients": 64, "duration": "60s", "script": ["a.sql", "a.sql"]},
    "design": {"baseline": {"table.fillfactor": 100, "server.shared_buffers": "1GB"}, "blocks": 5},
    "claims": [
        {
            "text": "t",
            "treatment": {"load.rows": 1_000_000},
            "against": {"server.shared_buffers": "1GB"},
            "than": [{"load.rows": 2_000_000}],
        }
    ],
    "scale": {"by": "1/100", "cores": 32},
}


def test_every_size_shrinks_wherever_it_stands_and_all_else_stays() -> None:
    small, model = shrink(STUDY, Factors(), 100, per_core=16)
    assert small["factors"] == {
        "table.fillfactor": [100, 75],
        "server.shared_buffers": ["10488kB", "20968kB", "41944kB"],
    }
    assert small["conditions"] == {"load.rows": ["10000", "20000"]}
    assert small["fixed"] == {"server.max_wal_size": "32MB", "drive.live_share": 0.95}
    assert small["load"] == {"driver": "x", "clients": "4", "duration": "60s", "script": ["a.sql", "a.sql"]}
    assert small["design"] == {"baseline": {"table.fillfactor": 100, "server.shared_buffers": "10488kB"}, "blocks": 5}
    (claim,) = small["claims"]
    assert (claim["treatment"], claim["against"]) == ({"load.rows": "10000"}, {"server.shared_buffers": "10488kB"})
    assert claim["than"] == [{"load.rows": "20000"}]
    assert "scale" not in small, "a resumed run would shrink again"
    notes = {(each.factor, each.original): each.note for each in model.resized}
    assert notes["server.max_wal_size", "1GB"] == "no less than 32MB"
    assert notes["load.rows", "1000000"] == ""
    assert STUDY["load"]["clients"] == 64, "the input is left as it was"


def test_clients_stay_where_nobody_says_how_many_cores_there_were() -> None:
    small, _ = shrink(STUDY, Factors(), 100)
    assert small["load"]["clients"] == 64


def test_levels_and_linked_combinations_that_become_equal_are_one() -> None:
    document = {
        "treatments": [{"server.max_wal_size": "1GB"}, {"server.max_wal_size": "2GB"}, {"server.max_wal_size": "8GB"}],
        "conditions": {"server.shared_buffers": ["128kB", "1MB", "1GB"]},
        "load": {"rows": 1_000_000},
    }
    small, _ = shrink(document, Factors(), 100)
    assert small["treatments"] == [{"server.max_wal_size": "32MB"}, {"server.max_wal_size": "82MB"}]
    assert small["conditions"] == {"server.shared_buffers": ["128kB", "10488kB"]}


def test_a_number_that_stays_and_one_that_becomes_it_are_one_level() -> None:
    """The number 1 stays a number, 10 clients on a tenth of the cores become the text "1"."""
    small, _ = shrink({"covariates": {"load.clients": [1, 10, 20]}, "load": {"rows": 1000}}, Factors(), 10, 10)
    assert small["covariates"] == {"load.clients": [1, "2"]}


@pytest.mark.parametrize(
    ("text", "by"), [("1/250", 250), ("1:250", 250), ("0.004", 250), (0.004, 250), ("2/500", 250), ("0.99", 1 / 0.99)]
)
def test_a_scale_is_a_quotient_or_a_share(text: object, by: float) -> None:
    assert parse_scale(text) == pytest.approx(by)


@pytest.mark.parametrize("text", ["", "x", "1/0", "1/x", "4GB", "1/250/2", "nan"])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"not a scale|makes no model"):
        parse_scale(text)


@pytest.mark.parametrize("text", ["0", "-0.5", "1/-250", "1", "0/5", "1/1.000001", "0.99999", "1e-320"])
def test_a_scale_that_makes_no_model_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="makes no model"):
        parse_scale(text)


@pytest.mark.parametrize("text", ["2", "250", "250/1", "inf"])
def test_a_scale_that_enlarges_is_refused_by_that_word(text: str) -> None:
    with pytest.raises(UsageError, match="would enlarge the study"):
        parse_scale(text)


def test_a_study_without_sizes_has_no_model() -> None:
    with pytest.raises(UsageError, match="does not say how many rows or warehouses") as refused:
        shrink({"factors": {"server.shared_buffers": ["1GB", "2GB"]}}, Factors(), 100)
    assert "load.init" in str(refused.value.hint)


def test_less_than_one_row_is_refused_with_what_is_left() -> None:
    with pytest.raises(UsageError, match=r"1:20000 leaves too little data: 0.35 of load.rows=7000") as refused:
        shrink({"load": {"rows": 7000}}, Factors(), 20000)
    assert "at least one row" in str(refused.value.hint)


def test_a_request_says_how_much_smaller_or_how_large_not_both() -> None:
    assert parse_request({"to": "4GB", "memory": "256GB", "cores": 32, "ours": ["memory"]}).to_bytes == 4 << 30
    assert parse_request({"cores": 32}) == Request(cores=32)
    refused: tuple[object, ...] = (
        {"by": "1/10", "to": "4GB"}, {"x": 1}, {"cores": 0}, {"cores": True}, {"to": "0GB"}, {"to": "4"},
        {"ours": ["memory"]}, [],
    )  # fmt: skip
    for table in refused:
        with pytest.raises(UsageError):
            parse_request(table)


def test_the_command_line_replaces_the_files_scale_and_keeps_what_it_says_of_the_original() -> None:
    document = {"scale": {"by": "1/100", "cores": 32}, "load": {"rows": 5}}
    assert resolve("x", document, Overrides(scale_to="4GB"))["scale"] == {"to": "4GB", "cores": 32}
    assert resolve("x", document, Overrides(scale="1/9"))["scale"] == {"by": "1/9", "cores": 32}
    assert resolve("x", document, Overrides())["scale"] == document["scale"]
    for each in ("4GB", ""):
        with pytest.raises(UsageError, match="cannot be used together"):
            resolve("x", document, Overrides(scale="1/9", scale_to=each))
    assert resolve("x", document, Overrides(scale=""))["scale"] == {"by": "", "cores": 32}, "which is refused"


@given(whole=st.integers(1, 2**45), by=st.floats(1.001, 1e6))
def test_a_size_in_bytes_is_to_scale_within_its_step_or_at_its_least(whole: int, by: float) -> None:
    found = CACHE.shrunk(f"{whole}B", by)
    assert found is not None
    kept = parse_memory(found.typed)
    assert kept == found.kept >= CACHE.least_bytes
    assert kept % CACHE.step_bytes == 0
    assert found.at_least == (whole / by < CACHE.least_bytes)
    if not found.at_least:
        assert abs(kept - whole / by) <= CACHE.step_bytes / 2
    assert bool(found.note) == (found.at_least or abs(kept / (whole / by) - 1) > 0.01)


@given(count=st.integers(1, 10**12), by=st.floats(1.001, 1e6))
def test_a_count_is_rounded_to_a_whole_one(count: int, by: float) -> None:
    found = ROWS.shrunk(str(count), by)
    assert found is not None
    assert int(found.typed) >= 1
    assert abs(int(found.typed) - max(1, count / by)) <= 0.5 or found.at_least


@pytest.mark.parametrize("text", ["all", "auto", "2x", "none", "-1", "0", "60s"])
def test_what_is_no_size_stays(text: str) -> None:
    assert CACHE.shrunk(text, 250) is None


def test_a_number_without_a_unit_counts_what_the_setting_counts() -> None:
    pages, megabytes = CACHE.shrunk("1048576", 4), WAL.shrunk("4096", 4)
    assert pages is not None
    assert megabytes is not None
    assert (pages.typed, megabytes.typed) == ("2GB", "1GB")


def test_a_record_keeps_what_the_model_is() -> None:
    _, made = shrink(STUDY, Factors(), 100, per_core=16)
    alike = (
        Likeness("a ÷ b", (1.0, 2.0), (1.0, 2.5), False, "why"),
        Likeness("c ÷ d", None, (3.0, 3.0), None),
        Likeness("e", (0.07, 0.07), (0.07, 0.07), True),
    )
    model = replace(made, likeness=alike)
    assert parse_model(tomllib.loads(write({"model": to_table(model)}))["model"]) == model
    assert model.label == "scale model 1:100"
    assert [ScaleModel(by).label for by in (931.32, 13500.4, 20000)] == [
        f"scale model 1:{times}" for times in ("931.3", "13500", "20000")
    ]
    wrong: list[object] = [{}, [], {"by": "x"}, {"by": 9, "likeness": [{"name": "a", "original": [1]}]}]
    for damaged in wrong:
        with pytest.raises(UsageError, match='"model"'):
            parse_model(damaged)


@pytest.mark.parametrize(
    ("by", "text"),
    [(250.0, "250"), (931.32, "931.3"), (13_500.0, "13500"), (123_456.0, "123500"), (1.25, "1.25"), (1e300, "1e+300")],
)
def test_a_scale_is_told_in_four_digits(by: float, text: str) -> None:
    assert ScaleModel(by).times == text
    assert ScaleModel(by).label == f"scale model 1:{text}"


def test_a_model_that_is_far_too_small_is_told_in_a_line() -> None:
    with pytest.raises(UsageError, match=r"1:1e\+300 leaves too little data: 1e-294 of load\.rows=1000000"):
        shrink(STUDY, Factors(), parse_scale("1/1e300"))
