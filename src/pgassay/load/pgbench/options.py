"""The options of a pgbench load, declared once.

Defaults are pgbench's own (PostgreSQL manual, "pgbench"), except that a run lasts 60 s where nothing else is said.
"""

from dataclasses import dataclass
from pathlib import Path

from pgassay.bench.factor import Stage
from pgassay.bench.kinds import PATH, Kind, choice, optional, whole
from pgassay.bench.options import answer_to, option, rows_of
from pgassay.errors import UsageError
from pgassay.load import messages
from pgassay.load.options import AGE, CORES, PgbenchClientOptions
from pgassay.load.pgbench.scripts import Script, parse_scripts, show_scripts
from pgassay.study.units import parse_memory

ROW_BYTES_MIN, ROW_BYTES_MAX = 32, 31_000
"""A filler of some bytes at least; no page has more than 32 kB."""
BESIDE_FILLER = 16
"""What TPC-B counts of a row beside its filler."""
STORAGES = {"plain": "PLAIN", "toasted": "EXTERNAL"}
"""The word of `load.row_storage` to PostgreSQL's."""

_FILLER = "FROM pg_attribute WHERE attrelid = 'pgbench_accounts'::regclass AND attname = 'filler'"
READ_BYTES = f"SELECT atttypmod - 4 + {BESIDE_FILLER} {_FILLER}"
READ_STORAGE = (
    f"SELECT CASE attstorage WHEN 'p' THEN 'plain' WHEN 'e' THEN 'toasted' ELSE attstorage::text END {_FILLER}"
)


def _parse_row_bytes(name: str, text: str) -> int:
    stripped = text.strip()
    try:
        size = int(stripped) if stripped.isdecimal() else parse_memory(stripped)
    except UsageError:
        raise messages.not_a_row(name, text, ROW_BYTES_MIN, ROW_BYTES_MAX) from None
    if not ROW_BYTES_MIN <= size <= ROW_BYTES_MAX:
        raise messages.not_a_row(name, text, ROW_BYTES_MIN, ROW_BYTES_MAX)
    return size


ROW_BYTES: Kind[int] = Kind(_parse_row_bytes, str, f"bytes from {ROW_BYTES_MIN} to {ROW_BYTES_MAX}: 2000, 2kB")
SCRIPTS: Kind[tuple[Script, ...]] = Kind(
    lambda name, text: parse_scripts(text),
    show_scripts,
    "pgbench's own scripts or files, with weights: a.sql@3,b.sql@1",
)


@dataclass(frozen=True, kw_only=True)
class PgbenchOptions(PgbenchClientOptions):
    """A pgbench load; `transactions` of each client prevail over `duration_s`."""

    scale: int = option(
        whole(),
        default=1,
        stage=Stage.DATA,
        summary="pgbench -s: 100 000 accounts (about 15 MB) each",
        read_back=rows_of("pgbench_branches"),
    )
    age: float = option(
        AGE, default=0.0, stage=Stage.DATA, summary="updates of every row before the snapshot: none, 2x …"
    )
    init: Path | None = option(
        optional(PATH),
        default=None,
        stage=Stage.DATA,
        summary="your own schema and data: SQL for psql or a dump for pg_restore",
    )
    row_bytes: int | None = option(
        ROW_BYTES,
        default=None,
        stage=Stage.DATA,
        unit="bytes",
        summary="bytes of an account's row: 100 is pgbench's own, at most a page",
        read_back=answer_to(READ_BYTES),
    )
    row_storage: str | None = option(
        choice(*STORAGES),
        default=None,
        stage=Stage.DATA,
        summary="wide rows plain in their page, or toasted out of it",
        read_back=answer_to(READ_STORAGE),
    )
    scripts: tuple[Script, ...] = option(
        SCRIPTS,
        name="script",
        default=(Script("tpcb-like"),),
        summary="tpcb-like, simple-update, select-only, or files with weights: a.sql@3,b.sql@1",
    )
    cores: str = option(
        CORES, default="all", summary="CPUs of the program: all, a list 2-3, or rest: those not the server's"
    )

    @property
    def custom(self) -> bool:
        """Are all scripts the user's own?"""
        return not any(script.builtin for script in self.scripts)
