"""From a capture and a question to the files that a study needs: scripts, data, the study's document.

They stand in the capture, scripts in a folder of their own for each question (`asked/UTC`), so that a run can be
resumed and the scripts can be read and changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pgassay.bench.running import Runner
from pgassay.bench.server import Installation
from pgassay.capture import dump, messages
from pgassay.capture.format import Capture
from pgassay.capture.question import Question, document
from pgassay.capture.scripts import ScriptedLoad, UnplayedStatement, scripted
from pgassay.capture.synthetic import files as synthetic
from pgassay.capture.synthetic.generation import Synthesis

FOLDER = "asked"
_C_LOCALES = ("C", "POSIX", "C.UTF-8", "C.utf8")


@dataclass(frozen=True)
class Asked:
    """A question with its files: the load with what is missing from it, the folder of its scripts, the data's file."""

    capture: Capture
    question: Question
    load: ScriptedLoad
    folder: Path
    data: Path
    warnings: Mapping[str, str]
    """What differs from the server whatever is asked: a code for the record to the sentence."""

    def document(self) -> dict[str, Any]:
        """The tables of a study file."""
        scripts = {self.folder / f"{each.name}.sql": each.weight for each in self.load.played}
        return document(self.capture.source, self.capture.load, self.data, scripts, self.question)

    def without(self, failed: Mapping[str, str]) -> "Asked":
        """The same without the scripts that failed when they were tried; raises `CaptureError` if none is left."""
        load = self.capture.load
        whole_ms = load.exec_ms or 1.0 if load is not None else 1.0
        more = [
            UnplayedStatement(each.statement, f"it fails here: {failed[each.name]}", each.statement.exec_ms / whole_ms)
            for each in self.load.played
            if each.name in failed
        ]
        unplayed = sorted((*self.load.unplayed, *more), key=lambda each: -each.time_share)
        kept = tuple(each for each in self.load.played if each.name not in failed)
        if self.load.played and not kept:
            raise messages.nothing_playable(each.reason for each in unplayed)
        return replace(self, load=ScriptedLoad(kept, tuple(unplayed)))


def write(
    path: Path,
    capture: Capture,
    question: Question,
    installation: Installation,
    runner: Runner,
    stamp: str,
    *,
    own_scripts: bool = False,
) -> Asked:
    """Write the files for a question to the capture at `path`; `own_scripts` if the user names the scripts.

    Raises `CaptureError` for a capture that has no data, needs extensions that are not here, or of which nothing can be
    played.
    """
    if not capture.data.file:
        raise messages.no_data(path)
    _require_extensions(capture, installation, runner)
    synthesis = synthetic.read(path) if capture.data.kind == "synthetic" else None
    described = replace(capture, tables=synthetic.with_values(capture.tables, synthesis)) if synthesis else capture
    load = ScriptedLoad((), ()) if own_scripts else scripted(described)
    if not load.played and not own_scripts:
        raise messages.nothing_playable(each.reason for each in load.unplayed)
    folder = (path / FOLDER / stamp).absolute()
    folder.mkdir(parents=True)
    for each in load.played:
        (folder / f"{each.name}.sql").write_text(each.text, encoding="utf-8")
    data = _data(path.absolute(), capture, synthesis, installation, folder.parent, runner)
    return Asked(capture, question, load, folder, data.file, _warnings(capture, installation, data.missing))


def _data(
    path: Path, capture: Capture, synthesis: Synthesis | None, installation: Installation, folder: Path, runner: Runner
) -> dump.Playable:
    """The file that `load.init` takes: the dump, or a script that makes data from statistics."""
    restore = installation.bindir / "pg_restore"
    if synthesis is None:
        return dump.playable(restore, path / capture.data.file, folder, runner)
    schema = dump.sections(restore, path / dump.SCHEMA, folder, runner)
    return dump.Playable(synthetic.playable(synthesis, schema.before, schema.after, folder), schema.missing)


def _require_extensions(capture: Capture, installation: Installation, runner: Runner) -> None:
    """Raise `CaptureError` for extensions that this PostgreSQL does not have, before hours of loading."""
    told = runner.run([str(installation.bindir / "pg_config"), "--sharedir"])
    folder = Path(told.stdout.strip()) / "extension"
    if told.status or not folder.is_dir():
        return  # a PostgreSQL without pg_config: loading the data will tell
    wanted = [name for name in capture.source.extensions if name not in (*dump.NEVER_RESTORED, "plpgsql")]
    missing = [name for name in wanted if not (folder / f"{name}.control").is_file()]
    if missing:
        raise messages.missing_extensions(missing)


def _warnings(capture: Capture, installation: Installation, missing: tuple[str, ...]) -> dict[str, str]:
    source, found = capture.source, {}
    if installation.version.major != source.major:
        found["other_version"] = messages.other_version(source.major, installation.version.major)
    if source.collation not in _C_LOCALES:
        found["other_collation"] = messages.other_collation(source.collation)
    if missing:
        found["left_out"] = messages.left_out(missing)
    return found
