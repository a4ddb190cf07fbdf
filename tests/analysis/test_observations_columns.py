"""Columns give the very tables that observations one by one give, with every reason."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pgassay.analysis.observations import Layout, ResponseColumn, observe, places, tables
from pgassay.study.responses import Scale, Status


@dataclass(frozen=True)
class Trial:
    block: int = 1
    treatment: str = "a"
    condition: str = ""
    covariate: str = ""
    status: Status = Status.VALID
    responses: dict[str, float | None] = field(default_factory=dict)
    host: str = ""


VALUES = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.just(0.0), st.floats(0.1, 10.0))
TRIALS = st.lists(
    st.builds(
        Trial,
        block=st.integers(1, 4),
        treatment=st.sampled_from("abc"),
        condition=st.sampled_from(["", "x"]),
        covariate=st.sampled_from(["", "1"]),
        status=st.sampled_from([Status.VALID, *Status]),
        responses=st.dictionaries(st.just("tps"), VALUES),
        host=st.sampled_from(["", "h1", "h2"]),
    ),
    max_size=30,
)


@given(TRIALS, st.sampled_from(Scale))
def test_columns_say_what_observations_say(trials: list[Trial], scale: Scale) -> None:
    one_by_one = observe(trials, "tps")
    columns = ResponseColumn(Layout(trials), "tps")
    assert repr(list(columns)) == repr(list(one_by_one))
    assert repr(list(columns[1:3])) == repr(list(one_by_one[1:3]))
    found, wanted = tables(columns, scale), tables(one_by_one, scale)
    assert list(found) == list(wanted)
    for cell, table in wanted.items():
        assert found[cell] == table
        assert found[cell].treatments == table.treatments
    assert sorted(places(columns)) == sorted(places(one_by_one))
