"""The head: what it records is what one machine would record, whichever host ran it and whenever it was killed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgassay.lab.decisions import disagreements
from pgassay.record.journal import Kind
from pgassay.study.model import Study
from tests.fakes.disk import Crashed, Survival
from tests.fleet.fleet_of_fakes import MESSAGE, Fleet
from tests.lab.machine import Planned
from tests.lab.simulation import Ending, Simulation, ending, simulate, study_of

TURNS: dict[str, Any] = {"design": {"pairing": "alternate", "slice": "1s"}}


def told(simulation: Simulation) -> Ending:
    """How it ended, without who ran it and how long snapshots took, which no host tells its head."""
    found = ending(simulation)
    decisions = tuple(replace(each, inputs_sha256="", clock_s=0.0, budget_used_s=0.0) for each in found.decisions)
    trials = tuple(replace(each, host="", regime={}, counters={}, responses={}) for each in found.trials)
    return Ending(decisions, trials, found.reason)


def test_a_fleet_decides_as_one_machine_does(tmp_path: Path) -> None:
    alone, fleet = simulate(tmp_path), Fleet(simulate(tmp_path), tmp_path, alike=True)
    alone.carry_on()
    fleet.carry_on()
    one, many = told(alone), told(fleet.head)
    assert many.reason == one.reason
    assert many.decisions == one.decisions
    assert [(each.number, each.arm, each.status) for each in many.trials] == [
        (each.number, each.arm, each.status) for each in one.trials
    ]
    run = fleet.head.run
    assert disagreements(fleet.head.study, run.header, run.trials, run.journal) == ()


def test_all_of_a_block_is_from_one_host_and_the_record_names_it(tmp_path: Path) -> None:
    fleet = Fleet(simulate(tmp_path), tmp_path)
    fleet.carry_on(seed=3)
    hosts: dict[int, set[str]] = {}
    for trial in fleet.head.run.trials:
        hosts.setdefault(trial.block, set()).add(trial.host)
    assert all(len(each) == 1 for each in hosts.values())
    assert len(set().union(*hosts.values())) > 1
    assert set().union(*hosts.values()) <= {"h1", "h2", "h3"}


def test_servers_in_turns_come_home_together(tmp_path: Path) -> None:
    study = study_of(**TURNS)
    alone, fleet = simulate(tmp_path, study=study), Fleet(simulate(tmp_path, study=study), tmp_path, alike=True)
    alone.carry_on()
    fleet.carry_on()
    assert told(fleet.head).decisions == told(alone).decisions


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_arrival_and_dying_hosts_change_nothing(tmp_path: Path, seed: int) -> None:
    calm, rough = Fleet(simulate(tmp_path), tmp_path), Fleet(simulate(tmp_path), tmp_path, dies=frozenset({2, 4}))
    calm.alike = rough.alike = True
    calm.carry_on()
    rough.carry_on(seed)
    assert told(rough.head) == told(calm.head)
    assert len({block for block, _ in rough.executors[0].started}) < len(rough.executors[0].started)


def settling(**design: Any) -> Study:
    """A study of one treatment that is settled after five blocks."""
    return study_of(factors={"table.fillfactor": ["100", "90"]}, design={"blocks": {"min": 5, "max": 9}, **design})


def blocks_of(fleet: Fleet) -> int:
    return max(trial.block for trial in fleet.head.run.trials)


def agreed(fleet: Fleet) -> bool:
    run = fleet.head.run
    return disagreements(fleet.head.study, run.header, run.trials, run.journal) == ()


def test_no_verdict_ends_a_run_before_other_hosts_that_could_give_blocks_have(tmp_path: Path) -> None:
    one = Fleet(simulate(tmp_path, study=settling()), tmp_path, idle=frozenset({"h2", "h3"}))
    one.carry_on()
    assert blocks_of(one) == 5
    waits = Fleet(simulate(tmp_path, study=settling(hosts=2)), tmp_path, idle=frozenset({"h2", "h3"}))
    waits.carry_on()
    assert blocks_of(waits) == 9
    assert {trial.host for trial in waits.head.run.trials} == {"h1"}
    assert agreed(waits)
    both = Fleet(simulate(tmp_path, study=settling(hosts=2)), tmp_path, names=("h1", "h2"))
    both.carry_on(seed=1)
    assert {trial.host for trial in both.head.run.trials} == {"h1", "h2"}
    assert agreed(both)


def test_where_the_other_hosts_are_gone_the_journal_says_so_and_a_verdict_ends_the_run(tmp_path: Path) -> None:
    fleet = Fleet(simulate(tmp_path, study=settling(hosts=3)), tmp_path, names=("h1", "h2"), dies=frozenset({1}))
    fleet.carry_on()
    assert [each.data["within_reach"] for each in fleet.head.run.journal if each.kind == Kind.HOSTS] == [2, 1]
    assert blocks_of(fleet) == 5
    assert agreed(fleet)


def test_the_raw_outputs_come_home_too(tmp_path: Path) -> None:
    alone, fleet = simulate(tmp_path), Fleet(simulate(tmp_path), tmp_path, alike=True)
    alone.carry_on()
    fleet.carry_on()
    assert {path for path in fleet.head.committed()} == {path for path in alone.committed()}
    assert fleet.executors[0].cancelled
    assert not fleet.head.machine.disk.exists(fleet.head.run.path / "inbox")


def test_no_host_waits_for_a_slow_one_nor_for_the_heads_disk(tmp_path: Path) -> None:
    """As many blocks are under way as there are hosts, from the first to the last, when any comes home."""
    fleet = Fleet(simulate(tmp_path, study=settling(blocks={"min": 9, "max": 9})), tmp_path, alike=True)
    fleet.carry_on(seed=2)
    under_way, least = 0, []
    for name in fleet.head.machine.moments:
        if name.startswith(f"{MESSAGE}order"):
            under_way += 1
        if name.startswith(f"{MESSAGE}start"):
            least.append(under_way)
        if name.startswith(f"{MESSAGE}arrival"):
            under_way -= 1
    assert least == [3, 3, 3, 3, 3, 3, 3, 2, 1]


def whole(tmp_path: Path, study: Study) -> Fleet:
    """A fleet whose head nobody killed."""
    found = Fleet(simulate(tmp_path, study=study), tmp_path, alike=True)
    found.carry_on()
    return found


def killed_at(
    moment: int, tmp_path: Path, survival: Survival, study: Study, dies: frozenset[int] = frozenset()
) -> Fleet:
    """One whose head was killed at this moment, began again with what its disk kept, and went on to the end."""
    fleet = Fleet(simulate(tmp_path, study=study), tmp_path, alike=True, dies=dies)
    fleet.head.machine.planned[moment] = Planned.KILL
    with pytest.raises(Crashed):
        fleet.carry_on()
    fleet.head.reboot(survival, moment)
    fleet.carry_on(seed=moment)
    return fleet


@pytest.mark.thorough
@pytest.mark.parametrize("survival", list(Survival))
def test_a_head_killed_at_any_message_goes_on_as_if_nothing_had_been(tmp_path: Path, survival: Survival) -> None:
    """Hosts die on the way as well, and what had not come home is ordered again, of hosts in another order.

    Each survival has every third message of each kind, from another one on: together they miss none.
    """
    study = settling()
    alive = whole(tmp_path, study)
    messages: dict[str, list[int]] = {}
    for number, name in enumerate(alive.head.machine.moments, 1):
        if name.startswith(MESSAGE):
            messages.setdefault(name.split()[1], []).append(number)
    assert set(messages) == {"order", "start", "arrival"}
    assert min(map(len, messages.values())) > 5
    for moment in [each for found in messages.values() for each in found[list(Survival).index(survival) :: 3]]:
        fleet = killed_at(moment, tmp_path, survival, study, dies=frozenset({moment % 3 + 1}))
        assert told(fleet.head) == told(alive.head), f"killed at {alive.head.machine.moments[moment - 1]}"
        assert agreed(fleet)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("survival", list(Survival))
def test_a_head_killed_at_every_fifth_moment_goes_on_as_if_nothing_had_been(tmp_path: Path, survival: Survival) -> None:
    study = settling()
    alive = whole(tmp_path, study)
    for moment in range(list(Survival).index(survival) + 1, len(alive.head.machine.moments), 5):
        fleet = killed_at(moment, tmp_path, survival, study)
        assert told(fleet.head) == told(alive.head), f"killed at moment {moment}"


@pytest.mark.thorough
@pytest.mark.parametrize("survival", list(Survival))
def test_a_head_killed_anywhere_goes_on_as_if_nothing_had_been(tmp_path: Path, survival: Survival) -> None:
    """Six moments from the first to the last, two for each survival; the slow test above takes every fifth."""
    alive = whole(tmp_path, study_of())
    moments = len(alive.head.machine.moments)
    assert moments > 100
    for moment in range(1, moments, moments // 5)[list(Survival).index(survival) :: 3]:
        fleet = killed_at(moment, tmp_path, survival, study_of())
        assert told(fleet.head) == told(alive.head), f"killed at moment {moment}"
