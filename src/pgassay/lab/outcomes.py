"""A failure that has a name of its own: a row or a key that no page of this size can hold, a drive that is full. Pure.

PostgreSQL's own words ("row is too big: size 2424, maximum size 992") are kept as the detail. A page holds at least one
row and three index keys (manual, "Limits"; "B-Tree Implementation").
"""

import re
from collections.abc import Mapping

from pgassay.bench.drive_counters import DATA, WAL

NO_SPACE = "no_space"
THROTTLED = "drive_throttled"
STORE_FULL = "drive_store_full"
HUGE_PAGES_MISSING = "hugepage_error"
_NAMED = (
    (re.compile(r"row is too big: size \d+, maximum size \d+"), "row_too_large"),
    (re.compile(r"index row (?:size \d+ exceeds|requires \d+ bytes, maximum size is)"), "key_too_large"),
    (re.compile(r"No space left on device"), NO_SPACE),
)


def code_of(detail: str, otherwise: str) -> str:
    """`row_too_large`, `key_too_large`, or the code that it would have without them."""
    return next((code for sign, code in _NAMED if sign.search(detail)), otherwise)


def named(problems: Mapping[str, str]) -> dict[str, str]:
    """A load's problems under their own names."""
    return {code_of(detail, code): detail for code, detail in problems.items()}


def of_drives(counters: Mapping[str, float | None]) -> dict[str, str]:
    """What an emulated drive did in the window for want of physical space: it slowed writes down, or refused them.

    A store too small for the contents is no property of the drive that is emulated, so it has a name of its own.
    """
    found = {}
    if refused := _sum(counters, "rejected_writes"):
        found[NO_SPACE] = f"the drive had no physical space left and refused {refused:.0f} blocks"
    if slowed := _sum(counters, "throttled_writes"):
        found[THROTTLED] = f"short of physical space, the drive slowed down {slowed:.0f} blocks that were written"
    if full := _sum(counters, "store_full_writes"):
        found[STORE_FULL] = f"the emulated drive's store was full in {full:.0f} writes: raise drive.data.store_bytes"
    return found


def together(problems: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Both; where both have a name, both details."""
    codes = dict.fromkeys([*more, *problems])
    return {code: "; ".join(each[code] for each in (more, problems) if code in each) for code in codes}


def _sum(counters: Mapping[str, float | None], name: str) -> float:
    return sum(counters.get(f"{source}.{name}") or 0.0 for source in (DATA, WAL))


def code_of_start(detail: str, settings: Mapping[str, str]) -> str:
    """Why a server did not start: `hugepage_error` where it was to have huge pages, which others took meanwhile."""
    if settings.get("huge_pages") == "on" and "could not map anonymous shared memory" in detail:
        return HUGE_PAGES_MISSING
    return "not_started"


def of_log(text: str) -> dict[str, str]:
    """What a server that died says of why, where it has a name: its clients only hear that it is gone."""
    for line in text.splitlines():
        if ("PANIC" in line or "FATAL" in line) and (code := code_of(line, "")):
            return {code: line.strip()}
    return {}
