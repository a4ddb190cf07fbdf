"""Files and folders on the command line as one reading: what each file is, which reader takes it, what is left out.

A file is known by its first bytes, hardly ever by its name. What nobody knows is named and left out, so that a script
in a folder of results does not stop it.
"""

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pgassay.cli import _pgbench_files, _sysbench_files
from pgassay.load.sysbench.summary import is_sysbench
from pgassay.record.foreign import delimited, hammerdb, postgresbench
from pgassay.record.foreign import messages as words
from pgassay.record.foreign.naming import (
    REPETITION,
    Given,
    Pattern,
    fields_of_path,
    natural,
    parse_given,
    parse_pattern,
    with_fields,
)
from pgassay.record.foreign.roles import ALL, Roles, parse_roles, settle
from pgassay.record.foreign.values import FOLDER, LeftOut, Reading, together
from pgassay.study.responses import Better

TEXT_BYTES_MAX = 64 * 2**20
"""A longer text is no summary and no table of runs; logs are read by the core and may be of any length."""
_HEAD_BYTES = 64 * 2**10


@dataclass(frozen=True)
class Options:
    """What the command line says about the files."""

    roles: Roles
    header: str
    pattern: Pattern | None
    given: tuple[Given, ...]
    where: tuple[tuple[str, str], ...]
    better: Better | None
    log_has: tuple[str, ...]

    @property
    def named(self) -> tuple[str, ...]:
        """Fields that the user's own options make: factors unless they have another role."""
        taken = {name for name, _ in self.where}
        own = [name for name in (self.pattern.names if self.pattern else ()) if name not in REPETITION]
        return tuple(name for name in (*own, *(each.name for each in self.given)) if name not in taken)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that `import` and `lint` share."""
    add = parser.add_argument
    add("--columns", metavar="ROLE=COLUMN,…", action="append", default=[],
        help=f"what columns and fields mean; roles: {', '.join(_all_roles())}")  # fmt: skip
    add("--header", metavar="A;B;C", default="", help="names for the columns of a table without a header line")
    add("--pattern", metavar="PATH", help="fields in the path, as in 'pg-{page_kB}/run-{run}/pgbench.log'")
    add("--treatment", metavar="NAME=VALUE[:FILES]", action="append", default=[],
        help="a level of every file, or of those that match FILES")  # fmt: skip
    add("--where", metavar="NAME=VALUE", action="append", default=[], help="take only runs with this field")
    add("--better", choices=("higher", "lower"), help="which way a column of unknown name is better")
    add("--log-has", metavar="WHAT", choices=("lag", "retries"), action="append", default=[],
        help="extra columns of a pgbench log without its output: lag (--rate), retries (--max-tries)")  # fmt: skip


def parse_options(arguments: argparse.Namespace) -> Options:
    """The options; raises `UsageError`."""
    return Options(
        roles=parse_roles(arguments.columns),
        header=arguments.header,
        pattern=parse_pattern(arguments.pattern) if arguments.pattern else None,
        given=tuple(map(parse_given, arguments.treatment)),
        where=tuple(_filter(text) for text in arguments.where),
        better=Better(arguments.better) if arguments.better else None,
        log_has=tuple(arguments.log_has),
    )


def gather(paths: Sequence[Path], options: Options, *, compared: bool) -> tuple[Reading, Roles]:
    """Every run in the files, filtered, with all roles settled; raises `UsageError` where there is none.

    `compared`: there must be something that tells treatments apart.
    """
    reading = together(_readings(paths, options))
    runs = tuple(run for run in reading.runs if all(run.fields.get(name) == value for name, value in options.where))
    if not runs:
        every = (*((each.place, each.reason) for each in reading.left_out), *_filtered(reading, len(runs)))
        raise words.no_runs(every)
    repetition = next((name for name in REPETITION if options.pattern and name in options.pattern.names), "")
    reading = replace(reading, runs=runs, repetition=reading.repetition or repetition)
    roles, said = settle(reading, options.roles, options.named, needed=compared)
    return replace(reading, remarks=(*reading.remarks, *said)), roles


def _readings(paths: Sequence[Path], options: Options) -> Iterator[Reading]:
    files = list(_files(paths))
    folders = {path.parent for path in files}
    logs: list[Path] = []
    outputs: list[tuple[Path, str]] = []
    for path in files:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        text = head.decode(errors="replace")
        if hammerdb.is_sqlite(head):
            yield _named(path, hammerdb.read_hammerdb(path), options, folders)
        elif b"\0" in head:
            yield _nothing(str(path), words.not_known())
        elif _pgbench_files.is_log(text):
            logs.append(path)
        elif path.stat().st_size > TEXT_BYTES_MAX:
            yield _nothing(str(path), f"has more than {TEXT_BYTES_MAX // 2**20} MB, so it is no summary and no table")
        elif _pgbench_files.is_output(text):
            outputs.append((path, path.read_text(encoding="utf-8", errors="replace")))
        else:
            yield _named(path, _text(path, options), options, folders)
    yield from _pgbench(outputs, logs, options, folders)


def _text(path: Path, options: Options) -> Reading | str:
    text = path.read_text(encoding="utf-8", errors="replace")
    place = str(path)
    if is_sysbench(text):
        return _sysbench_files.read_sysbench(place, text)
    if postgresbench.is_postgresbench(text):
        return postgresbench.read_postgresbench(place, text)
    if not text.strip():
        return "is empty"
    if not options.roles.value:
        if path.suffix.lower() in (".csv", ".tsv") and delimited.looks_like_table(text):
            raise words.no_value_column()
        return words.not_known()
    missing = delimited.missing_columns(text, options.roles, options.header)
    missing = tuple(name for name in missing if name not in options.named)
    if missing:
        return words.no_columns(missing) if delimited.looks_like_table(text) else words.not_known()
    return delimited.read_table(place, text, options.roles, options.header, options.better)


def _pgbench(
    outputs: Sequence[tuple[Path, str]], logs: Sequence[Path], options: Options, folders: set[Path]
) -> Iterator[Reading]:
    """Outputs with the log that is alone with them in their folder, then the logs that nobody took."""
    runs = _pgbench_files.log_runs(logs)
    taken: set[Path] = set()
    for path, text in outputs:
        beside = [first for first in runs if first.parent == path.parent]
        alone = len(beside) == 1 and sum(other.parent == path.parent for other, _ in outputs) == 1
        taken |= set(beside) if alone else set()
        found = _pgbench_files.read_output(str(path), text, runs[beside[0]] if alone else ())
        yield _named(path, found, options, folders)
    for first, files in runs.items():
        if first not in taken:
            has_lag, has_retries = "lag" in options.log_has, "retries" in options.log_has
            found = _pgbench_files.read_log_alone(str(first), files, has_lag=has_lag, has_retries=has_retries)
            yield _named(first, found, options, folders)


def _named(path: Path, found: Reading | str, options: Options, folders: set[Path]) -> Reading:
    if isinstance(found, str):
        return _nothing(str(path), found)
    common = os.path.commonpath([folder.absolute() for folder in folders])
    fields = {FOLDER: path.parent.absolute().relative_to(common).as_posix()} if len(folders) > 1 else {}
    return with_fields(found, {**fields, **fields_of_path(path, options.pattern, options.given)})


def _nothing(place: str, reason: str) -> Reading:
    return Reading("", (), (), (LeftOut(place, reason),))


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    """Files as given; a folder stands for all files below it, in natural order, hidden ones left out."""
    for path in paths:
        if path.is_dir():
            below = (each for each in path.rglob("*") if each.is_file())
            yield from sorted((each for each in below if not each.name.startswith(".")), key=natural)
        elif path.exists():
            yield path
        else:
            path.stat()  # raises the system's own words, which the program prints


def _filter(text: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise words.bad_filter(text)
    return name, value


def _filtered(reading: Reading, kept: int) -> Iterator[tuple[str, str]]:
    if len(reading.runs) > kept:
        yield f"{len(reading.runs) - kept} runs", words.filtered()


def _all_roles() -> Sequence[str]:
    return ALL
