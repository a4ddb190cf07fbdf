"""Where a report comes from: the effective configuration, the machine's facts, and how to repeat the run.

"Default configuration" is not one configuration: defaults depend on version, block size and machine, so the table shows
what each server said of itself, a row a setting, a column a treatment, differences marked. The record keeps the
machine's facts nested, a page wants `cpu.model: …`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

from pgassay.record.values import LevelRecord, TrialRecord
from pgassay.report import formatting
from pgassay.report.headline import machine
from pgassay.report.section import Brief, Cell, Code, Folded, Part, Section, Sentences, Surface, Table, Values
from pgassay.report.trials import by_treatment
from pgassay.study.responses import Status
from pgassay.study.units import parse_memory

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

DEPTH_MAX = 6

_MOMENTARY = {"load", "pairing", "remarks", "started", "imported", "capacities", "disk_capacities", "builds", "golden"}
_MOMENTARY_FACTS = {
    "mhz", "free_bytes", "available_bytes", "swap_free_bytes", "average", "uptime_s", "dirty_bytes", "nr_hugepages",
}  # fmt: skip
_HOST = "place.host"
"""A hash that tells machines apart and says nothing about them."""


def facts(host: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every leaf of the machine's facts with its path, in the record's order; empty ones left out."""
    return [(name, text) for name, text in _leaves(host, "", 0) if text not in ("", "None")]


def lasting(name: str) -> bool:
    """Is a fact by its path one of the machine? Others change by the minute, and say nothing about what differs."""
    group, last = name.split(".")[0], name.split(".")[-1]
    return group not in _MOMENTARY and last not in _MOMENTARY_FACTS and name != _HOST


def _leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and depth < DEPTH_MAX:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]", depth + 1)
    elif isinstance(value, list):
        yield path, ", ".join(map(str, value))
    else:
        yield path, str(value)


def _machine(findings: "Findings") -> Iterator[Part]:
    yield Brief(machine(findings.run.host))
    rows = facts(findings.run.host)
    yield Folded("All facts recorded about the host", (Table(("fact", "value"), rows),))


def _repetition(findings: "Findings") -> Iterator[Part]:
    header = findings.run.header
    run = {"run": str(findings.run.path), "study": header.study}
    yield Values({**run, "started_utc": header.started_utc, "seed": header.seed})
    command = f"pgassay run study.toml --seed {header.seed}"
    if findings.imported:
        first = "these runs were imported, so pgassay cannot repeat them; the command below imports them again"
    else:
        first = "the resolved study below, with its seed, gives the same order of trials"
        yield Brief(command)
    made = f"study {header.study}, started {header.started_utc}, seed {header.seed}, pgassay {header.program_version}"
    yield Sentences((first, made), joined=True)
    if not findings.imported:
        yield Code(command)
    record = (
        "how each number is computed: docs/report.md in pgassay's sources",
        "the record: every trial's raw output is in the run directory; pgassay export RUN --csv gives a row a trial",
    )
    yield Code(" ".join(header.command), "it was started as")
    yield Sentences(record, small=True, joined=True)
    yield Folded("study.toml", (Code(findings.run.study_toml),))


MACHINE = Section("host", "Machine", _machine, link="Machine", on=Surface.PAGE)
REPETITION = Section("repeat", "Repeat it", _repetition, link="Repeat it", on=Surface.PAGE)


Value = TypeVar("Value")
LISTED_MAX = 12
"""Of the levels that one treatment had."""
_CONFIRMED, _MEMORY = " (confirmed)", "host.memory"
_FACTORS_OF = {
    "block_size": {"build.block_size"},
    "wal_block_size": {"build.wal_block_size"},
    "server_version": {"build.version", "build.source", "postgres.version"},
    "data_checksums": {"init.data_checksums"},
    "wal_segment_size": {"init.wal_segment_size"},
}
"""What a server shows of factors that are no settings of its configuration file."""


@dataclass(frozen=True)
class Row:
    """A setting with its value in each treatment; `varied` says that the study varies it, `differs` that it differs."""

    name: str
    values: tuple[str, ...]
    varied: bool
    differs: bool

    @property
    def unexpected(self) -> bool:
        """Does it differ although the study does not vary it?"""
        return self.differs and not self.varied


def side_by_side(trials: Sequence[TrialRecord], varied: Sequence[str]) -> tuple[Row, ...]:
    """Every setting that some server had beyond the built-in default; a value that changed within one is joined."""
    treatments = tuple(by_treatment(trials))
    seen: dict[str, dict[str, list[str]]] = {}
    kept = (trial for trial in trials if trial.status is not Status.INVALID)
    for treatment, settings in _different((trial, trial.settings) for trial in kept):
        for name, value in settings.items():
            values = seen.setdefault(name, {}).setdefault(treatment, [])
            if value not in values:
                values.append(value)
    rows = []
    for name in sorted(seen):
        cells = tuple(" / ".join(seen[name].get(treatment, ["(default)"])) for treatment in treatments)
        rows.append(
            Row(name, cells, not _FACTORS_OF.get(name, {f"server.{name}"}).isdisjoint(varied), len(set(cells)) > 1)
        )
    return tuple(rows)


def merged(treatments: Sequence[str], rows: Sequence[Row]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """The same with one column for treatments whose servers were configured alike: heads (a level a line), and rows."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for index in range(len(treatments)):
        alike.setdefault(tuple(row.values[index] for row in rows), []).append(index)
    columns = list(alike.values())
    heads = tuple(_joint([treatments[index] for index in column]) for column in columns)
    kept = tuple(replace(row, values=tuple(row.values[column[0]] for column in columns)) for row in rows)
    return heads, kept


def _joint(names: Sequence[str]) -> str:
    """`a=1, b=2` and `a=1, b=3` as `a=1` and `b=2 or 3`, where these are all combinations; else one after the other."""
    levels = [[part.partition("=") for part in name.split(", ")] for name in names]
    factors = [[factor for factor, _, _ in each] for each in levels]
    if all(each == factors[0] for each in factors):
        values = [dict.fromkeys(each[place][2] for each in levels) for place in range(len(factors[0]))]
        if prod(map(len, values)) == len(names):
            parts = (f"{factor}={' or '.join(found)}" for factor, found in zip(factors[0], values, strict=True))
            return ",\n".join(each.rstrip("=") for each in parts)
    return "\nor ".join(names)


def levels_read_back(trials: Sequence[TrialRecord]) -> Mapping[str, Mapping[str, str]]:
    """Factor name to treatment to its levels, with what the running system said of them.

    A treatment has several levels of a condition or a covariate, or of what was not read back alike in all its trials.
    """
    found: dict[str, dict[str, dict[str, None]]] = {}
    for treatment, levels in _different((trial, trial.levels) for trial in trials):
        for name, level in levels.items():
            found.setdefault(name, {}).setdefault(treatment, {})[_said(name, level)] = None
    return {name: {treatment: _listed(list(said)) for treatment, said in of.items()} for name, of in found.items()}


def _listed(said: Sequence[str]) -> str:
    """`1, 2, 4 (confirmed)`; what was said in different ways one after the other."""
    if len(said) == 1:
        return said[0]
    shown = [*said[:LISTED_MAX], *(["…"] if len(said) > LISTED_MAX else [])]
    if all(each.endswith(_CONFIRMED) for each in said):
        return f"{', '.join(each.removesuffix(_CONFIRMED) for each in shown)}{_CONFIRMED}"
    return "; ".join(shown)


def _different(trials: Iterable[tuple[TrialRecord, Mapping[str, Value]]]) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """Treatments with their trials' mappings, each object once: the record shares mappings that are equal."""
    seen = set()
    for trial, mapping in trials:
        key = (trial.treatment, id(mapping))
        if key not in seen:
            seen.add(key)
            yield trial.treatment, mapping


def _said(name: str, level: LevelRecord) -> str:
    asked = level.typed
    if name == _MEMORY and level.canonical != asked.strip() and parse_memory(level.canonical) > parse_memory(asked):
        asked = f"{asked}, with the server's processes {level.canonical}"  # of a scale model
    if level.read_back is None:
        return f"{asked} (as requested; it cannot be read back)"
    if level.read_back == level.canonical:
        return f"{asked}{_CONFIRMED}"
    return f"{asked} (the server says {level.read_back})"


def _configuration(findings: "Findings") -> Iterator[Part]:
    study, treatments = findings.study, tuple(by_treatment(findings.trials))
    every = side_by_side(findings.trials, [*study.factors, *study.conditions, *study.covariates])
    read_back, surprises = levels_read_back(findings.trials), sum(row.unexpected for row in every)
    differ = f"; {formatting.counted(surprises, 'difference')} not asked for" if surprises else ""
    yield Brief(
        f"{formatting.counted(len(every), 'setting')} and {formatting.counted(len(read_back), 'level')}{differ}"
    )
    heads, rows = merged(treatments, every)
    if findings.imported:
        yield Sentences(("imported runs record no settings and nothing was read back",))
    else:
        about = [
            "as the running servers said",
            "everything else stood at PostgreSQL's built-in default, except what keeps the server private (socket"
            " directory, port, file paths, locale)",
            "marked: what differs between treatments although the study does not vary it",
        ]
        if len(heads) < len(treatments):
            about.append("treatments whose servers were configured alike share a column")
        yield Sentences(about, joined=True)
    settings: list[Sequence[str | Cell]] = [(Cell(row.name, code=True), *row.values) for row in rows]
    marked = [place for place, row in enumerate(rows) if row.unexpected]
    head = ("setting", *(names or "all trials" for names in heads))
    yield Table(head, settings, marked=marked, texts=True)
    levels: list[Sequence[str | Cell]] = []
    for name, said in read_back.items():
        alike = len(said) == len(treatments) and len(set(said.values())) == 1
        cells = list(said.values())[:1] if alike else [said.get(each, formatting.MISSING) for each in treatments]
        levels.append((Cell(name, code=True), *cells))
    head = ("level", *(each or "all trials" for each in treatments))
    yield Table(head, levels, "Levels as read back", texts=True)


CONFIGURATION = Section("configured", "Effective configuration", _configuration, link="Configuration", on=Surface.PAGE)
