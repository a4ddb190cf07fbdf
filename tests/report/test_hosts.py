"""Effects by host: each host's own interval, how far hosts differ, what is the same of them; nothing on one machine."""

import re
from collections import Counter
from dataclasses import replace
from math import log, nan
from pathlib import Path

import numpy as np
import pytest
from scipy.special import stdtrit  # type: ignore[import-untyped]

from pgassay.analysis.hosts import BetweenHosts, HostEffect, host_interval, nested
from pgassay.analysis.verdicts import more_hosts
from pgassay.record.reading import Run
from pgassay.report import headline, hosts, page
from pgassay.report.findings import Findings
from pgassay.report.section import Folded, Sentences, Table
from pgassay.testing.planted import make_run

PLANTED = {"alpha": 1.0, "beta": 1.1}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("hosts") / "run", hosts=PLANTED, discarded=False)


def test_a_host_has_the_interval_of_its_own_blocks() -> None:
    values = np.asarray([0.10, 0.12, 0.30, 0.34])
    found = nested(values, ("a", "a", "b", "b"))
    assert found is not None
    low, high = host_interval(found, found.hosts[1])
    half = stdtrit(2, 0.975) * found.within / np.sqrt(2)
    assert (low, high) == pytest.approx((0.32 - half, 0.32 + half))
    once = BetweenHosts((HostEffect("a", 1, 0.1), HostEffect("b", 1, 0.2)), 0.15, 0.05, 1, nan, nan, nan, nan)
    assert all(np.isnan(host_interval(once, once.hosts[0])))


def test_every_host_is_a_row_and_the_kind_of_host_the_last(run: Run) -> None:
    findings = Findings(run)
    sentences, table, different, alike = hosts.SECTION.blocks(findings)
    assert isinstance(sentences, Sentences)
    assert all("by 2 hosts; between hosts the effect differs by" in each for each in sentences.texts)
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["beta", "alpha", hosts.KIND]
    assert all("(4 blocks)" in str(cell) for row in table.rows[:2] for cell in row[1:])
    assert isinstance(different, Folded)
    assert different.summary == "What differs among the hosts: 1 fact"
    (rows,) = different.blocks
    assert isinstance(rows, Table)
    assert [list(map(str, row)) for row in rows.rows] == [["kernel.release", "alpha", "beta"]]
    assert isinstance(alike, Folded)


def test_a_spread_that_may_be_anything_is_not_given_an_interval(run: Run) -> None:
    effect = Findings(run).verdicts[0].effect
    assert effect.between is not None
    wide = replace(effect.between, deviation=log(1.29), low=0.0, high=log(95_500.0), within=log(1.05))
    said = hosts._sentence(effect, wide, Findings(run).primary)
    assert said.endswith("; how far hosts differ is not known from so few: 29.0 % was seen, 5.00 % from block to block")
    known = hosts._sentence(effect, replace(wide, high=log(1.9)), Findings(run).primary)
    assert "between hosts the effect differs by 29.0 % [0 %, 90.0 %], from block" in known
    apart = hosts._sentence(effect, replace(wide, low=log(1.1)), Findings(run).primary)
    assert "between hosts the effect differs by 29.0 %, at least 10.0 %, from block" in apart


def test_what_changes_by_the_minute_is_no_difference_among_hosts() -> None:
    told = {
        "kernel": {"release": "6.1"},
        "load": {"average": "1.0"},
        "storage.data": {"free_bytes": 1, "size_bytes": 2},
    }
    _, alike = hosts._facts({"h1": {"facts": told}})
    assert isinstance(alike, Folded)
    (table,) = alike.blocks
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == ["kernel.release", "storage.data.size_bytes"]


def test_the_planted_difference_is_seen(run: Run) -> None:
    plain = hosts.SECTION.plain(Findings(run))["hosts"]
    assert isinstance(plain, list)
    found = {each["host"]: each for each in plain if each["treatment"].endswith("=75")}
    assert found["beta"]["estimate"] / found["alpha"]["estimate"] == pytest.approx(1.1, rel=0.02)
    assert found["beta"]["low"] > found["alpha"]["high"]
    assert found["alpha"]["blocks"] == found["beta"]["blocks"] == 4


def test_no_name_on_the_page_is_given_twice(run: Run) -> None:
    findings = Findings(run)
    body = page.html(findings, page.chapters(findings)).partition('<script type="module">')[0]
    names = re.findall(r'\sid="([^"]+)"', body)
    assert "hosts" in names
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_the_page_shows_it_and_one_machine_has_none(run: Run, tmp_path: Path) -> None:
    assert "hosts" in [each.section.name for each in page.chapters(Findings(run), drawn=False)]
    alone = Findings(make_run(tmp_path / "alone"))
    assert list(hosts.SECTION.blocks(alone)) == []
    assert hosts.SECTION.plain(alone) == {}
    assert "hosts" not in [each.section.name for each in page.chapters(alone, drawn=False)]


def test_the_line_of_facts_says_how_many_hosts_there_were(run: Run, tmp_path: Path) -> None:
    assert "; 2 hosts, 8 blocks, 24 trials" in headline.facts(Findings(run)).line
    assert "host" not in headline.facts(Findings(make_run(tmp_path / "alone"))).line


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ((0.4, 0.1, 0.3, 0.2), "2 hosts are too few to tell how far hosts differ; more blocks"),
        ((0.9, 0.902, 0.1, 0.102), "2 hosts differ too much; more blocks"),
    ],
)
def test_hosts_differ_too_much_only_where_that_was_shown(values: tuple[float, ...], why: str) -> None:
    between = nested(np.asarray(values), ("a", "a", "b", "b"))
    assert between is not None
    assert (between.low > 0) is ("too much" in why)
    assert why in more_hosts(between)
