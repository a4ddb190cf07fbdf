"""A study document becomes a study, or an error that names the key and the nearest word."""

import re
from typing import Any

import pytest

from pgassay.errors import UsageError
from pgassay.study.document import without
from pgassay.study.levels import Level
from pgassay.study.model import Study
from pgassay.study.parsing import parse, parse_recorded
from tests.study.catalogues import SmallCatalogue


def _document(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "study": {"format": 1, "title": "T", "question": "Q?"},
        "factors": {"table.fillfactor": [100, 75]},
        "load": {"driver": "pgbench", "scale": 10},
        "responses": {"primary": "tps"},
        "design": {"baseline": {"table.fillfactor": 100}, "resolution": "3%", "budget": "10min"},
    }
    return {**base, **changes}


def _parse(**changes: Any) -> Study:
    return parse("demo", _document(**changes), SmallCatalogue())


def test_treatments_may_have_names_of_their_own() -> None:
    study = _parse(study={"format": 1, "called": ["as it was", "advised"]})
    assert [each.name for each in study.treatments] == ["as it was", "advised"]
    assert [each.name for each in study.arms] == ["as it was", "advised"]
    assert study.design.baseline == study.treatments[0]
    assert study.treatments[1].levels["table.fillfactor"].typed == "75"


@pytest.mark.parametrize("called", [["one"], ["one", "one"], ["one", ""], ["one", "a=2"], ["one", "a, b"]])
def test_names_that_do_not_fit_the_treatments_are_refused(called: list[str]) -> None:
    with pytest.raises(UsageError, match="must name each of the 2 treatments once"):
        _parse(study={"format": 1, "called": called})


def test_a_whole_study() -> None:
    study = _parse()
    assert [treatment.name for treatment in study.treatments] == ["table.fillfactor=100", "table.fillfactor=75"]
    assert study.design.baseline == study.treatments[0]
    assert study.design.resolution == pytest.approx(0.03)
    assert study.design.budget_s == 600
    assert (study.design.blocks_min, study.design.blocks_max) == (5, 30)
    assert study.fixed["load.scale"] == Level("10", "10")
    assert [arm.name for arm in study.arms] == ["table.fillfactor=100", "table.fillfactor=75"]


def test_factors_cross_and_conditions_multiply_the_arms() -> None:
    study = _parse(
        factors={"table.fillfactor": [100, 75], "server.work_mem": ["4MB", "8MB"]},
        conditions={"load.clients": [1, 8]},
        design={},
    )
    assert len(study.treatments) == 4
    assert len(study.arms) == 8
    assert study.arms[0].condition.name == "load.clients=1"
    assert study.design.baseline.name == "table.fillfactor=100, server.work_mem=4MB"


def test_linked_treatments_replace_the_cross_product() -> None:
    linked = [{"table.fillfactor": 100, "server.work_mem": "4MB"}, {"table.fillfactor": 75, "server.work_mem": "8MB"}]
    study = _parse(factors={}, treatments=linked)
    assert [treatment.name for treatment in study.treatments] == [
        "table.fillfactor=100, server.work_mem=4MB",
        "table.fillfactor=75, server.work_mem=8MB",
    ]
    assert [level.typed for level in study.factors["server.work_mem"]] == ["4MB", "8MB"]


def test_linked_conditions_are_run_as_listed() -> None:
    points = [{"load.clients": 1, "load.scale": 50}, {"load.clients": 8, "load.scale": 50}, {"load.clients": 8}]
    study = _parse(conditions=points, load={"driver": "pgbench"})
    assert [arm.condition.name for arm in study.arms[::2]] == [
        "load.clients=1, load.scale=50",
        "load.clients=8, load.scale=50",
        "load.clients=8",
    ]
    assert len(study.arms) == 6
    assert [level.typed for level in study.conditions["load.clients"]] == ["1", "8"]


def test_a_switch_is_written_as_postgresql_does() -> None:
    study = _parse(factors={"server.fsync": [True, False]}, design={})
    assert [level.typed for level in study.factors["server.fsync"]] == ["on", "off"]


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"facters": {}}, 'unknown key "facters" in the study file', 'did you mean "factors"?'),
        ({"design": {"budgt": "1h"}}, 'unknown key "budgt" in [design]', 'did you mean "budget"?'),
        ({"load": {"clents": 4}}, 'unknown key "clents" in [load]', 'did you mean "clients"?'),
        ({"factors": {"table.filfactor": [1]}}, 'unknown factor "table.filfactor"', 'did you mean "table.fillfactor"?'),
        ({"factors": {"table.fillfactor": []}}, "empty level or none at all", "at least one value"),
        ({"conditions": []}, 'factor "conditions" has an empty level or none at all', "at least one value"),
        ({"conditions": [{"load.scale": 5}]}, '"load.scale" is in [conditions] and in [fixed]', "varied or held"),
        ({"conditions": [{"load.clents": 5}]}, 'unknown factor "load.clents" in conditions', "load.clients"),
        ({"factors": {"table.fillfactor": [100, ""]}}, "empty level or none at all", "at least one value"),
        ({"factors": {"server.work_mem": ["8MB", "8192kB"]}}, 'same level twice: "8MB" and "8192kB"', "remove one"),
        ({"factors": {"table.fillfactor": [100, 7]}}, "between 10 and 100", ""),
        ({"factors": {"table.fillfactor": 100}}, "must be a list of levels", ""),
        ({"factors": {}, "design": {}}, "varies nothing", "two levels"),
        ({"design": {"baseline": {"table.fillfactor": 90}}}, "is not one of the treatments", "table.fillfactor=75"),
        ({"design": {"resolution": "200%"}}, "must be a share", ""),
        ({"design": {"blocks": {"min": 9, "max": 3}}}, "1 <= MIN <= MAX", ""),
        ({"design": {"blocks": 10**18}}, "MAX <= 1000", ""),
        ({"design": {"seed": "x"}}, "must be a whole number", ""),
        ({"design": {"seed": -1}}, "must be a whole number from 0 on", ""),
        ({"fixed": {"table.fillfactor": 90}}, "is in [factors] and in [fixed]", "varied or held"),
        ({"study": {"format": 2}}, "has format 2, this program reads format 1", "newer version"),
        ({"claims": [{"text": "x"}]}, 'missing key "source"', ""),
        ({"claims": [{"text": "x", "source": "y", "magnitude": "a third"}]}, '"magnitude" in [[claims]] must be', ""),
        ({"claims": [{"text": "x", "source": "y", "magnitude": 1.33, "low": 1.4}]}, "outside its own low and high", ""),
        (
            {"claims": [{"text": "x", "source": "y", "than": {"a": 1}}]},
            'claim "x" has "than", which needs "against"',
            "",
        ),
        ({"claims": [{"text": "x", "source": "y", "than": "a"}]}, "must be a table of levels", ""),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        _parse(**changes)
    assert hint in (caught.value.hint or "")
    assert not caught.value.message.endswith(".")


def test_an_ambiguous_baseline_is_refused() -> None:
    factors = {"table.fillfactor": [100, 75], "server.work_mem": ["4MB", "8MB"]}
    with pytest.raises(UsageError, match="fits more than one treatment"):
        _parse(factors=factors)


def test_a_claim_may_hold_its_change_against_one_elsewhere_or_against_several() -> None:
    asked = {"text": "x", "source": "y", "against": {"table.fillfactor": 100}}
    one, several = _parse(claims=[{**asked, "than": {"a.b": 1}}, {**asked, "than": [{"a.b": 1}, {"a.b": 2}]}]).claims
    assert [one.than, several.than] == [({"a.b": "1"},), ({"a.b": "1"}, {"a.b": "2"})]


_OF_EACH: dict[str, Any] = {"text": "x", "source": "y", "against": {"table.fillfactor": 100}}


@pytest.mark.parametrize("where", ["factors", "conditions", "covariates", "fixed", "treatments", "load"])
def test_a_claim_may_be_of_each_level_of_any_factor_of_its_study(where: str) -> None:
    name = "load.scale" if where == "load" else "server.work_mem"
    levels: object = "4MB" if where == "fixed" else ["4MB", "64MB"]
    there: dict[str, Any] = {where: {name: levels}} if where != "load" else {}
    if where == "treatments":
        there = {where: [{name: "4MB"}, {name: "64MB"}]}
    if where in ("factors", "treatments"):
        there = {"factors": {}, "design": {}, **there}
    assert _parse(**there, claims=[{**_OF_EACH, "each": name}]).claims[0].each == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("load.scales", 'did you mean "load.scale"?'),
        ("host.memory", "factors of this study: table.fillfactor, load.driver, load.scale"),
    ],
)
def test_a_claim_of_each_level_of_what_is_no_factor_of_its_study_is_refused(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f'claim "x" has each = "{name}", not a factor of')) as refused:
        _parse(claims=[{**_OF_EACH, "each": name}])
    assert refused.value.hint == hint


def test_a_record_of_a_claim_at_each_level_of_no_factor_can_still_be_read() -> None:
    """Such a claim was taken once, as one claim."""
    assert parse_recorded("demo", _document(claims=[{**_OF_EACH, "each": "gone"}])).claims[0].each == "gone"


def test_a_claim_of_each_level_of_a_factor_that_is_left_out_is_one_claim() -> None:
    """A machine that cannot have a host factor runs the study without it."""
    held = {"fixed": {"server.work_mem": "4MB"}}
    document = _document(**held, claims=[{**_OF_EACH, "each": name} for name in ("server.work_mem", "load.scale")])
    left = parse("demo", without(document, ["server.work_mem"]), SmallCatalogue())
    assert [each.each for each in left.claims] == ["", "load.scale"]
