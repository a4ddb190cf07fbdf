"""What stands beside the verdicts, as lines of text: tables of cells that a terminal and a page share.

Each part is a title with rows of texts, the first row the head; parts without data are left out.
"""

from collections.abc import Iterator
from math import isfinite

from pgassay.analysis.curves import Curve
from pgassay.analysis.effects import Effect
from pgassay.analysis.factorial import Factorial
from pgassay.analysis.instability import Instability
from pgassay.analysis.messages import nothing_bounds
from pgassay.analysis.robust import RobustEstimate
from pgassay.report import scaling_text, stops_text, words
from pgassay.report.companions import Companions
from pgassay.report.part import Part
from pgassay.study.levels import Place
from pgassay.study.responses import Response


def parts(companions: Companions, primary: Response, baseline: str) -> Iterator[Part]:
    """Every part that the run has data for."""
    if companions.rows:
        yield _beside(companions, primary, baseline)
    if companions.factorial is not None:
        yield _factors(companions.factorial, primary)
    for curve in companions.curves:
        yield _curve(curve, primary)
    scaling = scaling_text.part(companions.scalings, companions.processors, primary)
    if scaling is not None:
        yield scaling
    yardstick = scaling_text.yardstick(companions.yardsticks, companions.processors)
    if yardstick is not None:
        yield yardstick
    elif companions.yardsticks:
        yield scaling_text.NO_YARDSTICK
    if companions.drive_itself is not None:
        yield companions.drive_itself
    if companions.stops:
        yield stops_text.part(companions.stops)
    if companions.bounds:
        yield _bounds(companions)


def place(row: Effect | Instability) -> str:
    """Treatment, condition and covariate."""
    return row.place.name


def _beside(companions: Companions, primary: Response, baseline: str) -> Part:
    head = ("treatment", "Hodges–Lehmann", "bootstrap over blocks", "chance to be the best", "spread ÷ the baseline's")
    rows = [
        (
            place(row.effect),
            _companion(row.hodges_lehmann, row.effect, primary),
            _companion(row.bootstrap, row.effect, primary),
            words.MISSING if row.best_chance is None else f"{row.best_chance:.0%}",
            _spread(row.instability),
        )
        for row in companions.rows
    ]
    notes = [
        f"chance that the baseline {baseline} is the best{f' at {where}' if where else ''}: {chances[baseline]:.0%}"
        for cell, chances in companions.chances.items()
        for where in [", ".join(each for each in (cell.condition, cell.covariate) if each)]
        if baseline in chances
    ]
    attained = {row.hodges_lehmann.level for row in companions.rows if row.hodges_lehmann is not None}
    if attained and min(attained) < 0.95:
        notes.append(f"with so few blocks Hodges–Lehmann's interval attains {min(attained):.1%} at most, not 95 %")
    return Part("Beside the verdicts", (head, *rows), tuple(notes))


def _companion(found: RobustEstimate | None, effect: Effect, primary: Response) -> str:
    if found is None:
        return words.MISSING
    return words.interval(found.estimate, found.low, found.high, effect.scale, primary)


def _spread(found: Instability | None) -> str:
    if found is None or not isfinite(found.ratio):
        return words.MISSING
    if not isfinite(found.high):
        return f"×{found.ratio:.2f}"
    return f"×{found.ratio:.2f} [×{found.low:.2f}, ×{found.high:.2f}]"


def _factors(found: Factorial, primary: Response) -> Part:
    kinds = (*(("main effect", each) for each in found.main), *(("interaction", each) for each in found.interactions))
    rows = [(place(each), kind, words.effect(each, primary), f"{each.blocks}") for kind, each in kinds]
    return Part("Which factor does it", (("level", "kind", "effect", "blocks"), *rows), found.confounded)


def _curve(curve: Curve, primary: Response) -> Part:
    rows = [
        (
            each.covariate,
            words.quantity(each.value, primary),
            *(words.quantity(end, primary) if each.bounded else words.UNKNOWN for end in (each.low, each.high)),
        )
        for each in curve.points
    ]
    name = ", ".join(each for each in (curve.treatment, curve.condition) if each)
    note = f"{curve.level:.0%} band, for all points together and at every look"
    return Part(f"Curve of {name}" if name else "Curve", (("at", primary.title, "low", "high"), *rows), (note,))


def _bounds(companions: Companions) -> Part:
    rows: list[tuple[str, ...]] = []
    unknown: dict[str, None] = {}
    for bounded in companions.bounds:
        name = Place(bounded.treatment, bounded.condition, bounded.covariate).name
        rows.append((name, bounded.bounds.text))
        unknown |= dict.fromkeys(bounded.bounds.left_out)
    sources = dict.fromkeys(
        f"{each.capacity.title}: {each.capacity.source}"
        for bounded in companions.bounds
        for each in bounded.bounds.bounds
    )
    notes = [*sources, *(f"not available: {reason}" for reason in unknown)]
    if not sources:
        rows = [("every treatment", nothing_bounds())]
    return Part("What bounds it", (("treatment", "tightest bound"), *rows), tuple(notes))
