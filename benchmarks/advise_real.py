"""An advice of a real server against plain Optuna in as many trials: whose configuration is better, in the same blocks?

usage: python -m benchmarks.advise_real RUN --out DIR [--budget 10min] [--data-dir DIR] [--allow-busy]

RUN is the folder of an advice that has ended. Optuna's TPE searches all of its settings from the same start, with as
many trials as the advice took before its confirmation; its winner is the best sample, as tuners report it. Then one
study of the lab sets the start and that winner beside the advice. Printed: what the winner's sample promised, and what
fresh trials found of both. Killed and started again with the same DIR it goes on.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

from pgassay.advise import folder
from pgassay.advise.budget import BATCH
from pgassay.advise.elimination import Compared, inverted
from pgassay.advise.laboratory import RealLaboratory
from pgassay.advise.proof import MAIN
from pgassay.advise.search import Search
from pgassay.advise.space import Configuration
from pgassay.advise.task import Laboratory, Task
from pgassay.advise.walk import ELSEWHERE, WHOLE
from pgassay.cli.progress import watcher_for
from pgassay.lab.workbench import BenchOptions
from pgassay.record.reading import Run
from pgassay.report.words import ratio_interval
from pgassay.study.quantities import seconds


@dataclass(frozen=True)
class Winner:
    """The best sample of a search, with the gain that it promised (a log-ratio) and how many trials there were."""

    configuration: Configuration
    promised: float
    trials: int


def plain(task: Task, laboratory: Laboratory, trials: int) -> Winner:
    """Optuna's TPE over all settings, each batch relative to its start; the best sample wins."""
    from optuna.samplers import TPESampler

    start, sign = task.space.start, 1 if task.higher else -1
    search = Search(task.space, task.limits, task.seed, TPESampler(seed=task.seed, multivariate=False))
    seen: dict[Configuration, float] = {}
    spent = number = 0
    while spent < trials:
        batch: list[Configuration] = []
        while len(batch) < BATCH:
            batch.append(search.ask([*batch, start]))
        number += 1
        values = laboratory.batch(f"plain-{number:02d}", start, batch, task.seed + 300 + number)
        spent += 1 + len(batch)
        base = values.get(start)
        if not base:
            continue
        for each in batch:
            if each in values:
                value = values[each]
                gain = sign * log(value / base) if value else None
                search.tell(each, gain)
                if gain is not None:
                    seen[each] = max(gain, seen.get(each, gain))
    best = max(seen, key=lambda each: seen[each])
    return Winner(best, seen[best], spent)


def trials_of(path: Path) -> int:
    """How many trials an advice took before its confirmation."""
    proofs = (*MAIN.names, "taken-", WHOLE, ELSEWHERE)
    runs = [each.parent for each in sorted(path.glob("*/study.toml")) if not each.parent.name.startswith(proofs)]
    return sum(len(Run.open(each).trials) for each in runs)


def told(winner: Winner, compared: Mapping[Configuration, Compared], task: Task, objective: str) -> str:
    """What is printed; `compared` is against the advice."""
    found, start = compared[winner.configuration], compared[task.space.start]
    effect = found.effect
    changes = winner.configuration.changes_from(task.space.start)
    return "\n".join(
        [
            f"the advice: {objective} {ratio_interval(*inverted(start))} against the start",
            f"Optuna's winner of {winner.trials} trials, {len(changes)} lines: it promised x{exp(winner.promised):.2f}",
            f"Optuna's winner against the advice: {ratio_interval(effect.estimate, effect.low, effect.high)},"
            f" {found.verdict.kind}",
        ]
    )


def main() -> None:
    """Search, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--budget", default="10min", help="of the study that compares both (default: 10min)")
    parser.add_argument("--data-dir", type=Path, metavar="DIR")
    parser.add_argument("--allow-busy", action="store_true")
    parser.add_argument("--allow-volatile", action="store_true")
    arguments = parser.parse_args()
    kept = folder.read(arguments.run)
    task, objective = kept.task, kept.question.objective
    start = task.space.start
    lines = folder.advised(arguments.run)
    if not lines:
        sys.exit("the advice confirmed nothing: there is nothing to compare")
    options = kept.options(
        BenchOptions(
            data_directory=arguments.data_dir,
            allow_busy=arguments.allow_busy,
            allow_volatile=arguments.allow_volatile,
        )
    )
    arguments.out.mkdir(parents=True, exist_ok=True)
    laboratory = RealLaboratory(
        arguments.out, kept.question, task.space, options, lambda study: watcher_for(study, sys.stderr, quiet=True)
    )
    winner = plain(task, laboratory, trials_of(arguments.run))
    advised = start.with_values(lines)
    arms = [start, winner.configuration]
    compared = laboratory.study("both", advised, arms, task.seed + 9, seconds("--budget", arguments.budget))
    print(told(winner, compared, task, objective))


if __name__ == "__main__":
    main()
