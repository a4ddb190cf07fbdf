"""What importing says to people: faults in the options, and why a file, line or job was left out."""

from collections.abc import Iterable, Sequence

from pgassay.errors import UsageError


def bad_column_role(text: str, roles: Iterable[str]) -> UsageError:
    """`--columns` that is not ROLE=COLUMN."""
    return UsageError(
        f'--columns wants ROLE=COLUMN, not "{text}"',
        f"the roles are: {', '.join(roles)}; for example --columns treatment=page_size,value=tps,block=run",
    )


def bad_level(text: str) -> UsageError:
    """`--treatment` that is not NAME=VALUE."""
    return UsageError(
        f'--treatment wants NAME=VALUE or NAME=VALUE:PATTERN, not "{text}"',
        "for example --treatment shared_buffers=8GB:'runs/8GB/*'",
    )


def bad_pattern(text: str) -> UsageError:
    """`--pattern` without a name in braces, or with a name twice."""
    return UsageError(
        f'--pattern "{text}" must name at least one field in braces, each once',
        "for example --pattern 'pg-{page_kB}/{scale}/run-{run}/pgbench.log'",
    )


def no_field(name: str, known: Iterable[str]) -> UsageError:
    """A role for a field that the source has not."""
    return UsageError(f'the source has no field "{name}"', f"it has: {', '.join(sorted(known)) or 'none'}")


def no_treatment(known: Iterable[str]) -> UsageError:
    """A table without an option that says what was varied."""
    return UsageError(
        "no option says which field distinguishes the treatments",
        f"for example --columns treatment={next(iter(sorted(known)), 'COLUMN')}; there are:"
        f" {', '.join(sorted(known)) or 'none'}",
    )


def no_runs(left_out: Iterable[tuple[str, str]]) -> UsageError:
    """Not a single run could be read."""
    reasons = "; ".join(f"{place}: {reason}" for place, reason in list(left_out)[:3])
    return UsageError("there is no run to import", reasons or "name files or folders with results in them")


def one_treatment(name: str) -> UsageError:
    """Runs of one treatment only: there is nothing to compare."""
    return UsageError(
        f'all runs are of one treatment, "{name}"',
        "say what differs with --columns, --treatment or --pattern; to judge the runs alone, use pgassay lint",
    )


def with_left_out(error: UsageError, left_out: Iterable[tuple[str, str]]) -> UsageError:
    """The same, and what was left out before: it may be what is missing."""
    reasons = "; ".join(f"{place}: {reason}" for place, reason in list(left_out)[:3])
    return UsageError(error.message, f"{error.hint}; left out: {reasons}") if reasons else error


def baseline_unknown(given: str, treatments: Iterable[str]) -> UsageError:
    """`--baseline` that names none of the treatments, or several."""
    return UsageError(f'baseline "{given}" is not one treatment', f"the treatments are: {'; '.join(treatments)}")


def no_such_response(name: str, known: Iterable[str]) -> UsageError:
    """`--primary` that the source does not have."""
    return UsageError(f'the source has no response "{name}"', f"it has: {', '.join(known)}")


def bad_header(text: str) -> UsageError:
    """`--header` with an empty or repeated name."""
    return UsageError(
        f'--header "{text}" must give each column a name of its own', "for example --header 'size;run;tps'"
    )


# Why something was left out: these are put after the place.


def cells(count: int, header_count: int) -> str:
    """A line that is not of the table."""
    return f"has {count} {'cell' if count == 1 else 'cells'} where the header has {header_count}"


def not_a_number(column: str, text: str) -> str:
    """A cell that should hold a number."""
    return f'"{column}" is "{text[:40]}", which is not a number'


def no_columns(names: Iterable[str]) -> str:
    """A table without what was asked of it."""
    return f"is a table without the column {' and '.join(names)}"


def unrecognised(names: Sequence[str]) -> str:
    """A file that none of the readers called `names` recognises."""
    return f"has an unrecognised format (recognised: {', '.join(names)})"


def too_long(megabytes: int) -> str:
    """A text that can hold neither a summary nor a table of runs."""
    return f"has more than {megabytes} MB, so it is neither a summary nor a table"


def empty() -> str:
    """A file without any text."""
    return "is empty"


def filtered() -> str:
    """What `--where` leaves out is left out on purpose; only counted."""
    return "left out by --where"


# Why a run is not counted as a result.


def ran_short(seconds: float, planned_s: float, *, said: bool) -> str:
    """A run that ended early."""
    of = "of" if said else "where similar runs took"
    return f"ran {seconds:.3g} s {of} {planned_s:.5g} s"


def value_missing(name: str) -> str:
    """A run without a value of response `name`."""
    return f"there is no {name}"


def value_impossible(name: str, value: float) -> str:
    """A number that cannot be a result."""
    return f"{name} is {value:g}"
