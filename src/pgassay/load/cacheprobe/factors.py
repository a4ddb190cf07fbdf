"""cacheprobe's options as factors."""

from pgassay.bench.factor import Stage
from pgassay.load.cacheprobe.sizes import parse_size
from pgassay.load.load_factor import LoadFactor, choice, count

EACH = "each"
PUBLISHED = "published"


def _size(name: str, typed: str) -> str:
    return str(parse_size(typed))


FACTORS = (
    LoadFactor(
        "size",
        _size,
        "cacheprobe's table: 75000000rows, 16GB, or 2x the memory that the server may have",
        Stage.DATA,
        asked="SELECT coalesce(obj_description(to_regclass('random'), 'pg_class'), 'no table')",
    ),
    LoadFactor("probes", count, "cacheprobe: index probes before and after the scan"),
    LoadFactor(
        "method", choice(EACH, PUBLISHED), "cacheprobe: each probe's own latency, or pgbench's means as published"
    ),
)
