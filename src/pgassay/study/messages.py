"""Every message of the study layer, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from pgassay.errors import UsageError


def near(word: str, words: Iterable[str]) -> str | None:
    """The most similar word, for "did you mean"; None if nothing is near."""
    found = get_close_matches(word, list(words), n=1, cutoff=0.6)
    return found[0] if found else None


def _suggest(word: str, words: Iterable[str], otherwise: str) -> str:
    candidates = list(words)
    found = near(word, candidates)
    return f'did you mean "{found}"?' if found else otherwise


def not_toml(name: str, detail: str) -> UsageError:
    """The file is not TOML."""
    return UsageError(f'study file "{name}" is not valid TOML: {detail}', "see docs/study-files.md for the format")


def newer_format(name: str, found: object, known: int) -> UsageError:
    """The file was written for a later pgassay."""
    return UsageError(
        f'study "{name}" has format {found}, this program reads format {known}', "use a newer version of pgassay"
    )


def unknown_key(where: str, key: str, known: Iterable[str]) -> UsageError:
    """A typo in a study file."""
    words = list(known)
    return UsageError(f'unknown key "{key}" in {where}', _suggest(key, words, f"known keys: {', '.join(words)}"))


def missing_key(where: str, key: str) -> UsageError:
    """A key that has no default."""
    return UsageError(f'missing key "{key}" in {where}')


def magnitude_outside(text: str, magnitude: float) -> UsageError:
    """A claim whose own figure would not reproduce it."""
    return UsageError(f'magnitude {magnitude:g} of claim "{text}" is outside its own low and high')


def than_without_against(text: str) -> UsageError:
    """A claim holds a change against another one, and does not say which change."""
    return UsageError(f'claim "{text}" has "than", which needs "against": a change is held against the same elsewhere')


def each_of_no_factor(text: str, name: str, known: Iterable[str]) -> UsageError:
    """A claim is made at each level of what the study neither varies nor holds."""
    words = list(known)
    hint = _suggest(name, words, f"factors of this study: {', '.join(words)}")
    return UsageError(f'claim "{text}" has each = "{name}", which is no factor of this study', hint)


def figure_of_nothing(column: str) -> UsageError:
    """What stands beside a published figure has both a response and a reason for none, or neither."""
    return UsageError(f'figure "{column}" of [[published]] needs "response", or "unmeasured" with the reason')


def wrong_type(where: str, key: str, expected: str, found: object) -> UsageError:
    """A value of another type than the key takes."""
    return UsageError(f'"{key}" in {where} must be {expected}, not {found!r}')


def unknown_factor(where: str, name: str, known: Iterable[str]) -> UsageError:
    """No factor of this name."""
    hint = _suggest(
        name, known, 'settings are factors as "server.NAME"; for all others see "pgassay studies --factors"'
    )
    if name == "schema.partition":
        hint = 'make the table a partitioned one by SQL of your own: "schema.change", or ask --change'
    return UsageError(f'unknown factor "{name}" in {where}', hint)


def settles_nothing(name: str, responses: Iterable[str]) -> UsageError:
    """The schedule would wait for a response that the study does not ask for."""
    words = list(responses)
    hint = _suggest(name, words, f"list it under secondary, or name one of: {', '.join(words)}")
    return UsageError(f'"design.settle" names "{name}", which is not a response of this study', hint)


def no_levels(name: str) -> UsageError:
    """A factor without levels, or with an empty one."""
    return UsageError(f'factor "{name}" has an empty level or none at all', "give at least one value, or fix it")


def mixed_range(text: str) -> UsageError:
    """Sizes and times, or numbers and sizes, in one range."""
    return UsageError(f'the range "{text}" mixes units', 'for example "128kB..8GB*2", "1..8", "10..100+30"')


def endless_range(text: str) -> UsageError:
    """A step that leads nowhere, or a range of thousands."""
    return UsageError(
        f'the range "{text}" does not say how to get from the first level to the last, in at most 1000 steps',
        'for example "128kB..8GB*2" (doubling), "10..100+30" (adding), "1..8" (counting)',
    )


def duplicate_level(name: str, first: str, second: str) -> UsageError:
    """Two levels that mean the same."""
    same = first if first == second else f'{first}" and "{second}'
    return UsageError(f'factor "{name}" has the same level twice: "{same}"', "remove one of them")


def bad_names(names: Sequence[str], treatments: int) -> UsageError:
    """Names of treatments that do not fit them."""
    return UsageError(
        f"called of [study] must name each of the {treatments} treatments once: {', '.join(names)}",
        "give one name for each treatment in its order, all different, without commas, semicolons and =",
    )


def twice(name: str, first: str, second: str) -> UsageError:
    """A name in two places of the study."""
    return UsageError(f'"{name}" is in {first} and in {second}', "a factor is either varied or held")


def no_treatments() -> UsageError:
    """A study in which no factor has two levels."""
    return UsageError("the study varies nothing", "give [factors] with at least two levels, or [[treatments]]")


def baseline_unknown(given: str, treatments: Iterable[str]) -> UsageError:
    """The baseline is not one of the treatments."""
    return UsageError(
        f'baseline "{given}" is not one of the treatments', f"the treatments are: {'; '.join(treatments)}"
    )


def baseline_ambiguous(given: str, matching: Iterable[str]) -> UsageError:
    """The baseline's levels fit more than one treatment."""
    return UsageError(
        f'baseline "{given}" fits more than one treatment', f"name all of its levels; it fits: {'; '.join(matching)}"
    )


def bad_share(where: str, value: object) -> UsageError:
    """A resolution that is not a share."""
    return UsageError(f"{where} must be a share above 0 and below 100%, such as 2% or 0.02, not {value!r}")


def bad_blocks(value: object) -> UsageError:
    """A number of blocks that cannot be."""
    return UsageError(f"blocks must be a number or MIN..MAX with 1 <= MIN <= MAX, not {value!r}")


def set_needs_value(text: str, option: str) -> UsageError:
    """An override that is not NAME=VALUE."""
    return UsageError(f'{option} takes NAME=VALUE, not "{text}"', f"for example {option} load.scale=100")


def set_on_varied(name: str) -> UsageError:
    """Fixing what the study varies."""
    return UsageError(f'"{name}" is varied by this study', f"use --levels {name}=VALUE,VALUE to change its levels")


def not_in_treatments(name: str) -> UsageError:
    """A factor to vary in a study whose treatments are listed one by one."""
    return UsageError(
        f'"{name}" is in none of the linked treatments of this study, so it cannot be varied in addition',
        f"hold it with --set {name}=VALUE, or copy the study (pgassay studies NAME) and list its treatments",
    )


def not_linked(table: str, name: str, level: str, known: Iterable[str]) -> UsageError:
    """A level that no combination of a linked list has."""
    return UsageError(
        f'none of the linked {table} of this study has "{name}" = {level}',
        f"they have {', '.join(known)}; for others copy the study (pgassay studies NAME) and list them",
    )


def unknown_study(name: str, known: Iterable[str]) -> UsageError:
    """Neither a file nor a built-in study."""
    words = list(known)
    return UsageError(
        f'no study file and no built-in study is called "{name}"',
        _suggest(name, words, f"the built-in studies are: {', '.join(words)}"),
    )


def unreadable_study(name: str, detail: str) -> UsageError:
    """The file exists and cannot be read."""
    return UsageError(
        f'could not read study file "{name}": {detail}', 'name another file, or a built-in study: see "pgassay studies"'
    )


def no_such_size(name: str, size: str, known: Iterable[str]) -> UsageError:
    """`--quick` or `--as-published` on a study that has no such table."""
    words = ", ".join(known) or "none but its default"
    return UsageError(f'study "{name}" has no [{size}] size', f"it has: {words}")


def not_a_quantity(text: str, kind: str, units: Iterable[str]) -> UsageError:
    """Not a number with a unit of this kind."""
    return UsageError(f'"{text}" is not {kind}', f"give a number with one of the units {', '.join(units)}")


def unknown_unit(text: str, unit: str, units: Iterable[str]) -> UsageError:
    """A unit that PostgreSQL does not know, often only its letter case."""
    words = list(units)
    same = next((word for word in words if word.lower() == unit.lower()), None)
    advice = f"units are case-sensitive: did you mean {same}?" if same else f"valid units are {', '.join(words)}"
    return UsageError(f'invalid unit "{unit}" in "{text}"', advice)


def not_a_boolean(text: str) -> UsageError:
    """A value that PostgreSQL would not take for a boolean."""
    return UsageError(f'"{text}" is not a boolean', "valid values are on, off, true, false, yes, no, 1, 0")


def not_a_threshold(text: str) -> UsageError:
    """A threshold that is not a response, a relation and a number."""
    return UsageError(
        f'"{text}" is not a threshold', 'write it as "latency_p99_ms < 5 ms" or, for a change, "database_bytes < +30 %"'
    )


def unknown_response(name: str, named: Iterable[str], known: Iterable[str]) -> UsageError:
    """A threshold on what the load and the probes do not measure; `named` are the study's own responses."""
    hint = _suggest(name, known, f"this study asks for: {', '.join(named)}")
    return UsageError(f'the response "{name}" of a threshold is not measured', hint)


def ambiguous_response(name: str, fitting: Iterable[str]) -> UsageError:
    """A threshold on a word that several responses have."""
    return UsageError(f'the response "{name}" of a threshold may be several', f"name one of: {', '.join(fitting)}")


def threshold_unit(text: str, response: str, wanted: str) -> UsageError:
    """A threshold in a unit that its response does not have."""
    return UsageError(f'the threshold "{text}" does not fit the response {response}', f"give {wanted}")


def nothing_to_change_against(text: str) -> UsageError:
    """A change, in a study that compares nothing."""
    return UsageError(
        f'the threshold "{text}" is a change, and this study has no baseline',
        "give a value without a sign, or vary a factor",
    )


def contradicting(one: str, other: str) -> UsageError:
    """Two thresholds that no value can meet."""
    return UsageError(f'no value can meet both "{one}" and "{other}"', "remove one of them")


def not_a_scale(text: str) -> UsageError:
    """What is no number between 0 and 1."""
    return UsageError(f'"{text}" is no scale', "for example 1/250, 1:250 or 0.004")


def scale_out_of_range(text: str, *, enlarges: bool) -> UsageError:
    """A scale of 1 or more is no model, nor one that rounds to 1, and one of 0 or less nothing at all."""
    if enlarges:
        return UsageError(f"a scale of {text} would enlarge the study", "a model is smaller: for example 1/250")
    return UsageError(
        f"a scale of {text} makes no model", "give a scale between 0 and 1, such as 1/250; 1 is the study itself"
    )


def two_scales() -> UsageError:
    """A study file that says both how many times smaller and how large."""
    return UsageError('"by" and "to" in [scale] exclude each other', 'by = "1/250", or to = "4GB" for the largest data')


def scale_twice() -> UsageError:
    """Both ways to say how small."""
    return UsageError("--scale and --scale-to exclude each other", "leave one of them out")


def no_sizes() -> UsageError:
    """Nothing that could shrink says how many data there are."""
    return UsageError(
        "the study has no scale model, since it does not say how many rows or warehouses its data have",
        "a model shrinks load.scale, load.rows, load.warehouses, load.size or load.file_size; tables of one's own"
        " (load.init) cannot be shrunk",
    )


def in_four_digits(by: float) -> str:
    """A scale's number: `250`, `931.3`, `13500`, `1e+300`."""
    return f"{float(f'{by:.4g}'):.15g}"


def model_too_small(name: str, text: str, by: float, left: float, unit: str) -> UsageError:
    """Less than one warehouse, or rows too few for a load."""
    return UsageError(
        f"1:{in_four_digits(by)} leaves too little data: {left:.3g} of {name}={text}",
        f"the model needs at least one {unit}: take a larger scale, or vary fewer levels with --levels {name}=…",
    )


def model_not_smaller(wanted: str, there: str) -> UsageError:
    """A model as large as the study, or larger."""
    return UsageError(
        f"the study's data are about {there}, so a model of {wanted} would not be smaller", "leave out --scale-to"
    )


AS_MANY_AS_OPENED = "no more than are opened: the shared memory of each does not shrink"
"""Why a model has fewer connections than its original."""


WITHOUT_PROCESSES = "of memory without what the server's processes take"
"""What a number that has memory in it is about."""


def beside_processes(*sizes: str) -> str:
    """Why a model's server has more memory; least and most of all arms."""
    return f"with {' to '.join(sizes)} more for the server's processes, which do not shrink"


def model_limit(typed: str) -> str:
    """Why a size did not shrink so far."""
    return f"no less than {typed}"


def model_rounded(exact: float) -> str:
    """A number of things that is far from whole."""
    return f"rounded from {exact:.3g}"
