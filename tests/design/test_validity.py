"""Which questions slices can answer: every factor has its rule, and refusals name factor and reason."""

from dataclasses import replace

import pytest

from pgassay.design.validity import RULES, alternation_refusals, rule_of
from pgassay.lab.catalogue import every_factor
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Design, Study


def study(name: str, *levels: str) -> Study:
    factors = {name: tuple(Level(each, each) for each in levels)}
    return Study("s", "S", "?", factors, (), Design(Combination({})), "tps")


@pytest.mark.parametrize("factor", [each.pattern for each in every_factor().all()])
def test_every_factor_has_its_row(factor: str) -> None:
    rule = rule_of(factor)
    assert rule is not None
    assert rule.pattern != "*"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.pattern)
def test_every_row_is_reached_and_says_one_thing(rule: object) -> None:
    row = next(each for each in RULES if each is rule)
    assert rule_of(row.pattern) is row, "no earlier row takes its place"
    assert not (row.alternating and row.note), "what is refused has no condition under which it is valid"


@pytest.mark.parametrize(
    "factor",
    [
        "server.synchronous_commit", "server.wal_compression", "server.work_mem", "server.jit", "table.fillfactor",
        "build.block_size", "postgres.version", "load.protocol", "init.data_checksums", "server.random_page_cost",
    ],
)  # fmt: skip
def test_what_shows_within_a_slice_may_alternate(factor: str) -> None:
    assert alternation_refusals(study(factor, "1", "2")) == ()


@pytest.mark.parametrize(
    ("factor", "word"),
    [
        ("server.max_wal_size", "minutes"),
        ("server.checkpoint_timeout", "minutes"),
        ("server.autovacuum_naptime", "minutes"),
        ("server.shared_buffers", "caches"),
        ("server.huge_pages", "huge pages"),
        ("host.memory", "one value at a time"),
        ("drive.data", "own work"),
        ("load.probes", "cannot be played"),
        ("mine.factor", "not known"),
    ],
)
def test_what_lives_longer_is_refused_by_name(factor: str, word: str) -> None:
    (told,) = alternation_refusals(study(factor, "1", "2"))
    assert told.startswith(f"{factor}: ")
    assert word in told
    assert alternation_refusals(study(factor, "1")) == (), "a factor of one level is no question"


def test_conditions_may_differ_in_what_a_server_has_but_not_in_the_machine() -> None:
    plain = study("server.work_mem", "4MB", "64MB")
    levels = (Level("1", "1"), Level("2", "2"))
    assert alternation_refusals(replace(plain, conditions={"server.max_wal_size": levels})) == ()
    (told,) = alternation_refusals(replace(plain, conditions={"host.memory": levels}))
    assert told.startswith("host.memory: ")


def test_an_open_loop_does_not_alternate() -> None:
    plain = study("server.work_mem", "4MB", "64MB")
    assert alternation_refusals(replace(plain, fixed={"load.rate": Level("none", "none")})) == ()
    (told,) = alternation_refusals(replace(plain, fixed={"load.rate": Level("500", "500")}))
    assert told.startswith("load.rate: what waits")
