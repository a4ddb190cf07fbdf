"""argparse with PostgreSQL's manners: `-?` for help, errors with a hint, no abbreviations; options of several commands.

argparse because start-up counts: it adds milliseconds where richer libraries add a hundred (benchmarks/startup.py).
"""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, runtime_checkable

from pgassay.cli.printing import SUCCESS
from pgassay.errors import UsageError, did_you_mean
from pgassay.study.findings import Finding, Severity

_ALIKE = 0.75
"""Of two options: `--init` is none that was meant to be `--client`."""

FOUND = 1
"""Exit status where `--strict` is given and something was found that is as grave as it asks."""
_GRAVER = tuple(Severity)[1:]


@runtime_checkable
class Command(Protocol):
    """A command: a module or an object. Another package adds one by an entry point of the group `pgassay.commands`."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare its options; called for `--help` too, so it should import nothing heavy."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do the work and return the exit status: 0 done, 2 fault. Raises `PgassayError`, which is printed."""


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of an option that takes a whole number from `least` on, or from there to `most`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            end = "on" if most is None else f"to {most}"
            raise argparse.ArgumentTypeError(f'wants a whole number from {least} {end}, not "{text}"')
        return number

    return read


def duration(text: str) -> float:
    from pgassay.study.units import parse_time_s

    try:
        return parse_time_s(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(error.message) from None


def timed(text: str) -> str:
    """The type of an option whose time goes into a study as it is typed; without a unit nobody knows what 5 is."""
    from pgassay.study.units import parse_time_s

    parse_time_s(text)
    return text


_SHARED: Mapping[str, Mapping[str, Any]] = {
    "--allow-busy": {"action": "store_true", "help": "run although other programs are busy"},
    "--allow-volatile": {"action": "store_true", "help": "allow clusters on tmpfs or overlay"},
    "--certs": {"type": Path, "metavar": "DIR", "help": "certificates, as pgassay fleet certs makes them"},
    "--check": {
        "action": "store_true",
        "help": "exit 1 unless every threshold is shown to hold ([decide], --weigh)",
    },
    "--data-dir": {"type": Path, "metavar": "DIR", "help": "where the clusters live"},
    "--count": {
        "action": "store_true",
        "help": "count the instructions that the server executes, instead of timing it",
    },
    "--json": {"action": "store_true", "help": "as JSON"},
    "--live": {"action": "store_true", "help": "show the run in a browser on this machine while it goes on"},
    "--pg-bindir": {"type": Path, "metavar": "DIR", "help": "the PostgreSQL to use (default: the first found)"},
    "--seed": {"type": whole(0), "metavar": "N", "help": "seed of the order and the load (default: random)"},
    "--set": {"action": "append", "default": [], "metavar": "NAME=VALUE", "help": "hold a factor at this level"},
    "--strict": {"action": "store_true", "help": "exit 1 if there is a warning or an error"},
    "--strict-from": {
        "choices": [each.value for each in _GRAVER],
        "metavar": "SEVERITY",
        "help": "exit 1 from this severity on: note, warning or error",
    },
    "--trust": {"action": "store_true", "help": "run what another account or a capsule says, without being asked"},
    "--weigh": {
        "action": "append",
        "default": [],
        "metavar": "THRESHOLD",
        "help": 'what counts: "latency_p99_ms < 5 ms", or a change against the baseline: "space < +30 %%"',
    },
}
"""Options that mean the same in several commands."""


def add_options(parser: argparse._ActionsContainer, *names: str) -> None:
    for name in names:
        parser.add_argument(name, **_SHARED[name])


class _Help(argparse.HelpFormatter):
    """Help in PostgreSQL's manner: the usage names what must be given, and the options are below it."""

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        if prefix is None:
            needed = [action for action in actions if action.required or not action.option_strings]
            actions, groups = [_OPTIONS, *needed], ()
        super().add_usage(usage, actions, groups, prefix)


_OPTIONS = argparse.Action(["[OPTION]..."], "options", nargs=0, required=True)
"""Stands for all that may be given."""


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "add_help": False, "allow_abbrev": False, "formatter_class": _Help})
        self.add_argument("-?", "--help", action="help", help="show this help, then exit")

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` for a command line that cannot be parsed; suggests the nearest option."""
        try_help = f'try "{self.prog} --help" for '
        unknown = re.search(r"unrecognized arguments: (\S+)", message)
        if unknown:
            options = [option for action in self._actions for option in action.option_strings]
            hint = did_you_mean(unknown[1].partition("=")[0], options, f"{try_help}the options", _ALIKE)
            raise UsageError(f'unrecognized argument "{unknown[1]}"', hint)
        said = re.fullmatch(r"argument ([^\s:]+): (wants .*|expected one argument)", message)
        if said:
            option = said[1].rpartition("/")[2]
            what = said[2] if said[2].startswith("wants") else "wants a value"
            raise UsageError(f"{option} {what}", f"{try_help}more information")
        raise UsageError(message[:1].lower() + message[1:], f"{try_help}more information")


class Parser(_Parser):
    def __init__(self, program: str, summary: str) -> None:
        super().__init__(prog=program, description=f"{program}: {summary}")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Options and arguments in any order, as psql takes them; raises `UsageError`.

        A command with actions keeps theirs after the action's name: what comes before it is its own.
        """
        return self.parse_args(words) if self._subparsers else self.parse_intermixed_args(words)


class Action(_Parser):
    """The parser of one action of a command that has several (`postgres build`, `drive cut`)."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What argparse calls for an action; an unknown option is refused here, where the known ones are known."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def strict_status(arguments: argparse.Namespace, findings: Iterable[Finding]) -> int:
    """The exit status: `FOUND` where an option asks for it and a finding is as grave, else success."""
    least = arguments.strict_from or (Severity.WARNING.value if arguments.strict else None)
    if least is None:
        return SUCCESS
    grave = _GRAVER[_GRAVER.index(Severity(least)) :]
    return FOUND if any(each.severity in grave for each in findings) else SUCCESS


def excluded(one: str, other: str) -> UsageError:
    """Two options, or an option and a compared factor, that say different things of the same."""
    return UsageError(f"{one} and {other} cannot be used together", "give one of them")
