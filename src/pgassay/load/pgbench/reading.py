"""Does a script of one's own only read? By its text alone, and only where that is certain; pure.

Servers in turns are paired with their clients where no treatment writes (docs/statistics.md). A script only reads if
each of its statements begins like a query, has no word that writes or locks rows, and calls only those of PostgreSQL's
functions that are named here: a function of one's own may write. What is not known for certain counts as writing.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

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
    sql = _META.sub("", _RESULT.sub(";", script))
    count, open_ = 0, False
    for found in _TOKEN.finditer(sql):
        if found["end"] and not sql[: found.start()].endswith("\\"):
            count, open_ = count + open_, False
        elif found["word"]:
            open_ = True
    return count + open_


def only_reads(script: str) -> bool:
    """Does this script, in pgbench's language, certainly write nothing and lock no row?"""
    if any(found[1].lower() not in _QUIET_COMMANDS for found in _META.finditer(script) if not _RESULT.match(found[0])):
        return False
    sql = _META.sub("", _RESULT.sub(";", script))
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
    if any(found[1].lower() not in _QUIET_COMMANDS for found in _META.finditer(script) if not _RESULT.match(found[0])):
        return None
    sql = _META.sub(
        lambda found: " " * len(found[0]), _RESULT.sub(lambda found: ";" + " " * (len(found[0]) - 1), script)
    )
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
        sliced = sql.rfind("[", 0, each.start()) > sql.rfind("]", 0, each.start())
        if each[0].startswith(":") and (sliced or glued.isalnum() or glued in ("_", '"')):
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
        for at, name in sorted(_uses(script, metas[number])):
            if name not in known and not name.startswith(tuple(prefixes)):
                return number, script.count("\n", 0, at) + 1, name
    return None


def _uses(script: str, metas: Sequence[re.Match[str]]) -> Iterator[tuple[int, str]]:
    """Where each variable stands outside of strings and comments; `[1:n]` is a slice of an array."""
    for meta in metas:
        if meta[1].lower() in _QUIET_COMMANDS:
            yield from ((meta.start() + found.start(), found[1]) for found in _USED.finditer(meta[0]))
    sql = _META.sub(
        lambda found: " " * len(found[0]), _RESULT.sub(lambda found: ";" + " " * (len(found[0]) - 1), script)
    )
    for found in _TOKEN.finditer(sql):
        if found[0].startswith(":") and sql.rfind("[", 0, found.start()) <= sql.rfind("]", 0, found.start()):
            yield found.start(), found[0][1:]
