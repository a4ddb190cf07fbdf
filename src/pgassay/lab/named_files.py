"""The files of a user's that a study names: those that its factors say are files, and no other text of it.

A title or a question may hold any path; only what a factor maps (`Factor.map_paths`) is a file of the study. Records
keep such paths from the root, so that a run goes on from any directory, and a capsule packs these files and no others.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pgassay.errors import UsageError
from pgassay.lab.arms import Bound, bind
from pgassay.lab.catalogue import FactorCatalogue, every_factor
from pgassay.load.pgbench.options import parse_scripts
from pgassay.record import trials
from pgassay.record.capsule import NamedFile
from pgassay.record.reading import Run
from pgassay.study import document as documents
from pgassay.study.levels import Level
from pgassay.study.parsing import GONE, parse_recorded

_SCRIPT = "load.script"
_VARIED = ("factors", "conditions", "covariates")


def bounds_of(name: str, document: documents.Document) -> tuple[Bound, ...]:
    """Every level of a recorded study with its factor, each once."""
    catalogue = every_factor()
    study = parse_recorded(name, document, catalogue)
    found = {(each.name, each.level): each for arm in study.arms for each in bind(study, arm, catalogue)}
    return tuple(found.values())


def rooted(document: documents.Document, catalogue: FactorCatalogue) -> documents.Document:
    """A study's document with each path from the root: whoever goes on with it has another working directory."""

    def written(name: str, text: str) -> str:
        factor = catalogue.find(name)
        try:
            return text if factor is None else factor.rooted(name, text)
        except UsageError:
            return text  # the study's own parsing says what is wrong

    return {key: _rewritten(value, key, written) for key, value in document.items()}


def repeatable(run: Run) -> documents.Document:
    """The study of a run for another place: a level that cannot be read there (the description of a drive is elsewhere)
    or means another file there (older records have paths as typed) is written as its trials have it.
    """
    catalogue = every_factor()
    known = {(name, level.typed): level.canonical for trial in run.trials for name, level in trial.levels.items()}

    def written(name: str, text: str) -> str:
        factor = catalogue.find(name)
        try:
            if factor is None or factor.rooted(name, text) == text:
                return text
        except UsageError:
            pass
        return known.get((name, text), text)

    return {key: _rewritten(value, key, written) for key, value in run.study.items() if key not in GONE}


def _rewritten(value: Any, name: str, written: Callable[[str, str], str], *, varied: bool = False) -> Any:
    """A part of a document with each level as `written` makes it of its factor's name and its text.

    `name` is the key that the value stands under, and `varied` says whether a list holds several levels.
    """
    if isinstance(value, Mapping):
        several = name in _VARIED
        return {
            key: _rewritten(inner, key if "." in key else f"{name}.{key}", written, varied=several)
            for key, inner in value.items()
        }
    if isinstance(value, list) and (varied or any(isinstance(each, Mapping) for each in value)):
        return [_rewritten(each, name, written) for each in value]
    if not isinstance(value, str | list):
        return value
    text = "\n".join(map(str, value)) if isinstance(value, list) else value
    found = written(name, text)
    return value if found == text else found


def files_of(run: Run) -> tuple[NamedFile, ...]:
    """Every file that the levels of a run name, each once, by the path that it had when it ran.

    Of a pgbench script a trial has kept a copy: that is what was run, whatever has become of the script since. Records
    from before paths were kept from the root have them in the levels of their trials.
    """
    catalogue = every_factor()
    levels = [
        (name, Level(level.typed, level.canonical)) for trial in run.trials for name, level in trial.levels.items()
    ]
    tried = {(name, level.typed) for name, level in levels}
    with suppress(UsageError, KeyError):  # of a factor that is not here: trials say what they can
        # The study's levels are also those of arms that no trial has run yet.
        planned = bounds_of(run.header.study, dict(run.study))
        levels += [(each.name, each.level) for each in planned if (each.name, each.level.typed) not in tried]
    kept = _kept_scripts(run)
    found: dict[Path, NamedFile] = {}
    for name, level in dict.fromkeys(levels):
        factor = catalogue.find(name)
        for path in () if factor is None else factor.paths_of(name, level):
            if path not in found:
                holds_rows = factor is not None and factor.holds_rows
                found[path] = NamedFile(name, path, kept.get(path, (path,)), holds_rows)
    return tuple(found.values())


def _kept_scripts(run: Run) -> dict[Path, tuple[Path, ...]]:
    """By the path of each script the copies in the trials, the first that is there in front."""
    found: dict[Path, list[Path]] = {}
    for trial in run.trials:
        level = trial.levels.get(_SCRIPT)
        for number, script in enumerate(() if level is None else parse_scripts(level.canonical), start=1):
            copy = trials.trial_path(run.path, trial.number) / f"script_{number}_{script.path.name}"
            if not script.builtin and copy.is_file() and not copy.is_symlink():
                found.setdefault(script.path, []).append(copy)
    return {path: tuple(copies) for path, copies in found.items()}
