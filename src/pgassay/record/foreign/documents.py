"""The study that imported runs answer, written as a study file so that every report can read it.

It has the treatments, conditions and covariates that the runs have, and none of what nobody told: no load, no budget.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pgassay.record.foreign import messages
from pgassay.record.foreign.judging import Placed, named

LABEL = "imported, not measured by pgassay"
BLOCKS_LEAST = 5


def treatments_of(placed: Sequence[Placed]) -> tuple[Mapping[str, str], ...]:
    """Distinct treatments in the order of their first run; raises `UsageError` where there is only one."""
    found = {each.labels[0]: each.treatment for each in placed}
    if len(found) < 2:
        raise messages.one_treatment(next(iter(found), ""))
    return tuple(found.values())


def baseline_of(given: str, treatments: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """The treatment that `--baseline NAME=VALUE[,…]` (or a bare value) names; the first without one."""
    if not given:
        return treatments[0]
    wanted = dict(part.partition("=")[::2] for part in given.split(",") if "=" in part)
    matching = [
        treatment
        for treatment in treatments
        if named(treatment) == given
        or (wanted and all(treatment.get(name.strip()) == value.strip() for name, value in wanted.items()))
        or (not wanted and given in treatment.values())
    ]
    if len(matching) != 1:
        raise messages.baseline_unknown(given, [named(treatment) for treatment in treatments])
    return matching[0]


def study_document(
    placed: Sequence[Placed], *, title: str, question: str, primary: str, secondary: Sequence[str], baseline: str,
    blocks: int, resolution: str,
) -> dict[str, Any]:  # fmt: skip
    """The document; reading it back with `parse_recorded` gives the same arms as the runs have."""
    treatments = treatments_of(placed)
    document: dict[str, Any] = {
        "study": {"format": 1, "title": title, "question": question},
        "treatments": [dict(treatment) for treatment in treatments],
        "responses": {"primary": primary, "secondary": list(secondary)},
        "design": {
            "baseline": dict(baseline_of(baseline, treatments)),
            "resolution": resolution,
            "blocks": {"min": min(BLOCKS_LEAST, blocks), "max": max(BLOCKS_LEAST, blocks)},
        },
    }
    for key in ("conditions", "covariates"):
        role = key.removesuffix("s")
        levels: dict[str, list[str]] = {}
        for each in placed:
            for name, value in getattr(each, role).items():
                if value not in levels.setdefault(name, []):
                    levels[name].append(value)
        if levels:
            document[key] = levels
    return document
