"""Responses beside the primary that have to be settled, and speeds that are compared on an arm's own drive only."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from pgassay.analysis.observations import Observation
from pgassay.analysis.verdicts import BASELINE, SET_ASIDE, Kind, Verdict
from pgassay.design.horizon import ruled
from pgassay.design.schedule import History, next_decision, own_baseline
from pgassay.design.stopping import family, merged, verdicts_of
from pgassay.study.levels import Combination, Level
from pgassay.study.model import Study, combinations
from pgassay.study.responses import Better, Response

from ._make import Verdicts, levels, play, study

SPACE = Response("space", "live bytes", "bytes", Better.LOWER)
QPS = Response("qps", "queries per second", "1/s", Better.HIGHER)
SSD, SSD_75, CSD, CSD_75 = (f"drive.data={drive}, f={fill}" for drive in ("ssd", "csd") for fill in (100, 75))
TAKEN = {SSD: 500.0, SSD_75: 600.0, CSD: 230.0, CSD_75: 235.0}


def asked(*, blocks_max: int = 8, budget_s: float | None = None, timing: str = "off") -> Study:
    """FILLFACTOR on two emulated drives."""
    factors = {"drive.data": levels("ssd", "csd"), "f": levels("100", "75")}
    plain = study(blocks_max=blocks_max, budget_s=budget_s)
    baseline = Combination({"drive.data": Level("ssd", "ssd"), "f": Level("100", "100")})
    return replace(
        plain,
        factors=factors,
        treatments=combinations(factors),
        fixed={"drive.timing": Level(timing, timing)},
        design=replace(plain.design, baseline=baseline, settle=("qps",), resolution=0.1),
        primary="space",
        secondary=("qps",),
    )


def seen(values: Mapping[str, float], cv: float, blocks: int = 6) -> list[Observation]:
    noise = np.random.default_rng(4)
    return [
        Observation(block, name, "", "", value * float(np.exp(noise.normal(0.0, cv))))
        for block in range(1, blocks + 1)
        for name, value in values.items()
    ]


SPEED = dict.fromkeys(TAKEN, 1000.0)


def test_the_baseline_on_an_arms_own_drive_is_another_arm() -> None:
    found = {arm.name: own_baseline(asked(), arm) for arm in asked().arms}
    assert {name: other.name if other else None for name, other in found.items()} == {
        SSD: None,
        SSD_75: None,  # that is the baseline itself
        CSD: None,
        CSD_75: CSD,
    }


def test_speeds_between_drives_are_held_against_their_own_drive() -> None:
    found = verdicts_of(asked(), QPS, seen({**SPEED, CSD_75: 1300.0}, 0.01))
    assert (found[CSD_75].kind, found[CSD_75].against) == (Kind.BETTER, (CSD,))
    assert (found[SSD_75].kind, found[SSD_75].against) == (Kind.EQUIVALENT, (BASELINE,))
    assert found[CSD].kind is Kind.NOT_COMPARED
    timed = verdicts_of(asked(timing="on"), QPS, seen({**SPEED, CSD_75: 1300.0}, 0.01))
    assert {verdict.against for verdict in timed.values()} == {(BASELINE,)}, "their speeds may be compared"


def test_nothing_is_waited_for_once_the_own_baseline_has_left() -> None:
    found = verdicts_of(asked(), QPS, seen(SPEED, 0.3), gone={CSD})
    assert found[CSD_75].kind is Kind.NOT_COMPARED
    assert found[CSD_75].settled


def test_all_that_is_settled_beside_the_primary_shares_one_error_rate() -> None:
    plain = replace(asked(), design=replace(asked().design, settle=("qps", "wal", "space")))
    shared = {
        rule: [family(ruled(plain, rule, None), name) for name in ("space", "qps", "wal", "tps")] for rule in (2, 3)
    }
    assert shared[2] == [3, 1, 1, None], "three arms are compared with the baseline"
    assert shared[3] == [3, 6, 6, None]


def test_an_arm_is_open_while_any_of_its_responses_is() -> None:
    space = verdicts_of(asked(), SPACE, seen(TAKEN, 0.001))
    assert set(space) == {SSD_75, CSD, CSD_75}
    assert all(verdict.settled for verdict in space.values())
    loud = merged([(SPACE, space), (QPS, verdicts_of(asked(), QPS, seen(SPEED, 0.3)))])
    assert {name for name, verdict in loud.items() if not verdict.settled} == {SSD_75, CSD_75}
    assert loud[CSD_75].text.startswith("queries per second unresolved: ")
    assert (loud[CSD_75].against, loud[SSD_75].against) == ((CSD,), (BASELINE,))
    quiet = merged([(SPACE, space), (QPS, verdicts_of(asked(), QPS, seen(SPEED, 0.01)))])
    assert all(verdict.settled for verdict in quiet.values())
    assert quiet[CSD].text == space[CSD].text, "what cannot be compared is not told"
    assert quiet[SSD_75].text.startswith(f"{space[SSD_75].text}; queries per second equivalent within ±10 %")


def test_two_open_responses_need_the_longer_of_both() -> None:
    def verdict(blocks: int | None, against: str = BASELINE) -> dict[str, Verdict]:
        return {CSD_75: Verdict(Kind.UNRESOLVED, "unresolved", blocks, against=(against,))}

    both = merged([(SPACE, verdict(3)), (QPS, verdict(9, CSD))])[CSD_75]
    assert (both.more_blocks, both.against) == (9, (BASELINE, CSD))
    assert merged([(SPACE, verdict(None)), (QPS, verdict(9, CSD))])[CSD_75].more_blocks is None


def open_until(ends: Mapping[str, int], needs: Mapping[str, int | None] | None = None) -> Verdicts:
    """Everything is settled at block 5 but these arms, which are held against their own drive's baseline."""

    def verdicts(history: History) -> Mapping[str, Verdict]:
        found = {name: Verdict(Kind.BETTER, "better") for name in (SSD_75, CSD, CSD_75)}
        for name, block in ends.items():
            if history.block < block:
                blocks = (needs or {}).get(name, 1)
                against = (CSD if name == CSD_75 else BASELINE,)
                found[name] = Verdict(Kind.UNRESOLVED, "unresolved", blocks, against=against)
        return found

    return verdicts


def test_blocks_go_on_for_what_is_open_and_what_it_is_held_against() -> None:
    _, trials, drops, stop = play(asked(), verdicts=open_until({CSD_75: 7}))
    assert Counter(trial.arm.name for trial in trials) == {SSD: 5, SSD_75: 5, CSD: 7, CSD_75: 7}
    assert [drop.arm.name for drop in drops] == [SSD_75, SSD]
    assert stop is not None
    assert stop.reason == "every verdict is settled"


def test_the_baseline_stays_while_one_is_held_against_it() -> None:
    _, trials, _, _ = play(asked(), verdicts=open_until({SSD_75: 6, CSD_75: 7}))
    assert Counter(trial.arm.name for trial in trials) == {SSD: 6, SSD_75: 6, CSD: 7, CSD_75: 7}


def test_what_a_near_verdict_is_held_against_is_not_set_aside() -> None:
    """Five blocks of four took 20 of 32 s: six of all would be 24. The arm that others need is itself out of reach."""
    needs = {CSD_75: 4, CSD: None, SSD_75: None}
    verdicts = open_until({CSD_75: 9, CSD: 99, SSD_75: 99}, needs)
    history, trials, drops, _ = play(asked(blocks_max=30, budget_s=32.0), verdicts=verdicts)
    assert drops[0].arm.name == SSD_75
    assert drops[0].reason.startswith(SET_ASIDE)
    counts = Counter(trial.arm.name for trial in trials)
    assert counts[CSD] == counts[CSD_75] == 9
    assert history.elapsed_s <= 32.0


@pytest.mark.parametrize("blocks", [5, 6])
def test_a_study_without_drives_decides_as_before(blocks: int) -> None:
    plain = study(3)
    observed = [
        Observation(each.block, each.treatment, "", "", each.value)
        for each in seen({"f=0": 100.0, "f=1": 130.0, "f=2": 100.0}, 0.03, blocks)
    ]
    tps = Response("tps", "tps", "1/s", Better.HIGHER)
    found = verdicts_of(plain, tps, observed)
    assert merged([(tps, found)]) == found
    assert all(own_baseline(plain, arm) is None for arm in plain.arms)
    history, _, _, _ = play(plain, steps=3 * blocks)
    assert next_decision(plain, 1, history, found) == next_decision(plain, 1, history, merged([(tps, found)]))
