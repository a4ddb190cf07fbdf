"""Covariate points in a reader's order: by number where they are numbers, else as the study has them."""

from collections.abc import Sequence


def number_of(covariate: str) -> float | None:
    """`load.clients=8` as 8; None for a label with several covariates, or without a number."""
    _, _, value = covariate.partition("=")
    try:
        return float(value)
    except ValueError:
        return None


def in_order(covariates: Sequence[str]) -> tuple[str, ...]:
    """The labels in order; they are given in the study's."""
    numbers = {name: number_of(name) for name in covariates}
    if any(number is None for number in numbers.values()):
        return tuple(covariates)
    return tuple(sorted(covariates, key=lambda name: numbers[name] or 0.0))
