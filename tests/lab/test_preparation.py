"""Whose load wears an aged drive does not hang on which trial comes first, and what the ageing takes is counted."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pgassay.lab.arms import resolve
from pgassay.lab.catalogue import every_factor
from pgassay.lab.machine import OVERHEAD_S, forecast
from pgassay.lab.preparation import PreparedSnapshot, prepare_snapshot
from pgassay.load.sysbench import SysbenchOptions
from pgassay.study.parsing import parse
from tests.lab.machine import Machine
from tests.lab.simulation import DOCUMENT, Simulation

REPLAY_S = 50.0
RUN_S = 8.0
"""`DOCUMENT`'s window."""


@dataclass
class SlowWear:
    """See `interfaces.store.Ageing`: its replay takes long."""

    machine: Machine
    told_before: list[PreparedSnapshot]
    finished: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Nothing to record."""

    def finish(self, key: str) -> None:
        """Nothing has been reported yet."""
        assert self.told_before == []
        self.machine.clock.advance(REPLAY_S)
        self.finished.append(key)

    def abandon(self) -> None:
        """Nothing was recorded."""


def test_what_ageing_takes_counts_as_preparation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, sockets = tmp_path / "drive", tmp_path / "sockets"
    place.mkdir()
    sockets.mkdir()
    simulation = Simulation(Machine(place))
    monkeypatch.setattr(simulation.machine.disk, "tool_writes", lambda path, data: None)  # no part of the record
    resolved = resolve(simulation.study, replace(simulation.environment(), socket_directory=sockets))
    assert forecast(resolved).ageing_s == 0.0
    told: list[PreparedSnapshot] = []
    fresh = prepare_snapshot(resolved.arms[0], told.append)
    assert told == [fresh]
    told.clear()
    wear = simulation.machine.drive.to_age = SlowWear(simulation.machine, told)
    assert forecast(resolved).ageing_s == 3 * (RUN_S + 1.0 + OVERHEAD_S), "a run for each of three snapshots"
    aged = prepare_snapshot(resolved.arms[1], told.append)
    assert wear.finished == [aged.key]
    assert told == [aged]
    assert aged.seconds >= fresh.seconds + RUN_S + REPLAY_S


def test_arms_of_one_snapshot_are_worn_by_the_first_of_the_study(tmp_path: Path) -> None:
    document = {
        **DOCUMENT,
        "factors": {"table.fillfactor": ["100", "75"]},
        "conditions": {"load.scenario": ["oltp_update_non_index", "oltp_delete"]},
        "load": {"driver": "sysbench", "tables": "1", "rows": "1000"},
    }
    study = parse("simulated", document, every_factor())
    resolved = Simulation(Machine(tmp_path), study).resolved()
    keys = {arm.arm.name: arm.snapshot_key for arm in resolved.arms}
    assert len(set(keys.values())) == 2, "a snapshot for each fillfactor, whatever is run on it"
    for arm in study.arms:
        chosen = next(each for each in resolved.arms if each.snapshot_key == keys[arm.name])
        assert isinstance(chosen.setup.load, SysbenchOptions)
        assert chosen.setup.load.scenario == "oltp_update_non_index"
        assert keys[arm.name] == next(keys[each.name] for each in study.arms if each.treatment == arm.treatment)
