"""The messages of the bench about options, in PostgreSQL's manner: lower case, no full stop, with a hint."""

from collections.abc import Iterable

from pgassay.errors import UsageError


def no_value(name: str) -> UsageError:
    """A level without any text."""
    return UsageError(f'"{name}" has no value')


def not_whole(name: str, text: str, least: int, most: int | None) -> UsageError:
    """A level that must be a whole number within bounds."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    return UsageError(f'"{name}" must be a whole number {bounds}, not "{text}"')


def not_a_switch(name: str, text: str) -> UsageError:
    """A level that must be on or off."""
    return UsageError(f'"{name}" must be on or off, not "{text}"')


def not_a_choice(name: str, text: str, choices: Iterable[str]) -> UsageError:
    """A level that must be one of a few words."""
    return UsageError(f'"{name}" cannot be "{text}"', f"it takes: {', '.join(choices)}")


def not_seconds(name: str, text: str, least: int) -> UsageError:
    """A level that must be a length of time in whole seconds."""
    return UsageError(
        f'"{name}" must be a length of whole seconds, at least {least}s, not "{text}"', 'for example 60, "60s", "10min"'
    )


def not_a_size(name: str, text: str, least: str) -> UsageError:
    """A level that must be an amount of memory or storage."""
    return UsageError(f'"{name}" must be a size of at least {least}, not "{text}"', 'for example "8kB", "1GB"')


def no_program(program: str, hint: str) -> UsageError:
    """A load's program is not installed; `hint` says where to get it."""
    return UsageError(f'"{program}" is not installed', hint)


def unknown_option(name: str, known: Iterable[str]) -> UsageError:
    """A name that is not among the options of a room's description."""
    return UsageError(f'"{name}" is not an option here', f"known options: {', '.join(known)}")


def no_gate(driver: str) -> str:
    """Why a load cannot be played in slices, where its driver says nothing else."""
    return f'the load "{driver}" cannot be played in slices: it cannot stand still between two transactions'


def cannot_gate(reason: str) -> UsageError:
    """A load that cannot be played in slices, where a study asks for it."""
    return UsageError(reason, 'run the treatments one after the other: design.pairing = "sequential"')
