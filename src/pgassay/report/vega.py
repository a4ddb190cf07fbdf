"""Vega, Vega-Lite and vega-embed as one script for the page: seconds of CPU to put together, so kept between reports.

In `$XDG_CACHE_HOME/pgassay`, by the version of vl-convert that made it, and with its checksum: what does not fit, or
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
