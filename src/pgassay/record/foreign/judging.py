"""Which imported runs count: an aborted or short run is an outcome with its reasons, whatever its table says of it.

The planned length is the source's own word where it has one, else what the other runs tell (`analysis.lint.lengths`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from pgassay.analysis.lint.benchmark import Length, fell_short_of
from pgassay.record.foreign import messages
from pgassay.record.foreign.roles import Roles, levels_of
from pgassay.record.foreign.values import NO_VALUE, SHORT, ForeignRun
from pgassay.record.values import Reason
from pgassay.study.levels import Level, label


@dataclass(frozen=True)
class Placed:
    """A run with its levels by role, and all that speaks against counting it."""

    run: ForeignRun
    treatment: Mapping[str, str]
    condition: Mapping[str, str]
    covariate: Mapping[str, str]
    planned_s: float | None
    reasons: tuple[Reason, ...]

    @property
    def labels(self) -> tuple[str, str, str]:
        """Treatment, condition and covariate as the record names them."""
        return named(self.treatment), named(self.condition), named(self.covariate)

    @property
    def counts(self) -> bool:
        """Is its value a result?"""
        return not self.reasons


def named(levels: Mapping[str, str]) -> str:
    """The label of levels as typed."""
    return label({name: Level(typed, typed) for name, typed in levels.items()})


def place(runs: Sequence[ForeignRun], roles: Roles, primary: str) -> tuple[Placed, ...]:
    """Every run with its levels, its planned length and its problems, in the order given."""
    placed = [
        Placed(
            run,
            levels_of(roles.treatment, run.fields),
            levels_of(roles.condition, run.fields),
            levels_of(roles.covariate, run.fields),
            run.planned_s,
            run.problems,
        )
        for run in runs
    ]
    lengths = [Length(str(each.labels), str(each.labels[1:]), each.run.seconds, each.run.planned_s) for each in placed]
    targets = fell_short_of(lengths)
    return tuple(_judged(each, target, primary) for each, target in zip(placed, targets, strict=True))


def in_time(runs: Sequence[ForeignRun], ordered: bool) -> tuple[tuple[ForeignRun, ...], bool]:
    """The runs in the order in which they ran, and whether that is known: by their times, else as their source says."""
    if runs and all(run.started_s is not None for run in runs):
        return tuple(sorted(runs, key=lambda run: run.started_s or 0.0)), True
    return tuple(runs), ordered


def _judged(each: Placed, target_s: float | None, primary: str) -> Placed:
    reasons = list(each.reasons)
    codes = {reason.code for reason in reasons}
    if target_s is not None and each.run.seconds is not None and SHORT not in codes:
        detail = messages.ran_short(each.run.seconds, target_s, said=each.run.planned_s is not None)
        reasons.append(Reason(SHORT, detail))
    value = each.run.responses.get(primary)
    if NO_VALUE not in codes:
        if value is None:
            reasons.append(Reason(NO_VALUE, messages.value_missing(primary)))
        elif not isfinite(value) or value <= 0.0:
            reasons.append(Reason(NO_VALUE, messages.value_impossible(primary, value)))
    planned_s = each.run.planned_s if each.run.planned_s is not None else target_s
    return replace(each, planned_s=planned_s, reasons=tuple(reasons))
