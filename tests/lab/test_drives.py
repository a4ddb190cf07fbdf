"""What a study will put on each of its drives: the same capacity for all, snapshots counted where they are kept."""

from pathlib import Path

from pgassay.lab.catalogue import every_factor
from pgassay.study.parsing import parse
from tests.lab.machine import Machine
from tests.lab.simulation import DOCUMENT, Simulation


def test_each_drive_keeps_its_own_snapshots_and_all_have_one_size(tmp_path: Path) -> None:
    document = {
        **DOCUMENT,
        "factors": {"drive.data": ["image", "directory"], "table.fillfactor": ["100", "50"]},
        "conditions": {"load.scale": ["1", "3"]},
        "load": {"driver": "pgbench"},
        "design": {**DOCUMENT["design"], "baseline": {"drive.data": "image", "table.fillfactor": "100"}},
    }
    study = parse("simulated", document, every_factor())
    resolved = Simulation(Machine(tmp_path), study).resolved()
    found = [resolved.needs(arm.setup.drive) for arm in resolved.arms]
    assert len(set(found)) == 1, "both drives are alike"
    needs = found[0]
    assert needs.snapshots == 4, "two fillfactors at two scales, not those of the other drive too"
    assert needs.data_bytes < needs.kept_bytes < needs.snapshots * needs.data_bytes, "small ones count as small"
