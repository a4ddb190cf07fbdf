"""The regime is said once, and windows that saw mostly the burst after a checkpoint are counted."""

from pathlib import Path

from pgassay.report.findings import Findings
from tests.report.made import BLOCKS, make_run


def test_cycles_are_summed_up_and_short_windows_counted(tmp_path: Path) -> None:
    (regime,) = Findings(make_run(tmp_path / "run")).regimes
    assert regime.startswith("1 to 3 whole checkpoint cycles, short ones driven by WAL; ")
    assert f"{2 * BLOCKS} of {3 * BLOCKS} windows covered less than two" in regime
