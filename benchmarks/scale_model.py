"""Does a scale model hold? One study as models of several sizes: do they say the same, or where do they lead?

usage: python -m benchmarks.scale_model STUDY --scales 1/1000,1/250,1/60 --out DIR [--size as-published]
             [--set NAME=VALUE] [--levels NAME=A,B] [--blocks 5] [--data-dir DIR] [--allow-busy]
       python -m benchmarks.scale_model --runs RUN RUN …    # of runs that were made: pgassay run … --scale 1/N

With --out each model is a run in that folder; one that is there is read, and one that was cut short is gone on with.
What a model must keep is compared between the models: space, compression, the share of HOT updates, write
amplification, WAL per transaction; of each treatment against the baseline within blocks, and of the baseline itself
where the figure has no size. Each has its 95 % interval (t over blocks). Whether the models *agree*, and
where `value = limit + c * N` leads where they do not, is `pgassay.analysis.scale_law`, as in `pgassay drive predict`.
Exits 1 if any figure neither agrees nor has a law that could be tested: two models that differ.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from math import exp, isfinite, log, sqrt
from pathlib import Path
from statistics import fmean, stdev

from pgassay import library
from pgassay.analysis.scale_law import Point, judge
from pgassay.record.reading import Run
from pgassay.report.findings import Findings
from pgassay.study.responses import Scale, Status
from pgassay.study.scale_model import in_four_digits

SIZES = ("physical_bytes", "database_bytes")
SCALE_FREE = (
    "compression_ratio", "heap_compression_ratio", "hot_share", "write_amplification", "wal_bytes_per_transaction",
)  # fmt: skip
KINDS = {
    "space": SIZES,
    "compression": ("compression_ratio", "heap_compression_ratio"),
    "HOT updates": ("hot_share",),
    "write amplification": ("write_amplification",),
    "WAL of a transaction": ("wal_bytes_per_transaction",),
}
"""What a model must keep, and the responses that tell it."""
BASELINE = "baseline"


Name = tuple[str, str, str]
"""Response, treatment (or the baseline's own), and the place of its condition in the study."""


def figures_of(findings: Findings) -> dict[Name, tuple[Point, bool]]:
    """Every figure of one model, and whether it is a logarithm."""
    model = findings.study.model
    if model is None:
        raise SystemExit(f"{findings.run.path} is no scale model: make it with pgassay run … --scale 1/N")
    found: dict[Name, tuple[Point, bool]] = {}
    cells = list(dict.fromkeys(arm.place.cell for arm in findings.study.arms))
    for name in (*SIZES, *SCALE_FREE):
        response = findings.responses.get(name)
        if response is None:
            continue
        ratio = response.scale is Scale.RATIO
        for effect in findings.effects(response):
            values = [log(value) if ratio else value for _, value in effect.contrasts if not ratio or value > 0]
            _add(found, (name, effect.treatment, str(cells.index(effect.place.cell))), model.by, values, ratio)
        if name in SCALE_FREE:
            for arm in findings.study.arms:
                if arm.treatment.name == findings.baseline:
                    mine = [
                        value
                        for trial in findings.trials
                        if trial.status is Status.VALID
                        and trial.place == arm.place
                        and (value := trial.responses.get(name)) is not None
                    ]
                    values = [log(value) if ratio else value for value in mine if not ratio or value > 0]
                    _add(found, (name, BASELINE, str(cells.index(arm.place.cell))), model.by, values, ratio)
    return found


def _add(
    found: dict[Name, tuple[Point, bool]], name: Name, by: float, values: Sequence[float], logarithm: bool
) -> None:
    if len(values) > 1:
        found[name] = Point(by, fmean(values), stdev(values) / sqrt(len(values)), len(values)), logarithm


def table(models: Sequence[Mapping[Name, tuple[Point, bool]]]) -> Iterator[tuple[str, bool]]:
    """A line for each figure that every model has, and whether it holds: it agrees, or its law was tested."""
    names = [name for name in models[0] if all(name in each for each in models)]
    for name in names:
        points = [each[name][0] for each in models]
        logarithm = models[0][name][1]
        judged = judge(points)
        each = ", ".join(f"1:{in_four_digits(point.by)} {shown(point, logarithm)}" for point in points)
        response, treatment, condition = name
        where = f"{response} of {treatment}, condition {int(condition) + 1}"
        original = _quantity(judged.value, judged.half, logarithm)
        if judged.agree:
            yield f"{where}: {each}; they agree: {original}", True
        else:
            untested = "" if judged.tested else ", if that law holds: two models cannot test it"
            yield f"{where}: {each}; limit + c * N leads to {original} at 1:1{untested}", judged.tested


def by_kind(lines: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """The lines of a table that judge each kind of figure; none where the models do not have it."""
    return {kind: [line for line in lines if line.split(" ", 1)[0] in names] for kind, names in KINDS.items()}


def shown(point: Point, logarithm: bool) -> str:
    """A figure of one model with its interval."""
    return _quantity(point.value, point.half, logarithm)


def _quantity(value: float, half: float, logarithm: bool) -> str:
    low, middle, high = (exp(x) if logarithm else x for x in (value - half, value, min(value + half, 700.0)))
    return f"{middle:.3g} [{low:.3g}, {high:.3g}]" if isfinite(half) else f"{middle:.3g}"


def made(arguments: argparse.Namespace) -> list[Path]:
    """A run for each scale, made, gone on with, or read."""
    paths = []
    for scale in arguments.scales.split(","):
        path = arguments.out / f"{Path(arguments.study).stem}-{scale.replace('/', '-')}"
        options = {"data_dir": arguments.data_dir, "allow_busy": arguments.allow_busy}
        if not path.exists():
            fixed = dict(each.split("=", 1) for each in arguments.set)
            levels = {name: values.split(",") for name, values in (each.split("=", 1) for each in arguments.levels)}
            study = library.load_study(
                arguments.study, size=arguments.size, fixed=fixed, levels=levels, scale=scale, blocks=arguments.blocks
            )
            library.run(study, path, on_progress=lambda said: print(said.text, file=sys.stderr), **options)
        elif not library.Run(path).finished:
            library.resume(path, **options)
        paths.append(path)
    return paths


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="?")
    parser.add_argument("--scales", default="1/1000,1/250,1/60")
    parser.add_argument("--size", default="as-published")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--levels", action="append", default=[])
    parser.add_argument("--blocks", default="5..5")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--allow-busy", action="store_true")
    parser.add_argument("--runs", nargs="+", type=Path)
    arguments = parser.parse_args()
    if (arguments.runs is None) == (arguments.study is None or arguments.out is None):
        parser.error("give a STUDY and --out DIR, or --runs RUN RUN …")
    paths = arguments.runs or made(arguments)
    models = [figures_of(Findings(Run.open(path))) for path in paths]
    if len(models) < 2:
        parser.error("two models at least can be compared")
    lines = list(table(models))
    print("\n".join(line for line, _ in lines) or "the models have no figure in common")
    if missing := [kind for kind, found in by_kind([line for line, _ in lines]).items() if lines and not found]:
        print(f"the models have no figure in common of: {', '.join(missing)}")
    return 0 if lines and all(holds for _, holds in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
