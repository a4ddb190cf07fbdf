"""Reasons why a benchmark cannot support its claim: its runs in, findings with evidence and remedy out.

For other people's results as for one's own. Each check gives no finding where its reason is absent or not known.

*Completeness*: runs that were aborted, cut short, stalled or without a value, yet stand in the table as results.
pgbench prints a tps line after an abort too, and exits with status 2; a script that greps the line records it.

*Course*: what a run reports while it runs says more than its mean. A throughput that falls and stays low was measured
in two states, and a step down from one steady rate to another after minutes is how a drive or a virtual machine looks
whose burst credits ran out.

*Load*: what a DBA objects to before looking at a number. Each objection needs what the source says of the setup; where
it says nothing, nothing is found. See docs/report.md for the limits.

*Order*: if the runs of a treatment were exchangeable, each order of n of them would have the chance 1 / n!; how many
treatments show a pattern is then binomial, and a small tail says that time and not the treatment made the numbers.

*Replication*: not the number of runs alone decides: twenty of a noisy benchmark tell less than five of a quiet one.
What n runs of each of two treatments can tell is t × s × sqrt(2 / n), with s their spread on the log scale. Many values
of one run tell how that run went, not how the next one will.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, factorial, isfinite, lgamma, log, log1p, sqrt
from statistics import mean, median, stdev

import numpy as np
from scipy.special import bdtrc  # type: ignore[import-untyped]

from pgassay.analysis.benchmark import DURABILITY_NAMES, SHORT, Benchmark, Run
from pgassay.analysis.boundaries import FIRST_LOOK, fixed_critical
from pgassay.analysis.factorial import confounded
from pgassay.analysis.numbers import percent
from pgassay.analysis.seconds import mean_error
from pgassay.study.findings import Finding, Severity


def aborted(benchmark: Benchmark) -> Iterator[Finding]:
    """Runs whose tool said that it gave up."""
    bad = [run for run in benchmark.runs if run.aborted]
    if not bad:
        return
    first = bad[0]
    yield Finding(
        "aborted",
        Severity.ERROR,
        "aborted runs are counted as results",
        remedy="leave them out, report that the treatment failed, and look at the exit status of each run",
        evidence=f"{len(bad)} of {len(benchmark.runs)} runs, the first of {_where(first)}: {first.aborted}",
    )


def short(benchmark: Benchmark) -> Iterator[Finding]:
    """Runs much shorter than planned, or than their like where no plan is known."""
    bad = [(run, target) for run, target in zip(benchmark.runs, benchmark.short_of_s, strict=True) if target]
    if not bad:
        return
    worst, target = min(bad, key=lambda each: (each[0].seconds or 0.0) / (each[1] or 1.0))
    known = sum(run.seconds is not None for run in benchmark.runs)
    yield Finding(
        "short",
        Severity.ERROR,
        "runs that ended early are counted as results",
        remedy="leave them out and find out why they ended: no space, a crash, a timeout",
        evidence=f"{len(bad)} of {known} runs; {_where(worst)} ran {worst.seconds:.3g} s of {target:.5g} s",
    )


STALLED_LEAST = 3
"""Reports in a row without a transaction, at the end of a run, from which it stands still."""


def stalled(benchmark: Benchmark) -> Iterator[Finding]:
    """Runs that made no transaction from some moment to their end, whatever their mean is."""
    found = []
    for run in benchmark.runs:
        moving = max((place for place, (_, tps) in enumerate(run.course) if tps != 0.0), default=-1)
        if len(run.course) - 1 - moving >= STALLED_LEAST:
            found.append((run, run.course[moving][0] if moving >= 0 else 0.0, run.course[-1][0]))
    if not found:
        return
    known = sum(bool(run.course) for run in benchmark.runs)
    run, since_s, until_s = found[0]
    yield Finding(
        "stalled",
        Severity.ERROR,
        "runs that stood still to their end are counted as results",
        remedy="find out what they waited for (locks, a full disk, a lost connection), and measure again",
        evidence=f"{len(found)} of {known} runs; {_where(run)} made no transaction from {since_s:.5g} s to"
        f" {until_s:.5g} s",
    )


COURSE_LEAST = 12
"""Reports from which a course is judged, without the first and the last, which are cut short."""
COURSE_LEAST_S = 30.0
_PIECES = 60
COLLAPSED = 0.5
"""Of the rate before: a run that stays below it has collapsed."""
STEPPED = 0.8
STEADY = 0.15
"""A rate is steady where 80 % of its reports lie within this share of their median."""
BURST_LEAST_S, AFTER_LEAST_S = 120.0, 60.0


@dataclass(frozen=True)
class _Fall:
    """The rates before and after the moment `at_s` of a run, from which on it stayed low; `steady` says both were."""

    at_s: float
    before: float
    after: float
    steady: bool


def fallen(benchmark: Benchmark) -> Iterator[Finding]:
    """Runs whose throughput fell and stayed low to their end; a step between steady rates is a reason of its own."""
    courses = [run for run in benchmark.runs if len(run.course) >= COURSE_LEAST]
    falls = [(run, fall) for run in courses if (fall := _fall(run.course)) is not None]
    for code, steady, text, remedy in (
        (
            "collapse", False, "throughput collapses within a run, so its mean is of two states",
            "find what happened (a checkpoint, autovacuum, a cache that filled up, a full disk), and measure one state",
        ),
        (
            "burst-credits", True, "throughput steps down after minutes at a steady rate, as burst credits run out",
            "use up the credits before the window (a cloud's drive, processor and network have some), or buy a rate",
        ),
    ):  # fmt: skip
        found = [(run, fall) for run, fall in falls if fall.steady is steady]
        if found:
            run, fall = found[0]
            evidence = (
                f"{len(found)} of {len(courses)} runs; {_where(run)}: from {fall.before:.5g} to {fall.after:.5g} tps"
                f" after {fall.at_s:.4g} s"
            )
            yield Finding(code, Severity.WARNING, text, remedy=remedy, evidence=evidence)


def _fall(course: Sequence[tuple[float, float | None]]) -> _Fall | None:
    """The best single step of a course in at most `_PIECES` pieces, if it goes down far enough and to the end."""
    known = [(moment, tps) for moment, tps in course[1:-1] if tps is not None and isfinite(tps)]
    if len(known) < COURSE_LEAST - 2 or known[-1][0] - known[0][0] < COURSE_LEAST_S or known[-1][1] == 0.0:
        return None
    pieces = np.array_split(np.asarray(known), min(_PIECES, len(known)))
    moments, rates = (np.asarray([piece[:, column].mean() for piece in pieces]) for column in (0, 1))
    splits = range(max(3, len(rates) // 5), len(rates) - max(2, len(rates) // 10))
    at = min(splits, key=lambda split: float(sum(np.var(part) * len(part) for part in np.split(rates, [split]))))
    before, after = np.split(rates, [at])
    low, high = float(np.quantile(before, 0.1)), float(np.quantile(after, 0.9))
    usual, left = float(np.median(before)), float(np.median(after))
    if high >= low:
        return None
    lasted = moments[at] - moments[0] >= BURST_LEAST_S and moments[-1] - moments[at] >= AFTER_LEAST_S
    steady = all(
        np.quantile(part, 0.9) - np.quantile(part, 0.1) <= STEADY * np.median(part) for part in (before, after)
    )
    if left <= STEPPED * usual and lasted and steady:
        return _Fall(float(moments[at]), usual, left, steady=True)
    return _Fall(float(moments[at]), usual, left, steady=False) if left <= COLLAPSED * usual else None


THROUGHPUT = ("tps", "qps", "nopm", "tpm", "tpmc", "iops", "throughput", "goodput")


def missing(benchmark: Benchmark) -> Iterator[Finding]:
    """Runs without a number, or with one that cannot be."""
    nothing = benchmark.response.lower() in THROUGHPUT
    bad = [
        run for run in benchmark.runs if run.value is None or not isfinite(run.value) or (nothing and run.value <= 0.0)
    ]
    if not bad:
        return
    yield Finding(
        "missing",
        Severity.ERROR,
        "runs have no value",
        remedy="say why they have none: a treatment that often fails is not as good as its other runs",
        evidence=f"{len(bad)} of {len(benchmark.runs)} runs, the first of {_where(bad[0])}",
    )


def _where(run: Run) -> str:
    return f"{run.arm} ({run.place})" if run.place else run.arm


CLIENTS_A_THREAD = 16
"""More clients on one thread of a load program wait for the program and not for the server."""
KEPT_UP_SHARE = 0.95
"""Of the rate; a run below it fell behind, so its speed is the server's own."""
KEPT_UP_LAG_MS = 1000.0
"""Behind schedule by more, the server did not keep up with a rate of which only the lag is printed."""
CHECKPOINT_TIMEOUT_S = 300.0
"""PostgreSQL's default."""


def _scale_below_clients(run: Run) -> str:
    scale, clients = run.setup.scale, run.setup.clients
    if not run.setup.tpc_b or scale is None or clients is None or scale >= clients:
        return ""
    return f"scale {scale:g} and {clients:g} clients"


def _rate_limited(run: Run) -> str:
    setup = run.setup
    if not setup.rate_limited and (held := _held(run)):
        return held
    if not setup.rate_limited or (setup.lag_ms or 0.0) > KEPT_UP_LAG_MS:
        return ""
    if setup.rate is None:
        return f"{run.value or 0.0:.6g} transactions per second at a limited rate"
    if run.value is not None and run.value < KEPT_UP_SHARE * setup.rate:
        return ""
    return f"{run.value or 0.0:.6g} transactions per second at a rate of {setup.rate:g}"


HELD_LEAST = 5
HELD_TRANSACTIONS = 30
"""In one report: so many are never the same number five times by chance, unless something holds them."""


def _held(run: Run) -> str:
    """What says that something held the rate: all reports but the first and the last are one number, to the digit."""
    inner = [tps for _, tps in run.course[1:-1]]
    if len(inner) < HELD_LEAST or not inner[0] or len(set(inner)) > 1:
        return ""
    if inner[0] * (run.course[-1][0] - run.course[0][0]) / (len(run.course) - 1) < HELD_TRANSACTIONS:
        return ""
    return f"{inner[0]:g} transactions per second in each of {len(inner)} reports in a row"


def _below_checkpoint(run: Run) -> str:
    setup = run.setup
    if not setup.writes:
        return ""
    if setup.cycles is not None:
        return "" if setup.cycles >= 1.0 else f"no whole checkpoint cycle in {run.seconds or 0.0:.3g} s"
    seconds = run.planned_s if run.seconds is None else run.seconds
    if seconds is None or seconds >= SHORT * (setup.checkpoint_timeout_s or CHECKPOINT_TIMEOUT_S):
        return ""
    if setup.checkpoint_timeout_s is None:
        return f"{seconds:.3g} s; checkpoint_timeout is not known, and its default is 5 min"
    return f"{seconds:.3g} s, and checkpoint_timeout is {setup.checkpoint_timeout_s:g} s"


def _few_threads(run: Run) -> str:
    clients, threads = run.setup.clients, run.setup.threads
    if clients is None or not threads or clients <= CLIENTS_A_THREAD * threads:
        return ""
    return f"{clients:g} clients on {threads:g} {'thread' if threads == 1 else 'threads'}"


def _data_in_memory(run: Run) -> str:
    size, memory = run.setup.database_bytes, run.setup.memory_bytes
    if not run.setup.about_disk or size is None or memory is None or size >= memory:
        return ""
    return f"{size / 1e9:.3g} GB of data and {memory / 1e9:.3g} GB of memory"


@dataclass(frozen=True)
class _Objection:
    """`judge` says what is wrong with a run, or nothing; `serious` whether that is a warning, or only a note."""

    code: str
    judge: Callable[[Run], str]
    text: str
    remedy: str
    serious: Callable[[Benchmark], bool] = lambda _: True
    responses: tuple[str, ...] = ()
    """The responses that it concerns; none: all."""


_OBJECTIONS = (
    _Objection(
        "scale-below-clients", _scale_below_clients,
        "clients wait for each other's rows: TPC-B updates one of as many branches as its scale",
        "initialise with a scale of at least the number of clients, as pgbench's manual says",
    ),
    _Objection(
        "rate-limited", _rate_limited,
        "throughput is the rate that was asked for, and not what the server can do",
        "compare latencies at this rate, or run without --rate",
        responses=("", "tps"),
    ),
    _Objection(
        "window-below-checkpoint", _below_checkpoint,
        "runs are shorter than a checkpoint cycle, so what checkpoints and full-page images cost may be missing",
        "measure whole checkpoint cycles, or say that checkpoints are left out",
        serious=lambda benchmark: any(
            run.setup.checkpoint_timeout_s is not None or run.setup.cycles is not None for run in benchmark.runs
        ),
    ),
    _Objection(
        "few-threads", _few_threads,
        "the load program may be the bottleneck: many clients share a thread",
        "give it more threads (pgbench --jobs), and look at the client's CPU time",
    ),
    _Objection(
        "one-machine", lambda run: "no machine of its own for the client" if run.setup.same_machine else "",
        "client and server share one machine: the client takes CPU time from the server",
        "run the client on another machine, or give each its own CPUs, and say so",
        serious=lambda _: False,
    ),
    _Objection(
        "data-in-memory", _data_in_memory,
        "the data fit into memory, so reads do not reach the drive that is tested",
        "load more data than the machine has memory, or limit its memory",
    ),
)  # fmt: skip


def load_setup(benchmark: Benchmark) -> Iterator[Finding]:
    """One finding for each objection to a whole run; the first such run's numbers are its evidence."""
    whole = [run for run, short in zip(benchmark.runs, benchmark.short_of_s, strict=True) if not (run.aborted or short)]
    for each in _OBJECTIONS:
        if each.responses and benchmark.response not in each.responses:
            continue
        found = [(run, said) for run in whole if (said := each.judge(run))]
        if not found:
            continue
        run, said = found[0]
        evidence = f"{len(found)} of {len(whole)} {benchmark.replicate}s; {run.arm}: {said}"
        severity = Severity.WARNING if each.serious(benchmark) else Severity.NOTE
        yield Finding(each.code, severity, each.text, remedy=each.remedy, evidence=evidence)


def _by_condition(benchmark: Benchmark) -> Iterator[Mapping[str, Sequence[Run]]]:
    found: dict[str, dict[str, list[Run]]] = {}
    for run in benchmark.runs:
        found.setdefault(run.condition, {}).setdefault(run.treatment, []).append(run)
    yield from (treatments for treatments in found.values() if len(treatments) > 1)


def other_client(benchmark: Benchmark) -> Iterator[Finding]:
    """Treatments that were measured by different programs, or by different versions of one."""
    for treatments in _by_condition(benchmark):
        clients = {name: sorted({run.setup.client for run in runs}) for name, runs in treatments.items()}
        known = {name: found for name, found in clients.items() if all(found)}
        if len(set(map(tuple, known.values()))) < 2:
            continue
        first = next(iter(known))
        other = next(name for name, found in known.items() if found != known[first])
        yield Finding(
            "other-client",
            Severity.WARNING,
            "treatments were measured by different clients, so the client's difference looks like an effect",
            remedy="measure all with one program of one version: a new pgbench works with an old server",
            evidence=f"{first}: {' and '.join(known[first])}; {other}: {' and '.join(known[other])}",
        )
        return


def unequal_durability(benchmark: Benchmark) -> Iterator[Finding]:
    """Treatments that differ from the baseline in something and in durability, where no other separates the two.

    Where durability alone differs, it is the question.
    """
    for treatments in _by_condition(benchmark):
        states = {
            name: (
                dict(known[0]),
                {key: level for key, level in runs[0].levels.items() if key not in DURABILITY_NAMES},
            )
            for name, runs in treatments.items()
            if len(known := list({run.setup.durability for run in runs})) == 1
        }
        base = benchmark.baseline if benchmark.baseline in states else next(iter(states), "")
        for name, (settings, rest) in states.items():
            differ = [key for key, value in settings.items() if states[base][0].get(key, value) != value]
            separate = any(states[base][0] == others and rest == same for others, same in states.values())
            if not differ or rest == states[base][1] or separate:
                continue
            evidence = "; ".join(
                f"{which}: {', '.join(f'{key}={states[which][0][key]}' for key in differ)}" for which in (base, name)
            )
            yield Finding(
                "unequal-durability",
                Severity.WARNING,
                "treatments differ in durability too, so speed may have been bought with safety",
                remedy="compare at equal fsync, synchronous_commit and full_page_writes, or vary these alone",
                evidence=evidence,
            )
            return


def after_load(benchmark: Benchmark) -> Iterator[Finding]:
    """Some runs of a condition are the first after a load, and others are not known to be."""
    runs = [run for treatments in _by_condition(benchmark) for each in treatments.values() for run in each]
    runs = runs or list(benchmark.runs)
    loaded = [run for run in runs if run.setup.after_load]
    if not loaded or len(loaded) == len(runs):
        return
    yield Finding(
        "after-load",
        Severity.NOTE,
        "the first run after the load is counted like the others: its caches, hint bits and autovacuum differ",
        remedy="load before each run, or leave the first run out as warm-up, after VACUUM and CHECKPOINT",
        evidence=f"{len(loaded)} of {len(runs)} runs; {_where(loaded[0])} stands right after the output of a load",
    )


def confounded_factors(benchmark: Benchmark) -> Iterator[Finding]:
    """A finding for each pair of factors with the same partition of the treatments."""
    treatments = {run.treatment: run.levels for run in benchmark.runs if run.levels}
    for sentence in confounded(treatments):
        yield Finding(
            "confounded",
            Severity.WARNING,
            "two factors cannot be separated",
            remedy="add treatments that change one of them alone",
            evidence=sentence,
        )


def fixed_order(benchmark: Benchmark) -> Iterator[Finding]:
    """Treatments whose runs came one after another, or repetitions that always had the same order, in every condition.

    Comparisons never cross conditions, and scripts often loop over conditions outermost.
    """
    if any(run.position is None for run in benchmark.runs):
        return
    orders: dict[str, list[str]] = {}
    for run in sorted(benchmark.runs, key=lambda run: run.position or 0):
        orders.setdefault(run.condition, []).append(run.arm)
    compared = [order for order in orders.values() if len(set(order)) > 1 and len(set(order)) < len(order)]
    found = [_fixed(order) for order in compared]
    if not found or not all(found):
        return
    evidence = found[0] if len(found) == 1 else f"in each of {len(found)} conditions; in the first: {found[0]}"
    yield Finding(
        "fixed-order",
        Severity.WARNING,
        "treatments were run in a fixed order, so drift in time looks like an effect",
        remedy="randomise the order of treatments within each repetition",
        evidence=evidence,
    )


def _fixed(order: list[str]) -> str:
    """How the order was fixed, in words; empty where it was not."""
    arms = len(set(order))
    if sum(one != other for one, other in pairwise(order)) == arms - 1:
        return f"all runs of a treatment follow each other: {order[0]} first, {order[-1]} last"
    rounds = [tuple(order[start : start + arms]) for start in range(0, len(order), arms)]
    whole, rest = [each for each in rounds if len(each) == arms], rounds[-1]
    same = len(whole) > 1 and len(set(rounds[0])) == arms and set(whole) == {rounds[0]}
    same = same and rest == rounds[0][: len(rest)]
    return f"{len(rounds)} rounds in the same order, {order[0]} always first" if same else ""


CHANCE = 0.05
"""A pattern less likely than this among exchangeable runs is a finding."""


def monotone(benchmark: Benchmark) -> Iterator[Finding]:
    """More treatments than chance would give whose runs only climb or only fall."""
    groups = _groups(benchmark)
    if not groups or not benchmark.in_order:
        return
    patterned = [treatment for treatment, values in groups.items() if _one_way(values)]
    expected = [2.0 * exp(-lgamma(len(values) + 1)) for values in groups.values()]
    tail = _tail(len(patterned), expected)
    if not patterned or tail >= CHANCE:
        return
    example = " → ".join(f"{value:.5g}" for value in groups[patterned[0]][:5])
    yield Finding(
        "monotone",
        Severity.WARNING,
        "runs climb or fall in time: the system was not in a steady state",
        remedy="start each run from the same state, run longer, and randomise the order in blocks",
        evidence=f"{len(patterned)} of {len(groups)} treatments (by chance {sum(expected):.1f}, p = {tail:.2g}); "
        f"{patterned[0]}: {example}",
    )


def first_run(benchmark: Benchmark) -> Iterator[Finding]:
    """A first run that is lowest (or highest) in more treatments than chance would give."""
    groups = _groups(benchmark)
    if not benchmark.in_order:
        return
    for word, pick in (("lowest", min), ("highest", max)):
        odd = [values for values in groups.values() if values[0] == pick(values) and values.count(values[0]) == 1]
        expected = [1.0 / len(values) for values in groups.values()]
        # Both sides are looked at, so each gets half.
        tail = _tail(len(odd), expected)
        if odd and tail < CHANCE / 2:
            ratio = median(values[0] / mean(values[1:]) for values in groups.values() if mean(values[1:]) != 0.0)
            yield Finding(
                "first-run",
                Severity.WARNING,
                "the first run differs from the others: it fills the caches that they find filled",
                remedy="mark the first run as warm-up, or give every run the same start state",
                evidence=f"run 1 is {word} in {len(odd)} of {len(groups)} treatments "
                f"(by chance {sum(expected):.1f}, p = {tail:.2g}); median run 1 / mean of the others = {ratio:.3f}",
            )


def _groups(benchmark: Benchmark) -> dict[str, tuple[float, ...]]:
    found = {treatment: benchmark.values(treatment) for treatment in benchmark.groups}
    return {treatment: values for treatment, values in found.items() if len(values) >= 3}


def _one_way(values: tuple[float, ...]) -> bool:
    pairs = list(pairwise(values))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)


def _tail(count: int, chances: list[float]) -> float:
    """P(at least `count` of independent events): binomial with the mean chance, which is never too small by much."""
    if count == 0 or not chances:
        return 1.0
    return float(bdtrc(count - 1, len(chances), sum(chances) / len(chances)))


USUAL_SPREAD = 0.0341
"""Between runs, in-buffer read-write pgbench: mean over 693 submissions (OpenBenchmarking, pts/pgbench-1.9.1)."""

RANGE_OF_THREE = 3.314
"""The 95 % point of the range of three normal values, in standard deviations (tables of the studentized range)."""

FAR = USUAL_SPREAD * RANGE_OF_THREE


def trend(benchmark: Benchmark) -> Iterator[Finding]:
    """The treatment whose runs (three or more) only climb or only fall, farthest of all; none if `monotone` found more.

    Far means more than three identical runs differ by in 19 of 20 cases, at the usual run-to-run spread of read-write
    pgbench.
    """
    if not benchmark.in_order or any(monotone(benchmark)):
        return
    far = [
        (values[-1] / values[0] - 1.0, arm, values)
        for arm, values in _groups(benchmark).items()
        if values[0] != 0.0 and _one_way(values) and abs(values[-1] / values[0] - 1.0) > FAR
    ]
    if not far:
        return
    change, arm, values = max(far, key=lambda course: abs(course[0]))
    listed = " → ".join(f"{value:.5g}" for value in values[:5]) + (" …" if len(values) > 5 else "")
    chance = factorial(len(values)) // 2
    yield Finding(
        "trend",
        Severity.NOTE,
        "the runs of one treatment only climb or only fall, and far",
        remedy="look at the seconds of each run: a cache that fills up, a drive or a burst credit that runs out",
        evidence=f"{arm}: {listed}, {100 * change:+.0f} % from first to last "
        f"(one way by chance in 1 of {chance} orders)",
    )


LEAST_FOR_SPREAD = 2
"""Values that a spread needs."""

LEAST_FOR_NOISE = 3
"""Runs of an arm from which its own spread is judged; fewer are only counted."""


def too_few(benchmark: Benchmark) -> Iterator[Finding]:
    """Arms with fewer than five runs, below which pgassay itself decides nothing."""
    counts = {treatment: len(benchmark.values(treatment)) for treatment in benchmark.groups}
    few = {treatment: count for treatment, count in counts.items() if count < FIRST_LOOK}
    if not few:
        return
    least = min(few.values())
    evidence = f"{len(few)} of {len(counts)} treatments, as few as {least} {'run' if least == 1 else 'runs'}"
    spread = _spread(benchmark)
    if spread is not None and least >= LEAST_FOR_SPREAD:
        evidence += (
            f"; at their spread of {percent(spread)} a difference below {percent(_resolution(spread, least))} is noise"
        )
    yield Finding(
        "too-few",
        Severity.WARNING,
        "there are too few runs to tell an effect from noise",
        remedy=f"at least {FIRST_LOOK} runs of each, better as many as an interval narrow enough needs",
        evidence=evidence,
    )


def below_resolution(benchmark: Benchmark) -> Iterator[Finding]:
    """Differences from the baseline (or the first treatment) that the runs cannot tell from none: Welch's interval."""
    vague = []
    pairs = _pairs(benchmark)
    for arm, against in pairs:
        mine, base = _logs(benchmark, arm), _logs(benchmark, against)
        if len(mine) < LEAST_FOR_SPREAD or len(base) < LEAST_FOR_SPREAD:
            continue
        effect, half = mean(mine) - mean(base), _half_width(mine, base)
        if effect != 0.0 and abs(effect) < half:
            vague.append((arm, exp(effect) - 1.0, exp(half) - 1.0))
    if not vague:
        return
    arm, effect, half = max(vague, key=lambda one: abs(one[1]))
    yield Finding(
        "below-resolution",
        Severity.WARNING,
        "differences are smaller than these runs can show",
        remedy="report the interval, and run more blocks before a winner is named",
        evidence=f"{len(vague)} of {len(pairs)} comparisons; the largest: {arm} differs by {percent(effect)}, "
        f"its 95 % interval is ±{percent(half)}",
    )


def _pairs(benchmark: Benchmark) -> list[tuple[str, str]]:
    """Each arm with the baseline's (or the first treatment's) of its condition, where there is one."""
    baseline = benchmark.baseline or (benchmark.runs[0].treatment if benchmark.runs else "")
    arms = {(runs[0].treatment, runs[0].condition): arm for arm, runs in benchmark.groups.items()}
    return [
        (arm, arms[baseline, condition])
        for (treatment, condition), arm in arms.items()
        if treatment != baseline and (baseline, condition) in arms
    ]


def _logs(benchmark: Benchmark, treatment: str) -> list[float]:
    return [log(value) for value in benchmark.values(treatment) if value > 0.0]


def _spread(benchmark: Benchmark) -> float | None:
    """The spread of runs within treatments, pooled, on the log scale; None when no treatment has two."""
    groups = [logs for logs in (_logs(benchmark, treatment) for treatment in benchmark.groups) if len(logs) > 1]
    freedom = sum(len(logs) - 1 for logs in groups)
    return sqrt(sum((len(logs) - 1) * stdev(logs) ** 2 for logs in groups) / freedom) if freedom else None


def _resolution(spread: float, runs: int) -> float:
    """Half the width of a difference of two means of `runs` each, as a share."""
    return exp(fixed_critical(2 * runs - 1, 0.05) * spread * sqrt(2.0 / runs)) - 1.0


def _half_width(mine: list[float], base: list[float]) -> float:
    """Welch's interval; its degrees of freedom rounded down, which is never too narrow."""
    one, other = stdev(mine) ** 2 / len(mine), stdev(base) ** 2 / len(base)
    if one + other == 0.0:
        return 0.0
    freedom = (one + other) ** 2 / (one**2 / (len(mine) - 1) + other**2 / (len(base) - 1))
    return fixed_critical(int(max(1.0, freedom)) + 1, 0.05) * sqrt(one + other)


def noisy(benchmark: Benchmark) -> Iterator[Finding]:
    """Arms of three runs and more whose own spread hides an effect of the asked resolution; the worst is named."""
    if benchmark.replicate != "run":
        return
    found: list[tuple[float, float, str, tuple[float, ...]]] = []
    variations: list[float] = []
    for arm in benchmark.groups:
        values = tuple(value for value in benchmark.values(arm) if value > 0.0)
        if len(values) < LEAST_FOR_NOISE:
            continue  # too few: another finding says so, with its own numbers
        variations.append(stdev(values) / mean(values))
        spread = stdev(map(log, values))
        tells = _resolution(spread, len(values))
        if tells > benchmark.resolution:
            found.append((tells, spread, arm, values))
    if not found:
        return
    tells, spread, arm, values = max(found)
    own = percent(stdev(values) / mean(values))  # the coefficient of variation, as others compute it
    usual = f" (CV {own}; the median of {len(variations)} is {percent(median(variations))})"
    yield Finding(
        "noisy",
        Severity.WARNING,
        "identical runs differ by more than the effects that matter",
        remedy="find what moves (neighbours, checkpoints, start state), or repeat until the interval is narrow enough",
        evidence=f"{len(found)} of {len(variations)} treatments; the worst: {arm}, {len(values)} runs from "
        f"{min(values):.6g} to {max(values):.6g}, spread {percent(spread)}: they cannot show effects below "
        f"{percent(tells)}, and {percent(benchmark.resolution)} is asked for{usual if len(variations) > 1 else ''}",
    )


LEAST_FOR_CORRELATION = 30
"""Values of a treatment from which its correlation can be judged."""


def seconds_as_replicates(benchmark: Benchmark) -> Iterator[Finding]:
    """Values that are seconds by name, or neighbours more alike than independent runs would be.

    The lag-one correlation of n independent values has a standard error of 1 / sqrt(n); above three of them counts.
    """
    worst: tuple[float, str, int, float] | None = None
    if not benchmark.in_order and benchmark.replicate != "second":
        return
    for treatment in benchmark.groups:
        values = np.asarray(benchmark.values(treatment))
        n = len(values)
        if n < LEAST_FOR_CORRELATION or float(np.ptp(values)) == 0.0:
            continue
        rest = values - values.mean()
        correlation = float(rest[1:] @ rest[:-1] / (rest @ rest))
        alike = correlation > 3.0 / sqrt(n) or benchmark.replicate == "second"
        if alike and (worst is None or correlation > worst[0]):
            worst = (correlation, treatment, n, mean_error(values).inefficiency)
    if worst is None and benchmark.replicate != "second":
        return
    evidence = "one value is a second of a run, not a run"
    if worst is not None:
        correlation, treatment, n, inefficiency = worst
        evidence = (
            f"{treatment}: neighbours correlate {correlation:.2f}, {n} values count as {n / max(inefficiency, 1):.0f}"
        )
    yield Finding(
        "pseudo-replicates",
        Severity.WARNING,
        "values within a run are used as if they were runs",
        remedy="repeat the run, each time from the same start state, and compare means of runs",
        evidence=evidence,
    )


CHECKS: tuple[Callable[[Benchmark], Iterator[Finding]], ...] = (
    *(aborted, short, stalled, missing, fallen),
    *(load_setup, other_client, unequal_durability, after_load),
    *(confounded_factors, seconds_as_replicates, first_run, monotone, trend, fixed_order),
    *(too_few, noisy, below_resolution),
)
"""In the order in which a reader should hear of them: first what makes numbers wrong, then what makes them vague."""


NEEDED_MOST = 2000


@dataclass(frozen=True)
class Needed:
    """How many runs of each arm a claim takes: `effect` of `arm` against `against`, as a share of it.

    `spread` is that of runs on the log scale, `known` says that these runs show it (else it is `USUAL_SPREAD`).
    `there` are the runs of the arm that has fewer; `runs` is None above `NEEDED_MOST`.
    """

    arm: str
    against: str
    effect: float
    spread: float
    known: bool
    there: int
    runs: int | None


def needed(benchmark: Benchmark) -> tuple[Needed, ...]:
    """For each difference from the baseline the least n whose interval, ± t × s × sqrt(2 / n), leaves out no effect."""
    pooled = _spread(benchmark)
    spread = USUAL_SPREAD if pooled is None else pooled
    found = []
    for arm, against in _pairs(benchmark):
        mine, base = _logs(benchmark, arm), _logs(benchmark, against)
        if mine and base:
            effect, there = mean(mine) - mean(base), min(len(mine), len(base))
            runs = next((n for n in range(2, NEEDED_MOST + 1) if log1p(_resolution(spread, n)) <= abs(effect)), None)
            known, share = pooled is not None, exp(effect) - 1.0
            found.append(Needed(arm, against, share, spread, known, there, runs if effect else None))
    return tuple(found)


def lint(benchmark: Benchmark) -> tuple[Finding, ...]:
    """Every finding; none means that these reasons are absent, and not that the benchmark is right."""
    return tuple(finding for check in CHECKS for finding in check(benchmark))
