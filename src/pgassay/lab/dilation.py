"""Trials whose drives go by a slower clock: what is offered is slowed, what was measured is told by the drive's clock.

With `drive.dilation` a modelled drive answers so many times later than the device that it stands for, so that a machine
too slow for that device still keeps its times. To the drive's clock the machine is as many times faster: rates that
were measured are multiplied and times divided, and a load's own rate and limit are slowed beforehand, by which both are
as typed. After Gupta et al., "To Infinity and Beyond: Time-Warped Network Emulation" (NSDI '06), who slow the whole
machine; here processor and memory stay as they are, so an answer says what the drive does under a processor that is so
many times as fast. The server's own timers, `load.duration` and whatever scripts sleep go by the machine's clock.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pgassay.analysis.comparable import is_speed
from pgassay.bench.counters import Sample
from pgassay.bench.load import LoadOptions
from pgassay.load.options import PgbenchClientOptions, RatedOptions
from pgassay.study.responses import Response

MODELLED = frozenset({"asked_service_us"})
"""Responses that the drive itself tells, by its own clock."""
_RATES = ("1/s", "1/min", "tps")
_TIMES = ("s", "ms", "us")


def slowed(options: LoadOptions, dilation: int) -> LoadOptions:
    """A load that offers its rate, and has the limit of a latency, by the drive's clock."""
    found = options
    if isinstance(found, RatedOptions) and found.rate_tps is not None:
        found = replace(found, rate_tps=found.rate_tps / dilation)
    if isinstance(found, PgbenchClientOptions) and found.latency_limit_ms is not None:
        found = replace(found, latency_limit_ms=found.latency_limit_ms * dilation)
    return found


def told(found: Mapping[str, float | None], declared: Iterable[Response], dilation: int) -> dict[str, float | None]:
    """Responses with rates and times by the drive's clock; costs, shares and bytes as they are."""
    factors = {each.name: _factor(each, dilation) for each in declared}
    return {name: None if value is None else value * factors.get(name, 1.0) for name, value in found.items()}


def series_told(series: Iterable[Sample], dilation: int) -> tuple[Sample, ...]:
    """What a load told from second to second of the machine's, with rates and times by the drive's clock."""
    return tuple(
        each if each.value is None else replace(each, value=each.value * _of_unit(each.unit, dilation))
        for each in series
    )


def _factor(response: Response, dilation: int) -> float:
    if not is_speed(response) or response.name in MODELLED:
        return 1.0
    return float(dilation) if response.name.endswith("_per_s") else _of_unit(response.unit, dilation)


def _of_unit(unit: str, dilation: int) -> float:
    if unit in _RATES:
        return float(dilation)
    return 1 / dilation if unit in _TIMES else 1.0
