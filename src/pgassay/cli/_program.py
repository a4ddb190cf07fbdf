"""The whole program as one parser, from which shell completion and manual pages are made.

`main` parses one command at a time, so that `--help` imports nothing else. Here all commands are put together, those
of other packages too; a broken one of those is left out, since it stops no other.
"""

import argparse
from collections.abc import Iterator

from pgassay import __version__, plugins
from pgassay.cli import COMMANDS, find_command
from pgassay.cli.parser import Action
from pgassay.plugins import PluginError

NAME = "pgassay"


def program() -> argparse.ArgumentParser:
    """A parser with a subparser for each command; nothing but `add_arguments` of the commands has run."""
    whole = Action(prog=NAME, description="a laboratory for PostgreSQL on storage")
    whole.add_argument(
        "-V", "--version", action="version", version=f"{NAME} {__version__}", help="output version information"
    )
    commands = whole.add_subparsers(metavar="COMMAND", dest="command", parser_class=Action)
    others = (plugin.name for plugin in plugins.installed(plugins.Group.COMMANDS))
    for name in dict.fromkeys((*COMMANDS, *others)):
        try:
            command, summary = find_command(name)
        except PluginError:
            continue
        command.add_arguments(commands.add_parser(name, prog=f"{NAME} {name}", help=summary, description=summary))
    return whole


def actions_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Its options and arguments that are shown, without its subcommands."""
    for action in parser._actions:
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction):
            yield action


def subcommands_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Name, summary and parser of each of its subcommands, in the order in which they were added."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {each.dest: each.help or "" for each in action._choices_actions}
            yield from ((name, said.get(name, ""), each) for name, each in action.choices.items())


def walk(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and all below it."""
    yield parser
    for _, _, each in subcommands_of(parser):
        yield from walk(each)
