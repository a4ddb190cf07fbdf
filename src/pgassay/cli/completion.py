"""`pgassay completion SHELL`: a script that completes commands, options, studies and runs.

shtab makes it from the parsers, for bash, zsh or fish. What it cannot know is here: which words an argument takes. A
TAB itself does not start Python.
"""

import argparse
import re
import shlex
from collections.abc import Iterator, Sequence

from pgassay import __version__, plugins
from pgassay.cli import COMMANDS, find_command
from pgassay.cli.parser import Action
from pgassay.cli.printing import SUCCESS
from pgassay.plugins import PluginError

SHELLS = ("bash", "zsh", "fish")
_STUDIES, _RUNS = "studies_file", "runs_dir"
"""Kinds of words; shtab tells from `file` or `dir` in a function's name that bash may quote its words as paths."""
_BY_METAVAR = {
    "STUDY": _STUDIES, "RUN": _RUNS, "FILE": "file", "FILE|RUN": "file", "DIR": "directory", "CAPTURE": "directory",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(arguments: argparse.Namespace) -> int:
    from pgassay.study import builtin

    print(script(arguments.shell, builtin.names()))
    return SUCCESS


def script(shell: str, studies: Sequence[str]) -> str:
    """The script for a shell, completing these names of studies."""
    import shtab

    whole = program()
    commands = next(each for each in whole._actions if isinstance(each, argparse._SubParsersAction))
    helped = commands.add_parser("help", help="show the help of a command")
    helped.add_argument("command", choices=[*COMMANDS])
    for parser in walk(whole):
        for action in actions_of(parser):
            # zsh and fish would take these for a pattern: `-?`, and in a metavar what ends zsh's own fields.
            action.option_strings = [each for each in action.option_strings if each != "-?"]
            metavar = action.metavar if isinstance(action.metavar, str) else ""
            kind = _STUDIES if action.dest == "study" else _BY_METAVAR.get(metavar, "")
            if metavar and not kind:
                action.metavar = re.sub(r"[:\"`$\\\[\]]", " ", metavar).strip()
            if kind in (_STUDIES, _RUNS):
                call = f"(__pgassay_{kind})" if shell == "fish" else f"_pgassay_{kind}"
                action.complete = {shell: call}  # type: ignore[attr-defined]
            elif kind:
                action.complete = shtab.CHOICE_FUNCTIONS[kind]  # type: ignore[attr-defined]
    functions = (_STUDY_WORDS[shell].replace("@WORDS@", shlex.join(studies)), _RUN_WORDS[shell])
    text: str = shtab.complete(whole, shell, preamble="\n".join(functions))
    return text


def program() -> argparse.ArgumentParser:
    """The whole program as one parser, with a subparser for each command; only their `add_arguments` has run.

    `main` parses one command at a time, so that `--help` imports nothing else. A broken command of another package is
    left out, since it stops no other.
    """
    whole = Action(prog="pgassay", description="a laboratory for PostgreSQL on storage")
    version = f"pgassay {__version__}"
    whole.add_argument("-V", "--version", action="version", version=version, help="output version information")
    commands = whole.add_subparsers(metavar="COMMAND", dest="command", parser_class=Action)
    others = (plugin.name for plugin in plugins.installed(plugins.Group.COMMANDS))
    for name in dict.fromkeys((*COMMANDS, *others)):
        try:
            command, summary = find_command(name)
        except PluginError:
            continue
        command.add_arguments(commands.add_parser(name, prog=f"pgassay {name}", help=summary, description=summary))
    return whole


def actions_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Its options and arguments that are shown, without its subcommands."""
    for action in parser._actions:
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction):
            yield action


def walk(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and all below it, in the order in which they were added."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from walk(each)


_STUDY_WORDS = {
    "bash": """\
_pgassay_studies_file() {
  compgen -W '@WORDS@' -- "$1"
  compgen -f -X '!*.toml' -- "$1"
  compgen -d -- "$1"
}""",
    "zsh": """\
_pgassay_studies_file() {
  local -a known=(@WORDS@)
  _alternative "studies:study:compadd -a known" "files:study file:_files -g '*.toml'"
}""",
    "fish": """\
function __pgassay_studies_file
  string split ' ' -- '@WORDS@'
  for path in (__fish_complete_path (commandline -ct))
    if string match -qr '(/|\\.toml)(\\t|$)' -- $path
      echo $path
    end
  end
end""",
}
_RUN_WORDS = {
    "bash": """\
_pgassay_runs_dir() {
  local file found=0
  for file in "$1"*/run.json "$1"*/*/run.json; do
    [[ -f $file ]] && found=1 && printf '%s\\n' "${file%/run.json}"
  done
  [[ $found == 1 ]] || compgen -d -- "$1"
}""",
    "zsh": """\
_pgassay_runs_dir() {
  local -a found=(${~PREFIX}*/run.json(N:h) ${~PREFIX}*/*/run.json(N:h))
  if (( $#found )); then compadd -f -a found; else _files -/; fi
}""",
    "fish": """\
function __pgassay_runs_dir
  set -l word (commandline -ct)
  set -l files $word*/run.json $word*/*/run.json
  if test (count $files) -gt 0
    string replace -r '/run.json$' '' -- $files
  else
    __fish_complete_directories
  end
end""",
}
