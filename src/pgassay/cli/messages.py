"""Every message of the command line, and how errors are printed.

See the PostgreSQL manual, "Error Message Style Guide": lower case, no full stop, a hint where one helps.
"""

import os
import re
import sys
from collections.abc import Iterable
from typing import TextIO

from pgassay.errors import PgassayError, UsageError, did_you_mean
from pgassay.outgoing import control

SUCCESS = 0
FAULT = 2
INTERRUPTED = 130
REBOOTS_NOT_ASKED = "its authors rebooted after each block, and this run does not: --reboot-between-blocks does"
NOTHING_TO_DRAW = "note: no difference has an interval, so no figure was written"


def print_error(error: PgassayError) -> None:
    """`pgassay: error: …` and, if there is one, `hint: …` on standard error."""
    _say("error", "01;31", error.message)
    if error.hint:
        _say("hint", "01;36", error.hint, program="")


def warn(message: str, hint: str | None = None) -> None:
    """`pgassay: warning: …` on standard error."""
    _say("warning", "01;35", message)
    if hint:
        _say("hint", "01;36", hint, program="")


def _say(word: str, colour: str, text: str, program: str = "pgassay: ") -> None:
    print(program, end="", file=sys.stderr)
    paint(f"{word}:", colour, sys.stderr)
    print(f" {text}".replace("\n", "\n  "), file=sys.stderr)  # so that no text begins a line


def paint(text: str, colour: str, stream: TextIO) -> None:
    """Write the text, in a colour (a code of ECMA-48, such as `01;31`) where `stream` shows colours.

    That is a terminal, or anything with `PG_COLOR=always`; not with `PG_COLOR=never`, nor with NO_COLOR.
    """
    wanted = os.environ.get("PG_COLOR", "auto")
    on_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    if os.environ.get("NO_COLOR") or not (wanted == "always" or (wanted == "auto" and on_terminal)):
        stream.write(text)
        return
    control(stream, f"\x1b[{colour}m")
    stream.write(text)
    control(stream, "\x1b[0m")


def unknown_command(name: str, commands: Iterable[str]) -> UsageError:
    """A word that is no command."""
    return UsageError(
        f'unknown command "{name}"', did_you_mean(name, commands, 'try "pgassay --help" for the commands')
    )


_ALIKE = 0.75
"""Of two options: `--init` is none that was meant to be `--client`."""


def bad_usage(detail: str, program: str, options: Iterable[str]) -> UsageError:
    """Options or arguments that do not fit; suggests the nearest option."""
    unknown = re.search(r"unrecognized arguments: (\S+)", detail)
    if unknown:
        otherwise = f'try "{program} --help" for the options'
        hint = did_you_mean(unknown[1].partition("=")[0], options, otherwise, _ALIKE)
        return UsageError(f'unrecognized argument "{unknown[1]}"', hint)
    said = re.fullmatch(r"argument ([^\s:]+): (wants .*|expected one argument)", detail)
    if said:
        option = said[1].rpartition("/")[2]
        what = said[2] if said[2].startswith("wants") else "wants a value"
        return UsageError(f"{option} {what}", f'try "{program} --help" for more information')
    return UsageError(detail[:1].lower() + detail[1:], f'try "{program} --help" for more information')


def nothing_to_check(option: str) -> UsageError:
    """`--check` or `--junit` of a study that says nothing of what counts."""
    return UsageError(
        f"{option} has no threshold to check",
        'give --weigh "latency_p99_ms < 5 ms" or, in the study file, [decide]',
    )


def excluded(one: str, other: str) -> UsageError:
    """Two options, or an option and a compared factor, that say different things of the same."""
    return UsageError(f"{one} and {other} cannot be used together", "give one of them")


ERROR = "pgassay: error: "
"""What an error of ours begins with where it is not coloured."""
_WITHOUT_PAGE = "the run goes on without the page; pgassay serve shows it, too"


def live_silent(patience_s: float) -> PgassayError:
    """Its server neither works nor ends."""
    return PgassayError(f"the live page's server told no address within {patience_s:g} s", _WITHOUT_PAGE)


def live_ended(why: str) -> PgassayError:
    """Its server could not begin; `why` is what it said, if anything."""
    return PgassayError(f"the live page's server could not begin{f': {why}' if why else ''}", _WITHOUT_PAGE)
