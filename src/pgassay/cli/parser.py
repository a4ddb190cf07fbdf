"""argparse with PostgreSQL's manners: `-?` for help, errors with a hint, no abbreviations.

argparse because start-up counts: it adds milliseconds where richer libraries add a hundred (benchmarks/startup.py).
"""

import argparse
from collections.abc import Callable
from typing import Any, NoReturn, Protocol, runtime_checkable

from pgassay.cli import messages


@runtime_checkable
class Command(Protocol):
    """A command: a module or an object. Another package adds one by an entry point of the group `pgassay.commands`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare its options; called for `--help` too, so it should import nothing heavy."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do the work and return the exit status: 0 done, 2 fault. Raises `PgassayError`, which is printed."""


def whole(least: int) -> Callable[[str], int]:
    """The type of an option that takes a whole number from `least` on."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f'wants a whole number from {least} on, not "{text}"')
        return number

    return read


class Parser(argparse.ArgumentParser):
    """The parser of one command."""

    def __init__(self, program: str, summary: str) -> None:
        super().__init__(prog=program, description=f"{program}: {summary}", add_help=False, allow_abbrev=False)
        self.add_argument("-?", "--help", action="help", help="show this help, then exit")

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` for a command line that cannot be parsed."""
        options = [option for action in self._actions for option in action.option_strings]
        raise messages.bad_usage(message, self.prog, options)


class Action(argparse.ArgumentParser):
    """The parser of one action of a command that has several (`postgres build`, `drive create`)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "add_help": False, "allow_abbrev": False})
        self.add_argument("-?", "--help", action="help", help="show this help, then exit")

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` for a command line that cannot be parsed."""
        raise messages.bad_usage(message, self.prog, [o for action in self._actions for o in action.option_strings])
