"""Legends and titles: nothing cut, nothing said twice, and every entry still told from the others."""

import json
import re
from importlib import resources
from pathlib import Path

import altair as alt
import jsonschema  # type: ignore[import-untyped]
import pytest
import vl_convert
from altair.utils.schemapi import debug_mode
from hypothesis import given
from hypothesis import strategies as st

from pgassay.report.charts import (
    chart_of,
    colour,
    domain_of,
    layered,
    legend_of,
    panels,
    shape,
    short_labels,
    specified,
    wrapped,
)
from pgassay.report.findings import Findings
from pgassay.report.vega import PALETTE
from tests.report.blocks import figures
from tests.report.driven import make_driven

STYLE = (resources.files("pgassay.report") / "templates/page.css").read_text(encoding="utf-8")
WIDE, MARGIN = map(float, re.findall(r"main \{ max-width: ([0-9]+)px; .*padding: [0-9]+px ([0-9]+)px", STYLE)[0])
COLUMN = WIDE - 2 * MARGIN
"""Pixels between the margins of the page."""
LEVEL = st.text("abcdefgh0123456789MB", min_size=1, max_size=20)


def test_factors_stand_in_the_title_and_levels_in_the_entries() -> None:
    title, labels = short_labels(
        ["host.huge_pages=2MB, server.shared_buffers=16MB", "host.huge_pages=none, server.shared_buffers=16MB"]
    )
    assert title == "host.huge_pages; all with server.shared_buffers=16MB"
    assert list(labels.values()) == ["2MB", "none"]


def test_names_that_share_no_factors_stay_as_they_are() -> None:
    for names in (["one", "other"], ["a=1, b=2", "a=1"], ["a=1", "b=1"], ["a=1"], []):
        title, labels = short_labels(names)
        assert title == ""
        assert dict(labels) == {name: name for name in names}


@given(st.lists(st.tuples(LEVEL, LEVEL), min_size=2, max_size=12, unique=True))
def test_entries_are_told_apart_whatever_the_levels(levels: list[tuple[str, str]]) -> None:
    names = [f"one.factor={one}, another.factor={other}" for one, other in levels]
    title, labels = short_labels(names)
    assert len(set(labels.values())) == len(names)
    for name, label in labels.items():
        assert all(part in name or part in title for part in label.split(", "))


def test_a_legend_is_as_wide_as_its_figure_and_single_names_have_none() -> None:
    assert legend_of(["a=1"]) is None
    few = legend_of(["a=1", "a=2", "a=3"], "treatment")
    many = legend_of([f"a={'x' * 60}{number}" for number in range(9)])
    assert few is not None
    assert many is not None
    assert (few.columns, few.orient, few.title) == (3, "bottom", "treatment: a")
    assert many.columns == 1


def test_long_titles_go_on_in_another_line() -> None:
    text = "index probes after the scan, without the slowest tenth, ms"
    lines = wrapped(text, 220)
    assert isinstance(lines, list)
    assert " ".join(lines) == text
    assert wrapped("tps", 220) == "tps"
    assert "labelExpr" not in panels("panel", ["short"]).to_dict()["header"]
    long = ", ".join(f"load.option_{number}=a_long_level" for number in range(6))
    assert json.dumps(long) in panels("panel", ["short", long]).to_dict()["header"]["labelExpr"]


def test_more_treatments_than_colours_differ_in_shape() -> None:
    names = tuple(map(str, range(2 * len(PALETTE))))
    colours, marks = (encoding(names).to_dict()["scale"] for encoding in (colour, shape))
    assert colours["domain"] == marks["domain"] == list(names)
    assert len(set(zip(colours["range"], marks["range"], strict=True))) == len(names)


def test_no_text_of_a_figure_is_cut(tmp_path: Path) -> None:
    """Vega ends a text that it cuts with an ellipsis."""
    made = [
        each for each in figures(Findings(make_driven(tmp_path / "run"))) if each.name in ("responses", "over-blocks")
    ]
    assert len(made) == 2
    for figure in made:
        drawn = vl_convert.vegalite_to_svg(dict(figure.specification))
        assert "…" not in drawn, figure.name
        assert "table.fillfactor" in drawn
        width = re.search(r'<svg[^>]* width="([0-9.]+)"', drawn)
        assert width is not None
        assert float(width[1]) <= COLUMN, f"{figure.name} is wider than the page's column"


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.booleans())
def test_an_axis_holds_all_values_and_zero_where_asked(values: list[float], zero: bool) -> None:
    low, high = domain_of(values, zero)
    assert low < high
    assert low <= min(values) <= max(values) <= high
    assert not zero or low <= 0.0 <= high


def test_a_figure_that_vega_lite_does_not_know_is_refused_and_rows_are_not_looked_at() -> None:
    rows = [{"x": 1, "mark": {"no": "mark"}}]
    good = layered([alt.Chart().mark_point().encode(x="x:Q")], rows, 10)
    assert list(specified(good)["data"]["values"]) == rows
    with debug_mode(False):
        bad = chart_of(rows).mark_point().encode(x="x:Q")
        bad.mark = {"type": "no mark"}
        with pytest.raises(jsonschema.ValidationError):
            specified(bad)
