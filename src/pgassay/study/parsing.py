"""From a study document to a `Study`: every key typed, every name known, every level canonical, before anything runs.

A typo is named with the nearest word that exists. What only a server can tell (does PostgreSQL accept this value?) is
checked by the lab's preflight. What the authors of a published study found stands in the file, too (`Claim`), so that
a run can be compared with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from pgassay.errors import UsageError, did_you_mean
from pgassay.study import units
from pgassay.study.document import Document
from pgassay.study.levels import Combination, FactorNames, Level
from pgassay.study.model import (
    ALTERNATE,
    DEFAULTS,
    FREE,
    PAIRINGS,
    PINNED,
    PLACEMENTS,
    SEQUENTIAL,
    SLICE_S_MAX,
    SLICE_S_MIN,
    Claim,
    Design,
    Study,
    combinations,
)
from pgassay.study.scale_model import REQUEST, RESULT, parse_model, parse_request
from pgassay.study.thresholds import parse_table
from pgassay.study.units import expand, parse_time_s, typed, unknown_key, whole_number, wrong_type

FORMAT = 1
_TOP = (
    "study", "factors", "conditions", "covariates", "treatments", "fixed", "load", "responses", "decide", "design",
    "claims", REQUEST, RESULT,
)  # fmt: skip
_STUDY = ("format", "title", "question", "name", "ours", "differs", "called")
_RESPONSES = ("primary", "secondary")
_DESIGN = (
    "baseline", "resolution", "precision", "settle", "blocks", "budget", "seed", "fixed_order", "defaults", "pairing",
    "slice", "lead_in", "placement", "risk_below", "reboots", "hosts",
)  # fmt: skip
_BOUNDS = ("low", "high", "magnitude")
_CLAIM = (
    "text", "source", "response", "treatment", "against", "than", "each", *_BOUNDS, "published", "untestable",
    "otherwise", "per", "data_of_memory", "window",
)  # fmt: skip

ARMS_MAX = 10_000
"""A block runs each arm once, so one of more would take days before the first look."""
RECORDED_ARMS_MAX = 1_000_000
"""Imported runs cross what only some of them have."""
_FACTORS_SHOWN = 20
"""Python prints no number of more than 4,300 digits, and nobody reads one."""
GONE = ("published",)
"""Tables that records of earlier versions hold."""
_EARLIER = {"slice": "1s", "lead_in": "100ms"}
"""The usual lengths of turns when records did not hold them."""


def parse(name: str, document: Document, catalogue: FactorNames) -> Study:
    """The study that `document` (already resolved to one size) describes; raises `UsageError`."""
    study = _parsed(name, document, catalogue)
    varied = (*study.factors, *study.conditions, *study.covariates)
    known = dict.fromkeys((*varied, *(each for arm in study.treatments for each in arm.levels), *study.fixed))
    for claim in study.claims:
        if claim.each and claim.each not in known:
            hint = did_you_mean(claim.each, known, f"factors of this study: {', '.join(known)}")
            raise UsageError(f'claim "{claim.text}" has each = "{claim.each}", not a factor of this study', hint)
    return study


def _parsed(name: str, document: Document, catalogue: FactorNames, most: int = ARMS_MAX) -> Study:
    _known("the study file", document, _TOP)
    head = _table(document, "study")
    _known("[study]", head, _STUDY)
    if head.get("format", FORMAT) != FORMAT:
        raise UsageError(
            f'study "{name}" has format {head.get("format")}, this program reads format {FORMAT}',
            "use a newer version of pgassay",
        )
    factors = _varied("factors", _table(document, "factors"), catalogue)
    linked = (
        _points("conditions", document["conditions"], catalogue) if isinstance(document.get("conditions"), list) else ()
    )
    conditions = _factors_of(linked) if linked else _varied("conditions", _table(document, "conditions"), catalogue)
    covariates = _varied("covariates", _table(document, "covariates"), catalogue)
    points = _points("treatments", document["treatments"], catalogue) if "treatments" in document else ()
    sizes = [len(points)] if "treatments" in document else [len(levels) for levels in factors.values()]
    sizes += [len(linked)] if linked else [len(levels) for levels in conditions.values()]
    sizes += [len(levels) for levels in covariates.values()]
    _bound(sizes, most)
    fixed = _fixed(document, catalogue)
    responses = _table(document, "responses")
    _known("[responses]", responses, _RESPONSES)
    primary = _text("[responses]", responses, "primary", "tps")
    secondary = tuple(str(each) for each in _list("[responses]", responses, "secondary"))
    design, decide, request = (_table(document, key) for key in ("design", "decide", REQUEST))
    if "treatments" in document:
        treatments = _called(head, points)
        factors = factors or _factors_of(treatments)
    else:
        treatments = _called(head, combinations(factors) if factors else ())
    if len(treatments) < 2 and not covariates:
        raise UsageError("the study varies nothing", "give [factors] with at least two levels, or [[treatments]]")
    seen: dict[str, str] = {}
    tables: dict[str, Mapping[str, object]] = {
        "[factors]": factors,
        "[conditions]": conditions,
        "[covariates]": covariates,
        "[fixed]": fixed,
    }
    for place, names in tables.items():
        for each in names:
            if each in seen:
                raise _in_two_tables(each, seen[each], place)
            seen[each] = place
    parse_request(request)
    model = parse_model(document[RESULT]) if RESULT in document else None
    thresholds = parse_table(decide)
    return Study(
        name=str(head.get("name", name)),
        title=_text("[study]", head, "title", name),
        question=_text("[study]", head, "question", ""),
        factors=factors,
        treatments=treatments or (Combination(),),
        primary=primary,
        conditions=conditions,
        linked_conditions=linked,
        covariates=covariates,
        fixed=fixed,
        secondary=secondary,
        decide=thresholds,
        claims=tuple(map(_claim, _tables("claims", document.get("claims", [])))),
        ours=tuple(map(str, _list("[study]", head, "ours"))),
        differs=tuple(map(str, _list("[study]", head, "differs"))),
        design=_design(design, treatments or (Combination(),), catalogue, (primary, *secondary)),
        model=model,
    )


def _bound(sizes: Sequence[int], most: int) -> None:
    count = prod(sizes)
    if count > most:
        varied = [str(each) for each in sizes if each > 1]
        short = len(varied) <= _FACTORS_SHOWN
        shown = f"{' x '.join(varied)} = {count:,} arms" if short else f"arms of {len(varied):,} factors"
        raise UsageError(
            f"the study has {shown}, more than {most:,}",
            "vary fewer factors, take fewer levels, or list the combinations that matter as [[treatments]]",
        )


class AsRecorded:
    """Knows every name and takes every level as typed."""

    def find(self, name: str) -> "AsRecorded":
        return self

    def names(self) -> Sequence[str]:
        return ()

    def parse(self, name: str, typed: str) -> Level:
        return Level(typed, typed)


def parse_recorded(name: str, document: Document, catalogue: FactorNames | None = None) -> Study:
    """The study of a record's `study.toml`; its names and levels were checked when it ran, so each is taken as it is.

    A report must not need the rooms of the bench, nor fail because a later version renamed a factor. What goes on with
    the run needs its factors all the same, and gives their `catalogue`.
    """
    design = _table(document, "design")
    if design.get("pairing") == ALTERNATE and "placement" not in design:
        earlier = {"placement": FREE} if "lead_in" in design else {**_EARLIER, "placement": FREE}
        document = {**document, "design": {**earlier, **design}}
    kept = {key: value for key, value in document.items() if key not in GONE}
    return _parsed(name, kept, catalogue or AsRecorded(), RECORDED_ARMS_MAX)


def _known(where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise unknown_key(where, key, known)


def _table(document: Document, key: str) -> dict[str, Any]:
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise wrong_type("the study file", key, "a table", value)
    return value


def _tables(key: str, value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise wrong_type("the study file", key, "a list of tables", value)
    return value


def _text(where: str, table: Mapping[str, Any], key: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise wrong_type(where, key, "a text", value)
    return value


def _list(where: str, table: Mapping[str, Any], key: str) -> list[Any]:
    value = table.get(key, [])
    if not isinstance(value, list):
        raise wrong_type(where, key, "a list", value)
    return value


def _level(where: str, name: str, value: object, catalogue: FactorNames) -> Level:
    factor = catalogue.find(name)
    if factor is None:
        raise _unknown_factor(where, name, catalogue.names())
    text = typed(value).strip()
    if isinstance(value, dict | list):
        raise wrong_type(where, name, "a single value", value)
    if not text:
        raise _no_levels(name)
    return factor.parse(name, text)


def _varied(key: str, table: Mapping[str, Any], catalogue: FactorNames) -> dict[str, tuple[Level, ...]]:
    varied = {}
    for name, values in table.items():
        listed = [values] if isinstance(values, str) and len(expand(values)) > 1 else values
        if not isinstance(listed, list):
            raise wrong_type(f"[{key}]", name, "a list of levels", values)
        each = [one for value in listed for one in (expand(value) if isinstance(value, str) else [value])]
        levels = tuple(_level(f"[{key}]", name, value, catalogue) for value in each)
        if not levels:
            raise _no_levels(name)
        seen: dict[str, str] = {}
        for level in levels:
            if level.canonical in seen:
                raise _duplicate_level(name, seen[level.canonical], level.typed)
            seen[level.canonical] = level.typed
        varied[name] = levels
    return varied


def _fixed(document: Document, catalogue: FactorNames) -> dict[str, Level]:
    held = {name: _level("[fixed]", name, value, catalogue) for name, value in _table(document, "fixed").items()}
    for key, value in _table(document, "load").items():
        name = f"load.{key}"
        if name in held:
            raise _in_two_tables(name, "[fixed]", "[load]")
        if catalogue.find(name) is None:
            known = [each.removeprefix("load.") for each in catalogue.names() if each.startswith("load.")]
            raise unknown_key("[load]", key, known)
        held[name] = _level("[load]", name, "\n".join(map(str, value)) if isinstance(value, list) else value, catalogue)
    return held


def _points(key: str, value: object, catalogue: FactorNames) -> tuple[Combination, ...]:
    points = _tables(key, value)
    if not points and key != "treatments":
        raise _no_levels(key)
    found: dict[frozenset[tuple[str, str]], Combination] = {}
    for each in points:
        if not each:
            raise _no_levels(key)
        combination = Combination({name: _level(key, name, typed, catalogue) for name, typed in each.items()})
        canonical = frozenset((name, level.canonical) for name, level in combination.levels.items())
        if canonical in found:
            raise _duplicate_level(key, found[canonical].name, combination.name)
        found[canonical] = combination
    return tuple(found.values())


def _called(head: Mapping[str, Any], treatments: tuple[Combination, ...]) -> tuple[Combination, ...]:
    """The treatments under the study's own names for them, in their order, where it gives any."""
    names = [str(each).strip() for each in _list("[study]", head, "called")]
    if not names:
        return treatments
    plain = all(name and not set(name) & set(",=;\n") for name in names)  # no reader takes them for levels
    if len(names) != len(treatments) or len(set(names)) != len(names) or not plain:
        raise UsageError(
            f"called of [study] must name each of the {len(treatments)} treatments once: {', '.join(names)}",
            "give one name for each treatment in its order, all different, without commas, semicolons and =",
        )
    return tuple(replace(each, called=name) for each, name in zip(treatments, names, strict=True))


def _factors_of(points: Iterable[Combination]) -> dict[str, tuple[Level, ...]]:
    """The levels that linked combinations use, factor by factor, in order of first use."""
    found: dict[str, dict[str, Level]] = {}
    for point in points:
        for name, level in point.levels.items():
            found.setdefault(name, {}).setdefault(level.canonical, level)
    return {name: tuple(levels.values()) for name, levels in found.items()}


def _design(
    table: Mapping[str, Any], treatments: tuple[Combination, ...], catalogue: FactorNames, responses: Sequence[str]
) -> Design:
    _known("[design]", table, _DESIGN)
    baseline = _baseline(table.get("baseline"), treatments, catalogue)
    defaults = _word(table, "defaults", DEFAULTS, PINNED)
    pairing = _word(table, "pairing", PAIRINGS, SEQUENTIAL)
    placement = _word(table, "placement", PLACEMENTS, Design.placement)
    order = tuple(map(str, _list("[design]", table, "fixed_order")))
    settle = tuple(map(str, _list("[design]", table, "settle")))
    names = {name for treatment in treatments for name in treatment.levels}
    for name in order:
        if name not in names:
            raise _unknown_factor("design.fixed_order", name, names)
    for name in settle:
        if name not in responses:
            listed = f"list it under secondary, or name one of: {', '.join(responses)}"
            raise UsageError(
                f'"design.settle" names "{name}", which is not a response of this study',
                did_you_mean(name, responses, listed),
            )
    reboots = table.get("reboots", False)
    if not isinstance(reboots, bool):
        raise wrong_type("[design]", "reboots", "true or false", reboots)
    low, high = units.blocks(table["blocks"]) if "blocks" in table else (5, 30)
    slice_s = Design.slice_s
    if "slice" in table:
        slice_s = units.seconds("[design]", table["slice"], key="slice")
        if not SLICE_S_MIN <= slice_s <= SLICE_S_MAX:
            raise wrong_type("[design]", "slice", f"{SLICE_S_MIN:g} to {SLICE_S_MAX:g} seconds", table["slice"])
    return Design(
        baseline=baseline,
        defaults=defaults,
        pairing=pairing,
        placement=placement,
        resolution=units.share("design.resolution", table.get("resolution", "2%")),
        precision=units.share("design.precision", table["precision"]) if "precision" in table else None,
        risk_below=units.share("design.risk_below", table["risk_below"]) if "risk_below" in table else None,
        blocks_min=low,
        blocks_max=high,
        budget_s=units.seconds("[design]", table["budget"]) if "budget" in table else None,
        seed=whole_number("[design]", "seed", table["seed"], 0) if table.get("seed") is not None else None,
        fixed_order=order,
        settle=settle,
        hosts=whole_number("[design]", "hosts", table.get("hosts", Design.hosts), 1),
        reboots=reboots,
        slice_s=slice_s,
        slice_asked="slice" in table,
        lead_in_s=units.seconds("[design]", table["lead_in"], least=0.0, key="lead_in")
        if "lead_in" in table
        else Design.lead_in_s,
    )


def _word(table: Mapping[str, Any], key: str, words: Sequence[str], default: str) -> str:
    text = _text("[design]", table, key, default)
    if text not in words:
        raise wrong_type("[design]", key, " or ".join(f'"{each}"' for each in words), text)
    return text


def _baseline(value: object, treatments: tuple[Combination, ...], catalogue: FactorNames) -> Combination:
    if value is None:
        return treatments[0]
    if not isinstance(value, dict):
        raise wrong_type("[design]", "baseline", "a table of levels", value)
    wanted = {name: _level("design.baseline", name, typed, catalogue) for name, typed in value.items()}
    matching = [
        treatment
        for treatment in treatments
        if all(
            name in treatment.levels and treatment.levels[name].canonical == level.canonical
            for name, level in wanted.items()
        )
    ]
    given = Combination(wanted).name
    if not matching:
        raise UsageError(
            f'baseline "{given}" is not one of the treatments',
            f"the treatments are: {'; '.join([treatment.name for treatment in treatments])}",
        )
    exact = [treatment for treatment in matching if set(treatment.levels) == set(wanted)]
    if len(matching) > 1 and len(exact) != 1:
        raise UsageError(
            f'baseline "{given}" fits more than one treatment',
            f"name all of its levels; it fits: {'; '.join([treatment.name for treatment in matching])}",
        )
    return exact[0] if exact else matching[0]


def _claim(table: dict[str, Any]) -> Claim:
    where = "[[claims]]"
    _known(where, table, _CLAIM)
    for key in ("text", "source"):
        if key not in table:
            raise UsageError(f'missing key "{key}" in {where}')
    numbers = {key: table[key] for key in (*_BOUNDS, "data_of_memory") if table.get(key) is not None}
    for key, number in numbers.items():
        above_0 = key == "data_of_memory"
        if isinstance(number, bool) or not isinstance(number, int | float) or (above_0 and number <= 0):
            raise wrong_type(where, key, "a number above 0" if above_0 else "a number", number)
    low, high, magnitude, data_of_memory = (numbers.get(key) for key in (*_BOUNDS, "data_of_memory"))
    if magnitude is not None and ((low is not None and magnitude < low) or (high is not None and magnitude > high)):
        raise UsageError(f'magnitude {magnitude:g} of claim "{table["text"]!s}" is outside its own low and high')
    than = table.get("than", ())
    than = tuple(_levels(each, where) for each in (than if isinstance(than, list | tuple) else [than]))
    if than and not table.get("against"):
        raise UsageError(
            f'claim "{table["text"]!s}" has "than", which needs "against": a change is held against the same elsewhere'
        )
    texts = ("text", "source", "response", "published", "untestable", "otherwise", "per", "each")
    return Claim(
        **{key: str(table.get(key, "")) for key in texts},
        treatment=_levels(table.get("treatment", {}), where),
        against=_levels(table.get("against", {}), where),
        low=low,
        high=high,
        magnitude=magnitude,
        than=than,
        data_of_memory=None if data_of_memory is None else float(data_of_memory),
        window_s=parse_time_s(str(table["window"])) if "window" in table else None,
    )


def _levels(value: object, where: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong_type(where, "treatment", "a table of levels", value)
    return {name: typed(level) for name, level in value.items()}


def _in_two_tables(name: str, first: str, second: str) -> UsageError:
    return UsageError(f'"{name}" is in {first} and in {second}', "a factor is either varied or held")


def _no_levels(name: str) -> UsageError:
    return UsageError(f'factor "{name}" has an empty level or none at all', "give at least one value, or fix it")


def _duplicate_level(name: str, first: str, second: str) -> UsageError:
    same = first if first == second else f'{first}" and "{second}'
    return UsageError(f'factor "{name}" has the same level twice: "{same}"', "remove one of them")


def _unknown_factor(where: str, name: str, known: Iterable[str]) -> UsageError:
    hint = did_you_mean(
        name, known, 'settings are factors as "server.NAME"; for all others see "pgassay studies --factors"'
    )
    return UsageError(f'unknown factor "{name}" in {where}', hint)
