"""Without each host: by hand from plain values, and by the same rules as the run in a planted record."""

import json
from collections.abc import Mapping, Sequence
from math import exp, sqrt
from pathlib import Path

import pytest
from scipy import stats  # type: ignore[import-untyped]

from pgassay.analysis.compare import compare
from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import Kind, verdict
from pgassay.cli import main
from pgassay.record.reading import Run
from pgassay.report import hosts
from pgassay.report.findings import Findings, Judged
from pgassay.report.hosts import WithoutHosts as Comparison
from pgassay.report.hosts import without_hosts as comparisons
from pgassay.report.hosts import without_sentence as sentence
from pgassay.report.hosts import without_table as table
from pgassay.report.section import Table
from pgassay.study.responses import Better, Response
from pgassay.testing.planted import make_run

TPS = Response("tps", "tps", "1/s", Better.HIGHER)
APART = {"a": [0.19, 0.21], "b": [0.20, 0.22], "c": [0.18, 0.20], "d": [-0.20, -0.22]}
"""Logarithms of ratios of two blocks each: d differs from the others, which agree."""


def judged(by_host: Mapping[str, Sequence[float]], without: str = "") -> list[Judged]:
    """At one look."""
    values = [(host, each) for host, found in by_host.items() if host != without for each in found]
    seen = []
    for block, (host, value) in enumerate(values, 1):
        seen += [
            Observation(block, "base", "", "", 1.0, host), Observation(block, "new", "", "", exp(value), host),
        ]  # fmt: skip
    found = compare(seen, TPS, "base", blocks_max=20, primary=True, looks="once")
    return [Judged(each, verdict(each, TPS, resolution=0.02, blocks_max=20)) for each in found]


def left_out(by_host: Mapping[str, Sequence[float]]) -> list[Comparison]:
    return comparisons(judged(by_host), lambda host: judged(by_host, host))


def test_the_verdict_that_hangs_on_one_host_is_told_with_the_interval_without_it() -> None:
    (found,) = left_out(APART)
    assert found.whole.verdict.kind is Kind.UNRESOLVED
    assert {host: each.verdict.kind for host, each in found.without.items()} == {
        "a": Kind.UNRESOLVED, "b": Kind.UNRESOLVED, "c": Kind.UNRESOLVED, "d": Kind.BETTER,
    }  # fmt: skip
    # By hand: the means of a, b and c are 0.20, 0.21 and 0.19, and Student's t has two degrees of freedom.
    alone, half = found.without["d"].effect, stats.t.isf(0.025, 2) * 0.01 / sqrt(3)
    assert (alone.estimate, alone.low, alone.high) == pytest.approx(
        (exp(0.2), exp(0.2 - half), exp(0.2 + half)), rel=1e-4
    )
    assert found.changing == ["d"]
    assert sentence(found, TPS) == "new: unresolved by all 4 hosts, but without d: +22.1 % [+19.1, +25.2], better"


def test_a_verdict_that_no_host_changes_says_so() -> None:
    (found,) = left_out({host: APART[host] for host in "abc"})
    assert [each.verdict.kind for each in found.without.values()] == [Kind.UNRESOLVED] * 3, "four blocks are too few"
    longer = {host: [*APART[host], *APART[host]] for host in "abc"}
    (found,) = left_out({host: [each + 0.3 for each in values] for host, values in longer.items()})
    assert found.changing == []
    assert sentence(found, TPS) == "new: better whichever host is left out"


def test_the_table_has_a_row_for_each_host_and_marks_another_verdict() -> None:
    shown = table(left_out(APART), TPS)
    assert [row[0] for row in shown.rows] == ["a", "b", "c", "d"]
    assert list(shown.marked) == [3]
    assert shown.rows[3][1] == "+22.1 % [+19.1, +25.2], better instead of unresolved"
    assert str(shown.rows[0][1]).endswith(", unresolved")


def test_many_hosts_that_change_it_are_counted() -> None:
    (found,) = left_out(APART)
    better = found.without["d"]
    every = Comparison(found.whole, dict.fromkeys("abcde", better))
    assert sentence(every, TPS).endswith("; another verdict without each of 2 other hosts, too")


def test_of_two_hosts_none_is_left_out() -> None:
    assert left_out({host: APART[host] * 3 for host in "ab"}) == []


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planted = {"alpha": 1.0, "beta": 1.1, "gamma": 1.0}
    return make_run(tmp_path_factory.mktemp("without") / "run", hosts=planted, discarded=False).path


def test_a_run_is_judged_without_each_host_by_its_own_rules(three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(three), "--by-host", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)["without_host"]
    assert [(each["treatment"], each["without"]) for each in plain[:3]] == [
        ("table.fillfactor=75", host) for host in ("beta", "gamma", "alpha")
    ]
    blocks = {each["without"]: each["blocks"] for each in plain[:3]}
    assert blocks == {"alpha": 6, "beta": 5, "gamma": 5}
    found = Findings(Run.open(three), hosts=("alpha", "gamma"))
    (effect, *_) = (each.effect for each in found.verdicts)
    assert (effect.estimate, effect.low, effect.high) == tuple(plain[0][name] for name in ("estimate", "low", "high"))
    assert main(["show", str(three), "--by-host"]) == 0
    assert "\nWithout each host\n" in capsys.readouterr().out


def test_the_page_has_it_beside_the_forest(three: Path) -> None:
    blocks = list(hosts.SECTION.blocks(Findings(Run.open(three))))
    titles = [each.title for each in blocks if isinstance(each, Table)]
    assert titles == ["Effect by host", "Effect without each host"]
