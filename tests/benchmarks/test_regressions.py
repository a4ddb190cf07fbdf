"""The benchmark of bisections: both ways find what is planted where noise is small, and a broken promise is told."""

import pytest

from benchmarks import regressions
from benchmarks.regressions import Setting, ratio, tried


def test_with_little_noise_both_ways_find_the_commit() -> None:
    found = tried(Setting(commits=16, slowdown=0.05, noise=0.01, layout=0.001), 20, 1)
    assert min(found.ours.right, found.fixed.right) >= 18
    assert found.ours.first == found.fixed.first, "the same histories, the same first blocks"
    assert found.placebos <= 4


def test_both_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    status = regressions.main(["--runs", "4", "--commits", "8", "--noise", "0.02"])
    said = capsys.readouterr().out
    assert said.startswith("simulated: 4 histories of 8 commits, 5 % slower at one")
    assert "by probability " in said
    assert "fixed precision " in said
    assert status == (0 if "no bound broken" in said else 1)


def test_the_ratio_of_means_has_an_interval_over_histories() -> None:
    found = ratio([1.0, 2.0, 3.0], [4.0, 4.0, 4.0])
    assert found.estimate == pytest.approx(0.5)
    assert found.half == pytest.approx(4.303 / 3**0.5 / 4.0, rel=1e-3)
    assert ratio([1.0, 2.0], [2.0, 4.0]).half == pytest.approx(0.0)
