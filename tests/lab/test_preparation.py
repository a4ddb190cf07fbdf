"""Whose load wears an aged drive does not hang on which trial comes first."""

from pathlib import Path

from pgassay.lab.catalogue import every_factor
from pgassay.lab.preparation import key_of, wearing
from pgassay.study.parsing import parse
from tests.lab.machine import Machine
from tests.lab.simulation import DOCUMENT, Simulation


def test_arms_of_one_snapshot_are_worn_by_the_first_of_the_study(tmp_path: Path) -> None:
    document = {
        **DOCUMENT,
        "factors": {"table.fillfactor": ["100", "75"]},
        "conditions": {"load.scenario": ["oltp_update_non_index", "oltp_delete"]},
        "load": {"driver": "sysbench", "tables": "1", "rows": "1000"},
    }
    study = parse("simulated", document, every_factor())
    site = Simulation(Machine(tmp_path), study).site()
    keys = {arm.name: key_of(study, arm, site) for arm in study.arms}
    assert len(set(keys.values())) == 2, "a snapshot for each fillfactor, whatever is run on it"
    for arm in study.arms:
        chosen = wearing(study, keys[arm.name], site)
        assert chosen.setup.load["scenario"] == "oltp_update_non_index"
        assert keys[arm.name] == next(keys[each.name] for each in study.arms if each.treatment == arm.treatment)
