"""Two scale models of one study on a real PostgreSQL: what a model must keep agrees."""

import pytest

from benchmarks.scale_model import Name, Point, figures_of, judge
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from tests.system.journeys import ANYWHERE, LONG_S, Place, finished

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(900)]

WITHIN = 0.1
"""Equal work on tables of less than half the size: costs are counted, so only what weighs more in a small table is left
(an empty cluster, the first change of each page)."""


def figures(journey: Place, scale: str) -> dict[Name, tuple[Point, bool]]:
    """What the model of this scale says."""
    path = journey.runs / scale.replace("/", "-")
    words = ("--levels", "table.fillfactor=100,75", "--blocks", "5..5", "--seed", "7", "--scale", scale)
    done = finished(journey.start("run", "fillfactor-costs", *words, *ANYWHERE, "--out", str(path), "--json"), LONG_S)
    assert done.returncode == 0, done.stderr
    return figures_of(Findings(Run.open(path)))


def test_models_of_two_sizes_say_the_same_of_space_wal_and_hot_updates(journey: Place) -> None:
    models = [figures(journey, scale) for scale in ("1/25", "1/10")]
    for name in (
        ("wal_bytes_per_transaction", "table.fillfactor=75", "0"),
        ("hot_share", "baseline", "0"),
        ("wal_bytes_per_transaction", "baseline", "0"),
    ):
        (small, _), (large, _) = (each[name] for each in models)
        judged = judge([small, large])
        assert judged.agree or abs(small.value - large.value) <= WITHIN, (name, small, large)
