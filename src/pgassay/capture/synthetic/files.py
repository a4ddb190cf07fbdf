"""Synthetic data in the directory of a capture: statistics without values, the schema, and the script made of both."""

from pathlib import Path

import msgspec

from pgassay.capture.synthetic import messages
from pgassay.capture.synthetic.generation import Synthesis
from pgassay.capture.synthetic.script import write_script
from pgassay.capture.synthetic.statistics import Schema

STATISTICS, BEFORE, AFTER = "synthetic.json", "schema-before.sql", "schema-after.sql"
SCRIPT = "synthetic.sql"


def save(schema: Schema, before: str, after: str, folder: Path) -> None:
    """Write what data can be made from; `before` and `after` are pg_dump's sections pre-data and post-data."""
    (folder / STATISTICS).write_bytes(msgspec.json.format(msgspec.json.encode(schema), indent=1))
    (folder / BEFORE).write_text(before, encoding="utf-8")
    (folder / AFTER).write_text(after, encoding="utf-8")


def read(folder: Path) -> Schema:
    """The statistics in `folder`; raises `SyntheticError`."""
    try:
        return msgspec.json.decode((folder / STATISTICS).read_bytes(), type=Schema)
    except (OSError, msgspec.MsgspecError) as error:
        raise messages.unreadable(folder / STATISTICS, str(error)) from None


def playable(folder: Path) -> Path:
    """The script for psql that fills a database; written once, since the same statistics give the same data."""
    script = folder / SCRIPT
    if not script.exists():
        partial = script.with_suffix(".partial")
        before, after = ((folder / name).read_text(encoding="utf-8") for name in (BEFORE, AFTER))
        write_script(Synthesis(read(folder)), before, after, partial)
        partial.rename(script)
    return script
