"""The messages of the bench about options, in PostgreSQL's manner: lower case, no full stop, with a hint."""

from collections.abc import Iterable

from pgassay.errors import UsageError


def no_value(name: str) -> UsageError:
    """A level without any text."""
    return UsageError(f'"{name}" has no value')


def not_a_choice(name: str, text: str, choices: Iterable[str]) -> UsageError:
    """A level that must be one of a few words."""
    return UsageError(f'"{name}" cannot be "{text}"', f"it takes: {', '.join(choices)}")


def no_program(program: str, hint: str) -> UsageError:
    """A load's program is not installed; `hint` says where to get it."""
    return UsageError(f'"{program}" is not installed', hint)


def no_gate(driver: str) -> str:
    """Why a load cannot be played in slices, where its driver says nothing else."""
    return f'the load "{driver}" cannot be played in slices: it cannot stand still between two transactions'


def cannot_gate(reason: str) -> UsageError:
    """A load that cannot be played in slices, where a study asks for it."""
    return UsageError(reason, 'run the treatments one after the other: design.pairing = "sequential"')
