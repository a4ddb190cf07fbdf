"""The tables of docs/ that come from the program's own description of its loads and factors.

`python -m tests.docs.tables` writes them between their markers; `test_tables.py` fails while a page differs.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

from benchmarks import cut_summary, time_to_verdict, turns_against_sequential
from benchmarks.noise import identical, lengths, sources, spectra
from benchmarks.planted import recovered
from benchmarks.turns import lines_of, read
from pgassay.interfaces.factor import Factor, Stage, Turns
from pgassay.lab.catalogue import every_factor
from pgassay.load import cacheprobe, drivers, replay
from pgassay.postgres.factors import SETTINGS_IN_TURNS, ServerSetting
from pgassay.probe.registry import PROBES
from tests.docs import as_published

DOCS = Path(__file__).parents[2] / "docs"


def row(cells: Iterable[str]) -> str:
    """One row of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def code(text: str) -> str:
    """As code, unless it is empty."""
    return f"`{text}`" if text else ""


def loads() -> list[str]:
    """A row for each driver, and then its own options."""
    lines = [row(("driver", "what it is", "program", "unit of work")), "|---|---|---|---|"]
    own = ["", "Each driver's own options:", ""]
    for driver in drivers.BUILT_IN:
        program = driver.program or (
            "pgassay-player" if driver in (cacheprobe.DRIVER, replay.DRIVER) else "PostgreSQL's pgbench"
        )
        lines.append(row((code(driver.name), driver.summary, program, driver.work.name)))
        own += item(code(driver.name), sorted(each.pattern for each in driver.own_factors))
    return [*lines, *own]


def item(name: str, members: Iterable[str]) -> list[str]:
    """One of a list, in lines of a page's width."""
    return wrapped(f"- {name}: {', '.join(map(code, members))}")


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 150, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def factors(prefix: str, *stages: Stage) -> list[str]:
    """A row for each factor whose name begins so, of these stages; those of the data's and the WAL's drive are one."""
    named: dict[tuple[str, str, str], list[str]] = {}
    for each in sorted(every_factor().all(), key=lambda each: each.pattern):
        if each.pattern.startswith(prefix) and each.stage in stages:
            named.setdefault((takes(each), code(each.default), each.summary), []).append(code(each.pattern))
    lines = [row(("factor", "takes", "default", "meaning")), "|---|---|---|---|"]
    return [*lines, *(row((", ".join(names), *rest)) for rest, names in named.items())]


def takes(factor: Factor) -> str:
    """What may be written, with the unit of bare numbers."""
    return f"{factor.accepts} [{factor.unit}]" if factor.unit else factor.accepts


def probes() -> list[str]:
    """A row for each probe, and then the responses that come from it."""
    lines = [row(("probe", "reads", "sources")), "|---|---|---|"]
    own = ["", "The responses of each probe:", ""]
    for each in PROBES:
        lines.append(row((each.name, each.summary, ", ".join(map(code, each.meters)))))
        own += item(each.name, (cost.response.name for cost in each.costs)) if each.costs else []
    return [*lines, *own]


def validity() -> list[str]:
    """A line for each thing that factors say of taking turns, with the factors that say so; a namespace as a whole."""
    every = [each for each in every_factor().all() if not isinstance(each, ServerSetting)]
    whole: dict[str, set[Turns | None]] = {}
    for each in every:
        whole.setdefault(each.pattern.partition(".")[0], set()).add(each.turns(each.pattern))
    names: list[tuple[str, Turns | None]] = [
        (f"server.{pattern}", turns) for patterns, turns in SETTINGS_IN_TURNS for pattern in patterns
    ]
    for each in every:
        namespace = each.pattern.partition(".")[0]
        of_all = len(whole[namespace]) == 1 and namespace in ("build", "drive", "host")
        names.append((f"{namespace}.*" if of_all else each.pattern, each.turns(each.pattern)))
    found: dict[tuple[str, str], list[str]] = {}
    for name, turns in dict(names).items():
        assert turns is not None, name
        found.setdefault((turns.refusal, turns.note), []).append(code(name))
    yes = [line for (why, note), names in found.items() if not why for line in _turns("yes", note, names)]
    return [*yes, *(line for (why, _), names in found.items() if why for line in _turns("no", why, names))]


def _turns(answer: str, why: str, names: Iterable[str]) -> list[str]:
    return wrapped(f"- {', '.join(names)}: **{answer}**" + (f", {why}" if why else ""))


def against_sequential(path: Path) -> list[str]:
    """Of questions that were asked in turns and one after the other."""
    return turns_against_sequential.table([turns_against_sequential.Speed(**each) for each in lines_of(path)])


FACTORS: Mapping[str, list[str]] = {
    "build": factors("", Stage.BUILD),
    "init": factors("init.", Stage.INIT),
    "drive": factors("drive.", *Stage),
    "data": factors("", Stage.DATA),
    "host": factors("host.", Stage.HOST),
    "load": factors("load.", Stage.RUN),
}
"""By what a user looks for; those of the server are PostgreSQL's settings."""

MEASURED = DOCS / "noise"
"""Raw records of benchmarks, from which tables are made."""

PUBLISHED = "published-studies.md"
PUBLISHED_EVIDENCE = "evidence/published-studies.md"
STATISTICS = "evidence/statistics.md"
TABLES: Mapping[tuple[str, str], "list[str]"] = {
    (PUBLISHED, "plans"): as_published.plans(as_published.WHOLE),
    (PUBLISHED, "judged"): as_published.judged(),
    (PUBLISHED_EVIDENCE, "findings"): as_published.claims(as_published.whole(as_published.WHOLE)),
    (PUBLISHED_EVIDENCE, "findings of quick runs"): as_published.claims(as_published.quick_ones()),
    (PUBLISHED_EVIDENCE, "models"): as_published.plans(as_published.MODELS),
    (PUBLISHED_EVIDENCE, "findings of models"): as_published.claims(as_published.whole(as_published.MODELS)),
    (PUBLISHED_EVIDENCE, "commands"): as_published.commands(),
    (PUBLISHED_EVIDENCE, "questions of today"): as_published.of_today(),
    ("loads.md", "loads"): loads(),
    **{("studies.md", f"factors {marker}"): lines for marker, lines in FACTORS.items()},
    ("studies.md", "probes"): probes(),
    (STATISTICS, "validity"): validity(),
    ("evidence/power-cuts.md", "long runs"): cut_summary.long_runs(DOCS / "power-cut"),
    (STATISTICS, "sources"): sources(read(MEASURED / "identical-cold.jsonl.gz")),
    (STATISTICS, "spectra"): spectra(read(MEASURED / "identical-cold.jsonl.gz")),
    (STATISTICS, "lengths"): lengths(read(MEASURED / "lengths.jsonl.gz")),
    (STATISTICS, "placement"): sources(read(MEASURED / "placement-cpu.jsonl.gz")),
    (STATISTICS, "pairs"): sources(read(MEASURED / "pairs-cpu.jsonl.gz")),
    (STATISTICS, "identical-quiet"): identical(read(MEASURED / "identical-quiet.jsonl.gz")),
    (STATISTICS, "identical-bursts"): identical(read(MEASURED / "identical-bursts.jsonl.gz")),
    (STATISTICS, "minutes-quiet"): time_to_verdict.table(read(MEASURED / "identical-quiet.jsonl.gz")),
    (STATISTICS, "minutes-bursts"): time_to_verdict.table(read(MEASURED / "identical-bursts.jsonl.gz")),
    (STATISTICS, "turns-against-sequential"): against_sequential(MEASURED / "turns-against-sequential.jsonl.gz"),
    (STATISTICS, "planted"): recovered(MEASURED / "planted-cold.jsonl.gz"),
    (STATISTICS, "planted-slices"): recovered(MEASURED / "planted-slices.jsonl.gz"),
    (STATISTICS, "planted-competitors"): recovered(MEASURED / "planted-competitors.jsonl.gz"),
}
"""Page and marker to the lines between `<!-- MARKER: begin … -->` and `<!-- MARKER: end -->`."""


def rewritten(text: str, marker: str, lines: Iterable[str]) -> str:
    """The page with its table replaced; `ValueError` if it has no such markers."""
    pattern = re.compile(rf"(<!-- {marker}: begin[^>]*-->\n).*?(<!-- {marker}: end -->)", re.DOTALL)
    body = "\n".join(lines) + "\n"
    found, count = pattern.subn(lambda match: f"{match[1]}{body}{match[2]}", text)
    if count != 1:
        raise ValueError(f"one pair of markers for {marker}, not {count}")
    return found


def main() -> None:
    """Write every table into its page."""
    for (page, marker), lines in TABLES.items():
        path = DOCS / page
        path.write_text(rewritten(path.read_text(encoding="utf-8"), marker, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
