"""What a cacheprobe trial yields: times of the three phases, blocks read and hit, and where heap and index were."""

from collections.abc import Mapping, Sequence

from pgassay.study.responses import Better, Response, Scale

_LOWER = Better.LOWER
_NEITHER = Better.NEITHER
_DIFFERENCE = Scale.DIFFERENCE

MOMENTS = {"warm": "before the first probes", "scan": "right after the scan"}
RELATIONS = ("heap", "index")
TRIMMED = 0.9
"""A stall of the scheduler takes as long as a hundred probes: the slowest tenth is told by percentiles instead."""
BLOCKS = ("heap_blks_read", "heap_blks_hit", "idx_blks_read", "idx_blks_hit")

_TIMES = (
    Response("idx1_ms", "mean latency of index probes before the scan (idx1)", "ms", _LOWER),
    Response("seq_ms", "time of the sequential scan (seq)", "ms", _LOWER),
    Response("idx2_ms", "mean latency of index probes after the scan (idx2)", "ms", _LOWER),
    Response("idx1_trimmed_ms", "latency of index probes before the scan (idx1, slowest tenth left out)", "ms", _LOWER),
    Response("idx2_trimmed_ms", "latency of index probes after the scan (idx2, slowest tenth left out)", "ms", _LOWER),
    Response("idx2_slowdown", "latency of index probes after the scan ÷ before (idx2 ÷ idx1)", "ratio", _LOWER),
    Response("probes_ms", "mean latency of all index probes, before and after the scan", "ms", _LOWER),
    *(
        Response(f"idx{number}_{name}_ms", f"{title} of the index probes {when} the scan", "ms", _LOWER)
        for number, when in ((1, "before"), (2, "after"))
        for name, title in (("p50", "median"), ("p95", "95th percentile"), ("max", "greatest"), ("first", "first"))
    ),
)
_COUNTS = (
    *(Response(name, name, "blocks", _NEITHER, _DIFFERENCE) for name in BLOCKS),
    Response("table_bytes", "size of the table", "B", _NEITHER),
    Response("index_bytes", "size of its index", "B", _NEITHER),
    Response("huge_pages", "huge pages of the machine", "count", _NEITHER, _DIFFERENCE),
)
_SHARES = tuple(
    Response(
        f"{relation}_{place}_{moment}_share",
        f"share of the {relation} in {title}, {when}",
        "share",
        _NEITHER,
        _DIFFERENCE,
    )
    for relation in RELATIONS
    for place, title in (("page_cache", "the page cache"), ("buffers", "shared_buffers"))
    for moment, when in MOMENTS.items()
)

RESPONSES: tuple[Response, ...] = (*_TIMES, *_COUNTS, *_SHARES)


def of_phase(name: str, mean_ms: float | None, each_ms: Sequence[float]) -> dict[str, float | None]:
    """`idx1_ms` and its companions. The first probe of a connection reads the catalogs, so it is told apart.

    Without each probe's own latency the mean is pgbench's, over all of them, as published.
    """
    first, rest = (each_ms[0], sorted(each_ms[1:])) if len(each_ms) > 1 else (None, [])
    if not rest:
        return {f"{name}_ms": mean_ms}
    return {
        f"{name}_ms": _mean(rest),
        f"{name}_trimmed_ms": _mean(rest[: max(1, round(TRIMMED * len(rest)))]),
        f"{name}_p50_ms": rest[len(rest) // 2],
        f"{name}_p95_ms": rest[min(len(rest) - 1, int(0.95 * len(rest)))],
        f"{name}_max_ms": rest[-1],
        f"{name}_first_ms": first,
    }


def derived(found: Mapping[str, float | None]) -> dict[str, float | None]:
    """Every declared response, None where it is missing, with what follows from the others."""
    one, two = (found.get(f"idx{number}_trimmed_ms") or found.get(f"idx{number}_ms") for number in (1, 2))
    more: dict[str, float | None] = {}
    if one and two is not None:
        more = {"idx2_slowdown": two / one, "probes_ms": (one + two) / 2}
    return {response.name: {**found, **more}.get(response.name) for response in RESPONSES}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
