"""Space at the end of the windows, what would be left of it compressed, and what it costs in speed.

The lab records each relation's bytes as a counter, `relation.table.NAME_bytes` or `relation.index.NAME_bytes`, since no
study can know their names beforehand. What a codec would leave of tables, indexes and WAL is read from a sample of each
trial's own files (`load.compressibility`), so it holds on any drive: on one that does not compress it is what one that
does would have made of the same bytes.

Space against speed: a row for each treatment, which of them nothing else beats on both, and how long flash lasts.
Speeds of emulated drives without service times that they kept to are not comparable (`analysis.compare`): a treatment
is then set only against those on its own drives. Means over the blocks, the same as wherever a page shows them;
docs/report.md says how each is computed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from pgassay.analysis.compare import refusal_of_speed
from pgassay.analysis.verdicts import Kind, verdict
from pgassay.record.values import TrialRecord
from pgassay.report import formatting
from pgassay.report.answer import listed
from pgassay.report.costs import typical
from pgassay.report.section import Brief, Part, Section, Table, Values
from pgassay.report.trials import by_treatment, middle, valid_by_place
from pgassay.study.drives import timed
from pgassay.study.levels import Cell, Level, Place

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_PREFIX, _SUFFIX = "relation.", "_bytes"
_WHOLES = (("database_bytes", "database"), ("table_bytes", "all tables"), ("index_bytes", "all indexes"),
           ("wal_directory_bytes", "pg_wal"))  # fmt: skip
ROWS_MAX = 12
"""Of single tables and indexes; the largest ones."""


def _describe(findings: "Findings") -> Iterator[Part]:
    """A table for each condition and covariate point; nothing where no trial recorded any size."""
    database = findings.responses.get(_WHOLES[0][0])
    if sizes := [row.median for row in findings.summaries(database) if row.n] if database else []:
        least, most = formatting.size(min(sizes)), formatting.size(max(sizes))
        yield Brief(f"database {least}" if least == most else f"database {least} to {most}, by table and index")
    treatments, baseline = [each.name for each in findings.study.treatments], findings.baseline
    for place, trials in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(trials)
        relations: dict[str, dict[str, float]] = {}
        counters = dict.fromkeys(chain.from_iterable(trial.counters for trial in trials))
        for name in (each for each in counters if each.startswith(_PREFIX)):
            kind, _, relation = name.removeprefix(_PREFIX).removesuffix(_SUFFIX).partition(".")
            found = {each: [trial.counters.get(name) for trial in of.get(each, ())] for each in treatments}
            relations[f"{kind} {relation}"] = _medians(found)
        if not relations:
            continue
        rows = []
        for name, title in _WHOLES:
            if name in findings.responses:
                found = {each: [trial.responses.get(name) for trial in of.get(each, ())] for each in treatments}
                if medians := _medians(found):
                    rows.append(_row(title, medians, treatments, baseline))
        largest = sorted(relations, key=lambda each: -max(relations[each].values(), default=0.0))
        rows += [_row(name, relations[name], treatments, baseline) for name in largest[:ROWS_MAX]]
        notes = ["tables include TOAST and maps; in brackets the ratio to the baseline; pg_wal includes recycled files"]
        if len(largest) > ROWS_MAX:
            notes.append(f"{len(largest) - ROWS_MAX} smaller relations are only in the trials' counters")
        yield Table(("", *(each or "median" for each in treatments)), rows, formatting.place(*place), notes)


def _medians(values: Mapping[str, list[float | None]]) -> dict[str, float]:
    medians = {treatment: middle(found) for treatment, found in values.items()}
    return {treatment: value for treatment, value in medians.items() if value is not None}


def _row(title: str, sizes: Mapping[str, float], treatments: Sequence[str], baseline: str) -> tuple[str, ...]:
    whole = sizes.get(baseline)
    cells = []
    for treatment in treatments:
        size = sizes.get(treatment)
        if size is None:
            cells.append(formatting.MISSING)
            continue
        quotient = f" ({size / whole:.3g})" if whole and treatment != baseline else ""
        cells.append(f"{formatting.size(size)}{quotient}")
    return (title, *cells)


SECTION = Section("space", "Space at the end of the window", _describe, secondary=True)

_KINDS = (("heap", "tables"), ("index", "indexes"), ("wal", "WAL since the last checkpoint"))


def _compression(findings: "Findings") -> Iterator[Part]:
    """A table for each place, bytes and ratios of each treatment; nothing where no trial was asked."""
    yield Brief("logical and compressed bytes of each kind of file, by treatment")
    treatments = [each.name for each in findings.study.treatments]
    plain: list[dict[str, Any]] = []
    for (condition, covariate), trials in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(trials)
        found: dict[tuple[str, str], tuple[float | None, float | None, float | None]] = {}
        for treatment in treatments:
            kinds = {}
            for kind, _ in _KINDS:
                names = (f"stored.{kind}_logical_bytes", f"stored.{kind}_compressed_bytes")
                logical, stored = (
                    middle(trial.counters.get(name) for trial in of.get(treatment, ())) for name in names
                )
                ratio = logical / stored if logical and stored else None
                found[treatment, kind] = logical, stored, ratio
                kinds[kind] = {"logical_bytes": logical, "compressed_bytes": stored, "ratio": ratio}
            if any(each["logical_bytes"] or each["compressed_bytes"] for each in kinds.values()):
                place = {"treatment": treatment, "condition": condition, "covariate": covariate}
                plain.append({**place, "kinds": kinds})
        if any(ratio for _, _, ratio in found.values()):
            rows = [(title, *(_quotient(*found[each, kind]) for each in treatments)) for kind, title in _KINDS]
            notes = ("file size ÷ compressed size = ratio; 4 KiB blocks, estimated from a sample of the files",)
            yield Table(
                ("", *(each or "median" for each in treatments)), rows, formatting.place(condition, covariate), notes
            )
    yield Values({"stored_kinds": plain})


def _quotient(logical: float | None, stored: float | None, ratio: float | None) -> str:
    return (
        formatting.MISSING if ratio is None else f"{formatting.size(logical)} ÷ {formatting.size(stored)} = {ratio:.2f}"
    )


COMPRESSION = Section("compression", "Compressibility of tables, indexes and WAL", _compression, secondary=True)


CYCLES = 3000
"""Program/erase cycles that flash of three bits a cell is commonly rated for: an assumption, said with every life."""
_TB = 1e12
_YEAR_S = 365.25 * 86400
SPACE: Mapping[str, str] = {"physical_bytes": "live bytes on flash", "database_bytes": "database"}
"""Response to its words, the first that was measured counts."""
_SPEED = ("qps", "tps")
_SHOWN = ("tps", "hot_share", "wal_bytes_per_transaction", "write_amplification", "nand_bytes_per_transaction")
_NEEDED = ("table.", "drive.")
_ON_FRONT = {True: "yes", False: "no", None: "open"}
_HEAD = ("treatment", "space", "÷ baseline", "speed", "÷ first on its drive", "HOT share", "WAL per transaction")


@dataclass(frozen=True)
class Point:
    """One treatment: its means over the blocks, None where not measured."""

    name: str
    levels: Mapping[str, Level]
    space_bytes: float | None
    speed: float | None
    means: Mapping[str, float | None]
    service_error: float | None = None

    @property
    def life_years(self) -> float | None:
        """Years until a TB of flash is worn out at `CYCLES`, at the measured load."""
        nand, tps = self.means.get("nand_bytes_per_transaction"), self.means.get("tps")
        return CYCLES * _TB / (nand * tps) / _YEAR_S if nand and tps else None


@dataclass(frozen=True)
class Tradeoff:
    """Every treatment at one condition and covariate point; `space` and `speed` are responses' names."""

    condition: str
    covariate: str
    space: str
    speed: str
    points: tuple[Point, ...]
    on_front: Mapping[str, bool | None] = field(default_factory=dict)
    """As `front` says of each treatment."""

    @property
    def place(self) -> str:
        """Condition and covariate point as one label."""
        return formatting.place(self.condition, self.covariate)


def tradeoffs(findings: "Findings") -> tuple[Tradeoff, ...]:
    """One for each condition and covariate point, where table options or drives vary and both sides are known."""
    varied = {name for treatment in findings.study.treatments for name in treatment.levels}
    if not any(name.startswith(_NEEDED) for name in varied):
        return ()
    fixed = {arm.treatment.name: findings.study.levels_of(arm) for arm in findings.study.arms}
    found = []
    for place, mine in valid_by_place(findings.trials, findings.study.arms).items():
        have = {name for trial in mine for name, value in trial.responses.items() if value} & findings.responses.keys()
        space = next((each for each in SPACE if each in have), None)
        speed = next((each for each in _SPEED if each in have), None)
        if space is None or speed is None:
            continue
        of = by_treatment(mine)
        values = {name: _typical(findings, place, name, of) for name in (*_SHOWN, space, speed)}
        points = []
        for treatment in findings.study.treatments:
            means = {name: each.get(treatment.name) for name, each in values.items()}
            error = findings.service_errors.get(Place(treatment.name, *place))
            levels = fixed.get(treatment.name, treatment.levels)
            points.append(Point(treatment.name, levels, means[space], means[speed], means, error))
        one = Tradeoff(*place, space, speed, tuple(points))
        found.append(replace(one, on_front=_standings(findings, one)))
    return tuple(found)


def _typical(
    findings: "Findings", place: Cell, name: str, trials: Mapping[str, Sequence[TrialRecord]]
) -> Mapping[str, float | None]:
    """Of each treatment as everywhere on a page; of what the record does not declare the median.

    A speed of 0 has no ratio: left out here as in the verdicts and the published table, where it is named.
    """
    least = 0.0 if name in _SPEED else -inf
    if name in findings.responses:
        known = typical(findings, findings.responses[name], place)
        return {each: value for each, value in known.items() if value > least}
    values = {each: [trial.responses.get(name) for trial in mine] for each, mine in trials.items()}
    return {each: middle(one for one in mine if one is None or one > least) for each, mine in values.items()}


def front(every: Sequence[Point], compared: Callable[[Point, Point], Kind]) -> dict[str, bool | None]:
    """Whether each treatment is on the Pareto front; None while a comparison of speeds that decides it is unresolved.

    `compared` is the verdict on the first one's speed against the second's. On the front is what is faster than all
    that take no more space; what takes more and is as fast as another is not. Unknown space or speed is not on it.
    """
    found: dict[str, bool | None] = {}
    for point in every:
        found[point.name] = _known(point)
        for other in every if _known(point) else ():
            if other.name == point.name or not _known(other) or apart(other, point) or _size(other) > _size(point):
                continue
            kind = compared(point, other)
            if kind is Kind.WORSE or (kind is Kind.EQUIVALENT and _size(other) < _size(point)):
                found[point.name] = False
                break
            if kind not in (Kind.BETTER, Kind.EQUIVALENT):
                found[point.name] = None
    return found


def _known(point: Point) -> bool:
    return point.space_bytes is not None and point.speed is not None


def _size(point: Point) -> float:
    return point.space_bytes or 0.0


def _standings(findings: "Findings", found: Tradeoff) -> dict[str, bool | None]:
    """`front` of a place by the verdicts on speed; one that has the baseline in it is the verdict of the study."""
    response, design = findings.responses[found.speed], findings.study.design

    def judged(treatment: str, against: str) -> Kind:
        baseline = None if against == findings.baseline else against
        effects = findings.effects(response, baseline, {treatment})
        where = Place(treatment, found.condition, found.covariate)
        effect = next((each for each in effects if each.place == where), None)
        if effect is None:
            return Kind.UNRESOLVED
        return verdict(effect, response, resolution=design.resolution, blocks_max=design.blocks_max).kind

    def compared(point: Point, other: Point) -> Kind:
        if point.name != findings.baseline:
            return judged(point.name, other.name)
        kind = judged(other.name, point.name)
        return {Kind.BETTER: Kind.WORSE, Kind.WORSE: Kind.BETTER}.get(kind, kind)

    return front(found.points, compared)


def apart(one: Point, other: Point) -> bool:
    """May the speeds of these two not be compared?"""
    return bool(refusal_of_speed(one.levels, other.levels, (one.service_error, other.service_error)))


def _tradeoff(findings: "Findings") -> Iterator[Part]:
    found = findings.once(tradeoffs)
    yield Values({"tradeoff": [_tradeoff_values(each) for each in found]})
    if not found:
        return
    kinds = (("on the Pareto front", True), ("open", None), ("not on it", False))  # of the first place
    named = ((said, [name for name, on in found[0].on_front.items() if on is kind]) for said, kind in kinds)
    parts = [f"{said}: {listed(names)}" for said, names in named if names]
    others = f"; {formatting.counted(len(found) - 1, 'other place')}" if len(found) > 1 else ""
    yield Brief(f"by space and speed alone {'; '.join(parts)}{others}" if parts else "")
    for each in found:
        yield _tradeoff_table(findings, each)


def _tradeoff_table(findings: "Findings", found: Tradeoff) -> Table:
    every, space, speed = found.points, SPACE[found.space], found.speed
    flash = any(each.means["nand_bytes_per_transaction"] for each in every)
    head = (*_HEAD, *(("WA", "life of a TB") if flash else ()), "on the Pareto front")
    rows = []
    for each in every:
        first = next(other for other in every if not apart(other, each))
        years = each.life_years
        life = formatting.MISSING if years is None else f"{years:.2g} years" if years < 99.5 else f"{years:,.0f} years"
        rows.append(
            (
                each.name,
                formatting.size(each.space_bytes),
                _times(findings, found, found.space, each.name, findings.baseline),
                formatting.number(each.speed),
                _times(findings, found, found.speed, each.name, first.name),
                formatting.share(each.means["hot_share"]),
                formatting.size(each.means["wal_bytes_per_transaction"]),
                *((formatting.number(each.means["write_amplification"]), life) if flash else ()),
                _ON_FRONT[found.on_front[each.name]],
            )
        )
    notes = [
        f"space: {space} at the end of the window; speed: {speed}; both are means over the blocks, and what is"
        " divided (÷) is taken within blocks, as in the verdicts, which have the intervals"
    ]
    if any(apart(one, other) for one in every for other in every):
        notes.append(
            "speeds and the front hold within a drive: emulated drives compare in speed only with service times "
            "that they kept"
        )
    if any(timed(each.levels) for each in every):
        notes.append("speeds are made by emulated service times")
    if flash:
        notes.append(f"life of a TB of flash at this load, assuming {CYCLES} program/erase cycles, which is no rating")
    if None in found.on_front.values():
        notes.append("open: whether it is faster than one that takes less space is unresolved")
    return Table(head, rows, found.place, notes)


def _times(findings: "Findings", found: Tradeoff, response: str, treatment: str, against: str) -> str:
    """How many times as much as another treatment has: the estimate that a verdict on the two would have."""
    if treatment == against:
        return "×1.00"
    baseline = None if against == findings.baseline else against
    where = Place(treatment, found.condition, found.covariate)
    effects = findings.effects(findings.responses[response], baseline, {treatment})
    effect = next((each for each in effects if each.place == where and not each.refused), None)
    return formatting.MISSING if effect is None or not isfinite(effect.estimate) else f"×{effect.estimate:.2f}"


def _tradeoff_values(found: Tradeoff) -> dict[str, object]:
    return {
        "condition": found.condition,
        "covariate": found.covariate,
        "space": found.space,
        "speed": found.speed,
        "cycles": CYCLES,
        "points": [
            {
                "treatment": point.name,
                "space": point.space_bytes,
                "speed": point.speed,
                "on_the_front": found.on_front[point.name],
                "life_years": point.life_years,
                **{name: point.means.get(name) for name in _SHOWN},
            }
            for point in found.points
        ],
    }


TRADEOFF = Section("tradeoff", "Space against speed", _tradeoff, secondary=True)
