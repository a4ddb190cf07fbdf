"""Where a report comes from: the machine's facts, and how to repeat the run.

The record keeps the facts nested, a page wants `cpu.model: …`.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pgassay.report.headline import machine
from pgassay.report.section import Block, Code, Folded, Section, Sentences, Surface, Table

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

DEPTH_MAX = 6

_MOMENTARY = {"load", "pairing", "remarks", "started", "imported", "disk_capacities", "builds", "golden"}
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


def _machine(findings: "Findings") -> Iterator[Block]:
    rows = facts(findings.run.host)
    yield Folded("All facts recorded about the host", (Table(("fact", "value"), rows),))


def _repetition(findings: "Findings") -> Iterator[Block]:
    header = findings.run.header
    if findings.imported:
        first = "these runs were imported, so pgassay cannot repeat them; the command below imports them again"
    else:
        first = "the resolved study below, with its seed, gives the same order of trials"
    made = f"study {header.study}, started {header.started_utc}, seed {header.seed}, pgassay {header.program_version}"
    yield Sentences((first, made), joined=True)
    if not findings.imported:
        yield Code(_command(findings))
    record = (
        "how each number is computed: docs/report.md in pgassay's sources",
        "the record: every trial's raw output is in the run directory; pgassay export RUN --csv gives a row a trial",
    )
    yield Code(" ".join(header.command), "it was started as")
    yield Sentences(record, small=True, joined=True)
    yield Folded("study.toml", (Code(findings.run.study_toml),))


def _command(findings: "Findings") -> str:
    return "" if findings.imported else f"pgassay run study.toml --seed {findings.run.header.seed}"


def _machine_brief(findings: "Findings") -> str:
    return machine(findings.run.host)


def _header(findings: "Findings") -> Mapping[str, object]:
    header = findings.run.header
    return {
        "run": str(findings.run.path),
        "study": header.study,
        "started_utc": header.started_utc,
        "seed": header.seed,
    }


MACHINE = Section("host", "Machine", _machine, link="Machine", on=Surface.PAGE, brief=_machine_brief)
REPETITION = Section("repeat", "Repeat it", _repetition, _header, link="Repeat it", on=Surface.PAGE, brief=_command)
