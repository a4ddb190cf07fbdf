"""The benchmark of bisections: both ways find what is planted where noise is small, and a broken promise is told."""

import pytest

from benchmarks import bisect
from benchmarks.bisect import Setting, tried


def test_with_little_noise_both_ways_find_the_commit() -> None:
    found = tried(Setting(commits=16, slowdown=0.05, noise=0.01, layout=0.001), 20, 1)
    assert min(found.ours.right, found.fixed.right) >= 18
    assert found.ours.first == found.fixed.first, "the same histories, the same first blocks"
    assert found.placebos <= 4


def test_both_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    status = bisect.main(["--runs", "4", "--commits", "8", "--noise", "0.02"])
    said = capsys.readouterr().out
    assert said.startswith("simulated: 4 histories of 8 commits, 5 % slower at one")
    assert "by probability " in said
    assert "fixed precision " in said
    assert status == (0 if "no bound broken" in said else 1)
