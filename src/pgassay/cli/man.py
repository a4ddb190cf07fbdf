"""`pgassay man [COMMAND]`: manual pages in man(7)'s macros, made from the parsers, for one command or all.

Our own because the one library for it, argparse-manpage, has no wheel: its installation would fetch an unpinned
setuptools, which no lock file of ours could hold. Completion is made from the same parser (`program`). Exit
statuses and variables are here once, for docs/commands.md too.
"""

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pgassay import __version__, plugins
from pgassay.cli import COMMANDS, find_command
from pgassay.cli.parser import Action, excluded, unknown_command
from pgassay.cli.printing import SUCCESS
from pgassay.outgoing import visible
from pgassay.plugins import PluginError

NAME = "pgassay"
EXIT_STATUSES: Mapping[str, str] = {
    "0": "the command did its work; for `run`: the study ran, whatever its verdicts"
    " (and thresholds, without `--check`)",
    "1": "with `--check`: a threshold failed or was not shown to hold, or `track` found a regression; with `--strict`:"
    " `lint` or `doctor` found something, or `rerun` a difference; without either: nothing could be measured, a dry run"
    " names what this machine lacks, or `export --capsule` found a damaged record",
    "2": "usage or fault; for `check`: the record is damaged",
    "130": "interrupted; every committed trial is kept",
}
VARIABLES: Mapping[str, str] = {
    "PGASSAY_BINDIR": "the PostgreSQL to use",
    "XDG_STATE_HOME": "`pgassay/calibration.json` below it (default: `~/.local/state`) keeps what calibrations found"
    " here, `pgassay/disk.json` what disk studies found of each drive, `pgassay/trial_lengths.json` how long trials"
    " took, for later plans",
    "XDG_CACHE_HOME": "`pgassay` below it (default: `~/.cache`) keeps the script that draws the pages' figures, between"
    " reports",
    "PGASSAY_CACHE": "where builds of PostgreSQL are kept (default: `builds` beside the clusters for root, else"
    " `~/.cache/pgassay`)",
    "PGASSAY_DATA_DIR": "where clusters live (default: `/var/lib/pgassay` for root, else `~/.local/share/pgassay`)",
    "PGASSAY_STATE_DIR": "where changes to this machine and temporary places are noted until they are undone, and what"
    " proofs showed of drives' counters (default for root: `/var/lib/pgassay/state`)",
    "PGASSAY_DRIVE": "the program `pgassay-drive`, if not the installed one",
    "PGASSAY_PLAYER": "the program `pgassay-player`, if not the installed one",
    "PG_COLOR": "`always`, `auto` or `never`, as for PostgreSQL's own programs, but `auto` where it is not set",
    "NO_COLOR": "if it is set to anything, no colours, whatever `PG_COLOR` says",
}


_ESCAPES = str.maketrans({"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", '"': "\\(dq"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("about", nargs="?", metavar="COMMAND", help="the command (default: the program)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the pages of all commands there, as COMMAND.1")


def run(arguments: argparse.Namespace) -> int:
    """Print one page, or write them all; returns the exit status. Raises `UsageError` for an unknown command."""
    made = pages()
    if arguments.out is not None:
        if arguments.about:
            raise excluded("--out", arguments.about)
        arguments.out.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            (arguments.out / f"{name}.1").write_text(text, encoding="utf-8")
        return SUCCESS
    name = f"{NAME}-{arguments.about}" if arguments.about else NAME
    if name not in made:
        raise unknown_command(arguments.about, [each.removeprefix(f"{NAME}-") for each in made])
    print(made[name], end="")
    return SUCCESS


def pages() -> dict[str, str]:
    """Every page by its name: `pgassay`, then `pgassay-COMMAND` for each command."""
    whole = program()
    found = {NAME: _of_program(whole)}
    found |= {f"{NAME}-{each[0]}": _of_command(*each) for each in subcommands_of(whole)}
    return {name: "\n".join(lines) + "\n" for name, lines in found.items()}


def _of_program(whole: argparse.ArgumentParser) -> Iterator[str]:
    yield from _head(NAME, whole.description or "")
    yield from (".SH SYNOPSIS", f"{_bold(NAME)} {_slanted('COMMAND')} [{_slanted('OPTION')}]...")
    yield from (".SH COMMANDS",)
    for name, summary, _ in subcommands_of(whole):
        yield from (".TP", f"{_bold(f'{NAME}-{name}')}(1)", _line(summary))
    yield from _options(whole, ".SH OPTIONS")
    yield from _table("EXIT STATUS", EXIT_STATUSES)
    yield from _table("ENVIRONMENT", VARIABLES)


def _of_command(name: str, summary: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from _head(f"{NAME}-{name}", summary)
    yield ".SH SYNOPSIS"
    below = list(subcommands_of(parser))
    for each in [each for _, _, each in below] or [parser]:
        words = each.format_usage().removeprefix("usage: ").split()
        yield from (f"{_bold(each.prog)} {_plain(' '.join(words[len(each.prog.split()) :]))}", ".br")
    if below:
        yield ".SH ACTIONS"
    for action, said, each in below:
        yield from (f".SS {_bold(action)}", _line(said))
        yield from _options(each, "")
    yield from _options(parser, ".SH OPTIONS")
    yield from _table("EXIT STATUS", EXIT_STATUSES)
    yield from (".SH SEE ALSO", f"{_bold(NAME)}(1)")


def _head(name: str, summary: str) -> Iterator[str]:
    yield f'.TH {_plain(name.upper())} 1 "" "{NAME} {_plain(__version__)}" "{NAME}"'
    yield from (".nh", ".ad l", ".SH NAME", f"{_plain(name)} \\- {_plain(summary)}")


def _options(parser: argparse.ArgumentParser, title: str) -> Iterator[str]:
    shown = list(actions_of(parser))
    if title and shown:
        yield title
    for group in parser._action_groups:
        found = [action for action in group._group_actions if action in shown]
        if title and found and group not in (parser._positionals, parser._optionals):
            yield f".SS {_plain((group.title or '').capitalize())}"
        for action in found:
            yield from (".TP", _name(action), _line(_help(parser, action)))


def _name(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else ",".join(map(str, action.choices or ()))
    value = value or action.dest
    if not action.option_strings:
        return _slanted(value)
    taken = "" if action.nargs == 0 else f" {_slanted(value)}"
    return f"{', '.join(map(_bold, action.option_strings))}{taken}"


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The help with its `%` written out, as argparse does it."""
    said = (action.help or "") % {**vars(action), "prog": parser.prog}
    if action.choices and not all(str(each) in said for each in action.choices):
        said = f"{said}: {', '.join(map(str, action.choices))}".removeprefix(": ")
    return said


def _table(title: str, rows: Mapping[str, str]) -> Iterator[str]:
    yield f".SH {title}"
    for name, meaning in rows.items():
        yield from (".TP", _bold(name), _line(meaning))


def _line(text: str) -> str:
    """A sentence as a line of its own: no leading dot or quote, which would be a request; `code` in bold."""
    parts = re.split(r"`([^`]*)`", text)
    shown = "".join(_bold(part) if place % 2 else _plain(part) for place, part in enumerate(parts))
    return shown or "\\&"


def _bold(text: str) -> str:
    return f"\\fB{_plain(text)}\\fR"


def _slanted(text: str) -> str:
    return f"\\fI{_plain(text)}\\fR"


def _plain(text: str) -> str:
    """Text as troff takes it: groff_char(7) and man(7), "Portability"."""
    text = visible(text, keep="").translate(_ESCAPES)
    return f"\\&{text}" if text.startswith(".") else text


def program() -> argparse.ArgumentParser:
    """The whole program as one parser, with a subparser for each command; only their `add_arguments` has run.

    `main` parses one command at a time, so that `--help` imports nothing else. A broken command of another package is
    left out, since it stops no other.
    """
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
    yield parser
    for _, _, each in subcommands_of(parser):
        yield from walk(each)
