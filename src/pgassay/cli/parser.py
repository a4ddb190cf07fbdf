"""argparse with PostgreSQL's manners: `-?` for help, errors with a hint, no abbreviations.

argparse because start-up counts: it adds milliseconds where richer libraries add a hundred (benchmarks/startup.py).
"""

import argparse
from collections.abc import Callable
from typing import NoReturn

from pgassay.cli import messages


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
        """Refuse the command line."""
        options = [option for action in self._actions for option in action.option_strings]
        raise messages.bad_usage(message, self.prog, options)
