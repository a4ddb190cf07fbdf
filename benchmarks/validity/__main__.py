"""Prints the table of issue 3 and exits 1 if a bound is broken.

python -m benchmarks.validity [--cells quick|full] [--studies 10000] [--seed 1]
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from math import nan, sqrt
from typing import Any

from benchmarks.validity.answers import Answer
from benchmarks.validity.cells import CELLS
from benchmarks.validity.cuts import CUTS, Wrong
from benchmarks.validity.hosts import Row as HostRow
from benchmarks.validity.noises import BLOCKS
from benchmarks.validity.noises import Row as NoiseRow
from benchmarks.validity.parts import Numbers, done, parts
from benchmarks.validity.rates import Rates
from benchmarks.validity.steadiness import (
    FALSE_ALARM_MAX,
    KNOWN_LENGTHS,
    Alarm,
    Found,
    broken_alarm,
    broken_known_power,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(prog="benchmarks.validity", description=__doc__)
    parser.add_argument("--cells", choices=sorted(CELLS), default="quick")
    parser.add_argument("--studies", type=int, default=2000, help="simulated studies for each cell (default 2000)")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    started = time.monotonic()
    numbers = Numbers(asked.studies, asked.seed)
    work = parts(asked.cells, numbers)
    found = map(done, chain.from_iterable(work.values()))
    broken = _print_all(lambda table: islice(found, len(work[table])), numbers)
    print(f"\n{broken} bounds broken; {time.monotonic() - started:.0f} s, seed {asked.seed}")
    return 1 if broken else 0


def _print_all(found: Callable[[str], Iterable[Any]], numbers: Numbers) -> int:
    """Every table, in the order of the parts; how many bounds are broken."""
    broken = _print_agreement(found("agreement"))
    broken += _print_rates(found("rates"), numbers.studies)
    broken += _print_noises(found("noises"), numbers.noises)
    broken += _print_hosts(found("hosts"), numbers.hosts)
    broken += _print_answers(found("answers"))
    broken += _print_steadiness(found, numbers)
    return broken + _print_cuts(found("cuts"))


def _print_agreement(found: Iterable[tuple[int, int]]) -> int:
    ((wrong, total),) = found
    print(f"simulation and product differ at {wrong} of {total} looks")
    return int(wrong > 0)


def _print_rates(rows: Iterable[Rates], studies: int) -> int:
    error = 100 * sqrt(0.05 * 0.95 / studies)
    print(f"\nover all looks and treatments jointly, {studies} studies a cell, Monte-Carlo s.e. {error:.2f} %")
    print("noise       CV %  situation  arms blocks   false %  covered %  wrong equiv. %  ±% at 5  ±% at end")
    broken = 0
    for row in rows:
        cell = row.cell
        broken += len(row.failures)
        print(
            f"{cell.noise:<10} {100 * cell.cv:5.0f}  {cell.situation:<10} {cell.treatments:3} {cell.blocks:6} "
            f"{100 * row.false_difference:9.2f} {100 * row.coverage:10.2f} {100 * row.wrong_equivalence:14.2f} "
            f"{row.width_first:10.2f} {row.width_last:10.2f}  {_remark(row)}"
            f"{f' ({row.studies} studies)' if row.studies != studies else ''}",
            flush=True,
        )
    return broken


def _remark(row: Rates) -> str:
    if row.failures:
        return "BROKEN: " + ", ".join(row.failures)
    return "limit: " + ", ".join(row.beyond) if row.beyond else ""


def _print_noises(rows: Iterable[NoiseRow], studies: int) -> int:
    print(f"\nmachines without any effect, {BLOCKS} blocks, looks from the fifth on, {studies} studies each")
    print("machine     arms  way         false %   ±% at 5  ±% at end")
    broken = 0
    for row in rows:
        broken += row.broken
        print(
            f"{row.machine:<11} {row.arms:4}  {row.way:<10} {100 * row.false:8.2f} {row.width_first:9.2f} "
            f"{row.width_last:10.2f}{'  BROKEN' if row.broken else ''}",
            flush=True,
        )
    return broken


def _print_hosts(rows: Iterable[HostRow], studies: int) -> int:
    print(f"\nhosts as random effects, looks from the fifth block on, {studies} studies a row")
    print("between: by what blocks on one host scatter; independent: if blocks had nothing to do with their hosts")
    print("hosts blocks  spread     between   false %  at end %  independent %  between covered %   ±% at end")
    broken = 0
    for row in rows:
        cell = row.cell
        broken += row.broken
        print(
            f"{cell.hosts:5} {cell.blocks:6}  {cell.spread:<10} {cell.between:7.1f} {100 * row.missed:9.2f} "
            f"{100 * row.missed_last:9.2f} {100 * row.missed_independent:14.2f} {100 * row.between_covered:18.2f} "
            f"{row.width_last:11.2f}{'  BROKEN' if row.broken else ''}",
            flush=True,
        )
    return broken


def _print_cuts(rows: Iterable[Wrong]) -> int:
    print(f"\nbound on damaging power cuts, {CUTS} cuts a run, wrong at any look (the first is the one that decides)")
    print("exposed %  damage %  cuts an epoch   by epochs %  each cut by itself %  Clopper-Pearson %")
    broken = 0
    for row in rows:
        cell = row.cell
        broken += row.broken
        print(
            f"{100 * cell.exposed:9.0f} {100 * cell.damage:9.0f} {cell.alike:14.0f} {100 * row.by_epochs:13.2f} "
            f"{100 * row.by_cuts:21.2f} {100 * row.by_looks:18.2f}{'  BROKEN' if row.broken else ''}",
            flush=True,
        )
    return broken


def _print_answers(rows: Iterable[Answer]) -> int:
    print("\nblocks to a verdict at ±2 %; half of the contrasts have the effect, the others none")
    print("arms  CV %  effect %  horizon   quartiles        forecast   after calibration")
    broken = 0
    for row in rows:
        broken += len(row.failures)
        low, median, high = row.quartiles
        first, middle, last = row.calibrated or (nan, nan, nan)
        print(
            f"{row.treatments:4} {100 * row.cv:5.0f} {100 * row.effect:9.0f} {row.blocks_max:8}   "
            f"{low:4.0f} {median:4.0f} {high:4.0f}   {row.forecast if row.forecast is not None else '-':>8}   "
            f"{first:6.0f} {middle:4.0f} {last:4.0f}   "
            f"{', '.join(row.failures)}"
        )
    return broken


def _print_steadiness(found: Callable[[str], Iterable[Any]], numbers: Numbers) -> int:
    def rows(table: str) -> Iterator[Any]:
        return chain.from_iterable(found(table))

    broken = _print_alarms(rows("known alarms"), numbers.known)
    print("\ncheckpoint-like dips found where their beginnings are known, to a second")
    return broken + _print_power((each, broken_known_power(each)) for each in rows("known power"))


def _print_alarms(found: Iterable[Alarm], trials: int) -> int:
    print(f"\ntrials without cycles called cyclic, {trials} of each kind (at most {100 * FALSE_ALARM_MAX:.0f} %)")
    print("kind           " + "".join(f"{seconds:>7} s" for seconds in KNOWN_LENGTHS))
    rows: dict[str, list[Alarm]] = {}
    for alarm in found:
        rows.setdefault(alarm.kind, []).append(alarm)
    broken = 0
    for kind, mine in rows.items():
        worse = sum(broken_alarm(alarm, trials) for alarm in mine)
        broken += worse
        shares = "".join(f"{100 * alarm.share:7.2f} %" for alarm in mine)
        print(f"{kind:<15}{shares}{'  BROKEN' if worse else ''}")
    return broken


def _print_power(rows: Iterable[tuple[Found, bool]]) -> int:
    print("window s  cycles  depth %  noise %  memory   found %")
    broken = 0
    for found, missed in rows:
        broken += missed
        print(
            f"{found.seconds:8} {found.cycles:7.0f} {100 * found.depth:8.0f} {100 * found.noise:8.0f} "
            f"{found.memory:7.1f} {100 * found.share:9.0f}{'  BROKEN' if missed else ''}"
        )
    return broken


if __name__ == "__main__":
    sys.exit(main())
