"""How a trial went second by second, told in its record: kept with the regime, so that a report need not read series.

The load's own series of transactions per second is judged, with the checkpoints that were counted meanwhile; a load
without one leaves nothing to say.
"""

from collections.abc import Mapping, Sequence

from pgassay.analysis.steadiness import NS, trial_course
from pgassay.bench.counters import Sample
from pgassay.lab.regime import checkpoints_ns

NAME = "tps"
WARM_UP = "_warmup"


def course_of(samples: Sequence[Sample]) -> Mapping[str, str | float | None]:
    """`steadiness`, `truncation_s`, `tps_error` (1/s) and `cycle_s`; empty without a series."""
    mine = [each for each in samples if each.name == NAME and not each.source.endswith(WARM_UP)]
    if not mine:
        return {}
    moments = [each.monotonic_ns for each in mine]
    begun = checkpoints_ns(samples, moments[0] - NS)
    found = trial_course(moments, [each.value for each in mine], begun)
    return {
        "steadiness": found.kind.value,
        "truncation_s": found.truncation_s,
        "tps_error": found.error,
        "cycle_s": found.cycle_s,
    }
