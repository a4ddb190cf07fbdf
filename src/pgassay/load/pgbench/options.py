"""The options of a pgbench load, each declared once, its scripts, and the command line that they make; pure.

Defaults are pgbench's own (PostgreSQL manual, "pgbench"), except that a run lasts 60 s if nothing else is asked.

Scripts are pgbench's own by name, or the user's files, each with a weight: `a.sql@3,b.sql@1`, as in pgbench's own -f
and -b. A list in a study file arrives with a line for each script, so that a path may hold a comma.

Nothing is left to pgbench's defaults that could differ between versions; -n because VACUUM is the lab's business, and
-P 1 because without it old versions print no deviation.

Does a script of one's own only read, and which names does it use? By its text alone, and only where that is certain.
Servers in turns are paired with their clients where no treatment writes (docs/statistics.md). A script only reads if
each of its statements begins like a query, has no word that writes or locks rows, and calls only those of PostgreSQL's
functions that are named here: a function of one's own may write. What is not known for certain counts as writing.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from pgassay import untrusted
from pgassay.errors import UsageError, did_you_mean
from pgassay.interfaces.factor import IN_MEMORY, Stage, Turns
from pgassay.interfaces.kinds import Kind, choice, no_value, optional, whole
from pgassay.interfaces.options import answer_to, option, rows_of
from pgassay.interfaces.places import Endpoint
from pgassay.load.options import AGE, CutOptions, OwnDataOptions, PgbenchClientOptions, join_list, kind, split_list
from pgassay.study.scale_model import ModelSize
from pgassay.study.units import format_number, parse_memory, parse_whole

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/                                  # comments
    |[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$   # strings
    |(?<!:):[A-Za-z_]\w*                                   # variables of pgbench
    |(?P<word>[A-Za-z_]\w*|"(?:[^"]|"")*")(?P<called>\s*\()?
    |(?P<end>;)""",
    re.VERBOSE | re.DOTALL,
)
_META = re.compile(r"^[ \t]*\\(\w+)(?:.*\\\n)*.*$", re.MULTILINE)
_RESULT = re.compile(r"\\[ag]set\b[^\n]*")
"""`\\gset` and `\\aset` end a statement, so it counts as a semicolon."""
_QUIET_COMMANDS = {"set", "sleep", "if", "elif", "else", "endif", "startpipeline", "syncpipeline", "endpipeline"}
"""Commands of pgbench that reach no server and start no program."""
_FIRST = re.compile("select|values|table|with|show|set|reset|begin|start|commit|end|rollback|abort")
_WRITING = re.compile("insert|update|delete|merge|into|share")
_BEFORE_PARENTHESES = re.compile(
    r"""select|values|table|with|from|where|and|or|not|on|using|in|any|all|some|exists|as|over|filter|within|group|by|
    having|limit|offset|union|except|intersect|join|lateral|case|when|then|else|between|like|ilike|is|distinct|
    materialized|row|array|cast|numeric|decimal|varchar|char|bit|float|timestamp|timestamptz|time|interval""",
    re.VERBOSE,
)
_FUNCTIONS = re.compile(
    r"""count|sum|avg|min|max|stddev|variance|bool_and|bool_or|every|array_agg|string_agg|json_agg|jsonb_agg|
    percentile_cont|percentile_disc|row_number|rank|dense_rank|ntile|lag|lead|first_value|last_value|
    abs|ceil|floor|round|trunc|mod|power|sqrt|ln|exp|sign|random|width_bucket|
    length|lower|upper|substr|substring|position|trim|btrim|ltrim|rtrim|left|right|lpad|rpad|replace|split_part|
    strpos|concat|concat_ws|format|md5|regexp_replace|regexp_match|starts_with|
    now|clock_timestamp|date_trunc|date_part|extract|age|to_char|to_date|to_timestamp|to_number|make_date|
    make_interval|coalesce|nullif|greatest|least|generate_series|unnest|array_length|cardinality|
    json_build_object|jsonb_build_object|to_json|to_jsonb|row_to_json|pg_sleep""",
    re.VERBOSE,
)
"""Functions of PostgreSQL that write nothing; pg_catalog, where they are, comes first in every search_path."""


_PIPELINE = re.compile(r"^[ \t]*\\startpipeline\b.*?^[ \t]*\\endpipeline\b", re.MULTILINE | re.DOTALL)
_MANY = {"startpipeline", "endpipeline"}
"""What is left where pipelines are not whole: the number of answers that are waited for is not certain then."""


def round_trips(script: str) -> int | None:
    """How often a client waits for its server in this script, once its statements are prepared; None where that is not
    certain. `\\;` sends two statements at once, and a pipeline has one end that is waited for."""
    if any(found[1].lower() == "if" for found in _META.finditer(script)):
        return None
    script = _PIPELINE.sub(";PIPELINE;", script)
    if any(found[1].lower() in _MANY for found in _META.finditer(script)):
        return None
    sql = _statements(script)
    count, open_ = 0, False
    for found in _TOKEN.finditer(sql):
        if found["end"] and not sql[: found.start()].endswith("\\"):
            count, open_ = count + open_, False
        elif found["word"]:
            open_ = True
    return count + open_


def _is_quiet(script: str) -> bool:
    """Does it reach the server by its statements alone, and start no program?"""
    commands = (found[1].lower() for found in _META.finditer(script) if not _RESULT.match(found[0]))
    return all(command in _QUIET_COMMANDS for command in commands)


def _statements(script: str) -> str:
    """The SQL of a script at its places: its commands are blank."""
    ended = _RESULT.sub(lambda found: ";" + " " * (len(found[0]) - 1), script)
    return _META.sub(lambda found: " " * len(found[0]), ended)


def only_reads(script: str) -> bool:
    """Does this script, in pgbench's language, certainly write nothing and lock no row?"""
    if not _is_quiet(script):
        return False
    sql = _statements(script)
    first, statements = True, 0
    for found in _TOKEN.finditer(sql):
        if found["end"]:
            first = True
        elif found["word"]:
            word = found["word"].lower()
            if _WRITING.fullmatch(word) or (first and not _FIRST.fullmatch(word)):
                return False
            if found["called"] and not (_BEFORE_PARENTHESES.fullmatch(word) or _FUNCTIONS.fullmatch(word)):
                return False
            statements += first
            first = False
    return statements > 0


_QUERY = re.compile("select|insert|update|delete|merge|with|values|table")
_OF_TRANSACTIONS = re.compile("begin|start|commit|end|rollback|abort|savepoint|release|lock|show|analyze|vacuum")


@dataclass(frozen=True)
class Statement:
    """A query of a script at its line, with `$1` … for pgbench's variables, of which it has so many."""

    line: int
    sql: str
    variables: int


def queries(script: str) -> tuple[Statement, ...] | None:
    """The queries of a script whose names can be looked up before it runs; None where the script itself may make
    tables, or change where names are looked for, or calls functions that may.

    Left out is a query with a variable in the middle of a name, or in a slice of an array.
    """
    if not _is_quiet(script):
        return None
    sql = _statements(script)
    found, begin = list[Statement](), 0
    ends = (each.start() for each in _TOKEN.finditer(sql) if each["end"])
    for end in (*ends, len(sql)):
        at, whole, begin = begin, sql[begin:end].rstrip("\\"), end + 1
        words = [each for each in _TOKEN.finditer(whole) if each["word"]]
        if not words:
            continue
        if not _QUERY.fullmatch(words[0]["word"].lower()):
            if _OF_TRANSACTIONS.fullmatch(words[0]["word"].lower()):
                continue
            return None
        if any(_may_make_names(each, before) for before, each in pairwise([None, *words])):
            return None
        query = _with_parameters(script.count("\n", 0, at + words[0].start()) + 1, whole)
        found += [query] if query else []
    return tuple(found)


def _may_make_names(word: "re.Match[str] | None", before: "re.Match[str] | None") -> bool:
    """Is this a call of a function that is not known, or `SELECT … INTO`? `INSERT INTO t (a)` calls none."""
    assert word is not None
    name, last = word["word"].lower(), before["word"].lower() if before else ""
    if name == "into":
        return last != "insert" and last != "merge"
    known = _BEFORE_PARENTHESES.fullmatch(name) or _FUNCTIONS.fullmatch(name) or name in ("conflict", "set")
    return bool(word["called"]) and not known and last not in ("into", "as", "with")


def _with_parameters(line: int, sql: str) -> Statement | None:
    names: dict[str, str] = {}

    def parameter(found: "re.Match[str]") -> str:
        return names.setdefault(found[0], f"${len(names) + 1}") if found[0].startswith(":") else found[0]

    for each in _TOKEN.finditer(sql):
        glued = sql[: each.start()][-1:]
        if each[0].startswith(":") and (_is_sliced(sql, each) or glued.isalnum() or glued in ("_", '"')):
            return None
    return Statement(line, _TOKEN.sub(parameter, sql).strip(), len(names))


_OF_PGBENCH = ("scale", "client_id", "random_seed", "default_seed")
"""Variables that pgbench itself sets (manual, "pgbench", Automatic Variables)."""
_RESULTS = re.compile(r"\\[ag]set\b[ \t]*(\S*)")
_USED = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")


def unset_variable(scripts: Sequence[str], given: Collection[str]) -> tuple[int, int, str] | None:
    """The first variable that none of the scripts of a load sets and that is not `given`: the number of its script,
    its line, its name.

    pgbench fails on it in an expression, and sends it as it is, or as NULL, in a statement. What a `\\gset` without
    a prefix sets is unknown, so then nothing is.
    """
    metas = [[found for found in _META.finditer(each) if not _RESULTS.match(found[0].strip())] for each in scripts]
    prefixes = [found[1] for each in scripts for found in _RESULTS.finditer(each)]
    if "" in prefixes:
        return None
    known = {*_OF_PGBENCH, *given}
    setting = [found[0].split() for each in metas for found in each if found[1].lower() in ("set", "setshell")]
    known |= {words[1] for words in setting if len(words) > 1}
    for number, script in enumerate(scripts):
        quiet = (meta for meta in metas[number] if meta[1].lower() in _QUIET_COMMANDS)
        used = [(meta.start() + found.start(), found[1]) for meta in quiet for found in _USED.finditer(meta[0])]
        sql = _statements(script)
        named = (found for found in _TOKEN.finditer(sql) if found[0].startswith(":") and not _is_sliced(sql, found))
        for at, name in sorted([*used, *((found.start(), found[0][1:]) for found in named)]):
            if name not in known and not name.startswith(tuple(prefixes)):
                return number, script.count("\n", 0, at) + 1, name
    return None


def _is_sliced(sql: str, found: "re.Match[str]") -> bool:
    """Is it in the slice of an array, `[1:n]`?"""
    return sql.rfind("[", 0, found.start()) > sql.rfind("]", 0, found.start())


EXIT_ON_ABORT_SINCE = 17
MAX_TRIES_SINCE = 15
_SEED_MODULUS = 1 << 31
"""pgbench reads its seed as an unsigned 32-bit or 64-bit number, by version; 31 bits fit all."""
ROW_BYTES_MIN, ROW_BYTES_MAX = 32, 31_000
"""A filler of some bytes at least; no page has more than 32 kB."""
BESIDE_FILLER = 16
"""The bytes of a row that TPC-B counts in addition to its filler."""
BYTES_PER_SCALE = 16_000_000
"""Heap, keys and what a load adds, of one unit of scale: 15 MB as filled (manual, "pgbench -s"), with some air."""
ROWS_PER_SCALE = 100_000
OWN_BYTES = 100
"""pgbench's own row."""
_OVERHEAD_BYTES = 60
"""Of a row: its header and line pointer (28), its key in the index (about 20), and some air."""
_SMALLEST_PAGE = 1024
STORAGES = {"plain": "PLAIN", "toasted": "EXTERNAL"}
"""The word of `load.row_storage` to PostgreSQL's."""

_FILLER = "FROM pg_attribute WHERE attrelid = 'pgbench_accounts'::regclass AND attname = 'filler'"
READ_BYTES = f"SELECT atttypmod - 4 + {BESIDE_FILLER} {_FILLER}"
READ_STORAGE = (
    f"SELECT CASE attstorage WHEN 'p' THEN 'plain' WHEN 'e' THEN 'toasted' ELSE attstorage::text END {_FILLER}"
)
SELECT_ONLY = "select-only"
BUILTINS = {
    "tpcb-like": "<builtin: TPC-B (sort of)>",
    "simple-update": "<builtin: simple update>",
    SELECT_ONLY: "<builtin: select only>",
}
"""pgbench's own scripts, and what its summary calls them (the same in 13 to 19)."""
_OWN_TRIPS = {"tpcb-like": 7, "simple-update": 5, SELECT_ONLY: 1}
"""Their statements, BEGIN and END among them (manual, "pgbench")."""
LEDGER = "ledger"
OURS = {path.stem: path for path in sorted((Path(__file__).parent / "scripts").glob("*.sql"))}
"""Scripts that come with us. `ledger` is TPC-B with a row for each transaction in a table that no other writes to; the
others are for tables that a built-in study makes by `schema.change`."""
LEDGER_TABLE = (
    "CREATE TABLE IF NOT EXISTS pgassay_ledger (run bigint, client int, sequence bigint, aid int, tid int, bid int,"
    " delta int, balance int, at timestamptz, PRIMARY KEY (run, client, sequence))"
)
"""`balance` is the account's after the change, and `at` tells two changes of one account apart: its row is locked."""
_VARIABLE = re.compile(r"\w+")
_WEIGHT_MAX = (1 << 31) - 1
"""pgbench takes no larger one."""


@dataclass(frozen=True)
class Script:
    """One script: a built-in by `name`, or a file by its absolute path."""

    name: str
    weight: int = 1

    @property
    def builtin(self) -> bool:
        return self.name in BUILTINS

    @property
    def path(self) -> Path:
        return OURS.get(self.name, Path(self.name))

    @property
    def text(self) -> str:
        """Of a file; empty where it cannot be read."""
        with suppress(OSError):
            return untrusted.any_text(self.path)
        return ""


def parse_scripts(text: str) -> tuple[Script, ...]:
    """The scripts in order; whether files exist is `check_scripts`' business; raises `UsageError`."""
    scripts = []
    for part in split_list(text):
        name, at, weight = part.rpartition("@")
        if not at:
            name, weight = part, "1"
        if not 1 <= (times := parse_whole(weight) or 0) <= _WEIGHT_MAX:
            raise UsageError(
                f'the weight in script "{part}" is not a whole number from 1 to {_WEIGHT_MAX}',
                "for example new_order.sql@45",
            )
        known = name in BUILTINS or name in OURS
        scripts.append(Script(name if known else str(Path(name).expanduser().absolute()), times))
    if not scripts:
        raise no_value("load.script")
    return tuple(scripts)


def show_scripts(scripts: tuple[Script, ...]) -> str:
    return scripts[0].name if len(scripts) == 1 else join_list(f"{each.name}@{each.weight}" for each in scripts)


TURN = "pgassay_turn"
"""The variable of `in_proportion`."""
TURNS = 1 << 20
_STEP = 648_055
"""The golden section of `TURNS`: its multiples lie evenly in them, however many there are (Knuth, TAOCP 3, 6.4)."""


def in_proportion(scripts: Sequence[tuple[Script, str]]) -> str:
    """One script that plays these texts in proportion to their weights, where pgbench draws them at random: in any
    number of transactions in a row each text has its share, to three of 500.

    `TURN`, below `TURNS`, says where it begins.
    """
    weights = sum(script.weight for script, _ in scripts)
    lines = [
        f"\\set {TURN} (:{TURN} + {_STEP}) % {TURNS}",
        f"\\set {TURN}_weight :{TURN} * {weights} / {TURNS}",
    ]
    upto = 0
    for number, (script, text) in enumerate(scripts):
        upto += script.weight
        lines += [f"\\{'elif' if number else 'if'} :{TURN}_weight < {upto}", f"-- {script.name}", text]
    return "\n".join([*lines, "\\endif", ""])


def check_variables(options: "PgbenchOptions") -> None:
    """Refuse scripts with a variable that has no value; raises `UsageError`."""
    files = [script for script in options.scripts if not script.builtin]
    given = {*dict(options.variables or ()), *(["sequence"] if options.writes_ledger else [])}
    found = unset_variable([untrusted.any_text(each.path) for each in files], given)
    if found is not None:
        number, line, name = found
        raise UsageError(
            f'script "{files[number].path}" line {line}: the variable "{name}" has no value',
            f"give it one as pgbench -D does: --set load.variables={name}=VALUE, or \\set it in the script",
        )


def check_whole(scripts: Sequence[Script]) -> None:
    """Refuse scripts that would become parts of each other where one script plays all of them, and those that pgbench
    would refuse by themselves; raises `UsageError`."""
    for script in scripts:
        if not script.builtin and not re.sub(r"--[^\r\n]*", "", script.text).strip(" \t\r\n\f\v"):
            raise UsageError(f'script "{script.path}" has no command', "pgbench plays no such script: leave it out")
        depth, astray = 0, False
        for found in _META.finditer("" if script.builtin else script.text):
            command = found[1].lower()
            depth += (command == "if") - (command == "endif")
            astray |= depth < (command in ("elif", "else"))
        if astray or depth:
            raise UsageError(f'script "{script.path}" has an \\if, \\else or \\endif without the other')


def check_scripts(scripts: tuple[Script, ...]) -> None:
    """Refuse scripts that do not exist; raises `UsageError`."""
    for script in scripts:
        if not script.builtin and not script.path.is_file():
            known = f"give a file, or one of pgbench's own: {', '.join((*BUILTINS, *OURS))}"
            hint = did_you_mean(script.path.name, (*BUILTINS, *OURS), known)
            raise UsageError(f'script "{script.path}" does not exist', hint)


ROW_BYTES: Kind[int] = kind(
    lambda text: size if ROW_BYTES_MIN <= (size := parse_whole(text) or parse_memory(text)) <= ROW_BYTES_MAX else None,
    str,
    f"bytes from {ROW_BYTES_MIN} to {ROW_BYTES_MAX}: 2000, 2kB",
    must=f"the bytes of a row from {ROW_BYTES_MIN} to {ROW_BYTES_MAX}",
    hint="pgbench's own has 100",
)
SCRIPTS: Kind[tuple[Script, ...]] = Kind(
    lambda name, text: parse_scripts(text),
    show_scripts,
    "names of scripts or files, with weights: a.sql@3,b.sql@1",
    each_path=lambda scripts, change: tuple(
        each if each.name in {*BUILTINS, *OURS} else replace(each, name=str(change(each.path))) for each in scripts
    ),
)


def _parse_variables(name: str, text: str) -> tuple[tuple[str, str], ...]:
    found = {}
    for part in text.splitlines() if "\n" in text else text.split(","):
        variable, equals, value = (each.strip() for each in part.partition("="))
        if not (equals and _VARIABLE.fullmatch(variable)):
            raise UsageError(
                f'"{name}" takes NAME=VALUE, not "{part.strip()}"', "write several with commas: rows=5,days=7"
            )
        found[variable] = value
    return tuple(found.items())


VARIABLES = optional(
    Kind(
        _parse_variables,
        lambda variables: join_list(map("=".join, variables)),
        "NAME=VALUE, several with commas: rows=5,days=7",
    )
)


@dataclass(frozen=True, kw_only=True)
class PgbenchOptions(PgbenchClientOptions, CutOptions, OwnDataOptions):
    """A pgbench load; `transactions` of each client prevail over `duration_s`."""

    driver = "pgbench"
    turns = IN_MEMORY

    scale: int = option(
        whole(),
        default=1,
        stage=Stage.DATA,
        summary="pgbench -s: 100 000 accounts (about 15 MB) each",
        read_back=rows_of("pgbench_branches"),
        size=ModelSize(1, data="unit of scale"),
    )
    age: float = option(
        AGE,
        default=0.0,
        stage=Stage.DATA,
        summary="updates before the snapshot, as a multiple of the rows",
        turns=Turns(note="all levels are prepared beforehand"),
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
        summary="the scripts that are run: tpcb-like, simple-update, select-only, one of ours, or files with weights",
        turns=Turns(),
    )
    variables: tuple[tuple[str, str], ...] | None = option(
        VARIABLES,
        default=None,
        summary="pgbench -D: values of variables that the scripts do not set",
        turns=Turns(),
    )

    @property
    def reads_only(self) -> bool:
        """True of select-only, and of files whose text says so for certain."""
        return all(each.name == SELECT_ONLY if each.builtin else only_reads(each.text) for each in self.scripts)

    @property
    def round_trips(self) -> float | None:
        """Of a transaction: the mean of its scripts, by their weights."""
        trips = weights = 0
        for script in self.scripts:
            text = "" if script.builtin else script.text
            count = _OWN_TRIPS.get(script.name, round_trips(text) if text else None)
            if count is None:
                return None
            trips, weights = trips + count * script.weight, weights + script.weight
        return trips / weights if weights else None

    @property
    def custom(self) -> bool:
        return not any(script.builtin for script in self.scripts)

    def estimated_bytes(self) -> int:
        """By scale and width of the rows, or by the size of the user's file; ageing leaves dead rows and a second index
        entry behind."""
        if self.own_bytes is not None:
            return self.own_bytes
        fresh = self.scale * BYTES_PER_SCALE
        if self.row_bytes is not None:  # room of the accounts and their key
            row = self.row_bytes + _OVERHEAD_BYTES
            # A page holds whole rows only, so wide ones may waste up to half of it.
            waste = min(1.0, row / _SMALLEST_PAGE) if self.row_storage != "toasted" else 0.1
            fresh = max(fresh, int(self.scale * ROWS_PER_SCALE * row * (1 + waste)))
        return int(fresh * (1 + min(self.age, 1.0)))

    @property
    def writes_ledger(self) -> bool:
        return any(script.name == LEDGER for script in self.scripts)

    @property
    def keeps_ledger(self) -> bool:
        """Is each of its transactions written down? Among other scripts a client's log has more lines than rows."""
        return all(script.name == LEDGER for script in self.scripts)


def missing_program(path: Path, what_for: str) -> UsageError:
    return UsageError(
        f'"{path}" does not exist, {what_for}', "install PostgreSQL's client programs, or name --pg-bindir"
    )


def random_seed(seed: int) -> int:
    """What pgbench is given, and calls :random_seed."""
    return seed % _SEED_MODULUS


def connection(endpoint: Endpoint) -> list[str]:
    """Where to: explicit, so that no environment or service file leads elsewhere."""
    return ["-h", endpoint.host, "-p", str(endpoint.port), "-U", endpoint.user, endpoint.database]


MAKE, FILL = "dt", "gp"
"""Steps of pgbench -I: empty tables; rows and primary keys. Rows that the client makes come by COPY with FREEZE (from
14), which beats the server-side INSERT … SELECT on time and on WAL."""


def init_command(program: Path, endpoint: Endpoint, scale: int, steps: str) -> list[str]:
    return [str(program), "-i", "-I", steps, "-q", "-s", str(scale), *connection(endpoint)]


def run_command(
    program: Path, endpoint: Endpoint, options: PgbenchOptions, *, version: int, seed: int, log_prefix: Path | None
) -> list[str]:
    """The measured run; with `log_prefix` every transaction goes into a log."""
    command = [str(program), "-n", "-P", "1", "-M", options.protocol]
    command += ["-c", str(options.clients), "-j", str(options.threads), f"--random-seed={random_seed(seed)}"]
    if options.transactions is None:
        command += ["-T", str(options.duration_s)]
    else:
        command += ["-t", str(options.transactions)]
    if options.rate_tps is not None:
        command += ["-R", format_number(options.rate_tps)]
    if options.latency_limit_ms is not None:
        command += ["-L", format_number(options.latency_limit_ms)]
    if options.max_tries != 1:
        command += [f"--max-tries={options.max_tries}"]
    if version >= EXIT_ON_ABORT_SINCE:
        command += ["--exit-on-abort"]
    if log_prefix is not None:
        command += ["-l", f"--log-prefix={log_prefix}"]
    if options.custom:
        command += ["-s", str(options.scale)]  # What :scale means; with a built-in script pgbench counts branches.
    if options.writes_ledger:
        command += ["-D", "sequence=0"]
    command += [word for name, value in options.variables or () for word in ("-D", f"{name}={value}")]
    for script in options.scripts:
        name = script.name if script.builtin else str(script.path)
        command += ["-b" if script.builtin else "-f", f"{name}@{script.weight}"]
    return command + connection(endpoint)
