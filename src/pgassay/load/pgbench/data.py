"""The data of a pgbench load: its own tables in two steps, or the user's SQL or dump; wider rows; ageing.

pgbench's steps are apart so that table options can be set on empty tables. A dump in pg_dump's custom format is divided
in the same way by its sections; plain SQL cannot be, so it runs whole.

`row_bytes` counts as TPC-B does: 100 is pgbench's own row, of which 84 are filler. `plain` keeps all of it in the page
and lets a row that no page can hold fail; `toasted` moves it out of line, uncompressed, once a row exceeds a quarter of
a page: PostgreSQL's own threshold, so the page size decides (manual, "TOAST"; Coelho 2014, second part, did the same).

Ageing makes as many updates as asked for, in random order, with vacuum in between, as in a server's life. Batches of
random rows in transactions of their own let pruning and HOT work between them; a VACUUM follows each fifth of the rows,
as with autovacuum's default scale factor. The random numbers come from a fixed seed, so that every treatment
starts from the same data.

After a load its transactions are found in the data: rows of the ledger, and balances that pgbench's scripts keep equal.
Outside there is pgbench's own log, which lies on another drive. A client's transactions follow each other, so the n-th
line of a client belongs to its ledger row n; the time is that at which pgbench had the answer (manual, "pgbench", per-
transaction logging). Inside there are the table `pgassay_ledger` and the balances, which change by the same amounts:
each of pgbench's scripts adds its amount to every table of its transaction. TPC-B (tpcb-like) changes an account, a
teller, a branch and adds the amount to the history; simple-update leaves tellers and branches as they are. The ledger
script has a table of its own in place of the history.
"""

import gzip
import os
import re
from collections.abc import Collection, Mapping, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path

from pgassay import untrusted
from pgassay.errors import UsageError
from pgassay.interfaces.errors import LoadError
from pgassay.interfaces.load import LedgerState
from pgassay.interfaces.places import Endpoint
from pgassay.interfaces.running import Completed, Runner
from pgassay.interfaces.server import Server
from pgassay.load.pgbench import options as command
from pgassay.load.pgbench.options import BESIDE_FILLER, OWN_BYTES, ROWS_PER_SCALE, STORAGES, PgbenchOptions

_DUMP_MAGIC = b"PGDMP"
_READS_FILES = re.compile(
    rb"^[ \t]*(\\(?:i|ir|include|include_relative)\b[^\r\n]*"
    rb"|\\copy[ \t]+(?!\()[^\r\n]*\bfrom[ \t]+(?![ \t]|p?stdin\b|program\b)[^\r\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_INCLUDED = re.compile(
    rb"^[ \t]*\\(i|ir|include|include_relative)[ \t]+('[^'\r\n]+'|[^\s'\"`:|][^\s]*)[ \t]*$", re.MULTILINE
)
"""A name without variables of psql, in quotes or without."""
_OTHER_DATABASE = re.compile(rb"(?:^|;)[ \t]*(\\(?:c|connect)[ \t]+[^\r\n]*)", re.MULTILINE)
_FOREIGN_DUMP = re.compile(rb"^-- (MySQL|MariaDB) dump |^PRAGMA foreign_keys ?= ?OFF;", re.MULTILINE)
_LOOKED_INTO = 64 << 20
"""Bytes at the beginning of a file, where dumps change to their database."""
_REMEDIES = (
    (
        re.compile(r'role "[^"]*" does not exist'),
        "dump without owners and privileges: pg_dump --no-owner --no-privileges, or CREATE ROLE before they are named",
    ),
    (
        re.compile(r"unrecognized configuration parameter|invalid command \\(?:un)?restrict|unsupported version"),
        "a newer pg_dump made it: use that PostgreSQL (--pg-bindir, --set postgres.version=N), or dump with this one's",
    ),
)
"""For what psql and pg_restore say of a dump that is made for another server."""
BATCH_SHARE = 0.01
"""Rows of one transaction, as a share of the table: about half a row in each page."""
VACUUM_SHARE = 0.2
"""autovacuum_vacuum_scale_factor's default."""
_SEED = 0.42

_SWEEP = (
    "WITH picked AS (SELECT DISTINCT 1 + floor(random() * %s)::int AS aid FROM generate_series(1, %s)),"
    " aged AS (UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid IN (SELECT aid FROM picked) RETURNING 1)"
    " SELECT count(*) FROM aged"
)


def is_dump(path: Path) -> bool:
    """Is this a dump for pg_restore (custom format) rather than SQL for psql?"""
    with untrusted.open_file(path) as file:
        return file.read(len(_DUMP_MAGIC)) == _DUMP_MAGIC


def reads_files(content: bytes | mmap) -> str | None:
    """The first line by which psql would read another file (`\\i`, `\\ir`, `\\copy … from`); None without one."""
    found = None if content[: len(_DUMP_MAGIC)] == _DUMP_MAGIC else _READS_FILES.search(content)
    return None if found is None else found[1].decode("utf-8", errors="replace").strip()


def require_own(bindir: Path, path: Path) -> None:
    """Raise `UsageError` where the user's own data are no file, and `LoadError` where its program is missing."""
    if not path.is_file():
        raise UsageError(f'init file "{path}" does not exist', 'give SQL for psql or a dump for pg_restore, or "none"')
    client = bindir / ("pg_restore" if is_dump(path) else "psql")
    if not client.exists():
        raise command.missing_program(client, 'which reads "load.init"')
    size = min(path.stat().st_size, _LOOKED_INTO)
    if size and not is_dump(path):
        with untrusted.open_file(path) as file, mmap(file.fileno(), size, access=ACCESS_READ) as content:
            for found in _INCLUDED.finditer(content):
                relative, name = found[1] in (b"ir", b"include_relative"), os.fsdecode(found[2].strip(b"'"))
                try:  # psql itself says of a file that is missing; a FIFO in its place would keep it waiting
                    untrusted.require_file((path.absolute().parent if relative else Path.cwd()) / name)
                except FileNotFoundError:
                    continue
                except OSError as failure:
                    raise UsageError(
                        f'init file "{path}" reads "{name}": {failure.strerror}', "name a regular file"
                    ) from None
            foreign = _FOREIGN_DUMP.search(content[:4096])
            if foreign is not None:
                maker = foreign[1].decode() if foreign[1] else "SQLite"
                raise UsageError(
                    f'init file "{path}" is a dump of {maker}, which PostgreSQL cannot read',
                    "load it into a PostgreSQL with a tool like pgloader, and dump that with pg_dump",
                )
            other = _OTHER_DATABASE.search(content)
            if other is not None:
                line, said = content[: other.start(1)].count(b"\n") + 1, other[1].decode("utf-8", "replace").strip()
                raise UsageError(
                    f'init file "{path}" line {line} changes to another database: {said}',
                    "its data are loaded into one database of ours: remove CREATE DATABASE and this line, or dump"
                    " without --create",
                )


def create_own(bindir: Path, runner: Runner, endpoint: Endpoint, path: Path) -> None:
    """Create the empty schema of the user's own data; plain SQL runs whole; raises `LoadError`."""
    if is_dump(path):
        _restore(bindir, runner, endpoint, path, "pre-data")
    else:
        words = [str(bindir / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", *command.connection(endpoint)]
        with untrusted.open_file(path) as file:
            others = reads_files(mmap(file.fileno(), 0, access=ACCESS_READ)) if path.stat().st_size else None
        if others is None:
            run(runner, endpoint, [*words, "-f", "-"], path, own=path)
        else:  # by its path: next to it or in our directory it finds them, as far as its account may read them
            run(runner, endpoint, [*words, "-f", str(path.absolute())], directory=Path.cwd(), own=path)


def fill_own(bindir: Path, runner: Runner, endpoint: Endpoint, path: Path) -> None:
    """Load the rows of the user's own dump, build keys and indexes; plain SQL has done so; raises `LoadError`."""
    if is_dump(path):
        _restore(bindir, runner, endpoint, path, "data")
        _restore(bindir, runner, endpoint, path, "post-data")


def _restore(bindir: Path, runner: Runner, endpoint: Endpoint, path: Path, section: str) -> None:
    options = ["-h", str(endpoint.socket_directory), "-p", str(endpoint.port), "-U", endpoint.user]
    options += ["-d", endpoint.database, "--no-owner", "--no-privileges", "--no-tablespaces"]
    options += ["--exit-on-error"]
    run(runner, endpoint, [str(bindir / "pg_restore"), *options, f"--section={section}"], path, own=path)


def run(
    runner: Runner,
    endpoint: Endpoint,
    arguments: list[str],
    given: Path | None = None,
    directory: Path | None = None,
    own: Path | None = None,
) -> None:
    """With a user's file as its input, which we open: the account that runs it may not be able to.

    Raises `LoadError`; where the user's `own` data are made for another server, `UsageError` with the remedy.
    """
    done = runner.run(arguments, environment=endpoint.environment(), input_file=given, directory=directory)
    if done.status != 0:
        failed = preparing_failed(Path(arguments[0]).name, done)
        for said, remedy in _REMEDIES if own else ():
            if said.search(failed.message):
                raise UsageError(f'init file "{own}" cannot be loaded: {failed.message}', remedy)
        raise failed


def preparing_failed(what: str, done: Completed) -> LoadError:
    """For a program that prepares data and failed: its first error, else its last line."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()]
    detail = wrong[0] if wrong else lines[-1] if lines else "no message"
    return LoadError(f"{what} failed with status {done.status}: {detail}")


def widen(server: Server, options: PgbenchOptions) -> None:
    """Give the empty table its width and storage; nothing where neither was asked for."""
    if options.row_bytes is None and options.row_storage is None:
        return
    length = (options.row_bytes or OWN_BYTES) - BESIDE_FILLER
    storage = STORAGES[options.row_storage or "plain"]
    server.execute(
        f"ALTER TABLE pgbench_accounts ALTER COLUMN filler TYPE char({length}),"
        f" ALTER COLUMN filler SET STORAGE {storage}"
    )


def age(server: Server, scale: int, multiple: float) -> int:
    """Update `multiple` times as many rows as the table has; returns how many updates were made."""
    rows = scale * ROWS_PER_SCALE
    target = round(rows * multiple)
    batch = max(1, round(rows * BATCH_SHARE))
    done = vacuumed = 0
    server.query("SELECT setseed(%s)", (_SEED,))
    while done < target:
        done += int(server.query(_SWEEP, (rows, min(batch, target - done)))[0][0])
        if done - vacuumed >= rows * VACUUM_SHARE:
            server.execute("VACUUM pgbench_accounts")
            vacuumed = done
    server.execute("VACUUM (ANALYZE) pgbench_accounts")
    return done


_CLIENT, _LATENCY, _SECOND, _MICROSECOND = 0, 2, 4, 5
_NOT_DONE = ("failed", "skipped")
_THERE = "SELECT to_regclass('pgassay_ledger') IS NOT NULL"
_ROWS = "SELECT client, count(*), max(sequence) FROM pgassay_ledger WHERE run = {run} GROUP BY client"
_NAMES = ("ledger", "accounts", "tellers", "branches")
_TELLERS = "(SELECT sum(tbalance) FROM pgbench_tellers)"
_BRANCHES = "(SELECT sum(bbalance) FROM pgbench_branches)"
_LEDGER_SUMS = (
    "SELECT (SELECT coalesce(sum(delta), 0) FROM pgassay_ledger), (SELECT sum(abalance) FROM pgbench_accounts),"
    f" {_TELLERS}, {_BRANCHES}"
)
_BY_INDEX = "SET enable_seqscan = off; SET jit = off"
"""For the rows of a moment among millions, also before the table was ever analyzed. A plan that reads a whole table all
the same is taken to be so dear that it would be compiled."""
_LATER = "SELECT * FROM pgassay_ledger WHERE run = {run} AND client = {client} AND sequence > {sequence}"
_GREATEST = "(SELECT max(sequence) FROM pgassay_ledger WHERE run = {run} AND client = {client})"
_LATER_ROWS = "SELECT client, count(*), sum(delta) FROM ({later}) later GROUP BY client"
_LATER_SUMS = (
    f"SELECT {_TELLERS}, {_BRANCHES}, (SELECT count(*) FROM (SELECT DISTINCT ON (aid) aid, balance"
    " FROM ({later}) later ORDER BY aid, at DESC) last WHERE balance IS DISTINCT FROM"
    " (SELECT abalance FROM pgbench_accounts a WHERE a.aid = last.aid))"
)
"""A query within the query, so that accounts are looked up one by one: a join might read all of them."""


def read_ledger(folder: Path, prefix: str) -> Mapping[int, Sequence[tuple[int, bool]]]:
    """Client to its transactions in order: when answered (wall clock, ns), and whether committed; of packed logs."""
    found: dict[int, list[tuple[int, bool]]] = {}
    for path in sorted(folder.glob(f"{prefix}.*.gz")):
        with gzip.open(path, "rt", encoding="ascii", errors="replace") as file:
            for words in map(str.split, file):
                if len(words) > _MICROSECOND:
                    at_ns = int(words[_SECOND]) * 1_000_000_000 + int(words[_MICROSECOND]) * 1000
                    found.setdefault(int(words[_CLIENT]), []).append((at_ns, words[_LATENCY] not in _NOT_DONE))
    return dict(sorted(found.items()))


def ledger_state(server: Server, run: int, clients: int, since: LedgerState | None = None) -> LedgerState:
    """What a database has of the load with this random seed; raises `QueryError` where it cannot be read.

    With `since` the sum over all accounts is left out: instead each account that a later row names must have the
    balance which the last such row has.
    """
    if not server.query(_THERE)[0][0]:
        return LedgerState({}, {})
    later = None if since is None else _later(server, run, clients, since)
    if later is not None:
        return later
    rows = {int(client): (int(count), int(most)) for client, count, most in server.query(_ROWS.format(run=run))}
    sums = (int(each) for each in server.query(_LEDGER_SUMS)[0])
    return LedgerState(rows, dict(zip(_NAMES, sums, strict=True)))


def _later(server: Server, run: int, clients: int, since: LedgerState) -> LedgerState | None:
    """None where a row that was the last one then is gone."""
    server.execute(_BY_INDEX)
    last = {client: since.rows.get(client, (0, 0))[1] for client in range(clients)}
    (found,) = server.query("SELECT " + ", ".join(_GREATEST.format(run=run, client=client) for client in last))
    greatest = {client: int(most or 0) for client, most in zip(last, found, strict=True)}
    if any(greatest[client] < most for client, most in last.items()):
        return None
    later = " UNION ALL ".join(
        _LATER.format(run=run, client=client, sequence=sequence) for client, sequence in last.items()
    )
    counted = server.query(_LATER_ROWS.format(later=later))
    more = {int(client): int(count) for client, count, _ in counted}
    rows = {
        client: (since.rows.get(client, (0, 0))[0] + more.get(client, 0), most)
        for client, most in greatest.items()
        if most
    }
    ((tellers, branches, differing),) = server.query(_LATER_SUMS.format(later=later))
    ledger = since.sums["ledger"] + sum(int(amount) for _, _, amount in counted)
    return LedgerState(rows, {"ledger": ledger, "tellers": int(tellers), "branches": int(branches)}, int(differing))


_TABLES: Mapping[str, tuple[str, ...]] = {
    "tpcb-like": ("accounts", "tellers", "branches", "history"),
    "simple-update": ("accounts", "history"),
    "select-only": (),
}
"""Script to the tables that it adds its amount to."""
_SUMS = {
    "accounts": "SELECT sum(abalance) FROM pgbench_accounts",
    "tellers": "SELECT sum(tbalance) FROM pgbench_tellers",
    "branches": "SELECT sum(bbalance) FROM pgbench_branches",
    "history": "SELECT coalesce(sum(delta), 0) FROM pgbench_history",
}


def unequal_sums(server: Server, scripts: Collection[str]) -> dict[str, str]:
    """`inconsistent` with the sums where they differ; empty where they agree, or where a script is not known."""
    if not all(script in _TABLES for script in scripts):
        return {}
    written = [set(_TABLES[script]) for script in scripts if _TABLES[script]]
    common = [name for name in _SUMS if written and all(name in each for each in written)]
    if len(common) < 2:
        return {}
    ((*found,),) = server.query("SELECT " + ", ".join(f"({_SUMS[name]})" for name in common))
    sums = {name: int(amount) for name, amount in zip(common, found, strict=True)}
    return {"inconsistent": sums_differ(sums)} if len(set(sums.values())) > 1 else {}


def sums_differ(sums: Mapping[str, int]) -> str:
    """Says that a transaction is there in part."""
    return "a transaction is there in part: sums of " + ", ".join(f"{name} {amount}" for name, amount in sums.items())
