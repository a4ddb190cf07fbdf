"""The table of ways to share variances: it runs, the chosen way is the product's, and a bad way is called one."""

from math import exp, log

import numpy as np
import pytest
from scipy.stats import t as student  # type: ignore[import-untyped]

from benchmarks import variance_sharing
from benchmarks.variance_sharing import CHOSEN, LEVEL, Look, tried, ways
from pgassay.analysis.boundaries import criticals
from pgassay.analysis.compare import compare
from pgassay.analysis.observations import Observation
from pgassay.study.responses import Better, Response

TPS = Response("tps", "tps", "1/s", Better.HIGHER)


def test_the_chosen_way_is_the_product_s() -> None:
    values = np.random.default_rng(1).standard_normal((6, 4)) * 0.05
    seen = [Observation(n + 1, f"a{arm}", "", "", exp(values[n, arm])) for n in range(6) for arm in range(4)]
    found = compare(seen, TPS, "a0", blocks_max=9, primary=True, moderated=True)
    contrasts = values[:, 1:] - values[:, :1]
    nominal = {share: 2 * float(student.sf(criticals(9, LEVEL / share)[1], 5)) for share in (1, 3)}
    half = ways(3)[CHOSEN](Look(6, np.cov(contrasts.T)[None], nominal))
    assert half[0] == pytest.approx([log(effect.high / effect.low) / 2 for effect in found])


@pytest.mark.thorough
def test_pooling_is_called_what_it_is_and_the_chosen_way_holds(capsys: pytest.CaptureFixture[str]) -> None:
    found = tried(5, 3, 2000, 1)
    assert found["pooled"].worst(beyond=False)[0] > 0.08
    assert found[CHOSEN].worst(beyond=False)[0] < 0.065
    assert found[CHOSEN].widths[0] < 0.9
    assert variance_sharing.main(["--studies", "500", "--horizons", "5", "--comparisons", "2"]) == 0
    assert "0 bounds broken" in capsys.readouterr().out
