"""Files and folders as one reading: which reader takes each file, what its runs are called, and what is left out.

A file is known by its contents, hardly ever by its name. A file that no reader recognises is named and left out, so
that a script in a folder of results does not stop the others.

A Markdown or HTML page is read by its parts: Markdown's fences (CommonMark 0.31, section 4.5), and HTML's `<pre>` with
character references decoded and tags taken off. What a run under another heading measured, only the heading says: so a
heading tells runs apart as a file's name does, but for the number of a repetition in it.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path

from pgassay import plugins
from pgassay.errors import UsageError
from pgassay.importing.benchbase import BenchBaseReader
from pgassay.importing.hammerdb import HammerDbReader
from pgassay.importing.pgbench import PgbenchReader
from pgassay.importing.reader import (
    FILE,
    FOLDER,
    HEAD_BYTES,
    REPETITION,
    SECTION,
    TEXT_BYTES_MAX,
    ForeignFile,
    LeftOut,
    Options,
    Reader,
    Reading,
    Roles,
    combine,
    fields_of_path,
    file_names,
    natural,
    settle_roles,
)
from pgassay.importing.sysbench import SysbenchReader
from pgassay.importing.table import TableReader
from pgassay.plugins import PluginError
from pgassay.study.responses import full_name

READERS: tuple[Reader, ...] = (
    PgbenchReader(),
    SysbenchReader(),
    HammerDbReader(),
    BenchBaseReader(),
)
"""The readers that recognise their files by what only their program writes."""
TABLE = TableReader()
"""Asked when no other reader recognises a file, since any text may be a table."""


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`]*$")
_HEADING = re.compile(r" {0,3}#{1,6} +(.*?)(?: +#+)?\s*$")
_PRE = re.compile(r"<pre[\s>]", re.IGNORECASE)
_PAGE_MOST = 4 * 2**20
"""Characters of a page: html.parser of some versions takes a time that grows with the square of a broken one."""
_REPETITION = re.compile(r"\W*\b(?:run|rep|repetition|iteration|round|block|attempt)\W*\d+\W*$", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """A part that begins at `line` of its page (from 1), under the heading above it; empty where there is none."""

    line: int
    heading: str
    text: str


def parts_of(text: str) -> tuple[Part, ...]:
    """The parts of a page in their order; none of a text that is no page."""
    if len(text) > _PAGE_MOST:
        return ()
    begin = _PRE.search(text)
    if begin and "</pre" in text[begin.end() :].lower():
        parser = _Parser()
        parser.feed(text)
        return tuple(parser.parts)
    return tuple(_fenced(text)) if "```" in text or "~~~" in text else ()


def _title(text: str) -> str:
    return _REPETITION.sub("", " ".join(text.split()))


def _fenced(text: str) -> Iterator[Part]:
    """A fence that nobody closes ends with its page."""
    heading, fence, begin = "", "", 0
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and line.strip() == found[1]:
                yield Part(begin, heading, "\n".join([*inside, ""]))
                fence = ""
            else:
                inside.append(line)
        elif found:
            fence, begin, inside = found[1], number + 1, []
        elif title := _HEADING.match(line):
            heading = _title(title[1])
    if fence:
        yield Part(begin, heading, "\n".join([*inside, ""]))


class _Parser(HTMLParser):
    """Gathers the text of `<pre>` and of the heading before."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[Part] = []
        self._heading = ""
        self._begin = 0
        self._within = ""
        self._data: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._within and (tag == "pre" or re.fullmatch("h[1-6]", tag)):
            self._within, self._begin, self._data = tag, self.getpos()[0], []
        elif tag == "br":
            self._data.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag != self._within:
            return
        text, self._within = "".join(self._data), ""
        if tag == "pre":
            self.parts.append(Part(self._begin, self._heading, text + "\n"))
        else:
            self._heading = _title(text)

    def handle_data(self, data: str) -> None:
        if self._within:
            self._data.append(data)


@dataclass
class Registry:
    """Every reader in the order in which they are asked: ours, those of other packages, and that of tables.

    Other packages are imported when the first file comes that none of ours recognises. `broken` says then which of
    them cannot be used; their files are left out as unrecognised.
    """

    broken: tuple[PluginError, ...] = ()

    def readers(self) -> Iterator[Reader]:
        yield from READERS
        yield from self._others
        yield TABLE

    @cached_property
    def _others(self) -> tuple[Reader, ...]:
        taken = {name for each in READERS for name in (each.name, each.name.lower())}
        loaded = plugins.load(plugins.Group.IMPORTERS, Reader, taken)  # type: ignore[type-abstract]
        self.broken = loaded.broken
        return tuple(loaded.objects.values())


def read_files(paths: Sequence[Path], options: Options, *, compared: bool) -> tuple[Reading, Roles]:
    """Every run in the files and folders that `options` keep, and the role of each field.

    `compared` says that something must tell treatments apart. Raises `UsageError` where there is no run, `OSError` for
    a path that does not exist.
    """
    registry = Registry()
    reading = combine(_readings(paths, options, registry))
    runs = tuple(run for run in reading.runs if all(run.fields.get(name) == value for name, value in options.where))
    if not runs:
        reasons = [(each.place, each.reason) for each in reading.left_out]
        if reading.runs:
            reasons.append((f"{len(reading.runs)} runs", "left out by --where"))
        raise UsageError(
            "there is no run to import", first_reasons(reasons) or "name files or folders with results in them"
        )
    reading, given = replace(reading, runs=runs), options.roles
    repetition = next((name for name in REPETITION if options.pattern and name in options.pattern.names), "")
    if repetition and not given.block and repetition not in given.fields:
        given = replace(given, block=repetition)
    roles, remarks = settle_roles(reading, given, options.named, needed=compared)
    unusable = [error.message for error in registry.broken]
    return replace(reading, remarks=(*reading.remarks, *remarks, *unusable)), roles


def first_reasons(left_out: Iterable[tuple[str, str]]) -> str:
    """Why the first three of what was left out were, each after its place."""
    return "; ".join(f"{place}: {reason}" for place, reason in list(left_out)[:3])


def one_of(names: Sequence[str], wanted: str) -> str:
    """The full name of the response that `--primary` wants, the first without one; raises `UsageError`."""
    name = full_name(wanted or names[0], names)
    if name not in names:
        raise UsageError(f'the source has no response "{name}"', f"it has: {', '.join(names)}")
    return name


def _readings(paths: Sequence[Path], options: Options, registry: Registry) -> Iterator[Reading]:
    files = list(_files(paths))
    names = file_names(files)
    together: dict[Reader, list[ForeignFile]] = {}
    for path in files:
        file = ForeignFile.open(path)
        parts = []
        for part in parts_of(file.text):
            data = part.text.encode()
            inner = ForeignFile(path, data[:HEAD_BYTES], len(data), data)
            reader = next((each for each in READERS if each.recognises(inner, options)), None)
            parts += [] if reader is None else [(part, reader, inner)]
        if parts:
            yield _page(path, parts, options, names)
            continue
        reader = next((each for each in registry.readers() if each.recognises(file, options)), None)
        if reader is None:
            reason = f"has an unrecognised format (recognised: {', '.join(each.name for each in registry.readers())})"
            if file.is_long and not file.is_binary:
                reason = f"has more than {TEXT_BYTES_MAX // 2**20} MB, so it is neither a summary nor a table"
            elif not file.is_binary and not file.text.strip():
                reason = "is empty"
            yield Reading("", (), (), (LeftOut(str(path), reason),))
        elif reader.reads_together:
            together.setdefault(reader, []).append(file)
        else:
            yield from _read(reader, [file], options, names)
    for reader, group in together.items():
        yield from _read(reader, group, options, names)


def _page(
    path: Path, parts: Sequence[tuple[Part, Reader, ForeignFile]], options: Options, names: Mapping[Path, str]
) -> Reading:
    """The runs of a page, each with its line and its heading."""
    found: list[Reading] = []
    for part, reader, file in parts:
        for each in _read(reader, [file], options, names):
            runs = tuple(
                replace(run, place=_in_page(path, part, run.place), fields={**run.fields, SECTION: part.heading})
                for run in each.runs
            )
            left_out = tuple(replace(left, place=_in_page(path, part, left.place)) for left in each.left_out)
            found.append(replace(each, runs=runs, left_out=left_out, suggested=(*each.suggested, SECTION)))
    page = combine(found)
    if len(page.runs) == len({run.fields[SECTION] for run in page.runs}):
        return page
    said = f"{path.name} holds {len(page.runs)} runs; those of one heading with equal settings are taken as repetitions"
    return replace(page, remarks=(*page.remarks, said))


def _in_page(path: Path, part: Part, place: str) -> str:
    """A place in a part as one in its page."""
    line, _, rest = place.removeprefix(str(path)).removeprefix(" line ").partition(" ")
    number = part.line + int(line) - 1 if line.isdecimal() else part.line
    return f"{path} line {number}{f' {rest}' if rest else ''}"


def _read(
    reader: Reader, files: Sequence[ForeignFile], options: Options, names: Mapping[Path, str]
) -> Iterator[Reading]:
    """The runs of these files; `names` has what the name of every file says of its contents."""
    folders = {path.parent for path in names}
    common = os.path.commonpath([folder.absolute() for folder in folders])
    for path, found in reader.read(files, options):
        if isinstance(found, str):
            yield Reading("", (), (), (LeftOut(str(path), found),))
            continue
        fields = {FOLDER: path.parent.absolute().relative_to(common).as_posix()} if len(folders) > 1 else {}
        if FILE in reader.suggested:
            fields[FILE] = names[path]
        fields |= fields_of_path(path, options.pattern, options.given)  # these overrule what the file itself says
        runs = tuple(replace(run, fields={**run.fields, **fields}) for run in found.runs)
        own = tuple(dict.fromkeys((*reader.suggested, *found.suggested)))
        yield replace(found, runs=runs, suggested=own)


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
