"""Settings whose effect shows in slices are screened by servers in turns, the others apart from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

import pytest

from benchmarks.advise import LIMITS, TRIAL_S, Server
from pgassay.advise import budget, screenings
from pgassay.advise.budget import Turns
from pgassay.advise.knowledge import Scale, Setting
from pgassay.advise.screening import Standing
from pgassay.advise.space import Configuration, Machine, Space, index_of, space_of
from pgassay.advise.task import Task, Values
from pgassay.errors import UsageError

SLOW = ("shared_buffers", "bgwriter_delay")


def space(turned: int = 8) -> Space:
    settings = [Setting(f"s{number}", "1", Scale.LOG, low="1", high="16") for number in range(turned)]
    settings[1:1] = [Setting(name, "1", Scale.LOG, low="1", high="16") for name in SLOW]
    return space_of(settings, Machine(64 << 30, 8), {})


class Noted(Server):
    """What `effects` say each setting does from its start to its far level; it notes who took turns with whom."""

    effects: Mapping[str, float] = {}
    batches: tuple[tuple[str, tuple[Configuration, ...]], ...] = ()

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed: 0 at the start."""
        return sum(
            self.effects.get(each.name, 0.0)
            * index_of(each.levels, configuration.values[each.name])
            / (len(each.levels) - 1)
            for each in self.space.dimensions
        )

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each."""
        self.batches = (*self.batches, (name, (start, *configurations)))
        return super().batch(name, start, configurations, seed)


def screened(effects: Mapping[str, float], noise: float = 0.001, **how: object) -> tuple[Noted, screenings.Screening]:
    whole = space()
    server = Noted(whole, noise, 1)
    server.effects = effects
    for name, value in how.items():
        setattr(server, name, value)
    turned = screenings.in_turns(whole)
    steps = budget.amounts(3600.0, TRIAL_S, 10, finalists=1, turns=Turns(len(turned), 1.6 * TRIAL_S))
    task = Task(whole, LIMITS, steps, True, 0.05, 1, turned=turned)
    return server, screenings.screened(task, server.batch)


def test_what_shows_over_minutes_takes_no_turns() -> None:
    assert set(screenings.in_turns(space())) == {f"s{number}" for number in range(8)}
    server, _ = screened({})
    for name, batch in server.batches:
        differing = {setting for each in batch for setting in each.changes_from(batch[0])}
        if name.startswith("screening-apart"):
            assert differing == set(SLOW)
            assert batch[0] == server.space.start, "one after the other each batch has the start"
        else:
            assert not differing & set(SLOW)
            assert len(batch) == 2 * budget.PAIRS_A_BATCH or name.endswith(f"{_last(server)}")


def _last(server: Noted) -> str:
    return max(name for name, _ in server.batches if not name.startswith("screening-apart"))[-2:]


def test_the_effects_of_both_parts_come_back() -> None:
    _, found = screened({"s2": 0.2, "s5": -0.1, "shared_buffers": 0.3})
    by_name = {each.name: each for each in found.found}
    assert set(by_name) == {each.name for each in space().dimensions}
    assert log(by_name["s2"].effect) == pytest.approx(0.2, abs=0.005)
    assert log(by_name["s5"].effect) == pytest.approx(-0.1, abs=0.005)
    assert log(by_name["shared_buffers"].effect) == pytest.approx(0.3, abs=0.005)
    assert {name for name, each in by_name.items() if each.standing is Standing.PLACEBO} == {
        *(f"s{number}" for number in (0, 1, 3, 4, 6, 7)), "bgwriter_delay",
    }  # fmt: skip


@pytest.mark.parametrize("hiding", [0.0, 3.0])
def test_values_are_told_relative_to_the_start_that_no_turn_had(hiding: float) -> None:
    server, found = screened({"s0": hiding, "s2": 0.2, "s5": -0.1, "shared_buffers": 0.3})
    checked = 0
    for pair in found.values:
        for configuration, value in pair.items():
            assert value is not None
            assert log(value[0]) == pytest.approx(server.truth(configuration), abs=0.1 if hiding else 0.02)
            checked += 1
    assert checked == 2 * len(found.plan.pairs)


class Disturbed(Noted):
    """Of each batch in turns one trial was disturbed, and is missing."""

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each but one."""
        found = super().batch(name, start, configurations, seed)
        if name.startswith("screening-apart"):
            return found
        return {each: value for each, value in found.items() if each != configurations[0]}


def test_a_trial_that_was_disturbed_moves_no_other_of_its_batch() -> None:
    server = Disturbed(space(), 0.001, 1)
    server.effects = {"s0": 3.0, "s2": 0.2, "s5": -0.1}
    turned = screenings.in_turns(server.space)
    steps = budget.amounts(3600.0, TRIAL_S, 10, finalists=1, turns=Turns(len(turned), 1.6 * TRIAL_S))
    found = screenings.screened(Task(server.space, LIMITS, steps, True, 0.05, 1, turned=turned), server.batch)
    known = [(each, value) for pair in found.values for each, value in pair.items() if value is not None]
    assert len(known) < 2 * len(found.plan.pairs)
    assert all(log(value[0]) == pytest.approx(server.truth(each), abs=0.2) for each, value in known)


def test_what_was_measured_together_is_known_as_a_batch() -> None:
    server, found = screened({"s0": 3.0})
    batches = [set(batch) for name, batch in server.batches]
    told = [{row for at in batch for row in found.values[at]} for batch in found.batches]
    assert len(told) == len(batches)
    assert all(any(mine <= each for each in batches) for mine in told)


def test_both_parts_begin_beside_what_hides_them() -> None:
    server, found = screened({"s0": 3.0, "s2": 0.2, "shared_buffers": 0.3})
    by_name = {each.name: each for each in found.found}
    assert by_name["s0"].standing is Standing.ACTIVE
    assert not by_name["s0"].along_with
    assert by_name["s2"].along_with == by_name["shared_buffers"].along_with == "s0 = 16"
    assert log(by_name["shared_buffers"].effect) == pytest.approx(0.3, abs=0.005)
    apart = [batch for name, batch in server.batches if name.startswith("screening-apart")]
    assert all(each.values["s0"] == "16" for batch in apart for each in batch)
    assert (
        found.task.amounts.lines_s
        < budget.amounts(3600.0, TRIAL_S, 10, finalists=1, turns=Turns(8, 1.6 * TRIAL_S)).lines_s
    ), "the first look took its time"


@pytest.mark.parametrize("turned", [True, False])
def test_a_first_look_in_vain_leaves_lines_no_less_than_none(turned: bool) -> None:
    server = Noted(space(), 0.001, 1)
    server.effects = {"s0": 3.0, "s2": 0.2}
    names = screenings.in_turns(server.space) if turned else ()
    turns = Turns(len(names), 1.6 * TRIAL_S) if turned else None
    steps = replace(budget.amounts(3600.0, TRIAL_S, 10, finalists=1, turns=turns), lines_s=1.0)
    found = screenings.screened(Task(server.space, LIMITS, steps, True, 0.05, 1, turned=names), server.batch)
    left = found.task.amounts
    assert any(each.along_with for each in found.found), "it began again"
    assert left.lines_s == 0.0
    assert left.least is not None
    assert left.least.confirmation_s <= left.confirmation_s < steps.confirmation_s


def test_a_busy_machine_still_tells_what_does_not_matter() -> None:
    """Trials differ by a tenth, servers in turns by a third of that: one after the other nothing could be shown."""
    turned = [screened({"s2": 0.3}, 0.10, turned_noise=0.03)[1]]
    shown = sum(each.standing is Standing.PLACEBO for each in turned[0].found if each.name not in SLOW)
    server = Noted(space(), 0.10, 1)
    server.effects = {"s2": 0.3}
    steps = budget.amounts(3600.0, TRIAL_S, 10, finalists=1)
    usual = screenings.screened(Task(server.space, LIMITS, steps, True, 0.05, 1), server.batch)
    assert shown > sum(each.standing is Standing.PLACEBO for each in usual.found) == 0


def test_intervals_hold_for_all_settings_of_both_parts() -> None:
    """Each setting has its part of the error rate, as if all had been screened at once."""
    wrong = 0
    for seed in range(100):
        whole = space()
        server = Noted(whole, 0.05, seed)
        turned = screenings.in_turns(whole)
        steps = budget.amounts(3600.0, TRIAL_S, 10, finalists=1, turns=Turns(len(turned), 1.6 * TRIAL_S))
        found = screenings.screened(Task(whole, LIMITS, steps, True, 0.05, seed, turned=turned), server.batch)
        wrong += any(each.low > 1 or each.high < 1 for each in found.found)
    assert wrong <= 11, "5 of 100 are expected; more than 11 come by chance once in 200"


def test_a_row_that_may_not_be_tried_has_failed_and_the_others_tell() -> None:
    def fails(configuration: Configuration) -> bool:
        return configuration.values["s1"] == "16" and configuration.values["s4"] == "16"

    _, found = screened({"s2": 0.2}, fails=fails)
    by_name = {each.name: each for each in found.found}
    assert log(by_name["s2"].effect) == pytest.approx(0.2, abs=0.02)
    assert any(value is None for pair in found.values for value in pair.values())
    with pytest.raises(UsageError, match="screening has no result"):
        screened({}, fails=lambda configuration: True)


def test_the_time_of_turns_is_in_the_budget() -> None:
    without = budget.amounts(3600.0, 6.0, 10, finalists=1)
    with_ = budget.amounts(3600.0, 6.0, 10, finalists=1, turns=Turns(8, 9.6))
    assert with_.least.screening_pairs == 20 + 8
    screening_s = 9.6 * 40 + 6.0 * (16 + 4)  # two settings have two different pairs, of which a batch has each once
    assert with_.needed_s - without.needed_s == pytest.approx(screening_s - 6.0 * (40 + 7))
