"""The whole way on simulated servers whose truth is known: planted settings are found, placebos are not recommended."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import pytest

from benchmarks.advise import LIMITS, TRIAL_S, Server, placebos, space_with
from pgassay.advise import budget
from pgassay.advise.report import auto_confs, headline, render, values
from pgassay.advise.screening import Standing
from pgassay.advise.smoothing import LimitChance
from pgassay.advise.space import Configuration, index_of
from pgassay.advise.task import Compared, Task, Values, inverted
from pgassay.advise.walk import Advice, walk
from pgassay.analysis.verdicts import Kind
from pgassay.errors import UsageError
from pgassay.study.responses import Better, Response


def task(server: Server, *, finalists: int = 1, higher: bool = True, budget_s: float = 1200.0) -> Task:
    steps = budget.amounts(budget_s, TRIAL_S, len(server.space.dimensions), finalists=finalists)
    return Task(server.space, LIMITS, steps, higher, 0.05, server.seed)


@cache
def advice(seed: int, finalists: int = 1) -> tuple[Server, Task, Advice]:
    server = Server(space_with(10), 0.02, seed)
    wanted = task(server, finalists=finalists)
    return server, wanted, walk(wanted, server)


def test_planted_settings_are_found_and_confirmed() -> None:
    server, wanted, found = advice(1)
    assert found.confirmed
    assert found.recommended is not None
    assert server.truth(found.recommended) > 0.6 * server.best()
    assert placebos(server, found.recommended) == 0
    assert sum(each.standing is Standing.PLACEBO for each in found.screened) >= 5
    told = render(wanted, found, ["tps"], "runs/x")
    assert "against the start" in told
    assert "shrinkage: the search expected ×" in told
    assert "risks: none" in told
    conf = auto_confs(wanted, found, ["tps"])["postgresql.auto.conf"]
    kept = [each for each in found.lines if each.kept]
    assert [line for line in conf.splitlines() if not line.startswith("#")] == [f"{e.name} = '{e.value}'" for e in kept]
    told_values = values(wanted, found, ["tps"], "runs/x")
    assert told_values["settings"] == {each.name: each.value for each in kept}


def test_a_default_that_does_better_than_the_advice_is_in_the_headline() -> None:
    _, _, found = advice(1)
    assert "better still" not in headline(found, ["tps"])
    default = found.proof["default"]
    better = replace(default, verdict=replace(default.verdict, kind=Kind.BETTER))
    one = replace(found, proof={**found.proof, "default": better})
    assert headline(one, ["tps"]).endswith(" against the start; the default did better still")
    both = replace(one, proof={**one.proof, "rule of thumb": better})
    assert headline(both, ["tps"]).endswith("; the default and the rule of thumb did better still")


def test_the_best_few_are_measured_again_where_there_is_time() -> None:
    server, _, found = advice(2, finalists=3)
    assert found.best is not None
    assert found.confirmed
    assert server.truth(found.best) > 0.6 * server.best()


def test_where_nothing_matters_nothing_is_recommended() -> None:
    server = Server(space_with(8), 0.01, 3, sizes=(0.0, 0.0, 0.0, 0.0))
    wanted = task(server)
    found = walk(wanted, server)
    assert not found.confirmed
    assert "nothing to change" in headline(found, ["tps"]) or "no change was confirmed" in headline(found, ["tps"])
    assert auto_confs(wanted, found, ["tps"])["postgresql.auto.conf"].startswith("# pgassay advise: no change")
    assert values(wanted, found, ["tps"], "x")["settings"] == {}


def test_lower_may_be_better() -> None:
    response = Response("latency_ms", "mean latency", "ms", Better.LOWER)
    server = Server(space_with(6), 0.02, 4, sizes=(-0.4, -0.3, -0.3, 0.0), response=response)
    found = walk(task(server, higher=False), server)
    assert found.recommended is not None
    assert server.truth(found.recommended) < -0.5


def test_points_that_fail_do_not_stop_it() -> None:
    def fails(configuration: Configuration) -> bool:
        return configuration.values["s3"] == "16" and configuration.values["s1"] == "16"

    server = Server(space_with(8), 0.02, 5, fails=fails)
    with pytest.raises(UsageError, match="screening has no result"):
        walk(task(server), Server(space_with(8), 0.02, 5, fails=lambda configuration: True))
    found = walk(Task(**{**vars(task(server)), "seed": 6}), server)
    assert found.failed > 0
    assert found.recommended is None or not fails(found.recommended)


def test_walked_again_it_decides_the_same() -> None:
    server, wanted, found = advice(1)
    assert walk(wanted, Server(server.space, 0.02, 1)) == found


def test_an_effect_is_turned_round() -> None:
    found = advice(1)[2].proof["start"]
    gain, low, high = inverted(found)
    assert gain == pytest.approx(1 / found.effect.estimate)
    assert 1 < low < gain < high


def test_a_small_budget_says_what_it_needs() -> None:
    with pytest.raises(UsageError, match="too small: 15 settings need at least 1") as raised:
        budget.amounts(300.0, 5.0, 15, finalists=1)
    assert "--budget" in str(raised.value.hint)
    enough = budget.amounts(1200.0, 5.0, 15, finalists=1)
    assert enough.needed_s <= 1200.0
    spent = 5.0 * (2 * enough.least.screening_pairs + enough.batches * 7) + enough.lines_s + enough.confirmation_s
    assert spent <= 1200.0
    assert budget.amounts(7200.0, 5.0, 15, finalists=3).batches > enough.batches


def test_a_small_space_is_not_measured_again_and_again() -> None:
    steps = budget.amounts(7200.0, 5.0, 4, finalists=1)
    assert budget.batches_of(steps, 4) == 2
    assert budget.batches_of(steps, 10**6) == steps.batches > 50


class Redundant(Server):
    """Either of two settings at its far level is enough."""

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed."""
        return 0.5 if any(configuration.values[name] != "1" for name in ("s0", "s1")) else 0.0


def test_two_settings_of_which_one_is_enough_are_not_lost() -> None:
    """Without either alone nothing is missed; they are kept since both are missed together, and that is said."""
    server = Redundant(space_with(6), 0.005, 11)
    found = walk(task(server, budget_s=1600.0), server)
    assert found.recommended is not None
    assert server.truth(found.recommended) == 0.5
    assert {each.name for each in found.lines if each.kept} <= {"s0", "s1"}
    kept = [each for each in found.lines if each.kept]
    assert len(kept) == 1 or all(each.together for each in kept)


class Disturbed(Server):
    """Every seventh batch has no start, and each batch lacks one trial: other programs were busy."""

    batches = 0

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """What was not disturbed."""
        self.batches += 1
        found = dict(super().batch(name, start, configurations, seed))
        found.pop(start if self.batches % 7 == 0 else configurations[-1])
        return found


def test_disturbed_trials_are_no_failures() -> None:
    server = Disturbed(space_with(8), 0.02, 13)
    found = walk(task(server), server)
    assert found.failed == 0
    assert found.recommended is not None
    assert server.truth(found.recommended) > 0.5 * server.best()


class TwiceRedundant(Server):
    """Of each of two pairs either setting is enough, and both pairs are needed."""

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed."""
        far = {name for name in ("s0", "s1", "s2", "s3") if configuration.values[name] != "1"}
        return 0.4 * bool(far & {"s0", "s1"}) + 0.4 * bool(far & {"s2", "s3"})


@pytest.mark.parametrize("seed", range(3))
def test_lines_that_go_together_are_not_lost(seed: int) -> None:
    server = TwiceRedundant(space_with(6), 0.02, 20 + seed)
    found = walk(task(server, budget_s=1600.0), server)
    assert found.recommended is not None
    assert server.truth(found.recommended) == pytest.approx(0.8)


class One(Server):
    """A single setting, which matters."""

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed."""
        return 0.5 * (configuration.values["s0"] == "16")


def test_a_space_of_one_setting_has_its_advice() -> None:
    server = One(space_with(1), 0.02, 31)
    found = walk(task(server), server)
    assert found.recommended is not None
    assert server.truth(found.recommended) == 0.5


class Faint(Server):
    """An effect so small that five blocks do not resolve it."""

    def study(
        self, name: str, baseline: Configuration, arms: Sequence[Configuration], seed: int, budget_s: float
    ) -> Mapping[Configuration, Compared]:
        """Verdicts along with much noise."""
        quiet, self.noise = self.noise, 0.5
        found = super().study(name, baseline, arms, seed, 0.0)
        self.noise = quiet
        return found


def test_what_was_not_resolved_is_said_with_its_interval() -> None:
    server = Faint(space_with(6), 0.02, 41, sizes=(0.08, 0.06, 0.06, 0.05))
    told = headline(walk(task(server), server), ["tps"])
    assert "no change was confirmed to help: " in told
    assert "a longer --budget may resolve it" in told


class Late(Server):
    """Its p99 keeps a limit with this probability."""

    probability = 0.6

    def kept(self, name: str) -> tuple[LimitChance, ...]:
        """By the study of that name."""
        assert name == "confirmation"
        return (LimitChance("latency_p99_ms < 10 ms", self.probability),)


def test_what_may_break_a_limit_is_not_advised_and_that_is_said() -> None:
    server = Late(space_with(4), 0.02, 1)
    wanted = task(server, budget_s=900.0)
    found = walk(wanted, server)
    assert found.helps
    assert not found.confirmed
    assert headline(found, ["tps"]).endswith("and may not keep latency_p99_ms < 10 ms (60 %)")
    assert values(wanted, found, ["tps"], "x")["limits"] == [{"limit": "latency_p99_ms < 10 ms", "probability": 0.6}]
    assert values(wanted, found, ["tps"], "x")["settings"] == {}
    sure = replace(found, kept=(LimitChance("latency_p99_ms < 10 ms", 0.97),))
    assert sure.confirmed
    assert "keeps it: 97 %" in render(wanted, sure, ["tps"], "runs/x")


class HidingServer(Server):
    """`s0` alone does twenty times what all others do, and under its start the others show something else."""

    def truth(self, configuration: Configuration) -> float:
        """Placebos but for `s1` along with the better level of `s0`."""
        up = index_of(self.space.dimension("s0").levels, configuration.values["s0"]) / 4
        one, four = (float(configuration.values[name] == "16") for name in ("s1", "s4"))
        return 3.0 * up + 0.3 * one + (1 - up) * 0.5 * four


def test_beside_a_setting_that_hides_the_others_the_screening_begins_again() -> None:
    server = HidingServer(space_with(12), 0.03, 1)
    wanted, told = task(server), list[str]()
    found = walk(wanted, server, told.append)
    assert found.confirmed
    assert {each.name for each in found.lines if each.kept} == {"s0", "s1"}
    beside = {each.name: each for each in found.screened if each.along_with}
    assert set(beside) == {each.name for each in server.space.dimensions} - {"s0"}
    assert {each.along_with for each in beside.values()} == {"s0 = 16"}
    assert sum(each.standing is Standing.PLACEBO for each in beside.values()) >= 8
    assert beside["s4"].low < 1 < beside["s4"].high, "what it does beside the worse level is of no use"
    assert any("along with s0 = 16 the others show" in each for each in told)
    assert "s1 1 to 16 along with s0 = 16: +" in render(wanted, found, ["tps"], "runs/x")
    assert not any("could not see" in each for each in told)
    assert walk(wanted, HidingServer(space_with(12), 0.03, 1)) == found
    screened = {each["name"]: each["beside"] for each in values(wanted, found, ["tps"], "x")["screened"]}
    assert screened["s0"] is None
    assert screened["s1"] == "s0 = 16"
