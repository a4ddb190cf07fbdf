"""The colours of figures: told apart by colour-blind readers and seen on their background, in light and in the dark."""

import json
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest

from pgassay.report.findings import Findings
from pgassay.report.vega import DARK, INK, PALETTE, SOFT, dark_style
from pgassay.testing.planted import make_run
from tests.report.blocks import figures
from tests.report.driven import make_driven
from tests.report.scaled import make_scaled

DARK_PAPER, LIGHT_PAPER = "#14181d", "#ffffff"
# Brettel's simplification by Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
BLIND = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
ONE_EYE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
APART = 11.0
"""In CIE L*a*b*; a difference of 2.3 is just seen side by side."""


def linear(colour: str) -> list[float]:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]


def seen(colour: str, eye: Sequence[Sequence[float]] = ONE_EYE) -> tuple[float, float, float]:
    """L*, a*, b*, D65."""
    red, green, blue = (
        min(1.0, max(0.0, sum(weight * value for weight, value in zip(row, linear(colour), strict=True))))
        for row in eye
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    roots = [value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z)]
    return 116 * roots[1] - 16, 500 * (roots[0] - roots[1]), 200 * (roots[1] - roots[2])


def contrast(one: str, other: str) -> float:
    """By WCAG 2.2."""
    lights = [0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(linear, (one, other))]
    return (max(lights) + 0.05) / (min(lights) + 0.05)


@pytest.mark.parametrize("palette", [PALETTE, tuple(DARK[each] for each in PALETTE)], ids=["light", "dark"])
@pytest.mark.parametrize("eye", [ONE_EYE, *BLIND.values()], ids=["all", *BLIND])
def test_two_treatments_never_look_alike(palette: Sequence[str], eye: Sequence[Sequence[float]]) -> None:
    for one, other in combinations(palette, 2):
        distance = sum((a - b) ** 2 for a, b in zip(seen(one, eye), seen(other, eye), strict=True)) ** 0.5
        assert distance > APART, (one, other)


def test_text_and_marks_are_seen_on_their_background() -> None:
    for text in (INK, SOFT):
        assert contrast(text, LIGHT_PAPER) >= 4.5
        assert contrast(DARK[text], DARK_PAPER) >= 4.5
    for mark in PALETTE[:4]:
        assert contrast(mark, LIGHT_PAPER) >= 2.9
    for mark in PALETTE:
        assert contrast(DARK[mark], DARK_PAPER) >= 4.5


@pytest.mark.parametrize("made", [make_run, make_driven, make_scaled])
def test_every_colour_of_every_figure_is_known_in_the_dark(made, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for figure in figures(Findings(made(tmp_path / "run"))):
        text = json.dumps({name: part for name, part in figure.specification.items() if name != "data"})
        used = {each.lower() for each in re.findall(r"#[0-9A-Fa-f]{3,8}\b", text)}
        assert used <= {each.lower() for each in DARK}, figure.name
        assert not re.search(r'"(?:color|fill|stroke)": "(?!#|transparent)[a-z]', text), "a colour by its name"


def test_the_style_has_a_rule_for_each_colour_and_spares_print() -> None:
    style = dark_style()
    assert style.startswith("@media screen and (prefers-color-scheme: dark) {")
    for light, dark in DARK.items():
        assert f'[stroke="{light}" i] {{ stroke: {dark}; }}' in style
        assert f'[fill="{light}" i] {{ fill: {dark}; }}' in style
