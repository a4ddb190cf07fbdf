"""The pages that are not the report's: the list, a run that cannot be read, files, two runs side by side.

Everything is escaped where it is written (jinja2's autoescape), so a name that is a script is shown as a name. Styles,
scripts and figures are the report's own, served from here.
"""

from functools import lru_cache
from importlib import resources
from typing import Any

import jinja2
from starlette.responses import HTMLResponse, Response

from pgassay.live.access import policy
from pgassay.report import vega, words
from pgassay.report.colours import dark_style
from pgassay.report.page import embedded, shown_text

_SPECIFICATIONS = 'const specifications = JSON.parse(document.getElementById("specifications")?.textContent ?? "{}");'


def shown(name: str, *, drawn: bool = False, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made of `templates/NAME.html`; one with `drawn` figures may have Vega's styles."""
    html = _environment().get_template(f"{name}.html").render(**values)
    return HTMLResponse(html, status_code=status, headers={"content-security-policy": policy(drawn=drawn)})


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown_text,
        loader=jinja2.FunctionLoader(lambda name: _text("live", name)),
    )
    environment.filters["size"] = words.size
    environment.filters["sentence"] = words.sentence
    environment.filters["counted"] = words.counted
    environment.filters["embedded"] = embedded
    return environment


@lru_cache(maxsize=8)
def _static(name: str) -> tuple[str, str] | None:
    """The contents of a fixed file and their type."""
    if name == "page.css":
        return _text("report", "page.css") + dark_style() + _text("live", "live.css"), "text/css"
    parts = {"figures.js": (), "live.js": (_text("live", "live.js"),)}.get(name)
    if parts is not None:
        figures = (vega.script(), _SPECIFICATIONS, _text("report", "figures.js"))
        return "\n".join((*figures, *parts)), "text/javascript"
    return None


def static(name: str) -> Response | None:
    """A file that pages share; None for another name."""
    found = _static(name)
    return Response(found[0], media_type=found[1]) if found else None


def _text(package: str, name: str) -> str:
    return (resources.files(f"pgassay.{package}") / "templates" / name).read_text(encoding="utf-8")
