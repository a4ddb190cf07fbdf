"""What legends and titles say and where: nothing is cut, and nothing said twice.

Names of combinations are long and begin alike ("host.huge_pages=2MB, server.shared_buffers=256MB"). A legend stands
below its figure, in as many columns as fit; its title names the factors that all entries share, an entry its levels.
"""

import json
import textwrap
from collections.abc import Mapping, Sequence

import altair as alt

WIDTH = 640
"""Of a figure's plot, in pixels."""
LETTER = 6.8
"""Pixels of a letter in a label, on the wide side; bold ones of titles take a tenth more."""
_SYMBOL = 40
Title = str | list[str]


def told_once(names: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """What all of these combinations share, and what is left of each; nothing and themselves where they share nothing.

    `a=1, b=2` and `a=1, b=3` share `b; all with a=1`, and 2 and 3 are left.
    """
    split = [[part.partition("=") for part in name.split(", ")] for name in names]
    factors = {tuple(factor for factor, _, _ in parts) for parts in split}
    if len(names) < 2 or len(factors) > 1 or not all(equals for parts in split for _, equals, _ in parts):
        return "", {name: name for name in names}
    levels = [[level for _, _, level in parts] for parts in split]
    (shared,) = factors
    varied = [place for place in range(len(shared)) if len({each[place] for each in levels}) > 1]
    same = [f"{shared[place]}={levels[0][place]}" for place in range(len(shared)) if place not in varied]
    title = ", ".join(shared[place] for place in varied) + (f"; all with {', '.join(same)}" if same else "")
    return title, {name: ", ".join(each[place] for place in varied) for name, each in zip(names, levels, strict=True)}


def legend_of(names: Sequence[str], what: str = "") -> alt.Legend | None:
    """Below the figure; None for a single name. Its title is `what` it is about, and the factors that names share."""
    if len(names) < 2:
        return None
    shared, labels = told_once(names)
    longest = max(map(len, labels.values()))
    columns = max(1, min(len(names), int(WIDTH // (longest * LETTER + _SYMBOL))))
    title = ": ".join(each for each in (what, shared) if each)
    return alt.Legend(
        orient="bottom",
        title=wrapped(title, WIDTH) if title else None,
        columns=columns,
        labelExpr=f"{json.dumps(labels)}[datum.label]",
        symbolOpacity=1.0,
    )


def wrapped(text: str, length: float) -> Title:
    """A title in lines of at most so many pixels."""
    lines = textwrap.wrap(text, max(1, int(length / (1.1 * LETTER))))
    return lines if len(lines) > 1 else text


def wrapping(names: Sequence[str]) -> str | None:
    """An expression that lays names of panels in lines as wide as the figure; None where all fit."""
    longest = int(WIDTH / LETTER)
    if all(len(name) <= longest for name in names):
        return None
    lines = {name: textwrap.wrap(name, longest) for name in names}
    return f"{json.dumps(lines)}[datum.label]"


def lines_of(names: Sequence[str]) -> int:
    """How many lines the longest name takes where every level has one of its own."""
    return max((name.count(", ") + 1 for name in names), default=1)
