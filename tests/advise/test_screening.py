"""Screening finds planted effects, calls placebos placebos, and is not fooled by interactions or by drift."""

import random
from collections.abc import Callable
from math import exp, log

import numpy as np
import pytest

from pgassay.advise import screening
from pgassay.advise.knowledge import Scale, Setting, known_settings
from pgassay.advise.screening import Standing
from pgassay.advise.space import Configuration, Limits, Machine, Space, allowed, space_of
from pgassay.errors import UsageError

LIMITS = Limits(16 << 30, 4)


def of(count: int) -> Space:
    settings = [Setting(f"s{each}", "off", Scale.ENUM, levels=("off", "on")) for each in range(count)]
    return space_of(settings, Machine(16 << 30, 4), {})


def measured(plan: screening.Plan, value: Callable[[Configuration], float]) -> list[dict[Configuration, float | None]]:
    return [{each: value(each) for each in (pair.row, pair.mirror)} for pair in plan.pairs]


def on(configuration: Configuration, name: str) -> bool:
    return configuration.values[name] == "on"


@pytest.mark.parametrize("least", range(4, 61, 4))
def test_columns_are_balanced_and_orthogonal(least: int) -> None:
    found = screening.matrix(least)
    assert len(found) >= least
    assert (found.T @ found == len(found) * np.eye(len(found))).all()
    assert found[:, 1:].sum() == 0


def test_a_design_that_is_too_large_is_none() -> None:
    with pytest.raises(ValueError, match="500"):
        screening.matrix(500)


def test_without_noise_the_effects_come_back_and_interactions_cancel() -> None:
    plan = screening.plan(of(7), LIMITS, seed=1)

    def value(each: Configuration) -> float:
        together = 0.3 if on(each, "s0") == on(each, "s2") else -0.3
        return 100 * exp(0.2 * on(each, "s0") - 0.1 * on(each, "s1") + together)

    found = {each.name: each for each in screening.effects(plan, measured(plan, value), margin=0.02)}
    assert found["s0"].effect == pytest.approx(exp(0.2))
    assert found["s1"].effect == pytest.approx(exp(-0.1))
    assert all(found[f"s{each}"].standing is Standing.PLACEBO for each in range(2, 7))
    assert screening.worth_searching(tuple(found.values()), 5) == ("s0", "s1")


def test_intervals_hold_for_all_settings_together() -> None:
    chance, wrong, studies = random.Random(5), 0, 400
    for seed in range(studies):
        plan = screening.plan(of(8), LIMITS, seed)
        values = measured(plan, lambda each: exp(chance.gauss(0, 0.05) + 0.1 * on(each, "s0")))
        found = screening.effects(plan, values, margin=0.05)
        wrong += any(
            log(each.low) > true or log(each.high) < true for each, true in zip(found, (0.1, *[0.0] * 7), strict=True)
        )
    assert wrong / studies <= 0.08


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_settings_have_intervals_that_hold_too(count: int) -> None:
    """They have fewer different pairs than rows: each repeat is measured again, in another batch."""
    chance, wrong, studies = random.Random(7), 0, 400
    for seed in range(studies):
        plan = screening.plan(of(count), LIMITS, seed)
        values: dict[int, dict[Configuration, float | None]] = {}
        for batch in screening.in_batches(plan.pairs, 3):
            wanted = [each for index in batch for each in (plan.pairs[index].row, plan.pairs[index].mirror)]
            assert len(wanted) == len(set(wanted)) <= 6
            once = {each: exp(chance.gauss(0, 0.05)) for each in wanted}
            values.update({i: {each: once[each] for each in (plan.pairs[i].row, plan.pairs[i].mirror)} for i in batch})
        found = screening.effects(plan, [values[index] for index in range(len(plan.pairs))], margin=0.05)
        wrong += any(each.low > 1.0 or each.high < 1.0 for each in found)
    assert wrong / studies <= 0.08


@pytest.mark.parametrize("count", range(1, 20))
def test_batches_take_every_pair_once_and_no_more_than_planned(count: int) -> None:
    plan = screening.plan(of(count), LIMITS, seed=8)
    batches = screening.in_batches(plan.pairs, 3)
    assert sorted(index for batch in batches for index in batch) == list(range(len(plan.pairs)))
    assert len(batches) <= screening.batches_needed(count, 3) + 1


def test_a_few_failures_cost_pairs_and_many_an_error() -> None:
    plan = screening.plan(of(6), LIMITS, seed=2)
    values = measured(plan, lambda each: exp(0.5 * on(each, "s3")))
    del values[0][plan.pairs[0].row]
    values[1][plan.pairs[1].mirror] = 0.0
    found = {each.name: each for each in screening.effects(plan, values, margin=0.05)}
    assert found["s3"].standing is Standing.ACTIVE
    with pytest.raises(UsageError, match="of its 32 trials"):
        screening.effects(plan, [{} for _ in plan.pairs], margin=0.05)


def test_all_levels_of_a_plan_may_be_tried() -> None:
    space = space_of(known_settings().values(), Machine(4 << 30, 4, 16), {}, window_s=5)
    limits = Limits(4 << 30, 64)
    plan = screening.plan(space, limits, seed=3)
    assert all(allowed(each, limits) for pair in plan.pairs for each in (pair.row, pair.mirror))
    assert len(plan.pairs) == screening.rows_needed(len(space.dimensions)) >= len(space.dimensions) + screening.SPARE


def test_the_better_levels_depend_on_which_way_is_better() -> None:
    plan = screening.plan(of(5), LIMITS, seed=4)
    chance = random.Random(1)
    values = measured(plan, lambda each: exp(0.3 * on(each, "s1") - 0.3 * on(each, "s2") + chance.gauss(0, 1e-3)))
    found = screening.effects(plan, values, margin=0.05)
    assert screening.at_better_levels(of(5), found, higher=True).changes_from(of(5).start) == {"s1": "on"}
    assert screening.at_better_levels(of(5), found, higher=False).changes_from(of(5).start) == {"s2": "on"}


def test_lines_are_in_and_out_beside_those_that_are_shown() -> None:
    space = of(5)
    best = space.start.with_values({f"s{each}": "on" for each in range(4)})
    plan = screening.plan_of_lines(space.start, best, ["s1", "s2"], 1, 20)
    assert len(plan.pairs) == 20
    assert len(screening.plan_of_lines(space.start, best, ["s1", "s2"], 1, 0).pairs) == screening.least_pairs(2)
    everything = [each for pair in plan.pairs for each in (pair.row, pair.mirror)]
    assert all(on(each, "s0") and on(each, "s3") and not on(each, "s4") for each in everything)
    assert {(on(each, "s1"), on(each, "s2")) for each in everything} == {(a, b) for a in (0, 1) for b in (0, 1)}

    def value(each: Configuration) -> float:
        return exp(0.3 * (on(each, "s0") and on(each, "s1")))

    found = screening.effects(plan, measured(plan, value), margin=0.02)
    assert [(each.name, each.start, each.far, each.along_with) for each in found] == [
        ("s1", "off", "on", screening.LINES),
        ("s2", "off", "on", screening.LINES),
    ]
    assert found[0].effect == pytest.approx(exp(0.3)), "in this company the whole of it"
    assert found[1].standing is Standing.PLACEBO


@pytest.mark.parametrize("lines", range(1, 9))
def test_lines_have_pairs_to_spare_for_the_noise(lines: int) -> None:
    space = of(lines)
    best = space.start.with_values({each.name: "on" for each in space.dimensions})
    plan = screening.plan_of_lines(space.start, best, list(best.values), 3, 0)
    signs = np.array([pair.signs for pair in plan.pairs])
    assert (signs.T @ signs == len(signs) * np.eye(lines)).all()
    assert len(signs) - lines >= screening.SPARE_OF_LINES


def noisy(plan: screening.Plan, noise: float, seed: int) -> list[dict[Configuration, float | None]]:
    chance = random.Random(seed)
    return measured(plan, lambda each: exp(chance.gauss(0, noise)))


def _first(plan: screening.Plan) -> screening.Plan:
    first, rest = screening.begun(plan, 3)
    assert len(first.pairs) == screening.LOOK
    assert sorted(map(str, (*first.pairs, *rest.pairs))) == sorted(map(str, plan.pairs))
    return first


def test_a_setting_that_hides_all_others_is_seen_by_the_first_pairs() -> None:
    def value(each: Configuration, chance: random.Random) -> float:
        slow = not on(each, "s4")
        others = 0.2 * on(each, "s0") + 0.1 * on(each, "s1") * slow - 2.0 * on(each, "s7")
        return exp(3.0 * on(each, "s4") + others + chance.gauss(0, 0.1))

    for seed in range(20):
        first, chance = _first(screening.plan(of(15), LIMITS, seed)), random.Random(f"hiding/{seed}")
        found = screening.hiding(first, measured(first, lambda each, chance=chance: value(each, chance)))  # type: ignore[misc]
        assert [each.name for each in found] == ["s4", "s7"]
        assert found[0].low < exp(3.0) < found[0].high
        assert found[1].low < exp(-2.0) < found[1].high < 1 / 2


def test_of_usual_effects_and_of_noise_none_is_said_to_hide_the_others() -> None:
    chance = random.Random("none")
    for seed in range(200):
        first = _first(screening.plan(of(15), LIMITS, seed))
        effects = [chance.uniform(-0.5, 0.5) * (each < 4) for each in range(15)]
        values: list[dict[Configuration, float | None]] = [
            {
                each: exp(sum(size * on(each, f"s{at}") for at, size in enumerate(effects)) + chance.gauss(0, 0.2))
                for each in (pair.row, pair.mirror)
            }
            for pair in first.pairs
        ]
        assert screening.hiding(first, values) == ()
        few = [*values[:4], *(dict[Configuration, float | None].fromkeys(one) for one in values[4:])]
        assert screening.hiding(first, few) == (), "too few of them worked"


@pytest.mark.parametrize(("higher", "better"), [(True, "on"), (False, "off")])
def test_the_others_are_screened_beside_its_better_level(higher: bool, better: str) -> None:
    space = of(6)
    first = _first(screening.plan(space, LIMITS, 1))
    values = measured(first, lambda each: exp(3.0 * on(each, "s2")))
    plan = screening.plan_others(space, LIMITS, screening.hiding(first, values), 1, higher=higher)
    assert plan.names == ("s0", "s1", "s3", "s4", "s5")
    assert plan.along_with == f"s2 = {better}"
    assert {each.values["s2"] for pair in plan.pairs for each in (pair.row, pair.mirror)} == {better}
    found = screening.effects(plan, measured(plan, lambda each: exp(0.2 * on(each, "s0"))), margin=0.02)
    assert {each.along_with for each in found} == {f"s2 = {better}"}
    both = screening.joined(first, plan)
    assert both.names[:6] == first.names
    assert len(both.pairs) == len(first.pairs) + len(plan.pairs)
