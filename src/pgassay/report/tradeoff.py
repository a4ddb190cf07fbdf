"""Space against speed: a row for each treatment, which of them nothing else beats on both, and how long flash lasts.

Speeds of emulated drives without service times that they kept to are not comparable (`analysis.comparable`): a
treatment is then set only against those on its own drives. Medians over the valid trials; docs/numbers.md tells how
each is computed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgassay.analysis.comparable import refusal_of_speed
from pgassay.record.values import TrialRecord
from pgassay.report import words
from pgassay.report.findings import Findings
from pgassay.report.part import Part
from pgassay.report.trials import by_treatment, middle, valid_by_place
from pgassay.study.drives import timed
from pgassay.study.levels import Cell, Level, Place

CYCLES = 3000
"""Program/erase cycles that flash of three bits a cell is commonly rated for: an assumption, said beside every life."""
_TB = 1e12
_YEAR_S = 365.25 * 86400
SPACE: Mapping[str, str] = {"physical_bytes": "live bytes on flash", "database_bytes": "database"}
"""Response to its words, the first that was measured counts."""
_SPEED = ("qps", "tps")
_TOLD = ("tps", "hot_share", "wal_bytes_per_transaction", "write_amplification", "nand_bytes_per_transaction")
_NEEDED = ("table.", "drive.")
_HEAD = ("treatment", "space", "to the baseline", "speed", "to its drive's first", "HOT share", "WAL a transaction")


@dataclass(frozen=True)
class Point:
    """One treatment: medians of its trials, None where nothing told them."""

    name: str
    levels: Mapping[str, Level]
    space_bytes: float | None
    speed: float | None
    told: Mapping[str, float | None]
    service_error: float | None = None

    @property
    def life_years(self) -> float | None:
        """Years until a TB of flash is worn out at `CYCLES`, at the measured load."""
        nand, tps = self.told.get("nand_bytes_per_transaction"), self.told.get("tps")
        return CYCLES * _TB / (nand * tps) / _YEAR_S if nand and tps else None


@dataclass(frozen=True)
class Tradeoff:
    """Every treatment at one condition and covariate point; `space` and `speed` are responses' names."""

    condition: str
    covariate: str
    space: str
    speed: str
    points: tuple[Point, ...]

    @property
    def place(self) -> str:
        """Condition and covariate."""
        return words.place(self.condition, self.covariate)


def tradeoffs(findings: Findings) -> Iterator[Tradeoff]:
    """One for each condition and covariate point, where table options or drives vary and both sides are known."""
    varied = {name for treatment in findings.study.treatments for name in treatment.levels}
    if not any(name.startswith(_NEEDED) for name in varied):
        return
    for place, mine in valid_by_place(findings.trials, findings.study.arms).items():
        space = next((each for each in SPACE if any(trial.responses.get(each) for trial in mine)), None)
        speed = next((each for each in _SPEED if any(trial.responses.get(each) for trial in mine)), None)
        if space is not None and speed is not None:
            yield Tradeoff(*place, space, speed, points(findings, place, mine, space, speed))


def parts(findings: Findings) -> Iterator[Part]:
    """A table for each tradeoff."""
    for each in tradeoffs(findings):
        yield _part(each.points, findings.baseline, SPACE[each.space], each.speed, each.place)


def as_plain(findings: Findings) -> list[dict[str, Any]]:
    """For `--json`: every treatment's medians, whether it is on the front, and the life of a TB of flash in years."""
    return [
        {
            "condition": each.condition,
            "covariate": each.covariate,
            "space": each.space,
            "speed": each.speed,
            "cycles": CYCLES,
            "points": [
                {
                    "treatment": point.name,
                    "space": point.space_bytes,
                    "speed": point.speed,
                    "on_the_front": point.name in best,
                    "life_years": point.life_years,
                    **{name: point.told.get(name) for name in _TOLD},
                }
                for point in each.points
            ],
        }
        for each in tradeoffs(findings)
        for best in [front(each.points)]
    ]


def points(findings: Findings, place: Cell, trials: Sequence[TrialRecord], space: str, speed: str) -> tuple[Point, ...]:
    """Every treatment's medians over the trials of a place, in the study's order."""
    levels = {arm.treatment.name: findings.study.levels_of(arm) for arm in findings.study.arms}
    of = by_treatment(trials)
    found = []
    for treatment in findings.study.treatments:
        mine = of.get(treatment.name, ())
        told = {name: middle(_value(trial, name) for trial in mine) for name in (*_TOLD, space, speed)}
        mine_levels = levels.get(treatment.name, treatment.levels)
        error = findings.service_errors.get(Place(treatment.name, *place))
        found.append(Point(treatment.name, mine_levels, told[space], told[speed], told, error))
    return tuple(found)


def _value(trial: TrialRecord, name: str) -> float | None:
    """A speed of 0 has no ratio: left out here as in the verdicts and the published table, where it is named."""
    value = trial.responses.get(name)
    return None if name in _SPEED and value is not None and value <= 0.0 else value


def front(every: Sequence[Point]) -> frozenset[str]:
    """The treatments that no comparable one beats: with no more space and no less speed, and better in one of them."""
    return frozenset(each.name for each in every if _known(each) and not any(_beats(other, each) for other in every))


def _known(point: Point) -> bool:
    return point.space_bytes is not None and point.speed is not None


def _beats(other: Point, point: Point) -> bool:
    if other.space_bytes is None or other.speed is None or point.space_bytes is None or point.speed is None:
        return False
    if other.name == point.name or _apart(other, point):
        return False
    no_worse = other.space_bytes <= point.space_bytes and other.speed >= point.speed
    return no_worse and (other.space_bytes < point.space_bytes or other.speed > point.speed)


def _apart(one: Point, other: Point) -> bool:
    """May the speeds of these two not be compared?"""
    return bool(refusal_of_speed(one.levels, other.levels, (one.service_error, other.service_error)))


def _part(every: Sequence[Point], baseline: str, space: str, speed: str, where: str) -> Part:
    whole = next((each.space_bytes for each in every if each.name == baseline), None)
    best = front(every)
    flash = any(each.told["nand_bytes_per_transaction"] for each in every)
    head = (*_HEAD, *(("WA", "life of a TB") if flash else ()), "on the front")
    rows = []
    for each in every:
        first = next(other for other in every if not _apart(other, each))
        life = (_number(each.told["write_amplification"]), _years(each.life_years)) if flash else ()
        rows.append(
            (
                each.name,
                words.MISSING if each.space_bytes is None else words.size(each.space_bytes),
                _times(each.space_bytes, whole),
                _number(each.speed),
                _times(each.speed, first.speed),
                _share(each.told["hot_share"]),
                _bytes(each.told["wal_bytes_per_transaction"]),
                *life,
                "yes" if each.name in best else "no",
            )
        )
    notes = [f"space: {space} at the end of the window; speed: {speed}; medians, without intervals: see the verdicts"]
    if any(_apart(one, other) for one in every for other in every):
        notes.append(
            "speeds and the front are within a drive: emulated drives compare in speed only with service times that "
            "they kept to"
        )
    if any(timed(each.levels) for each in every):
        notes.append("speeds are made by emulated service times")
    if flash:
        notes.append(f"life of a TB of flash at this load, if it bears {CYCLES} cycles: an assumption, and no rating")
    return Part(f"Space against speed{f': {where}' if where else ''}", (head, *rows), tuple(notes))


def _number(value: float | None) -> str:
    return words.MISSING if value is None else words.number(value)


def _share(value: float | None) -> str:
    return words.MISSING if value is None else f"{value:.1%}"


def _bytes(value: float | None) -> str:
    return words.MISSING if value is None else words.size(value)


def _times(value: float | None, against: float | None) -> str:
    return words.MISSING if value is None or not against else f"×{value / against:.2f}"


def _years(value: float | None) -> str:
    return words.MISSING if value is None else f"{value:.2g} years" if value < 99.5 else f"{value:,.0f} years"
