"""Every message of the command line, and how errors are printed.

See the PostgreSQL manual, "Error Message Style Guide": lower case, no full stop, a hint where one helps.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from pgassay.errors import PgassayError, UsageError, did_you_mean, near
from pgassay.outgoing import control
from pgassay.plugins import Plugin

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


def help_text(commands: Mapping[str, str], others: Sequence[Plugin]) -> str:
    """The help of the whole program; `others` are commands of other packages."""
    width = max(map(len, (*commands, *(plugin.name for plugin in others))))
    lines = "".join(f"  {name:<{width}}  {summary}\n" for name, summary in commands.items())
    if others:
        lines += "\nCommands of other packages:\n"
    for plugin in others:
        said = plugin.name_taken().message if plugin.name in commands else of_package(plugin)
        lines += f"  {plugin.name:<{width}}  {said}\n"
    return (
        "pgassay is a laboratory for PostgreSQL on storage: it runs real experiments and reports verdicts\n"
        "with their certainty.\n\n"
        f"Usage:\n  pgassay COMMAND [OPTION]...\n\nCommands:\n{lines}\n"
        "Options:\n  -V, --version  output version information, then exit\n"
        "  -?, --help     show this help, then exit\n\n"
        "pgassay COMMAND --help shows a command's options. Start with: pgassay run fillfactor --quick\n"
    )


def of_package(plugin: Plugin) -> str:
    """What is known of another package's command without importing it."""
    return f"from package {plugin.package} {plugin.version}"


def not_played_by(driver: str) -> UsageError:
    """`ask` with another driver than pgbench."""
    return UsageError(f'the load of a capture is played by pgbench, not by "{driver}"', "leave load.driver out")


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


def operating_system(error: OSError) -> PgassayError:
    """The system refused something that no layer foresaw."""
    where = f'"{error.filename}": ' if error.filename else ""
    return PgassayError(f"{where}{(error.strerror or str(error)).lower()}")


def nothing_compared(levels: Sequence[str]) -> UsageError:
    """`compare` with one level of each factor; two names that are nearly one are a typo, of either."""
    first, *others = levels
    name = first.partition("=")[0]
    for other in others:
        found = other.partition("=")[0]
        if near(found, [name], 0.8):
            return UsageError(
                f'"{name}" and "{found}" have one level each', "one of the two is mistyped: give both levels one name"
            )
    return UsageError(
        f'"{first}" alone varies nothing',
        "name two levels of it or more, the baseline first: pgassay compare NAME=VALUE NAME=OTHER",
    )


def one_run_alone(option: str) -> UsageError:
    """A file for CI is about one run."""
    return UsageError(f"{option} is for one run", "write it for each run by itself")


def alike_names(folder: Path) -> UsageError:
    """Two pages in one place."""
    return UsageError(f'runs of the same name would have the same folder in "{folder}"', "leave out --out")


def nothing_to_check(option: str) -> UsageError:
    """`--check` or `--junit` of a study that says nothing of what counts."""
    return UsageError(
        f"{option} has no threshold to check",
        'give --weigh "latency_p99_ms < 5 ms" or, in the study file, [decide]',
    )


def excluded(one: str, other: str) -> UsageError:
    """Two options, or an option and a compared factor, that say different things of the same."""
    return UsageError(f"{one} and {other} cannot be used together", "give one of them")


def passing_name(device: str) -> UsageError:
    """A device that would be written over after a reboot, under a name that may be another disk's by then."""
    return UsageError(
        f'"{device}" may name another disk after a reboot',
        "with --reboot-between-blocks name it in the study and in --i-own by a stable link: /dev/disk/by-id/…",
    )


def file_exists(path: Path) -> UsageError:
    """A file that we were to write is there already."""
    return UsageError(f'"{path}" exists already', "name another file with --out, or overwrite it with --force")


def tell_put_back(path: str) -> None:
    """Something that a killed pgassay had changed."""
    print(f"pgassay: put back: {path}", file=sys.stderr)


def tell_removed(name: str) -> None:
    """Something that a killed run had left."""
    print(f"pgassay: removed: {name}", file=sys.stderr)


def tell_dashboard(page: str) -> None:
    """Where Dask shows its tasks; the page asks nobody for anything, so it listens on loopback."""
    print(f"pgassay: what the hosts do, as Dask shows it: {page}", file=sys.stderr)


def tell_interrupted(path: Path) -> None:
    """Ctrl-C: said on standard error, not an error. The command has a line of its own, to be copied whole."""
    here = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    print("pgassay: interrupted; every committed trial is kept; continue with:", file=sys.stderr)
    print(shlex.join(["pgassay", "resume", str(here)]), file=sys.stderr)


def tell_bisection_interrupted(path: Path) -> None:
    """Ctrl-C during a bisection: said on standard error, not an error."""
    print(f"pgassay: interrupted; go on with the same command and --out {path}", file=sys.stderr)


def no_repository() -> UsageError:
    """`bisect` or `track` without a repository, or with two."""
    return UsageError("no git repository is named, or more than one", "name one with --git DIR")


def commits_between(good: str, others: Sequence[str]) -> str:
    """What `bisect --dry-run` prints: all commits that could be the one."""
    return "".join(f"{line}\n" for line in (f"good: {good}", *(f"      {each}" for each in others)))


def tell_track_interrupted(path: Path) -> None:
    """Ctrl-C while a history is measured: said on standard error, not an error."""
    print(f"pgassay: interrupted; the same command goes on; what was measured is kept in {path}", file=sys.stderr)


def commits_due(names: Sequence[str]) -> str:
    """What `track --dry-run` prints."""
    return "".join(f"due: {each}\n" for each in names) or "no commit is due\n"


def outside_repository(text: str) -> UsageError:
    """A path that begins with / or leads upwards."""
    return UsageError(f'"{text}" is no path inside the repository', "give it as git shows it: db/schema.sql")


def not_in_history(name: str) -> UsageError:
    """`track --accept` of a commit that was never measured."""
    return UsageError(f"{name} is no measured commit of this history", 'see "points" of the same command with --json')


def not_on_branch(start: str, branch: str) -> UsageError:
    """`track --since` of a commit that the branch did not come from."""
    return UsageError(
        f'"{start}" is not on the line of first parents of "{branch}"', "name an older commit of that branch"
    )


def branch_rewritten(last: str, branch: str) -> str:
    """Told when the last measured commit is gone from the branch."""
    return f'"{branch}" no longer has {last}, the last measured commit: going on with the newest one'


def tell_calibration_interrupted(path: Path) -> None:
    """Ctrl-C during a calibration: said on standard error, not an error."""
    print(f"pgassay: interrupted; continue with: pgassay resume {path}", file=sys.stderr)
    print(f"pgassay: what was measured so far: pgassay calibrate --show {path}", file=sys.stderr)


def no_drive_of_ours(kind: str) -> UsageError:
    """`drive create` of what exists without us, or of nothing that there is."""
    return UsageError(
        f'"{kind}" is not a kind of drive that pgassay can create',
        "it creates: image, ssd, csd, or the drive of a description file (FILE.toml)",
    )


def negative_size(option: str, typed: str) -> UsageError:
    """A size below zero was typed for `option`."""
    return UsageError(f'{option} cannot be "{typed}"', "give a size such as 20GB, or 0")


def at_least(option: str, least: int) -> UsageError:
    """A number that is too small to learn from."""
    return UsageError(f"{option} must be at least {least}", "with fewer, the sources of noise cannot be separated")


def bad_filter(text: str) -> UsageError:
    """`--where` that is not NAME=VALUE."""
    return UsageError(f'--where wants NAME=VALUE, not "{text}"', "for example --where mode=rw")


def no_calibration(path: Path) -> UsageError:
    """A run, but of a study."""
    return UsageError(f'"{path}" is not a calibration', f"pgassay show {path}")


def not_repeatable(path: Path) -> UsageError:
    """A run that is no study measured by pgassay."""
    return UsageError(
        f'"{path}" cannot be run again: pgassay did not measure a study there',
        "a calibration is repeated by pgassay calibrate, other tools' results by those tools",
    )


def report_failed(path: Path, error: OSError) -> PgassayError:
    """The run is over, its report could not be written; the record is whole."""
    return PgassayError(
        f'could not write the report of run "{path}": {(error.strerror or str(error)).lower()}',
        f"the run is finished and its record is whole; remove the cause, then: pgassay report {path}",
    )


def not_above_zero(option: str) -> UsageError:
    """A size of nothing."""
    return UsageError(f"{option} must be above 0", "for example 740GB")


def no_superblock(least: str, most: str) -> UsageError:
    """A superblock that no drive of this capacity has."""
    return UsageError(f"--superblock must be {least} to {most} here", "a drive has at least 64 superblocks")


def served(address: str) -> str:
    """Where the pages are."""
    return f"{address}\nserving until Ctrl-C; this address is the key, so keep it to yourself"


def tell_live(address: str) -> None:
    """Where a run can be watched."""
    print(f"pgassay: live: {address}", file=sys.stderr, flush=True)


ERROR = "pgassay: error: "
"""What an error of ours begins with where it is not coloured."""
_WITHOUT_PAGE = "the run goes on without the page; pgassay serve shows it, too"


def live_silent(patience_s: float) -> PgassayError:
    """Its server neither works nor ends."""
    return PgassayError(f"the live page's server told no address within {patience_s:g} s", _WITHOUT_PAGE)


def live_ended(why: str) -> PgassayError:
    """Its server could not begin; `why` is what it said, if anything."""
    return PgassayError(f"the live page's server could not begin{f': {why}' if why else ''}", _WITHOUT_PAGE)
