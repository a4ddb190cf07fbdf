r"""Synthetic data in the directory of a capture: statistics without values, and the script that fills a database.

psql runs the script, since sizes are measured on the way (`\\gexec`). A table that has been updated is emptier than one
that was copied: it is rewritten with the fillfactor that gives it as many pages, and so are its B-trees; afterwards the
fillfactor is what it was. What is denser in the source than here stays as it is. Constraints that the rows do not
satisfy (a regular expression, one column before another) are left out: they are dropped before the rows come, and put
back where they hold.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import msgspec

from pgassay import untrusted
from pgassay.capture.errors import SyntheticError
from pgassay.capture.format import Table as CapturedTable
from pgassay.capture.synthetic.generation import Synthesis
from pgassay.capture.synthetic.statistics import Index, Schema

_SLICE_ROWS = 100_000
_TABLE_FILLFACTOR, _INDEX_FILLFACTOR = 100, 90
_LEAST_FILLFACTOR = 10
_CLOSE_ENOUGH = 0.99
_MOSTLY_VISIBLE = 0.5
_EXCLUDE = re.compile(r"^ALTER TABLE ONLY [^\n]+\n    ADD CONSTRAINT [^\n]+ EXCLUDE [^\n]+;$", re.MULTILINE)
_TAG = "$pgassay$"
_DROP_CHECKS = """CREATE TEMPORARY TABLE pgassay_checks AS
SELECT format('ALTER %s DROP CONSTRAINT %I', place, conname) AS dropped,
  format('ALTER %s ADD CONSTRAINT %I %s', place, conname, pg_get_constraintdef(oid)) AS added
FROM (SELECT k.oid, k.conname, CASE WHEN k.contypid <> 0 THEN 'DOMAIN ' || k.contypid::regtype
    ELSE 'TABLE ' || k.conrelid::regclass END AS place
  FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace
  WHERE k.contype = 'c' AND k.coninhcount = 0 AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND NOT EXISTS (SELECT FROM pg_depend x WHERE x.deptype = 'e' AND (x.classid = 'pg_class'::regclass
      AND x.objid = k.conrelid OR x.classid = 'pg_type'::regclass AND x.objid = k.contypid))) k;
SELECT dropped FROM pgassay_checks \\gexec
"""
_ADD_CHECKS = f"""DO {_TAG}
DECLARE statement text;
BEGIN
  FOR statement IN SELECT added FROM pgassay_checks LOOP
    BEGIN
      EXECUTE statement;
    EXCEPTION WHEN OTHERS THEN
      RAISE WARNING 'left out: %: %', statement, SQLERRM;
    END;
  END LOOP;
END {_TAG};
DROP TABLE pgassay_checks;
"""
_IF_IT_HOLDS = (
    rf"DO {_TAG}\nBEGIN\n\g<0>\nEXCEPTION WHEN exclusion_violation THEN\n"
    rf"  RAISE WARNING 'left out: %', SQLERRM;\nEND {_TAG};"
)
"""An exclusion constraint that is left out where the rows break it."""


def write_script(synthesis: Synthesis, before: str, after: str, path: Path) -> dict[str, int]:
    """Write the script to `path`; returns the rows of each table.

    `before` and `after` are what pg_dump writes of the schema as sections pre-data and post-data.
    """
    rows: dict[str, int] = {}
    with path.open("w", encoding="utf-8") as file:
        file.write("\\set ON_ERROR_STOP on\nSET client_min_messages = warning;\n")
        file.write(f"{before}\n")
        file.write("SET timezone = 'UTC';\nSET datestyle = 'ISO, YMD';\nSET search_path = public;\n")
        file.write(_DROP_CHECKS)
        for table, frame in synthesis.tables():
            rows[table.name] = frame.height
            columns, name = ", ".join(_quoted(name) for name in frame.columns), _literal(table.name)
            file.write(f"COPY {table.name} ({columns}) FROM stdin;\n")
            for part in frame.iter_slices(_SLICE_ROWS):
                file.write(part.write_csv(include_header=False, separator="\t", null_value="\\N", quote_style="never"))
            file.write("\\.\n")
            usual, size = table.fillfactor or _TABLE_FILLFACTOR, f"pg_relation_size({name})"
            file.write(_refilled(table.name, size, table.heap_bytes, usual, "TABLE", f"VACUUM FULL {table.name}"))
            for column in table.columns:
                if column.serial:
                    sequence = f"pg_get_serial_sequence({name}, {_literal(column.name)})"
                    greatest = f"SELECT setval({sequence}, max({_quoted(column.name)}))"
                    file.write(f"{greatest} FROM {table.name} HAVING count(*) > 0;\n")
        file.write(f"{_EXCLUDE.sub(_IF_IT_HOLDS, after)}\nSET search_path = public;\n")
        file.write(_ADD_CHECKS)
        for table in synthesis.schema.tables:
            for index in table.indexes:
                if index.method == "btree":
                    usual = index.fillfactor or _INDEX_FILLFACTOR
                    size = f"pg_relation_size({_literal(index.name)})"
                    rewrite = f"REINDEX INDEX {index.name}"
                    file.write(_refilled(index.name, size, index.size_bytes, usual, "INDEX", rewrite, index))
            vacuum = "VACUUM (ANALYZE)" if table.all_visible_share >= _MOSTLY_VISIBLE else "ANALYZE"
            file.write(f"{vacuum} {table.name};\n")
    return rows


def _refilled(
    name: str, size: str, wanted: int, usual: int, kind: str, rewrite: str, index: Index | None = None
) -> str:
    """Statements that rewrite a relation with a lower fillfactor, if it is smaller than the source's."""
    given = index.fillfactor if index else (usual if usual != _TABLE_FILLFACTOR else None)
    back = f"SET (fillfactor = {given})" if given else "RESET (fillfactor)"
    factor = f"greatest({_LEAST_FILLFACTOR}, round({usual} * {size} / {max(wanted, 1)}.0))"
    return (
        f"SELECT format('ALTER {kind} %s SET (fillfactor = %s)', {_literal(name)}, {factor}), {_literal(rewrite)},\n"
        f"  {_literal(f'ALTER {kind} {name} {back}')}\n"
        f"  WHERE {size} < {_CLOSE_ENOUGH} * {wanted} AND {factor} < {usual} \\gexec\n"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


FILE = "synthetic.json"
SCRIPT = "synthetic.sql"


def save(schema: Schema, folder: Path) -> int:
    """Write what data can be made from into `folder`; its bytes."""
    return (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(schema), indent=1))


def read(folder: Path) -> Synthesis:
    """The data by the statistics in `folder`; raises `SyntheticError`."""
    try:
        return Synthesis(untrusted.json(untrusted.read_bytes(folder / FILE), Schema))
    except (OSError, ValueError) as error:
        raise SyntheticError(
            f'could not read "{folder / FILE}": {error!s}', "pgassay capture --data synthetic writes it"
        ) from None


def playable(synthesis: Synthesis, before: str, after: str, folder: Path) -> Path:
    """The script for psql that fills a database; written once, since the same statistics give the same data.

    `before` and `after` are pg_dump's sections pre-data and post-data.
    """
    script = folder / SCRIPT
    if not script.exists():
        partial = script.with_suffix(".partial")
        write_script(synthesis, before, after, partial)
        partial.rename(script)
    return script


def with_values(tables: Iterable[CapturedTable], synthesis: Synthesis) -> tuple[CapturedTable, ...]:
    """The tables of a capture with the values that the synthetic data have, for the parameters of statements."""
    made = {(table.schema, table.relation): table for table in synthesis.schema.tables}
    found = []
    for table in tables:
        source = made.get((table.schema, table.name))
        names = {column.name for column in source.columns} if source else set()
        columns = list(table.columns)
        for place, column in enumerate(columns):
            if source is not None and column.name in names:  # else a generated column
                known = synthesis.known(source.name, column.name)
                columns[place] = replace(column, **asdict(known))
        found.append(replace(table, columns=tuple(columns)))
    return tuple(found)
