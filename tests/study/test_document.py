"""Sizes and overrides: what the command line and `[quick]` lay over a study file."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.errors import UsageError
from pgassay.study.document import (
    Overrides,
    names_in,
    read,
    resolve,
    with_changed_levels,
    without,
    write,
)
from pgassay.study.parsing import parse
from tests.study.catalogues import SmallCatalogue

TEXT = """
[study]
title = "T"
[factors]
"table.fillfactor" = [100, 75]
[load]
scale = 50
duration = "60s"
[design]
baseline = { "table.fillfactor" = 100 }
[quick]
factors = { "table.fillfactor" = [100, 50] }
load = { scale = 5 }
"""


def _resolved(**changes: Any) -> dict[str, Any]:
    return resolve("demo", read("demo", TEXT), Overrides(**changes))


def test_the_default_size_leaves_the_others_out() -> None:
    found = _resolved()
    assert found["load"] == {"scale": 50, "duration": "60s"}
    assert "quick" not in found


def test_a_size_replaces_lists_and_merges_tables() -> None:
    found = _resolved(size="quick")
    assert found["factors"] == {"table.fillfactor": [100, 50]}
    assert found["load"] == {"scale": 5, "duration": "60s"}


def test_a_size_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="has no \\[as-published\\] size") as caught:
        _resolved(size="as-published")
    assert caught.value.hint == "it has: quick"


def test_set_reaches_the_load_and_the_fixed_settings() -> None:
    found = _resolved(fixed=["load.scale=300", "server.work_mem=8MB"])
    assert found["load"]["scale"] == "300"
    assert found["fixed"] == {"server.work_mem": "8MB"}


def test_a_quantile_of_latency_may_be_typed_without_its_prefix() -> None:
    for typed, primary in {"p99_ms": "latency_p99_ms", "latency_p95_ms": "latency_p95_ms", "tps": "tps"}.items():
        assert _resolved(primary=typed)["responses"]["primary"] == primary


def test_set_refuses_what_is_varied() -> None:
    with pytest.raises(UsageError, match="is varied by this study") as caught:
        _resolved(fixed=["table.fillfactor=90"])
    assert "--levels" in (caught.value.hint or "")


def test_levels_replace_and_move_the_baseline_when_it_is_gone() -> None:
    assert _resolved(levels=["table.fillfactor=100,90"])["design"]["baseline"] == {"table.fillfactor": 100}
    assert _resolved(levels=["table.fillfactor=90,50"])["design"]["baseline"] == {"table.fillfactor": "90"}


def test_levels_typed_in_another_unit_keep_the_baseline() -> None:
    study = '[factors]\n"server.work_mem" = ["4MB", "8MB"]\n[design]\nbaseline = { "server.work_mem" = "8MB" }\n'

    def baseline(levels: str) -> Any:
        overrides = Overrides(levels=[f"server.work_mem={levels}"])
        found = resolve("sizes", read("sizes", study), overrides, SmallCatalogue())
        return parse("sizes", found, SmallCatalogue()).design.baseline.levels["server.work_mem"].typed

    assert baseline("16MB, 8192kB") == "8192kB"
    assert baseline("16MB,8191kB") == "16MB"


def test_levels_can_free_what_was_held() -> None:
    found = _resolved(levels=["load.scale=1,10"])
    assert found["factors"]["load.scale"] == ["1", "10"]
    assert "scale" not in found["load"]


@pytest.mark.parametrize("text", ["load.scale", "=5", ""])
def test_an_override_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="takes NAME=VALUE"):
        _resolved(fixed=[text])


def test_toml_errors_name_the_place() -> None:
    with pytest.raises(UsageError, match="line 2"):
        read("demo", "[study]\ntitle = = 3")


THEIRS = """
[load]
driver = "tpcc"
clients = 8
[as-published]
study = { differs = ["another program"], ours = ["load.jobs"] }
load = { clients = 64, duration = "600s" }
[as-published.program]
study = { differs = [], ours = [] }
load = { driver = "sysbench-tpcc", threads = 64, duration = "600s" }
"""


@pytest.mark.parametrize(
    ("fixed", "installed", "driver"),
    [
        ((), True, "sysbench-tpcc"),
        ((), False, "tpcc"),
        (("load.driver=tpcc",), True, "tpcc"),
        (("load.driver=sysbench-tpcc", "load.lua=/scripts"), False, "sysbench-tpcc"),
    ],
)
def test_the_authors_program_plays_where_it_can_or_is_named(fixed: Sequence[str], installed: bool, driver: str) -> None:
    asked: list[str] = []

    def usable(name: str) -> bool:
        asked.append(name)
        return installed

    document = read("demo", THEIRS)
    found = resolve("demo", document, Overrides(size="as-published", fixed=fixed), usable=usable)
    theirs = driver == "sysbench-tpcc"
    assert found["load"]["driver"] == driver
    assert ("clients" in found["load"], "threads" in found["load"]) == (not theirs, theirs), "one program's options"
    assert found["study"]["differs"] == ([] if theirs else ["another program"])
    assert "program" not in found
    assert asked == ([] if fixed else ["sysbench-tpcc"])
    assert resolve("demo", document, Overrides(), usable=usable)["load"] == {"driver": "tpcc", "clients": 8}


_printed = st.characters(exclude_characters="\0", codec="utf-8")
"""A NUL is refused, since no program takes one."""
_plain = st.one_of(st.integers(-(2**40), 2**40), st.booleans(), st.text(_printed, max_size=20))
_documents = st.dictionaries(
    st.text("abc.-_", min_size=1, max_size=8), st.one_of(_plain, st.lists(_plain, max_size=3)), max_size=5
)


@given(_documents)
def test_what_is_written_reads_back_unchanged(document: dict[str, Any]) -> None:
    assert read("demo", write(document, "made by\npgassay")) == document


LINKED = """
treatments = [
  { "server.work_mem" = "4MB", "table.fillfactor" = 100 },
  { "server.work_mem" = "8MB", "table.fillfactor" = 100 },
  { "server.work_mem" = "8MB", "table.fillfactor" = 75 },
]
conditions = [
  { "load.script" = "a", "load.scale" = 1 },
  { "load.script" = "b", "load.scale" = 1 },
  { "load.script" = "b", "load.scale" = 5, "server.hash_mem_multiplier" = 2 },
]
[study]
title = "L"
[quick]
conditions = { "load.script" = ["a", "b"] }
"""


def _linked(*levels: str, **changes: Any) -> dict[str, Any]:
    return resolve("linked", read("linked", LINKED), Overrides(levels=levels, **changes), SmallCatalogue())


def test_levels_take_fewer_of_what_is_linked() -> None:
    found = _linked("server.work_mem=8192kB", "load.script=b")
    assert [each["table.fillfactor"] for each in found["treatments"]] == [100, 75]
    assert [each["load.scale"] for each in found["conditions"]] == [1, 5]
    assert len(parse("linked", found, SmallCatalogue()).arms) == 4
    assert _linked("server.hash_mem_multiplier=2")["conditions"] == found["conditions"][1:], "others are not at 2"


def test_what_nobody_linked_is_refused() -> None:
    with pytest.raises(UsageError, match=r'none of the linked conditions .* has "load\.script" = c') as caught:
        _linked("load.script=b,c")
    assert "they have a, b;" in str(caught.value.hint)
    with pytest.raises(UsageError, match="is in none of the linked treatments") as caught:
        _linked("server.fsync=on,off")
    assert "--set server.fsync=VALUE" in str(caught.value.hint)
    with pytest.raises(UsageError, match="is varied by this study"):
        _linked(fixed=["load.scale=7"])


def test_a_size_may_cross_what_the_study_links() -> None:
    assert len(parse("linked", _linked(size="quick"), SmallCatalogue()).arms) == 6


def test_what_is_left_out_of_linked_conditions_may_make_two_of_them_one() -> None:
    found = without(_linked(), ["load.scale", "server.hash_mem_multiplier"])
    assert found["conditions"] == [{"load.script": "a"}, {"load.script": "b"}]
    assert "server.hash_mem_multiplier" in names_in(_linked())


def test_names_of_treatments_follow_those_that_stay_and_go_where_others_come() -> None:
    text = LINKED.replace('title = "L"', 'called = ["small", "large", "packed"]')
    named = resolve("linked", read("linked", text), Overrides(), SmallCatalogue())

    def names(document: dict[str, Any]) -> list[str]:
        return [each.name for each in parse("linked", document, SmallCatalogue()).treatments]

    for levels, wanted in (
        ([], ["small", "large", "packed"]),
        (["server.work_mem=8192kB"], ["large", "packed"]),
        (["load.script=b"], ["small", "large", "packed"]),
    ):
        assert names(resolve("linked", named, Overrides(levels=levels), SmallCatalogue())) == wanted
    assert names(without(named, ["server.work_mem"])) == ["table.fillfactor=100", "table.fillfactor=75"]
    one = with_changed_levels(named, lambda name, level: "8MB" if name == "server.work_mem" else level)
    assert len(names(one)) == 2, "two of them became one"
    three = TEXT.replace('title = "T"', 'called = ["full", "same", "loose"]').replace("[100, 75]", "[100, 75, 60]")
    whole = resolve("demo", read("demo", three), Overrides())
    merged = with_changed_levels(whole, lambda name, level: level.replace("75", "100"))
    assert names(merged) == ["table.fillfactor=100", "table.fillfactor=60"], "so did two levels"
    crossed = read("demo", TEXT.replace('title = "T"', 'called = ["full", "loose"]'))
    assert names(resolve("demo", crossed, Overrides())) == ["full", "loose"]
    assert names(resolve("demo", crossed, Overrides(levels=["table.fillfactor=100,60"]))) == [
        "table.fillfactor=100",
        "table.fillfactor=60",
    ]


TIMED = """
[factors]
"table.fillfactor" = [100, 75]
[covariates]
"load.jobs" = [1, 2]
[load]
scale = 50
clients = 4
rate = 100
duration = "60s"
maintenance = "on"
[responses]
primary = "tps"
secondary = ["latency_p99_ms"]
[design]
resolution = "5%"
precision = "4%"
pairing = "alternate"
budget = "10min"
[quick]
load = { scale = 5 }
[quick.program]
load = { driver = "sysbench" }
"""


def test_a_count_takes_the_place_of_times_and_leaves_data_levels_and_what_is_asked() -> None:
    found = resolve("demo", read("demo", TIMED), Overrides(size="quick", count=True), usable=lambda driver: True)
    assert found["load"] == {
        "scale": 5, "rate": 100, "count": "on", "transactions": "500", "clients": "1", "warmup": "0s",
        "checkpoint": "none",
    }, "one client; what cannot be counted stays, to be refused by its name; what varies is not held"  # fmt: skip
    assert found["responses"] == {
        "primary": "instructions_per_transaction", "secondary": ["wal_bytes_per_transaction"]
    }  # fmt: skip
    assert found["design"] == {"resolution": "0.2%", "budget": "10min", "blocks": {"min": 5, "max": 20}}
    asked = Overrides(count=True, fixed=["load.clients=2", "load.transactions=9"], design={"resolution": "1%"})
    changed = resolve("demo", read("demo", TIMED), asked)
    assert (changed["load"]["clients"], changed["load"]["transactions"]) == ("2", "9")
    assert changed["design"]["resolution"] == "1%"


def test_a_count_instead_of_times_and_one_along_with_them_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="--count-also does both"):
        resolve("demo", read("demo", TIMED), Overrides(count=True, fixed=["load.count=also"]))


@pytest.mark.parametrize("changes", [{"fixed": ["load.duration=5s"]}, {"levels": ["load.duration=5s,9s"]}])
def test_a_count_is_of_no_duration(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="counts transactions, not seconds"):
        resolve("demo", read("demo", TIMED), Overrides(count=True, **changes))
