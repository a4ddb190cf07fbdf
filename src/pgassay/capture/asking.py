"""From a capture and a question to the files that a study needs: scripts, data, the study's document.

They stand in the capture, scripts in a folder of their own for each question (`asked/UTC`), so that a run can be
resumed and the scripts can be read and changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any

from pgassay.capture import dump, texts
from pgassay.capture.dump import Needing
from pgassay.capture.errors import CaptureError, some
from pgassay.capture.files import require_ours
from pgassay.capture.format import Capture, Load
from pgassay.capture.question import COUNTED_LEAST, FULL, Pace, Question, document, pace_of
from pgassay.capture.scripts import FAILS, ScriptedLoad, scripted
from pgassay.errors import did_you_mean
from pgassay.interfaces.errors import NotSettableError
from pgassay.interfaces.running import Runner
from pgassay.interfaces.server import Installation
from pgassay.locks import alone
from pgassay.study.units import parse_whole

FOLDER = "asked"
_NAME_MAX = 100
"""Of a folder named for extensions; longer names become a hash, since file systems have 255 bytes for one."""
_LOCK = ".lock"
_NOTICEABLE = 0.01
_IN_EACH = 1.25
"""A fifth of five transactions is not measured, and a tenth of many."""
LIBRARIES = "shared_preload_libraries"
_ACTING = ("pg_cron", "pg_net", "pg_partman_bgw", "pglogical", "bdr", "spock", "repmgr", "pg_failover_slots")
"""Libraries whose workers run jobs or reach other servers, which a copy of the data must not do."""
_C_LOCALES = ("C", "POSIX", "C.UTF-8", "C.utf8")


@dataclass(frozen=True)
class PreparedQuestion:
    """A question with its files: the load with what is missing from it, the folder of its scripts, the data's file."""

    capture: Capture
    question: Question
    load: ScriptedLoad
    folder: Path
    data: Path
    warnings: Mapping[str, str]
    """What differs from the server whatever is asked: a code for the record to the sentence."""
    libraries: tuple[str, ...] = ()
    """Of the server's `shared_preload_libraries` those that are loaded here, too."""
    replayed: Mapping[str, Any] | None = None
    """The load of a log that is played in place of scripts."""
    pace: str = FULL
    """`full`, `source` or `busiest`."""

    @property
    def paced(self) -> Pace | None:
        """The rate at which the scripts that are left are due; None where they are played as fast as they go."""
        return pace_of(self.pace, self.capture.load, self.load.played)

    def document(self, counted: Load | None = None) -> dict[str, Any]:
        """The tables of its study; `counted` is the load as it was tried, where instructions are counted."""
        scripts = {self.folder / f"{each.name}.sql": each.weight for each in self.load.played}
        held = {LIBRARIES: ", ".join(self.libraries)} if self.libraries else {}
        source = replace(self.capture.source, settings={**self.capture.source.settings, **held})
        pauses = any(each.pause_ms for each in self.load.played)
        return document(
            source,
            self.capture.load,
            self.data,
            scripts,
            self.question,
            pauses=pauses,
            replayed=self.replayed,
            pace=self.paced,
            counted=counted,
            least=max((COUNTED_LEAST, *self.needed.values())),
        )

    @cached_property
    def needed(self) -> dict[str, int]:
        """How many transactions a count needs to have a script in each block, by its label, for those that took the
        source a noticeable share of its time: a count without them says nothing of the load."""
        played = self.load.played
        weights = sum(each.weight for each in played)
        spent_ms = sum(each.weight * each.mean_ms for each in played)
        return {
            each.label: ceil(_IN_EACH * weights / each.weight)
            for each in played
            if each.weight * each.mean_ms > _NOTICEABLE * spent_ms
        }

    def rare(self, given: Sequence[str]) -> str:
        """What a count of so many transactions, at the fewest, can be without; empty where each statement matters
        little or is in each block."""
        transactions = min(filter(None, map(parse_whole, given)), default=0)
        rare = {label: needed for label, needed in self.needed.items() if needed > transactions > 0}
        return texts.rare(transactions, rare) if rare else ""

    def without(self, failed: Mapping[str, str]) -> "PreparedQuestion":
        """The same without the scripts that failed when tried; raises `CaptureError` where too little is left."""
        if self.capture.load is None:
            return self
        left = self.load.without(failed, self.capture.load)
        if self.load.played:
            _require_played(left, self.capture)
        return replace(self, load=left)


def write(
    path: Path,
    capture: Capture,
    question: Question,
    installations: Sequence[Installation],
    runner: Runner,
    stamp: str,
    *,
    own_scripts: bool = False,
    replayed: Mapping[str, Any] | None = None,
    pace: str = FULL,
    connections: int = 0,
) -> PreparedQuestion:
    """Write the files for a question to the capture at `path`; `own_scripts` if the user names the scripts, `replayed`
    is the load where a log is played in their place, `pace` full, source or busiest. The server's max_connections is
    left out if it is below the `connections` that the load needs. `installations` are the PostgreSQLs that will serve,
    the baseline's first; each loads the data by itself.

    Raises `UntrustedError` for a capture of another account, `CaptureError` for one that has no data, whose tables
    need extensions that are not here, or of which too little can be played.
    """
    if not capture.data.file:
        raise CaptureError(f'"{path}" holds no data, so nothing can be run on it', "capture again with --data dump")
    _require_names(question, capture)
    require_ours(path)
    file = path.absolute() / capture.data.file
    newest_first = sorted(installations, key=lambda each: -each.version.major)
    restores = [each.bindir / "pg_restore" for each in newest_first]
    needing = _needing(file, capture, installations, restores[0], runner)
    unknown = _unknown_settings(capture, installations)
    most = parse_whole(capture.source.settings.get("max_connections", ""))
    crowded = {"max_connections"} if most is not None and most < connections else set()
    known = {name: value for name, value in capture.source.settings.items() if name not in {*unknown, *crowded}}
    capture = replace(capture, source=replace(capture.source, settings=known))
    libraries, left_out, of_nothing = _libraries(capture, question, installations, runner)
    unscripted = own_scripts or replayed is not None
    load = ScriptedLoad((), ()) if unscripted else scripted(capture)
    if not unscripted:
        _require_played(load, capture)
    folder = _new_folder((path / FOLDER).absolute(), stamp)
    for each in load.tried:
        (folder / f"{each.name}.sql").write_text(each.text, encoding="utf-8")
    with alone(folder.parent / _LOCK):  # what is made once is made by one of those who ask at the same time
        place = folder.parent
        if needing.extensions:
            names = "-".join(needing.extensions)
            place /= f"without-{names if len(names) <= _NAME_MAX else sha256(names.encode()).hexdigest()}"
            place.mkdir(exist_ok=True)
        data = dump.playable(restores, file, place, runner, needing.lines)
    warnings = _warnings(capture, installations, needing, data.missing)
    if unknown:
        warnings["settings_left_out"] = (
            f"left out of the settings, because PostgreSQL {' and '.join(dict.fromkeys(unknown.values()))} does not "
            f"know them: {', '.join(unknown)}"
        )
    if crowded:
        warnings["connections_left_out"] = (
            f"left out of the settings, because the load may need {connections} connections: max_connections = {most}"
        )
    if left_out:
        said = ", ".join(f"{name} ({reason})" for name, reason in left_out.items())
        warnings["libraries_left_out"] = f"left out of shared_preload_libraries: {said}"
    if of_nothing:
        warnings["settings_of_nothing"] = (
            f"no extension and no preloaded library of the server is called {', '.join(of_nothing)}: "
            "its settings do nothing"
        )
    return PreparedQuestion(capture, question, load, folder, data.file, warnings, libraries, replayed, pace)


def _require_names(question: Question, capture: Capture) -> None:
    """Raise `CaptureError` for a change of the schema that cannot be parsed, or names what the capture does not have.

    Only what comes before a statement that may make tables or columns itself. Without the parser the loaded data show
    it, before anything is measured.
    """
    try:
        from pglast import parse_sql
        from pglast.parser import ParseError
    except ImportError:
        return
    for change in question.changes:
        try:
            trees: list[Any] = [each.stmt for each in parse_sql(change)]
        except ParseError as error:
            raise CaptureError(f'"{change}" cannot be parsed: {str(error).splitlines()[0]}', None) from None
        for tree in trees:
            kind = type(tree).__name__
            alters = kind == "AlterTableStmt" and tree.objtype.name == "OBJECT_TABLE"
            if not (alters or kind == "IndexStmt"):
                break
            _require_table(change, tree, capture)
            if alters:
                break  # it may have made the columns that others name


def _require_table(change: str, tree: Any, capture: Capture) -> None:
    name, schema = tree.relation.relname, tree.relation.schemaname
    found = [each for each in capture.tables if each.name == name and schema in (None, each.schema)]
    if not found and not getattr(tree, "missing_ok", False):
        known = [each.name for each in capture.tables]
        raise CaptureError(
            f'"{change}" names a table that the capture does not have: {name}', did_you_mean(name, known)
        )
    columns = [column.name for each in found for column in each.columns]
    for each in (*(getattr(tree, "indexParams", None) or ()), *(getattr(tree, "indexIncludingParams", None) or ())):
        if each.name and columns and each.name not in columns:
            raise CaptureError(
                f'"{change}" names a column that {name} does not have: {each.name}', did_you_mean(each.name, columns)
            )


def _require_played(load: ScriptedLoad, capture: Capture) -> None:
    """Raise `CaptureError`, with what takes most of the time, where the answer would be about another load."""
    too_little = load.too_little
    if not too_little:
        return
    own = "name scripts of your own with --set load.script=FILE"
    logged = capture.with_literals and capture.load is not None and capture.load.logged is not None
    if any(each.reason.startswith(FAILS) for each in load.unplayed[:1]):
        hint = f"let it run here, by an extension or a PostgreSQL that it needs (--pg-bindir), or {own}"
    elif logged:
        hint = own
    else:
        hint = (
            "capture again with --log FILE --with-literals, which plays real values (--replay plays the log itself),"
            f" or {own}"
        )
    raise CaptureError(too_little, hint)


def _new_folder(parent: Path, stamp: str) -> Path:
    """A question's own, with a number behind `stamp` where another question has the same second."""
    parent.mkdir(parents=True, exist_ok=True)
    folder, number = parent / stamp, 1
    while True:
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1
            folder = parent / f"{stamp}-{number}"


def _needing(
    file: Path, capture: Capture, installations: Sequence[Installation], restore: Path, runner: Runner
) -> Needing:
    """What has to be left out since a PostgreSQL of the study lacks extensions; raises `CaptureError` where that is a
    table, before hours of loading."""
    missing: dict[str, str] = {}
    wanted = [name for name in capture.source.extensions if name not in (*dump.NEVER_RESTORED, "plpgsql")]
    for installation in installations:
        folder = _folder_of(installation, "--sharedir", runner)
        if folder is not None and (folder / "extension").is_dir():
            absent = (name for name in wanted if not (folder / "extension" / f"{name}.control").is_file())
            missing |= dict.fromkeys(absent, str(installation.version))
    if not missing:
        return Needing()
    found = dump.needing(dump.contents(restore, file, runner, "--verbose"), missing)
    if found.tables:
        first = next(iter(found.tables))
        tables = dict.fromkeys(table for needed in found.tables.values() for table in needed)
        raise CaptureError(
            f"the data need extensions that this PostgreSQL {missing[first]} does not have:"
            f" {', '.join(found.tables)} (columns or defaults of {some(tuple(tables), '; ')})",
            "install them, or name another PostgreSQL with --pg-bindir",
        )
    return found


def _folder_of(installation: Installation, option: str, runner: Runner) -> Path | None:
    """What this option of pg_config prints; None for a PostgreSQL without it, where loading or running will show."""
    done = runner.run([str(installation.bindir / "pg_config"), option])
    return None if done.status else Path(done.stdout.strip())


def _libraries(
    capture: Capture, question: Question, installations: Sequence[Installation], runner: Runner
) -> tuple[tuple[str, ...], dict[str, str], list[str]]:
    """The libraries that every PostgreSQL of the study loads at its start, and why others of the server's are not
    loaded: those that the server preloads, and those of extensions whose settings are asked about. The third are
    names before a dot that are neither an extension nor a library of the server: PostgreSQL takes any.
    """
    folders = [_folder_of(each, "--pkglibdir", runner) or Path() for each in installations]

    def installed(name: str) -> bool:
        return all((folder / f"{name.removesuffix('.so')}.so").is_file() for folder in folders)

    kept: list[str] = []
    left_out: dict[str, str] = {}
    for library in capture.source.libraries:
        name = library.removeprefix("$libdir/")
        if name in dump.NEVER_RESTORED:
            continue
        if name in _ACTING:
            left_out[name] = "it acts by itself"
        elif "/" in name or not installed(name):
            left_out[name] = "it is not installed here"
        else:
            kept.append(name)
    settings = (name.split(".") for name in question.factors if name.startswith("server."))
    asked = dict.fromkeys(words[1] for words in settings if len(words) > 2)
    for name in asked:
        if name in capture.source.extensions and name not in (*kept, *_ACTING) and installed(name):
            kept.append(name)
    return tuple(kept), left_out, [name for name in asked if name not in {*capture.source.extensions, *kept}]


def _unknown_settings(capture: Capture, installations: Sequence[Installation]) -> dict[str, str]:
    """The server's settings that a PostgreSQL of another major version does not know, each with that version."""
    found: dict[str, str] = {}
    for installation in installations:
        left = {name: value for name, value in capture.source.settings.items() if name not in found}
        while installation.version.major != capture.source.major:
            try:
                installation.check_settings(left)
                break
            except NotSettableError as error:
                name = next((each for each in left if each.lower() == error.name.lower()), None)
                if name is None:
                    raise
                found[name] = str(installation.version.major)
                del left[name]
    return found


def _warnings(
    capture: Capture, installations: Sequence[Installation], needing: Needing, missing: tuple[str, ...]
) -> dict[str, str]:
    source, found = capture.source, {}
    if source.major not in {each.version.major for each in installations}:
        found["other_version"] = (
            f"the server is PostgreSQL {source.major}, and the study runs on "
            f"{installations[0].version.major}; --pg-bindir names another"
        )
    if source.collation not in _C_LOCALES:
        found["other_collation"] = (
            f"the server's collation is {source.collation}, and the study runs with C: "
            "sorts and comparisons of text are cheaper here"
        )
    if missing:
        found["left_out"] = f"left out of the data, because a new cluster has no use for it: {'; '.join(missing)}"
    if needing.extensions:
        needed = f"; and what needs them: {some(needing.objects, '; ')}" if needing.objects else ""
        found["extensions_left_out"] = (
            f"left out of the data, because it is not installed here: extension {', '.join(needing.extensions)}{needed}"
        )
    return found
