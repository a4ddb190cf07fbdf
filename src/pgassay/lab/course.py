"""How a trial went second by second, told in its record: kept with the regime, so that a report need not read series.

The load's own series of transactions per second is judged; a load without one leaves nothing to say.
"""

from collections.abc import Mapping, Sequence

from pgassay.analysis.trial_course import trial_course
from pgassay.bench.counters import Sample

NAME = "tps"
WARM_UP = "_warmup"


def course_of(samples: Sequence[Sample]) -> Mapping[str, str | float | None]:
    """`steadiness`, `truncation_s`, `tps_error` (1/s) and `cycle_s`; empty without a series."""
    mine = [each for each in samples if each.name == NAME and not each.source.endswith(WARM_UP)]
    if not mine:
        return {}
    found = trial_course([each.monotonic_ns for each in mine], [each.value for each in mine])
    return {
        "steadiness": found.kind.value,
        "truncation_s": found.truncation_s,
        "tps_error": found.error,
        "cycle_s": found.cycle_s,
    }
