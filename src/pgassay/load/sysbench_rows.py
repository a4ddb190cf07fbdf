"""The rows of sysbench's tables, as `sysbench prepare` makes them, in binary for COPY: made by numpy, many at once.

Content rules of oltp_common.lua: `id` from 1 in order, `k` random in 1 … rows by --rand-type, `c` ten and `pad` five
groups of eleven random digits between dashes. The same seed gives the same rows.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pgassay.load.binary_rows import Field, integers, pack

CHUNK_ROWS = 5_000
SPECIAL_PERCENT = 1
SPECIAL_SHARE = 0.75
ITERATIONS = 12
"""--rand-spec-pct, --rand-spec-res and --rand-spec-iter as they are by default."""
PARETO_H = 0.2
GROUP = 11
C_GROUPS, PAD_GROUPS = 10, 5
_SEED = 20
_WIDTH = (C_GROUPS + PAD_GROUPS) * (GROUP + 1)
COLUMNS = ("id", "k", "c", "pad")


def chunks(rows: int, table: int, distribution: str) -> Iterator[bytes]:
    """All rows of the table of this number, some thousands at a time."""
    quads = _quads()
    width = C_GROUPS * (GROUP + 1)  # the blank that pads CHAR(120) is sent along
    for first in range(1, rows + 1, CHUNK_ROWS):
        count = min(CHUNK_ROWS, rows - first + 1)
        random = np.random.Generator(np.random.SFC64([_SEED, table, first]))
        k = picked(random, count, rows, distribution)
        groups = digit_groups(random, count, quads)
        ids = integers(np.arange(first, first + count))
        yield pack([ids, integers(k), Field(groups[:, :width]), Field(groups[:, width:])])


def digit_groups(random: np.random.Generator, count: int, quads: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """`count` rows of fifteen groups of random digits with a dash after each, a blank after the tenth and the last."""
    digits = C_GROUPS * GROUP + PAD_GROUPS * GROUP
    drawn = random.integers(0, 10_000, (count, -(-digits // 4)), np.uint16)
    text = quads[drawn].view(np.uint8)[:, :digits].reshape(count, C_GROUPS + PAD_GROUPS, GROUP)
    groups = np.full((count, C_GROUPS + PAD_GROUPS, GROUP + 1), ord("-"), np.uint8)
    groups[:, :, :GROUP] = text
    groups[:, (C_GROUPS - 1, -1), -1] = ord(" ")
    return groups.reshape(count, _WIDTH)


def picked(random: np.random.Generator, count: int, rows: int, distribution: str) -> npt.NDArray[np.int64]:
    """Numbers in 1 … rows as sysbench's --rand-type draws them (sb_rand.c of 1.0)."""
    span = rows - 1
    found: npt.NDArray[np.int64]
    if distribution == "uniform":
        found = random.integers(1, rows + 1, count)
    elif distribution == "gaussian":
        found = 1 + _bell(random, count, span)
    elif distribution == "pareto":
        exponent = np.log(PARETO_H) / np.log(1 - PARETO_H)
        found = 1 + np.floor(rows * random.random(count) ** exponent).astype(np.int64)
    else:
        central = max(1, span * SPECIAL_PERCENT // 100)
        found = 1 + span // 2 - span * SPECIAL_PERCENT // 200 + random.integers(0, central, count)
        bell = random.random(count) >= SPECIAL_SHARE
        found[bell] = 1 + _bell(random, int(bell.sum()), span)
    return found


def _bell(random: np.random.Generator, count: int, span: int) -> npt.NDArray[np.int64]:
    """The mean of a dozen uniform numbers, which is what sysbench calls gaussian."""
    mean = random.random((count, ITERATIONS), np.float32).mean(axis=1, dtype=np.float64)
    found: npt.NDArray[np.int64] = (mean * (span + 1)).astype(np.int64)
    return found


def _quads() -> npt.NDArray[np.uint32]:
    """The texts 0000 … 9999, four digits in each number: a quarter of the random numbers do for all digits."""
    text = "".join(f"{number:04d}" for number in range(10_000)).encode()
    quads: npt.NDArray[np.uint32] = np.frombuffer(text, np.uint32)
    return quads
