"""The look and the drawing program of figures: colours that everybody can distinguish, and Vega as one script.

Specifications and files are in the light colours. A dark page recolours the drawn SVG by CSS alone (`dark_style`), so
that a change of theme shows at once, and what is printed stays light. The palette is Okabe and Ito's (2008).

Vega, Vega-Lite and vega-embed take seconds of CPU to put together, so their script is kept between reports: in
`$XDG_CACHE_HOME/pgassay`, by the version of vl-convert that made it, and with its checksum. What does not fit, or
cannot be kept, is made again.
"""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pgassay import scratch
from pgassay.outgoing import visible

_EXPRESSIONS = frozenset({"calculate", "expr", "filter", "labelExpr", "test"})
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@lru_cache(maxsize=1)
def script() -> str:
    """Sets `window.vegaEmbed`; for a classic or a module script."""
    return kept(directory(os.environ))


def kept(folder: Path) -> str:
    """The script from `folder`; made and put there if it is not."""
    path = folder / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeDecodeError):
        digest, _, text = path.read_bytes().decode().partition("\n")
        if digest == _digest(text):
            return text
    import vl_convert  # large: only where it is asked

    text = vl_convert.javascript_bundle(_SNIPPET)
    with suppress(OSError):
        _keep(path, text)
    return text


def directory(environment: Mapping[str, str]) -> Path:
    """The folder of pgassay in the user's cache, by the XDG Base Directory Specification."""
    named = environment.get("XDG_CACHE_HOME", "")
    return (Path(named) if named.startswith("/") else Path.home() / ".cache") / "pgassay"


def drawable(part: Any, name: str = "") -> Any:
    """A specification, or a part of it called `name`, with every text as a figure can show it.

    Vega-Lite writes titles into its own expressions with quotes escaped, but neither backslashes nor line ends: those
    would end the figure, or become the character that they stand for. Our expressions escape what they hold.
    """
    if isinstance(part, str):
        shown = part if name in _EXPRESSIONS else visible(part, keep="" if name == "title" else "\n")
        return shown if name in _EXPRESSIONS else shown.replace("\\", "\N{SET MINUS}")
    if isinstance(part, Mapping):
        return {drawable(key): drawable(each, key) for key, each in part.items()}
    return [drawable(each, name) for each in part] if isinstance(part, list | tuple) else part


def _keep(path: Path, text: str) -> None:
    """By one rename: another report may read it meanwhile."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with scratch.place("script of figures", path.with_name(f".vega-{os.getpid()}")) as fresh:
        fresh.touch(mode=0o600)
        fresh.write_text(f"{_digest(text)}\n{text}", encoding="utf-8")
        fresh.replace(path)


def _digest(text: str) -> str:
    return f"// {hashlib.sha256(text.encode()).hexdigest()}"


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
