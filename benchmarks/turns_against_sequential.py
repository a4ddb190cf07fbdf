"""Do servers in turns estimate the same effects as longer trials one after the other?

usage: python -m benchmarks.turns_against_sequential [--questions synchronous_commit,wal_compression,fillfactor,…]
             [--ways alternate,sequential] [--placement free] [--blocks 6] [--long-s 20] [--long-blocks 5]
             [--out FILE] [--data-dir DIR]
       python -m benchmarks.turns_against_sequential --read FILE

Each question is run twice on a real server: in turns, in slices of a quarter of a second, and one after the other, in
trials of --long-s seconds that begin anew each. For each treatment, against the question's baseline: both effects on
transactions per second with 95 % intervals (t over blocks), and the one ÷ the other with its interval (Welch). They
agree where that holds 1. In turns servers are placed as --placement says, one after the other as the scheduler does.
Run it on a machine that nothing else uses: only trials one after the other need that. The
page sizes are built first (some minutes each), unless the cache has them.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, variance

import polars as pl
from scipy.special import stdtrit  # type: ignore[import-untyped]

import pgassay
from benchmarks.turns import lines_of

WAYS = ("alternate", "sequential")
SETTINGS = {"synchronous_commit": ("on", "off"), "wal_compression": ("off", "pglz")}
"""The levels of questions about a setting; the first is the baseline."""
STUDIES = {"fillfactor": "table.fillfactor=100", "page-size": "build.block_size=8kB"}
"""Built-in studies in their quick size, and their baselines."""

SHORT = {"duration": "8s", "warmup": "1s"}
"""Of the settings' blocks in turns, as of the quick studies'."""


@dataclass(frozen=True)
class Speed:
    """One treatment's speed in one block of a question that was played in one of the ways."""

    question: str
    way: str
    treatment: str
    block: int
    tps: float
    placement: str = "paired"
    """Of servers in turns (`design.placement`); the first records were made before it was asked for."""


def study(question: str, way: str, blocks: int, long_s: int, placement: str = "free") -> pgassay.WrittenStudy:
    """A question as it is played in one of the ways; precision is not asked for, so that all blocks are played."""
    apart = way == "sequential"
    if question in STUDIES:
        length = {"load.duration": f"{long_s}s", "load.warmup": "3s"} if apart else {}
        return pgassay.load_study(
            question,
            size="quick",
            fixed=length,
            pairing=way,
            blocks=f"{blocks}..{blocks}",
            budget="1h",
            precision="0.1%",
            placement=placement,
        )
    return pgassay.build_study({
        "study": {"format": 1, "title": question, "question": f"What does {question} change?"},
        "factors": {f"server.{question}": list(SETTINGS[question])},
        "load": {
            "driver": "pgbench", "script": "simple-update", "protocol": "prepared", "scale": 20, "clients": 4,
            "jobs": 2, "checkpoint": "wal", **({"duration": f"{long_s}s", "warmup": "3s"} if apart else SHORT),
        },
        "responses": {"primary": "tps"},
        "design": {
            "pairing": way, "resolution": "2%", "precision": "0.1%", "blocks": {"min": blocks, "max": blocks},
            "budget": "1h", "placement": placement,
        },
    })  # fmt: skip


def played(question: str, way: str, run: pgassay.Run, placement: str) -> list[Speed]:
    """The valid trials of a run."""
    rows = run.trials().filter(pl.col("status") == "valid").select("treatment", "block", "tps").iter_rows()
    return [Speed(question, way, str(treatment), int(block), float(tps), placement) for treatment, block, tps in rows]


def contrasts(speeds: Sequence[Speed], treatment: str, baseline: str) -> list[float]:
    """Each block's logarithm of a treatment's speed ÷ the baseline's, where it has both."""
    of = {(each.treatment, each.block): each.tps for each in speeds}
    blocks = sorted({each.block for each in speeds})
    return [
        log(of[treatment, block] / of[baseline, block])
        for block in blocks
        if {(treatment, block), (baseline, block)} <= set(of)
    ]


def interval(values: Sequence[float]) -> str:
    """The geometric mean as a change in per cent, with its 95 % interval."""
    half = float(stdtrit(len(values) - 1, 0.975)) * sqrt(variance(values) / len(values))
    return shown(fmean(values), half)


def shown(mean: float, half: float) -> str:
    """A difference of logarithms as a change in per cent."""
    estimate, low, high = (100 * (exp(each) - 1) for each in (mean, mean - half, mean + half))
    return f"{estimate:+.1f} % [{low:+.1f}, {high:+.1f}]"


def welch(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """The difference of two means of unequal variances, and the half-width of its 95 % interval."""
    parts = [variance(each) / len(each) for each in (one, other)]
    freedom = sum(parts) ** 2 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, (one, other), strict=True))
    return fmean(one) - fmean(other), float(stdtrit(freedom, 0.975)) * sqrt(sum(parts))


def table(speeds: Sequence[Speed]) -> list[str]:
    """A row for each treatment and placement of servers in turns, of questions that were played both ways."""
    lines = [
        "| treatment | placed | blocks | in turns | one after the other | turns ÷ one after the other | agree |",
        "|---" * 7 + "|",
    ]
    asked: dict[tuple[str, str], list[Speed]] = defaultdict(list)
    apart: dict[str, list[Speed]] = defaultdict(list)
    for each in speeds:
        if each.way == WAYS[0]:
            asked[each.question, each.placement].append(each)
        else:
            apart[each.question].append(each)
    for (question, placement), mine in asked.items():
        if question not in apart:
            continue
        baseline = baseline_of(question)
        for treatment in sorted({each.treatment for each in mine} - {baseline}):
            turns, other = (contrasts(found, treatment, baseline) for found in (mine, apart[question]))
            mean, half = welch(turns, other)
            lines.append(
                f"| {treatment} | {placement} | {len(turns)}, {len(other)} | {interval(turns)} | {interval(other)} |"
                f" {exp(mean):.3f} [{exp(mean - half):.3f}, {exp(mean + half):.3f}] |"
                f" {'yes' if abs(mean) <= half else 'no'} |"
            )
    return lines


def baseline_of(question: str) -> str:
    """The name of the treatment that the others are set against."""
    return STUDIES.get(question) or f"server.{question}={SETTINGS[question][0]}"


def measure(given: argparse.Namespace, questions: Mapping[str, None]) -> None:
    """Each question both ways, kept as each run ends."""
    with given.out.open("a", encoding="utf-8") as note:
        for question in questions:
            for way in given.ways.split(","):
                blocks = given.blocks if way == "alternate" else given.long_blocks
                asked = study(question, way, blocks, given.long_s, given.placement)
                with tempfile.TemporaryDirectory() as place:
                    run = pgassay.run(asked, Path(place) / "run", data_dir=given.data_dir)
                    note.writelines(
                        json.dumps(asdict(each)) + "\n" for each in played(question, way, run, given.placement)
                    )
                note.flush()


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or read; then print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", default=",".join((*SETTINGS, *STUDIES)))
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--long-s", type=int, default=20)
    parser.add_argument("--long-blocks", type=int, default=5)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--placement", choices=("paired", "free"), default="free", help="of servers in turns")
    parser.add_argument("--out", type=Path, default=Path("turns-against-sequential.jsonl"), help="the raw records")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--read", type=Path)
    given = parser.parse_args(words)
    if given.read is None:
        measure(given, dict.fromkeys(given.questions.split(",")))
    print("\n".join(table([Speed(**each) for each in lines_of(given.read or given.out)])))


if __name__ == "__main__":
    main()
