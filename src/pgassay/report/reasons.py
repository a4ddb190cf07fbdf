"""The strongest reasons behind a verdict, for who reads no further: what surely changed, or else what stops the load.

Of the costs of a transaction those that an administrator pays for come first (CPU, WAL, what the device takes), each
once, where it changed most. An association and no proof, as everywhere (`analysis.explanation`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pgassay.analysis.effects import Effect
from pgassay.analysis.explanation import amount, moved_surely, size
from pgassay.report import bottleneck, power_cuts

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

SHOWN = 3
_FIRST = (
    "wal_bytes_per_transaction", "server_cpu_us_per_transaction", "hot_share", "nand_bytes_per_transaction",
    "disk_written_bytes_per_transaction", "full_page_images_per_transaction", "disk_read_bytes_per_transaction",
    "disk_flushes_per_transaction", "buffer_hit_share",
)  # fmt: skip
"""Costs that come before all others."""


def reasons(findings: "Findings") -> tuple[str, ...]:
    """At most three, the strongest first; none where nothing surely changed and no bottleneck is known.

    None of power cuts, too, where speed is not what is judged.
    """
    if power_cuts.decide(findings):
        return ()
    changed = tuple(changes(findings))
    stops = tuple(bottleneck.stops(findings))
    if not changed:
        return stops[:SHOWN]
    return (*changed[: SHOWN - 1], *stops[:1], *changed[SHOWN - 1 :])[:SHOWN]


def changes(findings: "Findings") -> Iterator[str]:
    """Every cost that surely changed, where it changed most."""
    moved: dict[str, Effect] = {}
    for cost in findings.costs:
        if cost.response == findings.study.primary:  # the verdict says it, and it is not its own reason
            continue
        known = moved.get(cost.response)
        if moved_surely(cost, findings.responses[cost.response]) and (known is None or size(cost) > size(known)):
            moved[cost.response] = cost
    for cost in sorted(moved.values(), key=lambda cost: (cost.response not in _FIRST, -size(cost))):
        response = findings.responses[cost.response]
        yield f"{response.title} {amount(cost, response)} with {cost.place.name}"
