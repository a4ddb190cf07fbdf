"""`pgassay completion SHELL`: a script that completes commands, options, studies, factors and runs.

shtab makes it from the parsers, for bash, zsh or fish. What it cannot know is here: which words an argument takes, and
in bash that `NAME=VALUE` is one word although readline splits it. The names of settings are those that the first
PostgreSQL found on this machine describes; a TAB itself starts neither Python nor PostgreSQL.
"""

import argparse
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pgassay.cli import COMMANDS
from pgassay.cli.man import actions_of, program, walk
from pgassay.cli.printing import SUCCESS
from pgassay.errors import PgassayError

if TYPE_CHECKING:
    from pgassay.interfaces.factor import Factor

SHELLS = ("bash", "zsh", "fish")
_FACTORS, _STUDIES, _RUNS = "factors", "studies_file", "runs_dir"
"""Kinds of words; shtab tells from `file` or `dir` in a function's name that bash may quote its words as paths."""
_BY_METAVAR = {
    "RUN": _RUNS,
    "STUDY": _STUDIES,
    "FILE": "file",
    "DIR": "directory",
    "CAPTURE": "directory",
    "FILE|RUN": "file",
}
_LEVELS = ("set", "levels", "levels_given")
"""Where the parser keeps NAME=VALUE of factors; `drive simulate --set` takes other keys."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(arguments: argparse.Namespace) -> int:
    """Print the script; returns the exit status. Raises `PluginError` for a broken factor of another package."""
    from pgassay.lab.catalogue import every_factor
    from pgassay.study import builtin

    print(script(arguments.shell, builtin.names(), factor_words(every_factor().all(), _settings())))
    return SUCCESS


def script(shell: str, studies: Sequence[str], factors: Sequence[str]) -> str:
    """The script for a shell, completing these names; `factors` end in `=` where they are whole."""
    import shtab

    whole = program()
    commands = next(each for each in whole._actions if isinstance(each, argparse._SubParsersAction))
    helped = commands.add_parser("help", help="show the help of a command")
    helped.add_argument("command", choices=[*COMMANDS])
    given = {_STUDIES: shlex.join(studies), _FACTORS: shlex.join(factors), _RUNS: ""}
    texts = {_STUDIES: _STUDY_WORDS, _FACTORS: _FACTOR_WORDS, _RUNS: _RUN_WORDS}
    functions = {kind: text[shell].replace("@WORDS@", given[kind]) for kind, text in texts.items()}
    for parser in walk(whole):
        for action in actions_of(parser):
            _adapt(action)
            kind = _kind(action)
            if kind in functions:
                call = f"(__pgassay_{kind})" if shell == "fish" else f"_pgassay_{kind}"
                action.complete = {shell: call}  # type: ignore[attr-defined]
            elif kind:
                action.complete = shtab.CHOICE_FUNCTIONS[kind]  # type: ignore[attr-defined]
    text: str = shtab.complete(whole, shell, preamble="\n".join(functions.values()))
    return f"{text}\n{_BASH_WORDS}" if shell == "bash" else text


def factor_words(factors: Iterable["Factor"], settings: Sequence[str]) -> tuple[str, ...]:
    """What may stand before the level: `server.*` as every setting, other patterns up to their star."""
    words: list[str] = []
    for factor in factors:
        start, star, rest = factor.pattern.partition("*")
        if star and not rest and start == "server." and settings:
            words += [f"{start}{name}=" for name in settings]
        else:
            words.append(start if star else f"{factor.pattern}=")
    return tuple(dict.fromkeys(words))


def _settings() -> tuple[str, ...]:
    """The settings of the PostgreSQL that `pgassay run` would take; none where there is no PostgreSQL."""
    from pgassay.host import accounts
    from pgassay.host.runner import LocalRunner, SystemClock
    from pgassay.postgres.find import Finder
    from pgassay.postgres.settings import PRIVATE, names

    try:
        account = accounts.choose(os.environ)
        runner = LocalRunner(account)
        found = Finder(runner, SystemClock(), account, os.environ).find()
    except PgassayError:
        return ()
    return tuple(name for name in names(runner, found.bindir) if name not in PRIVATE)


def _kind(action: argparse.Action) -> str:
    """What kind of words an option or argument takes; empty where nothing is known of them."""
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if action.dest in _LEVELS and metavar.startswith("NAME="):
        return _FACTORS
    if action.dest == "study":
        return _STUDIES
    return _BY_METAVAR.get(metavar, "")


def _adapt(action: argparse.Action) -> None:
    """Leave out what zsh and fish would take for a pattern: `-?`, and in a metavar what ends zsh's own fields."""
    action.option_strings = [each for each in action.option_strings if each != "-?"]
    if isinstance(action.metavar, str) and action.metavar not in _BY_METAVAR:
        action.metavar = re.sub(r"[:\"`$\\\[\]]", " ", action.metavar).strip()


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
_FACTOR_WORDS = {
    "bash": """\
_pgassay_factors() {
  compgen -W '@WORDS@' -- "$1"
}""",
    "zsh": """\
_pgassay_factors() {
  local -a known=(@WORDS@)
  compadd -S '' -a known
}""",
    "fish": """\
function __pgassay_factors
  string split ' ' -- '@WORDS@'
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
_BASH_WORDS = """\
# readline ends a word at = and at : so NAME=VALUE is joined again, and --option=VALUE is taken for --option VALUE.
_pgassay() {
  local -a joined=() words=()
  local word place glue=0
  for (( place = 0; place <= COMP_CWORD; place++ )); do
    word=${COMP_WORDS[place]}
    if [[ $glue == 1 || $word =~ ^[=:]+$ ]] && (( ${#joined[@]} )); then
      joined[-1]+=$word
      [[ $word =~ ^[=:]+$ ]] && glue=1 || glue=0
    else
      joined+=("$word")
    fi
  done
  for word in "${joined[@]}"; do
    if [[ $word == --*=* ]]; then words+=("${word%%=*}" "${word#*=}"); else words+=("$word"); fi
  done
  if [[ ${words[-1]} == *=* ]]; then
    COMPREPLY=()
    return 0
  fi
  local -a COMP_WORDS=("${words[@]}")
  local COMP_CWORD=$(( ${#words[@]} - 1 ))
  _shtab_pgassay "$@"
  if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=.] ]]; then
    compopt -o nospace 2>/dev/null || :
  fi
  return 0
}

complete -o bashdefault -F _pgassay pgassay"""
