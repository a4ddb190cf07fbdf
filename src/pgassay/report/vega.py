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

from pgassay import scratch

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


def _keep(path: Path, text: str) -> None:
    """By one rename: another report may read it meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch.place("script of figures", path.with_name(f".vega-{os.getpid()}")) as fresh:
        fresh.write_text(f"{_digest(text)}\n{text}", encoding="utf-8")
        fresh.replace(path)


def _digest(text: str) -> str:
    return f"// {hashlib.sha256(text.encode()).hexdigest()}"
