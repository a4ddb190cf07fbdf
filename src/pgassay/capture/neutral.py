"""Values that change little: constants for parameters that choose no rows, by their type or by the function; pure.

pg_stat_statements puts `$1` for every constant: the width of `left(body, 200)`, the format of `to_char`, the unit of
`date_trunc` too. None of these chooses rows, so the usual value of PostgreSQL's own functions serves (manual,
"Functions and Operators"), and any value of its type where the output alone depends on it.
"""

from collections.abc import Mapping

_BY_TYPE: Mapping[str, str] = {
    **dict.fromkeys(("int2", "int4", "int8", "numeric", "float4", "float8", "money", "oid"), "'1'"),
    **dict.fromkeys(("smallint", "integer", "bigint", "real", "double precision"), "'1'"),
    **dict.fromkeys(("text", "varchar", "bpchar", "character varying", "character", "char", "name", "citext"), "'1'"),
    **dict.fromkeys(("date", "time", "timetz", "timestamp", "timestamptz"), "'now'"),
    **dict.fromkeys(("timestamp with time zone", "timestamp without time zone"), "'now'"),
    **dict.fromkeys(("time with time zone", "time without time zone"), "'now'"),
    **dict.fromkeys(("json", "jsonb"), "'{}'"),
    **dict.fromkeys(("inet", "cidr"), "'127.0.0.1'"),
    **dict.fromkeys(("regconfig", "regdictionary"), "'simple'"),
    "bool": "'true'",
    "boolean": "'true'",
    "interval": "'1 day'",
    "uuid": "'00000000-0000-4000-8000-000000000000'",
    "bytea": "'1'",
    "xml": "'1'",
    "tsquery": "'a'",
    "tsvector": "'a'",
}
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("date_trunc", "date_part", "extract"), ("'day'",)),
    **dict.fromkeys(("timezone",), ("'UTC'",)),
    **dict.fromkeys(("to_char",), ("", "'YYYY-MM-DD'")),
    **dict.fromkeys(("to_date", "to_timestamp"), ("'2025-01-01'", "'YYYY-MM-DD'")),
    **dict.fromkeys(("left", "right", "lpad", "rpad", "repeat"), ("", "'20'")),
    **dict.fromkeys(("substring", "substr", "overlay"), ("", "'1'", "'20'")),
    **dict.fromkeys(("string_agg", "array_to_string", "string_to_array", "regexp_split_to_table"), ("", "','")),
    **dict.fromkeys(("split_part",), ("", "' '", "'1'")),
    **dict.fromkeys(("regexp_replace", "replace", "translate"), ("", "'a'", "'b'", "'g'")),
    **dict.fromkeys(("round", "trunc"), ("", "2")),
    **dict.fromkeys(("ntile", "lag", "lead", "nth_value"), ("", "1")),
    **dict.fromkeys(("percentile_cont", "percentile_disc"), ("'0.5'",)),
    **dict.fromkeys(("to_tsvector", "to_tsquery", "plainto_tsquery", "phraseto_tsquery"), ("'simple'",)),
    **dict.fromkeys(("websearch_to_tsquery", "ts_headline"), ("'simple'",)),
    **dict.fromkeys(("jsonb_set", "jsonb_insert"), ("", "'{a}'", "'1'")),
    **dict.fromkeys(("jsonb_build_object", "json_build_object"), ("'a'", "'1'::text") * 16),
    **dict.fromkeys(("pg_advisory_lock", "pg_advisory_xact_lock"), ("(random() * 1e9)::int",) * 2),
    **dict.fromkeys(("pg_try_advisory_lock", "pg_try_advisory_xact_lock"), ("(random() * 1e9)::int",) * 2),
    **dict.fromkeys(("pg_notify",), ("'pgassay'", "'1'")),
    **dict.fromkeys(("pg_sleep",), ("0",)),
    **dict.fromkeys(("set_config",), ("'pgassay.value'", "'1'", "'true'")),
    **dict.fromkeys(("current_setting",), ("'pgassay.value'", "'true'")),
    **dict.fromkeys(("array_length", "array_upper", "array_lower", "cardinality"), ("", "'1'")),
}
"""By function and argument; an empty one is not known."""


def of(kind: str) -> str:
    """A quoted constant of a type, by PostgreSQL's name for it; empty for a type of the user's."""
    if kind.endswith("[]"):
        return "'{}'"
    return _BY_TYPE.get(kind.partition("(")[0].strip(), "")


def added(kind: str, operator: str) -> str:
    """What is added to a column, multiplied or joined with it, of a type as `format_type` says it."""
    if operator == "||":
        return "'{}'" if kind.endswith("[]") or kind in ("json", "jsonb") else "'1'"
    return "'1 second'" if kind.startswith(("timestamp", "time", "interval")) else "1"


def is_text(kind: str) -> bool:
    """Is it a type of texts?"""
    return kind.partition("(")[0] in ("text", "character varying", "character", "citext", "name")
