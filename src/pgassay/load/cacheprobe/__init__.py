"""The load of the cache study: index probes, a sequential scan, index probes again, on one table of random numbers."""

from pgassay.bench.load import Driver, Load, Tools
from pgassay.load.cacheprobe.options import CacheprobeOptions
from pgassay.study.work import QUERY


def _make(options: CacheprobeOptions, tools: Tools) -> Load:
    from pgassay.load.cacheprobe.driver import CacheprobeLoad

    return CacheprobeLoad(options, tools)


DRIVER = Driver(CacheprobeOptions, _make, "index probes around a scan that washes the caches", work=QUERY)
