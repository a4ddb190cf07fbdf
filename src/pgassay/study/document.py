"""A study file as a document, before it means anything: reading TOML, choosing a size, overriding, writing back.

A study has up to three sizes in one file: `[quick]` and `[as-published]` are partial documents laid over the default.
Tables merge key by key; lists and plain values replace. A size may have a `[SIZE.program]`: what its authors' own
program asks for, laid over the size where that program can be used, with a `[load]` that stands alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pgassay import untrusted
from pgassay.errors import UsageError
from pgassay.study.levels import FactorNames
from pgassay.study.responses import full_name
from pgassay.study.thresholds import split as split_threshold
from pgassay.study.units import expand, typed

Document = dict[str, Any]

SIZES = ("quick", "as-published")
PROGRAM = "program"
"""Of a size: the program that its authors used, as a document laid over that size where the program can be used."""
_DRIVER = "load.driver"
SCALE = "scale"
"""The table that asks for a scale model."""
_VARIED = ("factors", "conditions", "covariates")
_LINKED = ("treatments", "conditions")
"""What may be a list of tables of levels instead of a cross product."""
_NAMING = ("treatment", "against", "than")
"""Keys of a claim that name levels."""
_DURATION = "load.duration"
COUNTED_LOAD: Mapping[str, str] = {
    "transactions": "500", "clients": "1", "jobs": "1", "warmup": "0s", "checkpoint": "none",
}  # fmt: skip
"""Of a load whose instructions are counted: transactions of one client, and nothing that goes by time."""
ALONG = "also"
"""The level of `load.count` that counts along with timing, in trials of their own."""
MISSES_LEVEL = "misses"
"""The level of `load.count` that has the misses of a model of caches and branches in addition."""
HARDWARE_LEVEL = "hardware"
"""The level of `load.count` that counts instructions by the processor's own counter."""
COUNT_LEVELS = ("on", MISSES_LEVEL, HARDWARE_LEVEL)
"""Levels of `load.count` that count instead of timing, each by an instrument of its own."""
COUNTED_RESPONSE = "instructions_per_transaction"
COUNTED_RESOLUTION = "0.2%"
_COUNTED: Document = {
    "responses": {"primary": COUNTED_RESPONSE, "secondary": ["wal_bytes_per_transaction"]},
    "design": {"resolution": COUNTED_RESOLUTION, "blocks": {"min": 5, "max": 20}},
}
TIMED_LOAD, _TIMED_DESIGN = ("duration", "maintenance"), ("precision", "pairing", "slice", "placement")
"""Options of a load and a design that mean nothing where instructions are counted."""


@dataclass(frozen=True)
class Overrides:
    """What the command line changes: `--set`, `--levels`, `--blocks`, `--budget`, `--seed`, `--primary`, `--weigh`.

    `scale` and `scale_to` (one of them) ask for a scale model of all that; None: not given. `count` asks for
    instructions instead of times (docs/counts.md).
    """

    size: str = ""
    fixed: Sequence[str] = ()
    levels: Sequence[str] = ()
    design: Mapping[str, str | int] = field(default_factory=dict)
    primary: str | None = None
    weigh: Sequence[str] = ()
    scale: str | None = None
    scale_to: str | None = None
    count: bool = False


def read(name: str, text: str) -> Document:
    """The TOML text of study `name` as a document; raises `UsageError` with the line that is wrong."""
    try:
        return untrusted.toml(text)
    except ValueError as error:
        raise UsageError(
            f'study file "{name}" is not valid TOML: {error!s}', "see docs/studies.md for the format"
        ) from None


def texts(value: object) -> Iterator[str]:
    """Every text of a document, without the weight behind a script's name (`PATH@3`)."""
    if isinstance(value, str):
        path, at, weight = value.rpartition("@")
        yield path if at and weight.isdigit() else value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def write(document: Document, comment: str = "") -> str:
    """The document as TOML text that `read` takes back unchanged, under a comment."""
    import tomli_w

    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + tomli_w.dumps(document)


Usable = Callable[[str], bool]
"""Can a load driver of this name be used here?"""


def resolve(
    name: str,
    document: Document,
    overrides: Overrides,
    catalogue: FactorNames | None = None,
    usable: Usable | None = None,
) -> Document:
    """The document of one size with the command line's changes laid over it; the input is left as it was.

    The `catalogue` says which of the changed levels is the baseline's, however it is typed; `usable` whether the
    authors' program is there. Raises `UsageError`.
    """
    resolved = _sized(name, document, overrides, None if overrides.count else usable)
    if overrides.count:
        resolved = _counted(resolved, overrides)
    for text in overrides.levels:
        resolved = _with_levels(resolved, *_split(text, "--levels"), catalogue)
    for text in overrides.fixed:
        factor, value = _split(text, "--set")
        if _varied_in(resolved, factor):
            hint = f"use --levels {factor}=VALUE,VALUE to change its levels"
            raise UsageError(f'"{factor}" is varied by this study', hint)
        held = {"fixed": {factor: value}}
        if factor.startswith("load.") and "*" not in factor:
            held = {"load": {factor.removeprefix("load."): value}}
        resolved = laid_over(resolved, held)
    if overrides.design:
        resolved = laid_over(resolved, {"design": dict(overrides.design)})
    if overrides.primary:
        resolved = laid_over(resolved, {"responses": {"primary": full_name(overrides.primary)}})
    for text in overrides.weigh:
        response, condition = split_threshold(text)
        table = resolved.get("decide", {})
        known = table.get(response, []) if isinstance(table, dict) else []
        conditions = [*(known if isinstance(known, list) else [known]), condition]
        resolved = laid_over(resolved, {"decide": {response: conditions}})
    if overrides.scale is not None and overrides.scale_to is not None:
        raise UsageError("--scale and --scale-to cannot be used together", "leave one of them out")
    if overrides.scale is not None or overrides.scale_to is not None:
        # What `[scale]` says of the original stays.
        said = resolved.get(SCALE, {})
        rest = {key: value for key, value in said.items() if key not in ("by", "to")} if isinstance(said, dict) else {}
        asked = {"to": overrides.scale_to} if overrides.scale is None else {"by": overrides.scale}
        resolved = {**resolved, SCALE: {**rest, **asked}}
    return resolved


def _sized(name: str, document: Document, overrides: Overrides, usable: Usable | None) -> Document:
    """The document of one size, played by the authors' program where that is to be used."""
    resolved = {key: value for key, value in document.items() if key not in SIZES}
    if not overrides.size:
        return resolved
    if not isinstance(document.get(overrides.size), dict):
        known = ", ".join(size for size in SIZES if size in document) or "none but its default"
        raise UsageError(f'study "{name}" has no [{overrides.size}] size', f"it has: {known}")
    chosen = dict(document[overrides.size])
    program = chosen.pop(PROGRAM, None)
    resolved = laid_over(resolved, chosen)
    if program is None:
        return resolved
    # The authors' program is used because it was named, or because it can be and no other was.
    driver = program["load"]["driver"]
    named = [value for key, value in (_split(text, "--set") for text in overrides.fixed) if key == _DRIVER]
    if named[-1] != driver if named else usable is None or not usable(driver):
        return resolved
    return {**laid_over(resolved, program), "load": dict(program["load"])}


def _counted(document: Document, overrides: Overrides) -> Document:
    """The study with its instructions counted; a load that is made for that (`load.count`) keeps what it says."""
    changed = [_split(text, "--set") for text in (*overrides.fixed, *overrides.levels)]
    if any(name == _DURATION for name, _ in changed):
        raise UsageError("--count counts transactions, not seconds", "--set load.transactions=N says how many")
    if any(name == "load.count" and level.startswith(ALONG) for name, level in changed):
        raise UsageError("--count counts instead of timing, --count-also does both", "leave one of them out")
    load, design = ({**document[key]} if isinstance(document.get(key), dict) else {} for key in ("load", "design"))
    usual = {option: value for option, value in COUNTED_LOAD.items() if not _varied_in(document, f"load.{option}")}
    if load.get("count") in COUNT_LEVELS:
        load = {**usual, **load}
    else:
        load |= {"count": "on", **usual, **{key: load[key] for key in ("transactions",) if key in load}}
    for table, timed in ((load, TIMED_LOAD), (design, _TIMED_DESIGN)):
        for key in timed:
            table.pop(key, None)
    return laid_over({**document, "load": load, "design": design}, _COUNTED)


def without(document: Document, names: Iterable[str]) -> Document:
    """The document with some factors left out, wherever they stand; treatments that become the same are one."""
    gone = frozenset(names)

    def rest(table: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in table.items() if key not in gone}

    left = dict(document)
    if gone & set(names_in({key: document.get(key) for key in ("factors", "treatments")})):
        left = _called(left, [])
    for key in (*_VARIED, "fixed"):
        if isinstance(left.get(key), dict):
            left[key] = rest(left[key])
    for key in _LINKED:
        if isinstance(left.get(key), list):
            kept = [rest(each) for each in left[key]]
            left[key] = [each for place, each in enumerate(kept) if each and each not in kept[:place]]
    design = dict(left.get("design", {}))
    if isinstance(design.get("baseline"), dict):
        design["baseline"] = rest(design["baseline"])
        if not design["baseline"]:
            del design["baseline"]
    if isinstance(left.get("claims"), list):
        # A claim at each level of what is gone is one claim; of what is no table parsing says what is wrong.
        left["claims"] = [
            {key: value for key, value in each.items() if key != "each" or value not in gone}
            if isinstance(each, Mapping)
            else each
            for each in left["claims"]
        ]
    if isinstance(design.get("fixed_order"), list):
        design["fixed_order"] = [each for each in design["fixed_order"] if each not in gone]
    return {**left, "design": design} if design else left


def names_in(document: Document) -> tuple[str, ...]:
    """Every factor that the document names, varied, linked or held, but those of its load."""
    tables = [document[key] for key in (*_VARIED, "fixed") if isinstance(document.get(key), dict)]
    tables += [each for key in _LINKED for each in _points(document, key)]
    return tuple(dict.fromkeys(name for table in tables for name in table))


Change = Callable[[str, str], str]
"""From a factor's name and a level as typed to another level."""


def with_changed_levels(document: Document, change: Change) -> Document:
    """The document with every level, wherever it stands, as `change` makes it.

    Levels that become equal are one, and so are linked combinations.
    """
    found = dict(document)
    for key in _VARIED:
        if isinstance(found.get(key), dict):
            found[key] = {name: _each_changed(change, name, values) for name, values in found[key].items()}
    for key in _LINKED:
        if isinstance(found.get(key), list):
            found[key] = _once([_all_changed(change, point) for point in found[key]])
    if _treatment_levels(found) != _treatment_levels(document):
        found = _called(found, [])
    for key, prefix in (("fixed", ""), ("load", "load.")):
        if key in found:
            found[key] = _all_changed(change, found[key], prefix)
    if isinstance(found.get("design"), dict) and "baseline" in found["design"]:
        found["design"] = {**found["design"], "baseline": _all_changed(change, found["design"]["baseline"])}
    if isinstance(found.get("claims"), list):
        found["claims"] = [_naming_changed(change, row) for row in found["claims"]]
    return found


def _changed(change: Change, name: str, value: object) -> object:
    if isinstance(value, list | dict):
        return value  # a list of scripts is no level that could change; of all else parsing says what is wrong
    text = change(name, typed(value))
    return value if text == typed(value) else text


def _all_changed(change: Change, table: object, prefix: str = "") -> object:
    if not isinstance(table, dict):
        return table
    return {key: _changed(change, prefix + key, value) for key, value in table.items()}


def _each_changed(change: Change, name: str, values: object) -> object:
    listed = expand(values) if isinstance(values, str) else values
    if not isinstance(listed, list):
        return values
    each = [one for value in listed for one in (expand(value) if isinstance(value, str) else [value])]
    return _once([_changed(change, name, one) for one in each])


def _naming_changed(change: Change, row: object) -> object:
    if not isinstance(row, dict):
        return row
    changed = {**row, **{key: _all_changed(change, row[key]) for key in _NAMING if key in row}}
    if isinstance(row.get("than"), list):
        changed["than"] = [_all_changed(change, each) for each in row["than"]]
    return changed


def _once(values: Sequence[object]) -> list[object]:
    """Without repetitions; the number 1, which stayed, and the text "1" are one level."""
    texts = [
        {name: typed(level) for name, level in value.items()} if isinstance(value, dict) else typed(value)
        for value in values
    ]
    return [value for place, value in enumerate(values) if texts[place] not in texts[:place]]


def laid_over(below: Document, above: Mapping[str, Any]) -> Document:
    """The document `below` with what `above` has, key by key: tables are merged, all else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = laid_over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _split(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise set_needs_value(text, option)
    return name.strip(), value.strip()


def _points(document: Document, key: str) -> list[dict[str, Any]]:
    found = document.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _treatment_levels(document: Document) -> list[int]:
    """How many treatments are linked, and how many levels each factor has."""
    factors = document.get("factors")
    crossed = factors.items() if isinstance(factors, dict) else ()
    each = (_each_changed(lambda _, level: level, name, values) for name, values in crossed)
    return [len(_points(document, "treatments")), *(len(levels) for levels in each if isinstance(levels, list))]


def _varied_in(document: Document, name: str) -> str | None:
    linked = (key for key in _LINKED if any(name in point for point in _points(document, key)))
    crossed = (key for key in _VARIED if isinstance(document.get(key), dict) and name in document[key])
    return next(chain(linked, crossed), None)


def _with_levels(document: Document, name: str, values: str, catalogue: FactorNames | None) -> Document:
    table = _varied_in(document, name) or "factors"
    if table == "factors" and name not in document.get("factors", {}) and _points(document, "treatments"):
        raise UsageError(
            f'"{name}" is in none of the linked treatments of this study, so it cannot be varied in addition',
            f"hold it with --set {name}=VALUE, or copy the study (pgassay studies NAME) and list its treatments",
        )
    levels = [level for value in values.split(",") for level in expand(value.strip())]
    if _points(document, table):
        return _with_baseline_among(_with_points(document, table, name, levels, catalogue), name, levels, catalogue)
    changed = dict(document)
    if name in document.get("fixed", {}):
        changed["fixed"] = {key: value for key, value in document["fixed"].items() if key != name}
    key = name.removeprefix("load.")
    if name.startswith("load.") and key in document.get("load", {}):
        changed["load"] = {other: value for other, value in document["load"].items() if other != key}
    merged = laid_over(changed, {table: {name: levels}})
    if table == "factors":
        merged = _called(merged, [])
    return _with_baseline_among(merged, name, levels, catalogue)


def _called(document: Document, names: Sequence[str]) -> Document:
    """The document with these names for its treatments, where it has names.

    Names are kept only for treatments that are unchanged.
    """
    return laid_over(document, {"study": {"called": names}}) if document.get("study", {}).get("called") else document


def _with_baseline_among(
    document: Document, name: str, levels: Sequence[str], catalogue: FactorNames | None
) -> Document:
    """Drop the baseline's word on a factor whose new levels do not contain it: the first level takes its place."""
    baseline = document.get("design", {}).get("baseline")
    if not isinstance(baseline, dict) or name not in baseline:
        return document
    if _canonical(name, baseline[name], catalogue) in [_canonical(name, level, catalogue) for level in levels]:
        return document
    return laid_over(document, {"design": {"baseline": {name: levels[0]}}})


def _with_points(
    document: Document, table: str, name: str, levels: Sequence[str], catalogue: FactorNames | None
) -> Document:
    """The linked combinations that have one of these levels; the study does not say which others would fit."""
    points = [point for point in _points(document, table) if name in point]
    there = [_canonical(name, point[name], catalogue) for point in points]
    wanted = [_canonical(name, level, catalogue) for level in levels]
    for level, each in zip(levels, wanted, strict=True):
        if each not in there:
            known = ", ".join(dict.fromkeys(map(typed, (point[name] for point in points))))
            raise UsageError(
                f'none of the linked {table} of this study has "{name}" = {level}',
                f"they have {known}; for others copy the study (pgassay studies NAME) and list them",
            )
    left = {**document, table: [point for point, each in zip(points, there, strict=True) if each in wanted]}
    if table != "treatments":
        return left
    names = zip(_points(document, table), document.get("study", {}).get("called") or (), strict=False)
    return _called(left, [name for point, name in names if point in left[table]])


def _canonical(name: str, level: object, catalogue: FactorNames | None) -> str:
    factor = catalogue.find(name) if catalogue is not None else None
    text = typed(level).strip()
    return text if factor is None or not text else factor.parse(name, text).canonical


def set_needs_value(text: str, option: str) -> UsageError:
    return UsageError(f'{option} takes NAME=VALUE, not "{text}"', f"for example {option} load.scale=100")
