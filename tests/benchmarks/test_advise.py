"""The simulated servers of advices: what a shorter trial's noise is, and lengths that mean nothing."""

import sys

import pytest

from benchmarks.advise import main, noise_at


@pytest.mark.parametrize(
    ("trial_s", "from_start", "noise"),
    [(6.0, 0.3, 0.1), (4.0, 0.0, 0.156), (4.0, 0.5, 0.131), (4.0, 1.0, 0.1), (9.4, 0.0, 0.0707)],
)
def test_what_is_within_the_window_grows_as_it_shrinks(trial_s: float, from_start: float, noise: float) -> None:
    assert noise_at(0.1, trial_s, from_start) == pytest.approx(noise, abs=0.0005)


@pytest.mark.parametrize("words", ["--samplers --trial 4", "--trial 2.6"])
def test_a_length_that_means_nothing_is_refused(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["advise", *words.split()])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "longer than 2.6 s, and not with --samplers" in capsys.readouterr().err
