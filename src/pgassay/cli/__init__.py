"""The command line: one module a command, imported only when it is called.

`pgassay --help` reads no heavy library: the names of commands stand here, each command's own options in its module
(`parser.Command`). Commands of other packages are listed without being imported (entry points `pgassay.commands`).
Exit status as in docs/commands.md: 0 the command did its work, 2 usage or fault, 130 interrupted: SIGTERM and SIGHUP
end every command as Ctrl-C does, so what it made is given back.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import cast

from pgassay import __version__, outgoing, plugins
from pgassay.cli.parser import Command, Parser
from pgassay.cli.printing import FAULT, INTERRUPTED, SUCCESS, print_error, silence_broken
from pgassay.errors import PgassayError, UsageError, did_you_mean
from pgassay.lab.interruption import Interruption
from pgassay.plugins import Plugin

LISTED: Mapping[str, Mapping[str, str]] = {
    "Run a study": {
        "studies": "list the built-in studies",
        "run": "run a study",
        "compare": "compare levels of a factor, without a study file",
        "advise": "search a configuration for a load, and prove it line by line",
        "resume": "continue a run that was interrupted",
        "rerun": "run a capsule's or a run's study again, and compare it with the original",
        "bisect": "find the commit of PostgreSQL that changed a study's result",
        "track": "measure a repository's new commits against a fixed one, and report where its level changed",
    },
    "Your own server": {
        "init": "write a study file with an existing server's settings",
        "capture": "read a server's settings, data and load into a directory, to ask questions about it",
        "ask": "put a question to a captured server: its data and its load, on this machine",
    },
    "Drives": {
        "drive": "simulate drives, cut their power, list prepared data, estimate what a drive would store",
    },
    "Results": {
        "show": "print a run's verdicts and tables, or compare several runs of one study",
        "report": "write a run's HTML report and figures",
        "serve": "show a run in a browser on this machine",
        "check": "check a run's record for damage and doubtful trials",
        "export": "write a run's trials as CSV or JSON",
        "import": "make a run of other tools' results: pgbench, sysbench, HammerDB, BenchBase, CSV",
        "lint": "give reasons why a benchmark cannot support its claim",
    },
    "This machine, and other machines": {
        "doctor": "check whether this machine is fit to measure on",
        "calibrate": "measure this machine's noise, and which effects it can resolve in how much time",
        "postgres": "build, list, verify and remove PostgreSQL builds of any page size",
        "fleet": "make certificates for a fleet, or lend this machine to one that runs a study's blocks",
    },
}
"""What `pgassay --help` lists, by what a user is about to do."""

COMMANDS: Mapping[str, str] = {
    **{name: summary for group in LISTED.values() for name, summary in group.items()},
    "completion": "print a script that completes commands, studies and runs in your shell",
}
"""All commands; one that is typed once, for a shell, is not listed."""


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if len(words) > 1 and words[0] == "help" and not words[1].startswith("-"):
            words = [*words[1:], "--help"]
        if not words or words[0] in ("-?", "-h", "--help", "help"):
            print(_help_text(plugins.installed(plugins.Group.COMMANDS)), end="")
            return SUCCESS if words else FAULT
        if words[0] in ("-V", "--version"):
            print(f"pgassay {__version__}")
            return SUCCESS
        name, *rest = words
        command, summary = find_command(name)
        parser = Parser(f"pgassay {name}", summary)
        command.add_arguments(parser)
        return command.run(parser.read(rest))
    except PgassayError as error:
        print_error(error)
        return FAULT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return FAULT
    except OSError as error:
        where = f'"{error.filename}": ' if error.filename else ""  # the system refused what no layer foresaw
        print_error(PgassayError(f"{where}{(error.strerror or str(error)).lower()}"))
        return FAULT


def find_command(name: str) -> tuple[Command, str]:
    """The command and its summary; raises `UsageError` for an unknown one, `PluginError` for one that is broken."""
    if name in COMMANDS:
        return cast("Command", import_module(f"pgassay.cli.{name}")), COMMANDS[name]
    others = {plugin.name: plugin for plugin in plugins.installed(plugins.Group.COMMANDS)}
    if name not in others:
        hint = did_you_mean(name, (*COMMANDS, *others), 'try "pgassay --help" for the commands')
        raise UsageError(f'unknown command "{name}"', hint)
    plugin = others[name]
    return plugin.load(Command), f"from {plugin.origin}"  # type: ignore[type-abstract]


def console() -> None:
    # A second thread of OpenBLAS waits by spinning, on a core that the servers need; sums do not depend on the machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    outgoing.guard()
    with Interruption().listening(), silence_broken(sys.argv[1:]):
        sys.exit(main())


def _help_text(others: Sequence[Plugin]) -> str:
    width = max(map(len, (*COMMANDS, *(plugin.name for plugin in others))))
    lines = ""
    for title, commands in LISTED.items():
        lines += f"\n{title}:\n" + "".join(f"  {name:<{width}}  {summary}\n" for name, summary in commands.items())
    if others:
        lines += "\nCommands of other packages:\n"
    for plugin in others:
        said = plugin.name_taken().message if plugin.name in COMMANDS else f"from {plugin.origin}"
        lines += f"  {plugin.name:<{width}}  {said}\n"
    return (
        "pgassay is a laboratory for PostgreSQL on storage: it runs real experiments and reports verdicts\n"
        "with their certainty.\n\n"
        f"Usage:\n  pgassay COMMAND [OPTION]...\n{lines}\n"
        "Options:\n  -V, --version  output version information, then exit\n"
        "  -?, --help     show this help, then exit\n\n"
        "pgassay COMMAND --help shows a command's options. Start with: pgassay run fillfactor --quick\n"
    )
