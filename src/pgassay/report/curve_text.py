"""What a study of covariates alone has for a verdict: how well its points are known, where each curve bends and peaks.

Growth beyond a straight line is told apart, since no law that is fitted here knows it and all of them then fit badly.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pgassay.analysis.curves import Curve, Point
from pgassay.report import stops_text, words
from pgassay.report.covariates import number_of
from pgassay.report.scaling_text import sentences
from pgassay.study.responses import Response

if TYPE_CHECKING:
    from pgassay.report.companions import Companions


def curve_sentences(companions: "Companions", response: Response, resolution: float) -> Iterator[str]:
    """Every curve in words; `resolution` is what was asked of each point, as a share. First what a disk study found."""
    if companions.drive_itself is not None:
        yield from (": ".join(row) for row in companions.drive_itself.rows[1:])
    told = {words.place(curve.treatment, curve.condition): known(curve, resolution) for curve in companions.curves}
    if len(told) > 1 and len(set(told.values())) == 1:
        told = {f"each of {len(told)} curves": next(iter(told.values()))}
    yield from (f"{name or response.title}: {text}" for name, text in told.items())
    for each in companions.scalings:
        yield from sentences(each, companions.processors, response)
        same = (each.treatment, each.condition)
        mine = next((one for one in companions.curves if (one.treatment, one.condition) == same), None)
        more = beyond_linear(mine) if mine is not None else ""
        if more:
            yield f"{words.place(*same) or response.title}: {more}"
    yield from stops_text.sentences(companions.stops)


def known(curve: Curve, resolution: float) -> str:
    """How many points are known as well as was asked, and how well the others are."""
    reaches = [point.high / point.value - 1.0 for point in curve.points if point.bounded and point.value > 0.0]
    if not reaches:
        return "no point has an interval yet"
    asked = f"±{resolution * 100:.3g} %"
    good = sum(reach <= resolution for reach in reaches)
    if good == len(curve.points):
        return f"every point is known to {asked}"
    some = f"{good} of {len(curve.points)} points" if good else "no point"
    verb = "are" if good > 1 else "is"
    return f"{some} {verb} known to {asked}, the least known one to +{max(reaches):.0%}"


def beyond_linear(curve: Curve) -> str:
    """Of a curve over clients whose points surely do more for each client than the first one; empty for others."""
    placed = [(number, point) for point in curve.points if (number := number_of(point.covariate)) is not None]
    if len(placed) < 2 or not all(point.bounded and number > 0.0 for number, point in placed):
        return ""
    (fewest, first), *others = sorted(placed, key=lambda each: each[0])
    clients, most = max(others, key=lambda each: each[1].value / each[0])
    if not _surely_more(most, clients, first, fewest):
        return ""
    times = most.value / clients / (first.value / fewest)
    alone = "one alone" if fewest == 1 else f"each of {fewest:g}"
    return (
        f"each of {clients:g} clients does {times:.1f} times what {alone} does, which no law fitted here knows; a "
        "processor that has to wake up for each request (power saving, a hypervisor) can be the reason"
    )


def _surely_more(most: Point, clients: float, first: Point, fewest: float) -> bool:
    return most.low / clients > first.high / fewest
