"""The colours of figures: one palette that colour-blind readers tell apart, and what each becomes on a dark page.

Specifications and files are in the light colours. A dark page recolours the drawn SVG by CSS alone (`dark_style`), so
that a change of theme shows at once, and what is printed stays light. The palette is Okabe and Ito's (2008).
"""

from collections.abc import Mapping

PAPER, INK, SOFT, GRID = "#ffffff", "#1b1f24", "#57606a", "#e4e8ec"
"""Of the page, of text and the line of no difference, of what is said in passing, and of the grid."""
GREY = "#8c959f"
"""Of what is drawn but does not count, as the warm-up."""
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
DARK: Mapping[str, str] = {
    PAPER: "transparent",
    INK: "#e6edf3",
    SOFT: "#9da7b1",
    GRID: "#2d333b",
    GREY: "#7d8590",
    **dict(
        zip(
            PALETTE,
            ("#3d9be0", "#ff7b39", "#2ec89a", "#eba6cd", "#f2b93b", "#a5dcff", "#f5f5f5", "#b89a5e"),
            strict=True,
        )
    ),
}
"""Each colour of a figure to its colour on a dark page."""


def dark_style() -> str:
    """CSS that recolours the figures of a page that is read in the dark."""
    rules = [
        f'.chart svg [{attribute}="{light}" i] {{ {attribute}: {dark}; }}'
        for light, dark in DARK.items()
        for attribute in ("fill", "stroke")
    ]
    rules.append(".chart svg { background: transparent !important; }")
    rules.append(
        "#vg-tooltip-element.vg-tooltip { background: #1c2128; color: #e6edf3; border-color: #444c56; }"
        " #vg-tooltip-element.vg-tooltip td.key { color: #9da7b1; }"
    )
    return "\n".join(["@media screen and (prefers-color-scheme: dark) {", *rules, "}"])
