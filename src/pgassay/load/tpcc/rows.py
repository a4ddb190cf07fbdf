"""The rows of TPC-C's tables by warehouse (specification 5.11, clause 4.3.3), in binary for COPY.

The same warehouse always gets the same rows. Dates are those of a fixed day, so that the data do not depend on when
they were made; C of NURand for last names is 123 here and 208 in the scripts, which clause 2.1.6.1 allows (85 apart).
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from pgassay.load.binary_rows import (
    Field,
    Numbers,
    constant,
    integers,
    numerics,
    pack,
    random_digits,
    random_texts,
    texts,
    timestamps,
)

ITEMS = 100_000
DISTRICTS = 10
CUSTOMERS = 3_000
"""Customers of a district, and as many orders."""
DELIVERED = 2_100
"""Orders of a district that are delivered; the others wait in new_order."""
C_LAST_LOAD = 123
SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
LAST_NAMES = tuple(SYLLABLES[n // 100] + SYLLABLES[n // 10 % 10] + SYLLABLES[n % 10] for n in range(1000))
_ENTRY_US = 820_454_400_000_000
"""2025-12-31 00:00:00."""
_SEED = 5_11
_STEP = 10_000
_ORIGINAL = b"ORIGINAL"

Random = np.random.Generator


def _random(table: int, warehouse: int) -> Random:
    return np.random.Generator(np.random.SFC64([_SEED, table, warehouse]))


def _address(random: Random, rows: int) -> list[Field]:
    """Two streets, a city, a state and a ZIP code (clause 4.3.2.7)."""
    zip_code = np.concatenate([random_digits(random, rows, 4).data, constant("11111", rows).data], axis=1)
    streets = [random_texts(random, rows, 10, 20) for _ in range(3)]
    return [*streets, random_texts(random, rows, 2, 2), Field(zip_code)]


def _data(random: Random, rows: int) -> Field:
    """26 to 50 characters, with ORIGINAL somewhere in one of ten (clause 4.3.3.1)."""
    field = random_texts(random, rows, 26, 50)
    assert field.lengths is not None
    marked = np.flatnonzero(random.random(rows) < 0.1)
    places = (random.random(len(marked)) * (field.lengths[marked] - len(_ORIGINAL) + 1)).astype(np.int64)
    field.data[marked[:, None], places[:, None] + np.arange(len(_ORIGINAL))] = np.frombuffer(_ORIGINAL, np.uint8)
    return field


def _same(value: int, rows: int) -> Numbers:
    return np.full(rows, value, np.int64)


def item(warehouse: int = 0) -> Iterator[bytes]:
    """The items; there is one list for all warehouses."""
    random = _random(0, warehouse)
    for first in range(1, ITEMS + 1, _STEP):
        yield pack(
            [
                integers(np.arange(first, first + _STEP)),
                integers(random.integers(1, 10_001, _STEP)),
                random_texts(random, _STEP, 14, 24),
                numerics(random.integers(100, 10_001, _STEP), 2),
                _data(random, _STEP),
            ]
        )


def warehouse(number: int) -> Iterator[bytes]:
    random = _random(1, number)
    name, tax = random_texts(random, 1, 6, 10), numerics(random.integers(0, 2001, 1), 4)
    yield pack([integers(_same(number, 1)), name, *_address(random, 1), tax, numerics(_same(30_000_000, 1), 2)])


def district(number: int) -> Iterator[bytes]:
    random, rows = _random(2, number), DISTRICTS
    yield pack(
        [
            integers(np.arange(1, rows + 1)),
            integers(_same(number, rows)),
            random_texts(random, rows, 6, 10),
            *_address(random, rows),
            numerics(random.integers(0, 2001, rows), 4),
            numerics(_same(3_000_000, rows), 2),
            integers(_same(CUSTOMERS + 1, rows)),
        ]
    )


def customer(number: int) -> Iterator[bytes]:
    """Ten times 3000 rows: the first thousand of a district have every last name once."""
    random, rows = _random(3, number), CUSTOMERS
    for place in range(1, DISTRICTS + 1):
        drawn = (random.integers(0, 256, rows) | random.integers(0, 1000, rows)) + C_LAST_LOAD
        names = np.where(np.arange(rows) < len(LAST_NAMES), np.arange(rows), drawn) % len(LAST_NAMES)
        yield pack(
            [
                integers(np.arange(1, rows + 1)),
                integers(_same(place, rows)),
                integers(_same(number, rows)),
                random_texts(random, rows, 8, 16),
                constant("OE", rows),
                texts(LAST_NAMES, names),
                *_address(random, rows),
                random_digits(random, rows, 16),
                timestamps(_same(_ENTRY_US, rows)),
                texts(("GC", "BC"), (random.random(rows) < 0.1).astype(np.int64)),
                numerics(_same(5_000_000, rows), 2),
                numerics(random.integers(0, 5001, rows), 4),
                numerics(_same(-1000, rows), 2),
                numerics(_same(1000, rows), 2),
                integers(_same(1, rows)),
                integers(_same(0, rows)),
                random_texts(random, rows, 300, 500),
            ]
        )


def history(number: int) -> Iterator[bytes]:
    random, rows = _random(4, number), CUSTOMERS
    for place in range(1, DISTRICTS + 1):
        here, home = integers(_same(place, rows)), integers(_same(number, rows))
        when, amount = timestamps(_same(_ENTRY_US, rows)), numerics(_same(1000, rows), 2)
        ids = integers(np.arange(1, rows + 1))
        yield pack([ids, here, home, here, home, when, amount, random_texts(random, rows, 12, 24)])


def _lines(number: int) -> Numbers:
    """How many lines each order has, by district: orders and order_line must agree."""
    return _random(5, number).integers(5, 16, (DISTRICTS, CUSTOMERS))


def orders(number: int) -> Iterator[bytes]:
    """3000 rows a district, in a random order of the customers."""
    random, rows, ids = _random(6, number), CUSTOMERS, np.arange(1, CUSTOMERS + 1)
    for place in range(1, DISTRICTS + 1):
        yield pack(
            [
                integers(ids),
                integers(_same(place, rows)),
                integers(_same(number, rows)),
                integers(random.permutation(ids)),
                timestamps(_same(_ENTRY_US, rows)),
                integers(random.integers(1, 11, rows), null=ids > DELIVERED),
                integers(_lines(number)[place - 1]),
                integers(_same(1, rows)),
            ]
        )


def new_order(number: int) -> Iterator[bytes]:
    """The last 900 orders of each district."""
    ids = np.arange(DELIVERED + 1, CUSTOMERS + 1)
    for place in range(1, DISTRICTS + 1):
        yield pack([integers(ids), integers(_same(place, len(ids))), integers(_same(number, len(ids)))])


def order_line(number: int) -> Iterator[bytes]:
    random, lines = _random(7, number), _lines(number)
    for place in range(1, DISTRICTS + 1):
        counts = lines[place - 1]
        ids = np.repeat(np.arange(1, CUSTOMERS + 1), counts)
        rows = len(ids)
        waiting = ids > DELIVERED
        home = integers(_same(number, rows))
        yield pack(
            [
                integers(ids),
                integers(_same(place, rows)),
                home,
                integers(np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts) + 1),
                integers(random.integers(1, ITEMS + 1, rows)),
                home,
                timestamps(_same(_ENTRY_US, rows), null=waiting),
                integers(_same(5, rows)),
                numerics(np.where(waiting, random.integers(1, 1_000_000, rows), 0), 2),
                random_texts(random, rows, 24, 24),
            ]
        )


def stock(number: int) -> Iterator[bytes]:
    random, rows = _random(8, number), _STEP
    for first in range(1, ITEMS + 1, _STEP):
        nothing = integers(_same(0, rows))
        yield pack(
            [
                integers(np.arange(first, first + rows)),
                integers(_same(number, rows)),
                integers(random.integers(10, 101, rows)),
                *(random_texts(random, rows, 24, 24) for _ in range(DISTRICTS)),
                nothing,
                nothing,
                nothing,
                _data(random, rows),
            ]
        )


BY_WAREHOUSE: Mapping[str, Callable[[int], Iterator[bytes]]] = {
    "stock": stock,
    "order_line": order_line,
    "customer": customer,
    "history": history,
    "orders": orders,
    "new_order": new_order,
    "district": district,
    "warehouse": warehouse,
}
"""The tables that grow with the warehouses, the largest first."""
