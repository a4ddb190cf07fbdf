"""The search proposes what may be tried, learns from what it is told, and is never stopped by what fails."""

from math import log

import pytest

from pgassay.advise.knowledge import Scale, Setting, known_settings
from pgassay.advise.search import Search
from pgassay.advise.space import Configuration, Limits, Machine, Space, allowed, index_of, space_of

LIMITS = Limits(64 << 30, 4)


def of(count: int) -> Space:
    settings = [Setting(f"s{each}", "1", Scale.LOG, low="1", high="64") for each in range(count)]
    return space_of(settings, Machine(64 << 30, 4), {})


def test_it_finds_a_hill_sooner_than_chance() -> None:
    space = of(4)
    search = Search(space, LIMITS, seed=3)

    def value(each: Configuration) -> float:
        return -sum(abs(index_of(one.levels, each.values[one.name]) - 4) for one in space.dimensions)

    found = []
    for _ in range(60):
        configuration = search.ask([space.start])
        found.append(value(configuration))
        search.tell(configuration, found[-1])
    assert max(found) >= -1
    assert sum(found[-20:]) > sum(found[:20])


def test_the_same_seed_proposes_the_same() -> None:
    def proposed(seed: int) -> list[Configuration]:
        search = Search(of(3), LIMITS, seed)
        found: list[Configuration] = []
        for number in range(8):
            found.append(search.ask(found))
            search.tell(found[-1], log(number + 1))
        return found

    assert proposed(1) == proposed(1)
    assert proposed(1) != proposed(2)


def test_failing_points_teach_and_never_stop_it() -> None:
    space = of(2)
    search = Search(space, LIMITS, seed=1)
    lost = 0
    for number in range(60):
        configuration = search.ask([space.start])
        fails = index_of(space.dimensions[0].levels, configuration.values["s0"]) > 3
        lost += fails and number >= 30
        search.tell(configuration, None if fails else 0.1)
    assert lost <= 10, "chance would fail thirteen times of thirty"


def test_all_may_fail() -> None:
    search = Search(of(2), LIMITS, seed=1)
    for _ in range(15):
        search.tell(search.ask([]), None)
    assert search.ask([]).values


def test_nothing_is_proposed_that_does_not_fit() -> None:
    limits = Limits(2 << 30, 60)
    space = space_of([known_settings()["shared_buffers"], known_settings()["work_mem"]], Machine(2 << 30, 4), {})
    search = Search(space, limits, seed=5)
    proposed = [search.ask([]) for _ in range(30)]
    assert all(allowed(each, limits) for each in proposed)


def test_a_small_space_runs_out_and_goes_on() -> None:
    space = space_of([known_settings()["jit"]], Machine(2 << 30, 4), {})
    search = Search(space, LIMITS, seed=5)
    taken = [space.start, space.start.with_values({"jit": "off"})]
    assert search.ask(taken[:1]) == taken[1]
    assert search.ask(taken) in taken


@pytest.mark.parametrize("word", ["on", "off"])
def test_words_are_learnt(word: str) -> None:
    space = space_of([known_settings()["jit"], known_settings()["work_mem"]], Machine(2 << 30, 4), {})
    search = Search(space, LIMITS, seed=2)
    found = []
    for _ in range(40):
        configuration = search.ask([])
        found.append(configuration.values["jit"] == word)
        search.tell(configuration, 1.0 if found[-1] else 0.0)
    assert sum(found[-20:]) > 12
