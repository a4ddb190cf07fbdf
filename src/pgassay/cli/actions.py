"""The parser of one action of a command that has several (`postgres build`, `drive create`)."""

import argparse
from typing import Any

from pgassay.cli import messages


class Action(argparse.ArgumentParser):
    """An action's parser, with the manners of the commands'."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "add_help": False, "allow_abbrev": False})
        self.add_argument("-?", "--help", action="help", help="show this help, then exit")

    def error(self, message: str) -> Any:
        """Refuse the command line."""
        raise messages.bad_usage(message, self.prog, [o for action in self._actions for o in action.option_strings])
