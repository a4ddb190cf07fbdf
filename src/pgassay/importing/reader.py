"""What a reader of foreign files is: it knows its files by their contents, and makes runs of them.

Another package adds one as an entry point of the group `pgassay.importers` that names a `Reader` object.

A run has all that could name a treatment as fields; which of them is a factor, which a condition, the user says:
`--pattern pg-{page}/{scale}/run-{run}/pgbench.log` takes fields from the end of a path; `--treatment size=8kB:'fast/*'`
gives one to every file that matches. `--columns ROLE=COLUMN[:NAME],…` gives roles to columns of a table and to fields
of any origin; NAME is the factor's name in the study (`treatment=bs:build.block_size`). Nothing is guessed in silence.

Of a response only a name of which there is no doubt has a better direction; of any other neither is better, so that a
verdict says "different" and not "better", until `--better` says which.
"""

import codecs
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cached_property
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from pgassay import untrusted
from pgassay.errors import UsageError
from pgassay.interfaces.probe import Sample
from pgassay.record.values import Reason
from pgassay.study.responses import Better, Response, Scale

ABORTED = "aborted"
FOLDER = "folder"
"""The field that holds the folder of a file, where several files are read."""
FILE = "file"
"""The field that holds the name of a file without what numbers a repetition, where a file is a run."""
SECTION = "section"
"""The field that holds the heading above a run, in a page that holds several."""

_HIGHER, _LOWER = Better.HIGHER, Better.LOWER
_KNOWN: tuple[tuple[str, str, str, Better], ...] = (
    (r"tps|transactions?_per_second", "transactions per second", "1/s", _HIGHER),
    (r"qps|queries_per_second", "queries per second", "1/s", _HIGHER),
    (r"iops", "I/Os per second", "1/s", _HIGHER),
    (r"nopm", "new orders per minute", "1/min", _HIGHER),
    (r"tpm(c)?", "transactions per minute", "1/min", _HIGHER),
    (r"(avg_|mean_)?latency(_avg|_mean)?(_ms)?|lat_ms", "mean latency", "ms", _LOWER),
    (r"latency_stddev_ms", "standard deviation of latency", "ms", _LOWER),
    (r"(latency_)?p(\d+)(_ms)?", "percentile of latency", "ms", _LOWER),
)


@dataclass(frozen=True)
class ForeignRun:
    """One run as its source gives it.

    `place` is where it stands ("results.csv line 3"); `fields` all that could name a level, as text; `responses` its
    values (None where the source has none). `seconds` is how long it ran, `planned_s` how long it should have,
    `started_s` when (since the epoch); each None where the source does not say. `second` is the place in time of a
    value that is a second of a run and not a run.
    """

    place: str
    fields: Mapping[str, str]
    responses: Mapping[str, float | None]
    seconds: float | None = None
    planned_s: float | None = None
    started_s: float | None = None
    second: float | None = None
    problems: tuple[Reason, ...] = ()
    series: tuple[Sample, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """A file, line or job that gave no run, and why."""

    place: str
    reason: str


@dataclass(frozen=True)
class Reading:
    """All that was read. `kind` names the format; the first of `responses` is the primary.

    `suggested` are the fields that name a treatment when no option does, the best first; `columns` those that may be
    settings or results. `ordered` says that the runs stand in the order in which they ran; `remarks` what a reader of
    the results must know.
    """

    kind: str
    runs: tuple[ForeignRun, ...]
    responses: tuple[Response, ...]
    left_out: tuple[LeftOut, ...] = ()
    suggested: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    ordered: bool = False
    remarks: tuple[str, ...] = field(default=())


def combine(readings: Iterable[Reading]) -> Reading:
    """Several files' readings as one; the runs of several files are in order of time only if each tells its time."""
    found = [reading for reading in readings]
    runs = tuple(run for reading in found for run in reading.runs)
    several = sum(bool(reading.runs) for reading in found) > 1
    return Reading(
        kind=", ".join(dict.fromkeys(reading.kind for reading in found if reading.runs)),
        runs=runs,
        responses=tuple({each.name: each for reading in found for each in reading.responses}.values()),
        left_out=tuple(each for reading in found for each in reading.left_out),
        suggested=tuple(dict.fromkeys(name for reading in found for name in reading.suggested)),
        columns=tuple(dict.fromkeys(name for reading in found for name in reading.columns)),
        ordered=not several and any(reading.ordered for reading in found),
        remarks=tuple(dict.fromkeys(remark for reading in found for remark in reading.remarks)),
    )


def member(document: object, name: str) -> dict[str, Any]:
    """The object of that name in a JSON document; empty where there is none."""
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def rates(source: str, rows: Iterable[tuple[float, float]]) -> tuple[Sample, ...]:
    """Rates (tps) of intervals that ended so many seconds after the start; wall time counts from there, too.

    What would have ended after centuries, which no record can hold in nanoseconds, is no interval.
    """
    known = ((round(elapsed_s * 1_000_000_000), tps) for elapsed_s, tps in rows)
    return tuple(Sample(at_ns, at_ns, source, "tps", "1/s", tps) for at_ns, tps in known if at_ns < 2**63)


def number(value: object) -> float | None:
    """A number of a JSON document; None for all else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def response(name: str, better: Better | None = None) -> Response:
    """The declaration of a response called `name`: title, unit and direction, which `better` overrules."""
    for pattern, title, unit, direction in _KNOWN:
        if re.fullmatch(pattern, name.lower()):
            said = title if "percentile" not in title else f"{name.lower()}: {title}"
            return Response(name, said, unit, better or direction)
    scale = Scale.DIFFERENCE if name.lower().endswith("share") else Scale.RATIO
    return Response(name, name, "share" if scale is Scale.DIFFERENCE else "", better or Better.NEITHER, scale)


_FIELD = re.compile(r"\{([A-Za-z_][\w.]*)\}")
REPETITION = ("run", "block", "rep", "repetition", "iteration")
"""Fields of a pattern that number repetitions unless they are given another role."""


@dataclass(frozen=True)
class Pattern:
    """A pattern for the end of a path, with the fields that it names."""

    names: tuple[str, ...]
    expression: re.Pattern[str]

    def fields(self, path: PurePath) -> dict[str, str] | None:
        """What the path says; None where it does not match."""
        found = self.expression.search(path.as_posix())
        return dict(zip(self.names, found.groups(), strict=True)) if found else None


def parse_pattern(text: str) -> Pattern:
    """A field is anything within one step of the path; the rest is literal. Raises `UsageError`."""
    names = tuple(_FIELD.findall(text))
    if not names or len(set(names)) < len(names):
        raise UsageError(
            f'--pattern "{text}" must name at least one field in braces, each once',
            "for example --pattern 'pg-{page_kB}/{scale}/run-{run}/pgbench.log'",
        )
    pieces = _FIELD.split(text)
    literal = [re.escape(piece) if place % 2 == 0 else "([^/]+?)" for place, piece in enumerate(pieces)]
    return Pattern(names, re.compile(f"(?:^|/){''.join(literal)}$"))


@dataclass(frozen=True)
class Given:
    """A level that an option gives to the files that match."""

    name: str
    value: str
    files: str = "*"


def parse_given(text: str) -> Given:
    """`NAME=VALUE` for every file, `NAME=VALUE:GLOB` for some; raises `UsageError`."""
    name, equals, rest = text.partition("=")
    value, colon, files = rest.rpartition(":")
    if not colon:
        value, files = rest, "*"
    if not equals or not name.strip() or not value.strip() or not files:
        raise UsageError(
            f'--treatment wants NAME=VALUE or NAME=VALUE:PATTERN, not "{text}"',
            "for example --treatment shared_buffers=8GB:'runs/8GB/*'",
        )
    return Given(name.strip(), value.strip(), files)


def fields_of_path(path: PurePath, pattern: Pattern | None, given: Iterable[Given]) -> dict[str, str]:
    found = dict((pattern.fields(path) if pattern else None) or {})
    for each in given:
        if fnmatch(path.as_posix(), each.files) or fnmatch(path.as_posix(), f"*/{each.files}"):
            found[each.name] = each.value
    return found


def natural(path: PurePath) -> tuple[tuple[int, int, str], ...]:
    parts = re.split(r"(\d+)", path.as_posix())
    return tuple((1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts)


MANY = ("treatment", "condition", "covariate", "value", "ignore")
ONE = ("block", "second", "started", "duration", "planned", "status")
ALL = (*MANY, *ONE)


class Use(NamedTuple):
    """A field and what it is called in the study."""

    field: str
    name: str


@dataclass(frozen=True)
class Roles:
    """The roles that were given; empty where none was."""

    treatment: tuple[Use, ...] = ()
    condition: tuple[Use, ...] = ()
    covariate: tuple[Use, ...] = ()
    value: tuple[Use, ...] = ()
    ignore: tuple[Use, ...] = ()
    block: str = ""
    second: str = ""
    started: str = ""
    duration: str = ""
    planned: str = ""
    status: str = ""

    @property
    def levels(self) -> tuple[Use, ...]:
        return (*self.treatment, *self.condition, *self.covariate)

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field that has a role."""
        single = (self.block, self.second, self.started, self.duration, self.planned, self.status)
        return (*(use.field for use in (*self.levels, *self.value, *self.ignore)), *(each for each in single if each))


def parse_roles(texts: Iterable[str]) -> Roles:
    """The roles of all `--columns` options together; raises `UsageError`."""
    many: dict[str, list[Use]] = {role: [] for role in MANY}
    one: dict[str, str] = {}
    for text in (part.strip() for each in texts for part in each.split(",")):
        role, equals, column = (part.strip() for part in text.partition("="))
        name = ""
        if role in MANY:
            column, _, name = (part.strip() for part in column.partition(":"))
        if not equals or not column or role not in ALL or role in one:
            raise UsageError(
                f'--columns wants ROLE=COLUMN, not "{text}"',
                f"the roles are: {', '.join(ALL)}; for example --columns treatment=page_size,value=tps,block=run",
            )
        if role in MANY:
            many[role].append(Use(column, name or column))
        else:
            one[role] = column
    return Roles(**{role: tuple(uses) for role, uses in many.items()}, **one)  # type: ignore[arg-type]


def settle_roles(
    reading: Reading, roles: Roles, named: Iterable[str] = (), *, needed: bool = True
) -> tuple[Roles, tuple[str, ...]]:
    """The roles with treatments filled in where none was given, and what to say of the choice.

    `named` are fields that options of the user's made (`--pattern`, `--treatment`): each without a role is a factor.
    Else it is those of the reader's suggestions that differ between runs, and the first where none does. Whatever else
    differs between runs that would then count as repetitions becomes a condition. Raises `UsageError` for a field that
    is not there, and where nothing at all tells treatments apart although it is `needed`.
    """
    known = {name for run in reading.runs for name in run.fields}
    for name in roles.fields:
        if name not in known and name not in (use.field for use in roles.value):
            raise UsageError(f'the source has no field "{name}"', f"it has: {', '.join(sorted(known)) or 'none'}")
    taken = set(roles.fields)
    own = [name for name in dict.fromkeys(named) if name not in taken]
    if roles.treatment or own:
        roles = replace(roles, treatment=(*roles.treatment, *(Use(name, name) for name in own)))
        return _with_conditions(roles, reading, of_path=bool(own))
    free = [name for name in reading.suggested if name not in taken]
    chosen = _differing(free, reading.runs) or free[:1]
    if not chosen and needed:
        left = sorted(known - {use.field for use in roles.value})
        raise UsageError(
            "no option says which field distinguishes the treatments",
            f"for example --columns treatment={next(iter(left), 'COLUMN')}; there are: {', '.join(left) or 'none'}",
        )
    said = f"treatments differ by {' and '.join(chosen)}; no option says otherwise"
    roles = replace(roles, treatment=tuple(Use(name, name) for name in chosen))
    roles, more = _with_conditions(roles, reading)
    return roles, (said, *more) if _differing(chosen, reading.runs) else more


def levels_of(uses: Iterable[Use], fields: Mapping[str, str]) -> dict[str, str]:
    """Factor name to level as typed; a field that this run does not have is "unknown"."""
    return {use.name: fields.get(use.field, "").strip() or "unknown" for use in uses}


_OF_PATH = (FOLDER, FILE, SECTION)
_AT_SECOND_HAND = ("partition_method", "options", "version", *_OF_PATH)
"""Fields that follow another: they count where that one does not tell the same runs apart."""
SETTING = re.compile(
    r"(scale|sf|scale_factor|scaling_factor|clients?|connections|threads|jobs|virtual_users|vus|warehouses|protocol"
    r"|query_mode|mode|script|test|workload|benchmark|database|system|machine|instance(_type)?|host|version|drive"
    r"|(\w+[_ ])?(users|vus?|terminals|ware|warehouses|clients))",
    re.IGNORECASE,
)
"""Names of columns that say what was run, and never its result."""


def _differing(names: Iterable[str], runs: Sequence[ForeignRun]) -> list[str]:
    """Those that differ between runs; of a path only what the others do not say: `c16/` with 16 clients is none."""
    chosen = [name for name in names if name not in _AT_SECOND_HAND and len(_distinct((name,), runs)) > 1]
    for name in _AT_SECOND_HAND:
        if name in names and len(_distinct((*chosen, name), runs)) > len(_distinct(chosen, runs)):
            chosen.append(name)
    return chosen


def _distinct(names: Iterable[str], runs: Iterable[ForeignRun]) -> set[tuple[str, ...]]:
    listed = tuple(names)
    return {tuple(run.fields.get(name, "") for name in listed) for run in runs}


def _with_conditions(roles: Roles, reading: Reading, *, of_path: bool = False) -> tuple[Roles, tuple[str, ...]]:
    """What still differs between runs of one arm as conditions, with what to say of it.

    `of_path` says that options took the path apart, so that what is left of it numbers repetitions.
    """
    known = [name for name in reading.suggested if name != FOLDER]
    if of_path:
        known = [name for name in known if name not in _OF_PATH]
    found: list[str] = []
    levels = [use.field for use in roles.levels]
    for name in (*known, *(each for each in reading.columns if SETTING.fullmatch(each))):
        if name in roles.fields or name in found:
            continue
        if len(_distinct((*levels, *found, name), reading.runs)) > len(_distinct((*levels, *found), reading.runs)):
            found.append(name)
    if not found:
        return roles, ()
    said = (
        f"runs of one treatment differ by {' and '.join(found)}: conditions, which are never compared with each other"
    )
    return replace(roles, condition=(*roles.condition, *(Use(name, name) for name in found))), (said,)


_MOMENT = re.compile(
    r"(?<!\d)(\d{4}-?\d{2}-?\d{2}([T_ -]?\d{2}[-:.]?\d{2}([-:.]?\d{2})?)?|\d{6,})Z?(?!\d)|\b[0-9A-F]{24}\b"
)
"""Also what HammerDB calls a job."""
_NUMBERED = re.compile(r"(?:[-_. ]|(?<![^\W\d_])(?:run|rep|iter|round|block))(\d+)$", re.IGNORECASE)


def file_names(paths: Iterable[Path]) -> dict[Path, str]:
    """What the names of files say of their contents: without suffix, moments, and numbers of repetitions.

    A number at the end numbers repetitions if those of the same name go from 0 or 1 without a gap.
    """
    stems = {path: _MOMENT.sub("", path.stem).strip("-_. ") for path in paths}
    numbers: dict[str, set[int]] = {}
    for stem in stems.values():
        if found := _NUMBERED.search(stem):
            numbers.setdefault(stem[: found.start()], set()).add(int(found[1]))

    def name_of(stem: str) -> str:
        found = _NUMBERED.search(stem)
        if found is None:
            return stem
        counted = numbers[stem[: found.start()]]
        whole = min(counted) <= 1 and counted == set(range(min(counted), max(counted) + 1))
        return stem[: found.start()].rstrip("-_. ") if whole else stem

    return {path: name_of(stem) for path, stem in stems.items()}


TEXT_BYTES_MAX = 64 * 2**20
"""A longer text is no summary and no table of runs; logs are read by the core and may be of any length."""
HEAD_BYTES = 64 * 2**10


@dataclass(frozen=True)
class ForeignFile:
    """A file to recognise: its path, its first `HEAD_BYTES` bytes, and on demand its text.

    What a pipe holds is `piped`, all of it: it can be read once only.
    """

    path: Path
    head: bytes
    size_bytes: int
    piped: bytes | None = None

    @staticmethod
    def open(path: Path) -> "ForeignFile":
        """The file at `path`, or what `<(…)` and `/dev/stdin` name; raises `OSError`."""
        if path.is_relative_to("/dev/fd") or path == Path("/dev/stdin"):
            found = untrusted.read_bytes(path, pipes=True, most=TEXT_BYTES_MAX)
            return ForeignFile(path, found[:HEAD_BYTES], len(found), found)
        with untrusted.open_file(path) as file:
            return ForeignFile(path, file.read(HEAD_BYTES), os.fstat(file.fileno()).st_size)

    @property
    def is_binary(self) -> bool:
        """Whether a zero byte stands among the first bytes, as in no text but UTF-16."""
        return b"\0" in self.head and not self.head.startswith(_UTF_16)

    @property
    def is_long(self) -> bool:
        return self.size_bytes > TEXT_BYTES_MAX

    @cached_property
    def first_lines(self) -> str:
        return "" if self.is_binary else _decoded(self.head)

    @cached_property
    def text(self) -> str:
        """The whole text; empty for a file that is binary or too long to be a summary or a table."""
        if self.is_binary or self.is_long:
            return ""
        return _decoded(untrusted.read_bytes(self.path) if self.piped is None else self.piped)


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _decoded(text: bytes) -> str:
    """UTF-8, or UTF-16 with its mark, which is what PowerShell's `>` writes."""
    encoding = "utf-16" if text.startswith(_UTF_16) else "utf-8-sig"
    return text.decode(encoding, errors="replace").replace("\r\n", "\n")


@dataclass(frozen=True)
class Options:
    """What the user says about the files: roles of columns, names for a table's columns, fields and filters.

    `where` keeps runs with these fields; `log_has` names extra columns of a pgbench log ("lag", "retries").
    """

    roles: Roles = field(default_factory=Roles)
    header: str = ""
    pattern: Pattern | None = None
    given: tuple[Given, ...] = ()
    where: tuple[tuple[str, str], ...] = ()
    better: Better | None = None
    log_has: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Fields that `pattern` and `given` make: each is a factor unless it has another role."""
        taken = {name for name, _ in self.where}
        own = [name for name in (self.pattern.names if self.pattern else ()) if name not in REPETITION]
        return tuple(name for name in (*own, *(each.name for each in self.given)) if name not in taken)


class Reader(ABC):
    """One origin of results.

    `name` is what messages and records call it. `suggested` are the fields that tell treatments apart when the user
    names none, the best first; they must hold every setting that a run names: runs that differ in one are no
    repetitions. `reads_together` says that several files may be one run (an output and its log): such files are read
    last, all at once; all others one at a time.
    """

    name: str
    suggested: tuple[str, ...] = ()
    reads_together: bool = False

    @abstractmethod
    def recognises(self, file: ForeignFile, options: Options) -> bool:
        """Whether the file is one of this origin, by its contents; another reader is asked if not."""

    @abstractmethod
    def read(self, files: Sequence[ForeignFile], options: Options) -> Iterator[tuple[Path, Reading | str]]:
        """For each run directory, file or group of files its path and its runs, or the reason why it has none.

        The reason reads after the path, as in "is empty". Raises `UsageError` where the user must say more.
        """


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def unwrapped(text: str, first: re.Pattern[str]) -> str:
    """The lines as their program printed them: without indentation, a quote's mark, or what a collector put before.

    `first` matches a line that the program prints, anywhere in the line: what stands before it there is taken off every
    line that begins alike, whatever its digits are (a time, a process).
    """
    lines = [_COLOUR.sub("", line).rstrip() for line in text.splitlines()]
    for line in lines:
        found = first.search(line)
        if found and found.start():
            before = re.compile(re.sub(r"\d+", r"\\d+", re.escape(line[: found.start()])))
            lines = [before.sub("", line, count=1) if before.match(line) else line for line in lines]
        if found:
            break
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Mark:
    """A line that a program prints once in a run, or `often`; a number in it (its group) never falls within a run."""

    line: re.Pattern[str]
    often: bool = False


def read_each(place: str, text: str, marks: Sequence[Mark], read: Callable[[str, str], Reading | str]) -> Reading | str:
    """Every run of a text that may hold several, each read by itself by `read(place, text)`.

    `marks` stand in the order in which a run prints them: a run begins where a mark comes that the run so far has
    passed. A text that holds none of them twice is one run in whatever order its lines are: errors may follow results.
    """
    lines = text.splitlines(keepends=True)
    seen: list[tuple[int, int, float | None]] = []  # line, its mark, and the number in it
    for number, line in enumerate(lines):
        for index, mark in enumerate(marks):
            if found := mark.line.match(line):
                seen.append((number, index, float(found[1]) if mark.line.groups else None))
                break
    once = [index for _, index, _ in seen if not marks[index].often]
    begins, fallen = [0], False
    for (_, before, earlier), (number, index, value) in pairwise(seen):
        falls = index == before and value is not None and earlier is not None and value <= earlier
        fallen = fallen or falls
        if index < before or falls or (index == before and not marks[index].often):
            begins.append(number)
    if len(begins) == 1 or (len(once) == len(set(once)) and not fallen):
        return read(place, text)
    parts = ["".join(lines[begin:end]) for begin, end in pairwise([*begins, len(lines)])]
    readings = []
    for begin, part in zip(begins, parts, strict=True):
        where = f"{place} line {begin + 1}"
        one = read(where, part)
        readings.append(Reading("", (), (), (LeftOut(where, one),)) if isinstance(one, str) else one)
    return combine(readings)
