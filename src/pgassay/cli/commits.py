"""What the commands over commits have in common (`bisect`, `track`): their study, its repository, their progress."""

import argparse
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pgassay.cli import _trust
from pgassay.cli.parser import excluded
from pgassay.cli.run import add_bench_options, add_size_options, add_study_options, overrides, read_study, silent
from pgassay.errors import UsageError

if TYPE_CHECKING:
    from pgassay.lab.commits import Subject
    from pgassay.lab.run import WrittenStudy
    from pgassay.lab.runner import Watcher
    from pgassay.study.model import Study

SOURCE = "build.source="
TREES = "trees"
"""Below a history or a bisection: the files of a schema, commit by commit."""


def add_commit_options(parser: argparse.ArgumentParser) -> None:
    """Declare the study, the repository, and where and how it runs."""
    parser.set_defaults(**_unchanged())
    parser.add_argument("study", metavar="STUDY", help="a built-in study, or a study file: its baseline and its load")
    parser.add_argument(
        "--git", type=Path, metavar="DIR", help="a git repository: PostgreSQL's own (or --set build.source=git:DIR)"
    )
    inside = parser.add_mutually_exclusive_group()
    inside.add_argument("--extension", action="store_true", help="it is an extension's, which PGXS builds")
    inside.add_argument(
        "--schema", metavar="FILE", help="it is an application's; FILE in it makes schema and data (load.init)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="hold a factor at this level")
    parser.add_argument("--primary", metavar="RESPONSE", help="what to go by (default: the study's own)")
    add_size_options(parser)
    add_bench_options(parser)


def _unchanged() -> dict[str, Any]:
    """What the options of `run` that change a study are where none was given."""
    parser = argparse.ArgumentParser(add_help=False)
    add_study_options(parser)
    return vars(parser.parse_args([]))


def require_own_options(command: str, arguments: argparse.Namespace) -> None:
    """Raise `UsageError` for an option of `run` that runs of commits cannot have."""
    for option in ("reboot_between_blocks", "live"):
        if getattr(arguments, option):
            raise excluded(command, f"--{option.replace('_', '-')}")


def repository_of(arguments: argparse.Namespace) -> Path:
    """The repository that is named, once; takes `build.source` out of what is held. Raises `UsageError`."""
    named = [each.removeprefix(SOURCE) for each in arguments.set if each.startswith(SOURCE)]
    arguments.set = [each for each in arguments.set if not each.startswith(SOURCE)]
    paths = [*([arguments.git] if arguments.git else []), *(Path(each.removeprefix("git:")) for each in named)]
    if len(paths) != 1 or any(not each.startswith("git:") for each in named):
        raise UsageError("no git repository is named, or more than one", "name one with --git DIR")
    found: Path = paths[0]
    return found.expanduser().resolve()


def subject_of(arguments: argparse.Namespace) -> "Subject":
    """What the commits of the named repository are commits of; raises `UsageError`."""
    from pgassay.lab.commits import Subject, SubjectKind

    folder = str(repository_of(arguments))
    if arguments.schema is not None:
        path = PurePosixPath(arguments.schema)
        if path.is_absolute() or ".." in path.parts or not path.parts or arguments.schema.startswith("-"):
            raise UsageError(
                f'"{arguments.schema}" is no path inside the repository', "give it as git shows it: db/schema.sql"
            )
        return Subject(SubjectKind.SCHEMA, folder, str(path))
    return Subject(SubjectKind.EXTENSION if arguments.extension else SubjectKind.POSTGRESQL, folder)


def study_of(arguments: argparse.Namespace) -> "tuple[str, WrittenStudy]":
    """The study that is named, in the size that is asked for; raises `UsageError`."""
    from pgassay.lab.run import write_study

    name, document = read_study(arguments)
    size = "quick" if arguments.quick else "as-published" if arguments.as_published else ""
    asked = overrides(arguments, size)
    written = write_study(name, document, asked, without_host_factors=arguments.without_host_factors)
    _trust.require_study(arguments, written.study)
    return name, written


def quiet_watch(study: "Study") -> "AbstractContextManager[Watcher]":
    """A watcher of one run of two commits, which tells nothing: the command's own lines do."""
    from pgassay.cli.progress import watcher_for

    return watcher_for(study, sys.stderr, quiet=True)


def teller(arguments: argparse.Namespace) -> Callable[[str], None]:
    """What tells progress on standard error, unless nothing is to be told."""
    quiet = silent(arguments)

    def tell(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    return tell
