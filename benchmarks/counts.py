"""How narrow is a count, and is what is planted found? Studies that count, of nothing (A/A) and of a known difference.

usage: python -m benchmarks.counts [--pairs 10] [--loads select,update,tpcb,sort,join,copy]
             [--planted 0,100,300,1000,10000] [--clock all] [--out DIR] [WORD ...]

A/A: each load is counted with two values of a setting that changes nothing, so many pairs of trials. Printed: the
standard deviation of a pair's log-ratio, and of each five pairs in a row whether their 95 % interval leaves out no
difference, and whether it lies whole beyond the resolution of a count (a false verdict).

Planted: an extension's function executes two instructions for each of its loops, so many in a transaction of pgbench's
simple-update, against none. Printed: what was found of what was planted, with the 95 % interval over the pairs.

Against the clock (--clock all, or some of the names in `CLOCK`): known changes, timed and counted in the same blocks
(--count-also). Printed: both differences with their intervals, of instructions and of the server's CPU time; whether
their signs agree where the CPU time is resolved; and how long a verdict at 1 % takes, counted and timed: so many blocks
as the spread of these makes the 95 % interval ±1 % wide, five at least, times the seconds that a block takes. It stands
alone: without --loads and --planted nothing else runs.

Further words go to `pgassay run`: --set build.version=18, --allow-busy. PostgreSQL is built for what is planted.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, inf, log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from tempfile import mkdtemp
from typing import Any

from scipy.special import stdtrit  # type: ignore[import-untyped]

from pgassay.record.reading import Run
from pgassay.record.values import TrialRecord
from pgassay.study.responses import Status
from pgassay.study.work import COUNTED_ALONG

RESPONSE = "instructions_per_transaction"
RESOLUTION = 0.002
TOGETHER = 5
"""Pairs of a verdict."""
UPDATE = """\\set aid random(1, 100000 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :aid, :delta, CURRENT_TIMESTAMP);
SELECT planted(substr(current_setting('planted.loops'), 2)::int);
END;
"""
OWN = {
    "sort": "SELECT aid FROM pgbench_accounts WHERE aid <= 1000 ORDER BY filler, aid DESC OFFSET 999;\n",
    "join": "SELECT count(*) FROM pgbench_accounts a JOIN pgbench_accounts b USING (aid) WHERE a.aid <= 10000;\n",
    "copy": "COPY (SELECT * FROM pgbench_accounts WHERE aid <= 10000) TO '/dev/null';\n",
}
LOADS = {"select": "select-only", "update": "simple-update", "tpcb": "tpcb-like", **dict.fromkeys(OWN, "")}
TRANSACTIONS = {"select": 2000, "update": 500, "tpcb": 300, "sort": 10, "join": 10, "copy": 10, "planted": 500}
STUDY = """[study]
format = 1
title = "Counts"
question = "What does a count find?"

[factors]
"{factor}" = [{levels}]

[fixed]
{fixed}

[load]
driver = "pgbench"
scale = 1
script = "{script}"
"""
PREPARED = {"load.protocol": "prepared"}
UPDATES, READS = "simple-update", "select-only"
CLOCK: Mapping[str, tuple[str, tuple[str, str], str]] = {
    "wal_compression": ("server.wal_compression", ("off", "lz4"), UPDATES),
    "track_counts": ("server.track_counts", ("on", "off"), READS),
    "synchronous_commit": ("server.synchronous_commit", ("on", "off"), UPDATES),
    "protocol": ("load.protocol", ("prepared", "simple"), READS),
    "fillfactor": ("table.fillfactor", ("100", "75"), UPDATES),
    "major": ("build.version", ("15", "18"), UPDATES),
    "cflags": ("build.cflags", ("-O2", "-O0"), READS),
    "checksums": ("init.data_checksums", ("off", "on"), UPDATES),
    "block_size": ("build.block_size", ("8kB", "4kB"), UPDATES),
}
"""Known changes by name: the factor, its baseline and the other level, the load."""
TIMED = {"load.duration": "5s", "load.warmup": "2s", "load.checkpoint": "wal", "load.clients": "2"}
WIDTH = 0.01
BLOCKS_MIN, BLOCKS_MAX = 5, 100_000
"""Of a verdict; beyond the latter none is forecast."""
EXTENSION = {
    "Makefile": "MODULES = planted\nEXTENSION = planted\nDATA = planted--1.0.sql\n"
    "PGXS := $(shell $(PG_CONFIG) --pgxs)\ninclude $(PGXS)\n",
    "planted.control": "default_version = '1.0'\nmodule_pathname = '$libdir/planted'\n",
    "planted--1.0.sql": "CREATE FUNCTION planted(int) RETURNS int AS 'MODULE_PATHNAME' LANGUAGE C STRICT;\n",
    "planted.c": """#include "postgres.h"
#include "fmgr.h"
PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(planted);
Datum
planted(PG_FUNCTION_ARGS)
{
	long		left = PG_GETARG_INT32(0);

	if (left > 0)
#if defined(__x86_64__)
		asm volatile("1: dec %0; jnz 1b":"+r"(left)::"cc");
#elif defined(__aarch64__)
		asm volatile("1: subs %0, %0, #1; b.ne 1b":"+r"(left)::"cc");
#endif
	PG_RETURN_INT32(0);
}
""",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--loads", default=",".join(LOADS), help="none: no A/A")
    parser.add_argument("--planted", default="0,100,300,1000,10000", help="loops, the baseline first; none: nothing")
    parser.add_argument("--clock", help="all, or names with commas")
    parser.add_argument("--out", type=Path)
    arguments, words = parser.parse_known_args()
    if arguments.clock is not None:
        arguments.loads = arguments.planted = "none"
    folder = arguments.out or Path(mkdtemp(prefix="counts-"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)  # the servers' account reads the scripts
    for name in arguments.loads.split(",") if arguments.loads != "none" else ():
        (folder / f"{name}.sql").write_text(OWN.get(name, ""))
        fixed = {"server.enable_mergejoin": "off", "server.enable_nestloop": "off"} if name == "join" else {}
        levels: tuple[str, ...] = ("200ms", "201ms")  # the background writer stands still
        script = LOADS[name] or str(folder / f"{name}.sql")
        found = counted(folder, name, "server.bgwriter_delay", levels, fixed, script, arguments.pairs, words)
        for line in nothing(name, [log(other / one) for one, other in zip(*found.values(), strict=True)]):
            print(line, flush=True)
    if arguments.planted != "none":
        extension = folder / "extension"
        extension.mkdir(exist_ok=True)
        for name, text in EXTENSION.items():
            (extension / name).write_text(text)
        (folder / "planted.sql").write_text(UPDATE)
        fixed = {"build.extension": f"directory:{extension}", "schema.change": "CREATE EXTENSION planted"}
        fixed["server.shared_preload_libraries"] = "planted"  # or it would have no settings
        levels = tuple(f"n{int(loops):06}" for loops in arguments.planted.split(","))
        script = str(folder / "planted.sql")
        found = counted(folder, "planted", "server.planted.loops", levels, fixed, script, arguments.pairs, words)
        for line in planted(found):
            print(line, flush=True)
    asked = arguments.clock or ""
    for name in CLOCK if asked == "all" else filter(None, asked.split(",")):
        factor, levels, script = CLOCK[name]
        fixed = {key: level for key, level in {**PREPARED, **TIMED}.items() if key != factor}
        options = ["--count-also", *between(arguments.pairs), "--primary", "tps", *words]
        out = played(folder, name, factor, levels, fixed, script, options)
        print(*against_the_clock(name, out), sep="\n", flush=True)


def between(blocks: int) -> list[str]:
    return ["--blocks", f"{blocks}..{blocks}", "--precision", "0.0001%"]


def played(
    folder: Path,
    name: str,
    factor: str,
    levels: Sequence[str],
    fixed: Mapping[str, str],
    script: str,
    options: Sequence[str],
) -> Path:
    """The run of a study of these levels."""
    study, out = folder / f"{name}.toml", folder / f"run-{name}"
    held = "\n".join(f'"{key}" = "{value}"' for key, value in fixed.items())
    listed = ", ".join(f'"{each}"' for each in levels)
    study.write_text(STUDY.format(factor=factor, levels=listed, fixed=held, script=script))
    command = ["run", str(study), "--quiet", "--out", str(out), *options]
    subprocess.run([sys.executable, "-m", "pgassay", *command], check=True, stdout=subprocess.DEVNULL)
    return out


def counted(
    folder: Path,
    name: str,
    factor: str,
    levels: Sequence[str],
    fixed: Mapping[str, str],
    script: str,
    pairs: int,
    words: Sequence[str],
) -> Mapping[str, Sequence[float]]:
    """Level to its instructions for a transaction, block by block; only of blocks in which all levels were counted."""
    options = ["--count", "--set", f"load.transactions={TRANSACTIONS[name]}", *between(pairs), *words]
    out = played(folder, name, factor, levels, {**PREPARED, **fixed}, script, options)
    seen: dict[int, dict[str, float]] = {}
    for trial in Run.open(out).trials:
        value = trial.responses.get(RESPONSE)
        if trial.status is Status.VALID and value is not None:
            seen.setdefault(trial.block, {})[trial.levels[factor].typed] = value
    whole = [each for _, each in sorted(seen.items()) if len(each) == len(levels)]
    return {level: [each[level] for each in whole] for level in levels}


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and 95 % interval (Student's t)."""
    half = float(stdtrit(len(values) - 1, 0.975)) * stdev(values) / sqrt(len(values))
    return fmean(values), fmean(values) - half, fmean(values) + half


def nothing(name: str, ratios: Sequence[float]) -> Iterator[str]:
    """A line about pairs that differ in nothing."""
    groups = [ratios[at : at + TOGETHER] for at in range(0, len(ratios) - TOGETHER + 1, TOGETHER)]
    found = [interval(group) for group in groups]
    beyond = sum(low > 0.0 or high < 0.0 for _, low, high in found)
    false = sum(low > log(1.0 + RESOLUTION) or high < -log(1.0 + RESOLUTION) for _, low, high in found)
    mean, low, high = (100.0 * (exp(each) - 1.0) for each in interval(ratios))
    yield (
        f"{name:8} {len(ratios)} pairs: sd {100.0 * stdev(ratios):.4f} %, mean {mean:+.4f} % [{low:+.4f}, {high:+.4f}];"
        f" of {len(groups)} verdicts of {TOGETHER} pairs {false} false, {beyond} intervals leave out 0"
    )


def planted(found: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """A line for each difference that was planted."""
    (_, baseline), *others = found.items()
    for level, values in others:
        asked = 2 * int(level[1:])
        mean, low, high = interval([other - one for one, other in zip(baseline, values, strict=True)])
        share = 100.0 * asked / fmean(baseline)
        yield (
            f"planted {asked:,} instructions ({share:.2f} %), {len(values)} pairs: found {mean:,.1f}"
            f" [{low:,.1f}, {high:,.1f}], {100.0 * mean / asked:.1f} % of it"
        )


def against_the_clock(name: str, out: Path) -> Iterator[str]:
    """What counts and the clock say of one change, and how long each takes to say it."""
    shown = subprocess.run([sys.executable, "-m", "pgassay", "show", str(out), "--json"], check=True, stdout=-1)
    (found,) = json.loads(shown.stdout)[COUNTED_ALONG]
    count, cpu = found["instructions"], found["server_cpu"]
    if cpu["low"] is None or cpu["low"] <= 1.0 <= cpu["high"]:
        agree = "the CPU time is not resolved"
    elif count["low"] <= 1.0 <= count["high"]:
        agree = "the count is not resolved, the CPU time is"
    else:
        agree = f"signs {'agree' if (count['estimate'] > 1.0) == (cpu['estimate'] > 1.0) else 'DIFFER'}"
        agree += f", explained {found['explained'][0]:.0%} [{found['explained'][1]:.0%}, {found['explained'][2]:.0%}]"
    yield f"{name} ({count['treatment']}): instructions {_change(count)}, server CPU {_change(cpu)}: {agree}"
    trials = [each for each in Run.open(out).trials if each.status is Status.VALID]
    counted_s = to_a_verdict(trials, RESPONSE, lambda each: each.timings_s.get(COUNTED_ALONG, 0.0))
    timed_s = to_a_verdict(trials, "tps", lambda each: each.length_s)
    yield (
        f"{'':8} a verdict at {WIDTH:.0%} takes {counted_s:,.0f} s counted, {timed_s:,.0f} s timed:"
        f" {timed_s / counted_s:.1f} times as long"
    )


def to_a_verdict(trials: Sequence[TrialRecord], response: str, length_s: Callable[[TrialRecord], float]) -> float:
    """Seconds until the interval of a pair's log-ratio is ±`WIDTH` wide, by the spread of the pairs that are there."""
    blocks: dict[int, list[TrialRecord]] = {}
    for each in trials:
        if each.responses.get(response):
            blocks.setdefault(each.block, []).append(each)
    pairs = [sorted(mine, key=lambda each: each.treatment) for mine in blocks.values() if len(mine) == 2]
    spread = stdev(log(other.responses[response] / one.responses[response]) for one, other in pairs)  # type: ignore[operator]
    block_s = fmean(length_s(one) + length_s(other) for one, other in pairs)
    tried = range(BLOCKS_MIN, BLOCKS_MAX)
    enough = (n for n in tried if float(stdtrit(n - 1, 0.975)) * spread / sqrt(n) <= log(1.0 + WIDTH))
    return block_s * next(enough, inf)


def _change(effect: Mapping[str, Any]) -> str:
    if effect["low"] is None:
        return "without an interval"
    value, low, high = (100.0 * (effect[end] - 1.0) for end in ("estimate", "low", "high"))
    return f"{value:+.2f} % [{low:+.2f}, {high:+.2f}]"


if __name__ == "__main__":
    main()
