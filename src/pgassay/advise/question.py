"""The question of an advice, and the studies that ask it: configurations as treatments of a study file.

Every batch and every study of an advice is such a document, so anyone can run it again by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pgassay.advise.knowledge import OF_THE_HOST, factor_name
from pgassay.advise.robust import Condition
from pgassay.advise.space import Configuration, Space
from pgassay.study.document import Document
from pgassay.study.thresholds import split
from pgassay.study.units import canonical


@dataclass(frozen=True)
class Question:
    """What all studies of an advice have in common: the load, what decides, what must hold."""

    load: Mapping[str, Any]
    objective: str
    keep: tuple[str, ...] = ()
    """Thresholds such as `latency_p99_ms < 10 ms`."""
    resolution: float = 0.02
    others: tuple[str, ...] = ()
    """Further objectives."""
    held: Mapping[str, str] = field(default_factory=dict)
    """Factors that every trial has at one level, such as the drive."""

    @property
    def objectives(self) -> tuple[str, ...]:
        """All of them, the first first."""
        return (self.objective, *self.others)


def names_of(
    configurations: Sequence[Configuration],
    start: Configuration,
    named: Mapping[Configuration, str],
    *,
    against_first: bool,
) -> list[str]:
    """What the configurations of a study are called: by all their settings nobody could tell them apart."""
    first, known, found = configurations[0], {**named, start: "start"}, list[str]()
    for number, each in enumerate(configurations):
        changed = each.changes_from(first)
        name = known.get(each, f"candidate {number}")
        if each not in known and against_first and number == 0:
            name = "advised"
        elif each not in known and against_first and len(changed) == 1:
            [(setting, value)] = changed.items()
            back = canonical(value) == canonical(start.values[setting])
            name = f"without {setting}" if back else f"with {setting}"
        found.append(name)
    return found


def document(
    question: Question,
    space: Space,
    name: str,
    configurations: Sequence[Configuration],
    design: Mapping[str, Any],
    called: Sequence[str] = (),
) -> Document:
    """A study of these configurations, `called` so; the first is the baseline."""
    decide: dict[str, list[str]] = {}
    for each in question.keep:
        response, condition = split(each)
        decide.setdefault(response, []).append(condition)
    responses: dict[str, Any] = {"primary": question.objective}
    if question.others:
        responses["secondary"] = list(question.others)
    found: Document = {
        "study": {
            "format": 1,
            "title": f"Advice: {name}",
            "question": f"Which configuration is better by {' and '.join(question.objectives)}?",
        },
        "treatments": [_treatment(space, each) for each in configurations],
        "fixed": dict(question.held),
        "load": dict(question.load),
        "responses": responses,
        "design": {"resolution": question.resolution, **design},
    }
    if called:
        found["study"]["called"] = list(called)
    return {**found, "decide": decide} if decide else found


def at_conditions(study: Document, conditions: Sequence[Condition]) -> Document:
    """The same study at each of the conditions."""
    varied = {name for each in conditions for name, _ in each.levels}
    return {
        **study,
        "load": {name: value for name, value in study["load"].items() if name not in varied},
        "conditions": [{f"load.{name}": value for name, value in each.levels} for each in conditions],
    }


def _treatment(space: Space, configuration: Configuration) -> dict[str, str]:
    """What is not PostgreSQL's default, what the lab would else pin, what the host has; at least one setting."""
    own = {each.name: each.setting for each in space.dimensions}
    always = {name for name, each in own.items() if each.window_s or name.startswith(OF_THE_HOST)}
    set_ = {
        name: value
        for name, value in configuration.values.items()
        if name not in own or name in always or canonical(value) != canonical(own[name].default)
    }
    first = space.dimensions[0].name
    shown = set_ or {first: configuration.values[first]}
    return {factor_name(name): value for name, value in shown.items()}
