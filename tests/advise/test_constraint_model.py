"""The fastest configuration may break a limit: the advice is then the best that is expected to keep it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log
from statistics import NormalDist

import pytest

from benchmarks.advise import LIMITS, TRIAL_S, Server, space_with
from pgassay.advise import budget
from pgassay.advise.report import headline
from pgassay.advise.smoothing import LIKELY, NO_LIMITS, SURE, Held, Holding, LimitChance, Slacks, holding, slack
from pgassay.advise.space import Configuration, index_of
from pgassay.advise.task import Task, Values
from pgassay.advise.walk import walk
from pgassay.study.responses import Better, Response
from pgassay.study.thresholds import Limit, Relation

LIMIT = "latency_p99_ms < 10 ms"
LATENCY = Response("latency_p99_ms", "p99", "ms", Better.LOWER)
P99 = Limit(LIMIT, LATENCY, Relation.BELOW, 10.0, False)
SPACE = space_with(8)


@dataclass
class Bounded(Server):
    """`s0` makes it faster, and above its middle the p99 breaks the limit; `s1` makes it faster and breaks nothing."""

    late: float = 0.9
    """What the last level of `s0` adds to the p99, a log-ratio; the start is at 6 of 10 ms."""
    kept_noise: float = 0.03
    last: dict[str, dict[Configuration, Held]] = field(default_factory=dict)

    def truth(self, configuration: Configuration) -> float:
        """The true log-speed: 0 at the start."""
        return 0.5 * self.at("s0", configuration) + 0.3 * self.at("s1", configuration)

    def at(self, name: str, configuration: Configuration) -> float:
        """Where a setting is: 0 at its start or where there is none, 1 at its last level."""
        if name not in configuration.values:
            return 0.0
        return index_of(self.space.dimension(name).levels, configuration.values[name]) / 4

    def room_left(self, configuration: Configuration) -> float:
        """How far the p99 is from the limit, a log-ratio."""
        return log(10 / 6) - self.late * self.at("s0", configuration)

    def batch(self, name: str, start: Configuration, configurations: Sequence[Configuration], seed: int) -> Values:
        """One trial of each; None for what broke the limit."""
        found = super().batch(name, start, configurations, seed)
        self.last[name] = {
            each: Held(value, (self.room_left(each) + self.chance.gauss(0, self.kept_noise),))
            for each, value in found.items()
            if value is not None
        }
        return {each: None if min(self.last[name][each].slacks) < 0 else value for each, value in found.items()}

    def held(self, name: str) -> Holding:
        """What its trials had."""
        return self.last.get(name, {})

    def study(self, name, baseline, arms, seed, budget_s):  # type: ignore[no-untyped-def]
        """As it is; the limit of its baseline is known by its truth."""
        self.baselines = {**getattr(self, "baselines", {}), name: baseline}
        return super().study(name, baseline, arms, seed, budget_s)

    def kept(self, name: str) -> tuple[LimitChance, ...]:
        """The truth."""
        return (LimitChance(LIMIT, NormalDist(0, self.kept_noise).cdf(self.room_left(self.baselines[name]))),)


def task(server: Server, finalists: int = 1) -> Task:
    steps = budget.amounts(1200.0, TRIAL_S, len(server.space.dimensions), finalists=finalists)
    return Task(server.space, LIMITS, steps, True, 0.05, server.seed)


@pytest.mark.parametrize("seed", range(1, 6))
def test_where_the_fastest_breaks_the_limit_the_advice_is_the_best_that_keeps_it(seed: int) -> None:
    server = Bounded(SPACE, 0.03, seed)
    found = walk(task(server), server)
    assert found.confirmed, headline(found, ["tps"])
    assert found.recommended is not None
    assert server.room_left(found.recommended) > 0
    fastest = SPACE.start.with_values({"s0": "16", "s1": "16"})
    assert server.room_left(fastest) < 0
    assert 0.25 < server.truth(found.recommended) < server.truth(fastest)
    assert found.recommended.values["s1"] != "1"


def test_where_two_finalists_are_tried_none_probably_breaks_the_limit() -> None:
    server = Bounded(SPACE, 0.03, 1)
    found = walk(task(server, finalists=2), server)
    assert found.confirmed, headline(found, ["tps"])


def test_where_nothing_that_helps_keeps_the_limit_no_change_is_advised() -> None:
    server = Bounded(space_with(1), 0.03, 1, late=4.0)
    found = walk(task(server), server)
    assert not found.confirmed


def trials(values: Sequence[float], starts: float = 0.0) -> dict[Configuration, Held]:
    found = {SPACE.start: Held((1.0,), (0.3 + starts,))}
    for number, each in enumerate(values):
        found[SPACE.start.with_values({"s0": SPACE.dimensions[0].levels[1 + number]})] = Held((1.0,), (each + starts,))
    return found


def test_one_trial_beyond_a_limit_is_not_the_last_word() -> None:
    slacks = Slacks()
    levels = SPACE.dimensions[0].levels
    for number, noise in enumerate((0.02, -0.02, 0.01, -0.01, 0.0)):
        slacks.add(SPACE.start, trials([0.28, -0.01 if number == 2 else 0.26, 0.24, -0.5], noise))
    constraints = slacks.constraint_model(SPACE.narrowed(["s0", "s1"]))
    one, other, third, last = (SPACE.start.with_values({"s0": each}) for each in levels[1:])
    assert constraints.probabilities([other])[0] > LIKELY
    assert constraints.probabilities([one])[0] > SURE
    assert constraints.probabilities([last])[0] < 0.01
    assert constraints.likely([last, other]) == [other]
    assert constraints.likely([last]) == [last], "where none keeps it, all are left"
    assert constraints.safest([(last, (0.9,)), (one, (0.4,)), (third, (0.1,))])[0] == (one, (0.4,))
    assert constraints.safest([(last, (0.9,))]) == [(last, (0.9,))]
    assert constraints.as_safe(one, last)
    assert not constraints.as_safe(last, one)
    assert slacks.breaks(last)
    assert not slacks.breaks(other)


def test_by_few_trials_their_mean_and_the_spread_of_the_start_tell() -> None:
    slacks = Slacks()
    slacks.add(SPACE.start, trials([0.3, -0.3]))
    slacks.add(SPACE.start, trials([0.3, -0.3], 0.05))
    constraints = slacks.constraint_model(SPACE.narrowed(["s0"]))
    good, bad = (SPACE.start.with_values({"s0": each}) for each in SPACE.dimensions[0].levels[1:3])
    assert constraints.probabilities([good])[0] > SURE
    assert constraints.probabilities([bad])[0] < LIKELY
    assert Slacks().constraint_model(SPACE) == NO_LIMITS
    assert NO_LIMITS.probabilities([bad])[0] == 1.0


def test_a_slack_is_a_log_ratio_with_the_sign_of_the_limit() -> None:
    assert slack(P99, 5.0) == pytest.approx(log(2))
    assert slack(P99, 10 * exp(0.1)) == pytest.approx(-0.1)
    assert slack(P99, 10.0) < 0, "below is not at most"
    assert slack(P99, 0.0) == pytest.approx(log(1000))
    least = Limit("tps > 0", LATENCY, Relation.ABOVE, 0.0, False)
    assert slack(least, 5.0) == pytest.approx(log(1000))
    assert slack(least, -1.0) == pytest.approx(-log(1000))


def test_a_trial_that_breaks_a_limit_has_its_value_all_the_same() -> None:
    start, other, third = (SPACE.start.with_values({"s0": each}) for each in SPACE.dimensions[0].levels[:3])
    values: dict[Configuration, dict[str, float | None]] = {
        start: {"tps": 100.0, "latency_p99_ms": 5.0},
        other: {"tps": 200.0, "latency_p99_ms": 20.0},
        third: {"tps": 200.0, "latency_p99_ms": None},
    }
    found = holding(values, ["tps"], [P99])
    assert set(found) == {start, other}, "what was not measured says nothing"
    assert min(found[start].slacks) > 0
    assert min(found[other].slacks) < 0
    assert found[other].values == (200.0,)
    change = Limit("latency_p99_ms < +10 %", LATENCY, Relation.BELOW, 1.1, True)
    assert holding(values, ["tps"], [change]) == {}, "a change is judged by studies"
