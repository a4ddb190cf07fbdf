"""Sections of a page that its run alone does not give, kept with the run: `own-sections.json`.

What an advice says of its confirmation comes from many runs. It is kept as blocks, with what they draw, so that the
page is whole however often it is made again, here or on a host of a fleet, without what made them. A run that has got
more trials since then has other intervals: what was kept is not shown with them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pgassay.record.disk import replace_file
from pgassay.record.errors import damaged
from pgassay.report.json_values import to_json
from pgassay.report.section import (
    Block,
    Code,
    Drawing,
    Figure,
    Folded,
    Listing,
    Section,
    Sentences,
    Surface,
    Table,
    Verdicts,
)

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

FILE = "own-sections.json"
FORMAT = 1
_KINDS: Mapping[str, type[Sentences | Table | Verdicts | Listing | Code]] = {
    each.kind: each for each in (Sentences, Table, Verdicts, Listing, Code)
}


def keep(findings: "Findings", sections: Sequence[Section]) -> tuple[Section, ...]:
    """Write what these sections show of the run, with it, and return them as `kept` does."""
    from altair.utils.schemapi import debug_mode

    run = findings.run
    with debug_mode(False):
        shown = [
            {
                "name": each.name, "title": each.title, "link": each.link, "open": each.open,
                "blocks": _encoded(each.shown(findings, Surface.PAGE)),
            }
            for each in sections
        ]  # fmt: skip
    whole = {"format": FORMAT, "trials": len(findings.trials), "sections": shown}
    replace_file(run.disk, run.path / FILE, (to_json(whole) + "\n").encode())
    return kept(findings)


def kept(findings: "Findings") -> tuple[Section, ...]:
    """The sections that were kept; none where there are none, or of another state of the run. Raises `DamagedError`."""
    run = findings.run
    path = run.path / FILE
    if not run.disk.exists(path):
        return ()
    try:
        found = msgspec.json.decode(run.disk.read(path))
        if (found["format"], found["trials"]) != (FORMAT, len(findings.trials)):
            return ()
        return tuple(
            Section(each["name"], each["title"], partial(_shown, _decoded(each["blocks"])), link=each["link"],
                    open=each["open"])
            for each in found["sections"]
        )  # fmt: skip
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as failure:
        raise damaged(run.path, f"{FILE}: {failure}") from failure


def stamp(run: Path) -> str:
    """Another text whenever other sections were kept with the run at this path."""
    try:
        return str((run / FILE).stat().st_mtime_ns)
    except OSError:
        return ""


def _shown(blocks: tuple[Block, ...], findings: "Findings") -> tuple[Block, ...]:
    return blocks


def _encoded(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    from pgassay.report.charts import specified

    found: list[dict[str, Any]] = []
    for each in blocks:
        if isinstance(each, Folded):
            values: dict[str, Any] = {"summary": each.summary, "blocks": _encoded(each.blocks)}
        elif isinstance(each, Figure):
            drawn: object = each.draw()
            if isinstance(drawn, Drawing):
                drawn = {"title": drawn.title, "caption": drawn.caption, "chart": specified(drawn.chart)}
            values = {"name": each.name, "key": each.key, "drawn": drawn}
        else:
            values = asdict(each)
            values.pop("on", None)
        found.append({"kind": each.kind, **values})
    return found


def _decoded(written: Iterable[Mapping[str, Any]]) -> tuple[Block, ...]:
    found: list[Block] = []
    for values in written:
        kind = values["kind"]
        if kind == Folded.kind:
            found.append(Folded(values["summary"], _decoded(values["blocks"])))
        elif kind == Figure.kind:
            drawn = values["drawn"]
            drawing = Drawing(**drawn) if isinstance(drawn, dict) else drawn
            found.append(Figure(values["name"], lambda drawing=drawing: drawing, values["key"]))  # type: ignore[misc]
        else:
            found.append(msgspec.convert(values, _KINDS[kind]))
    return tuple(found)
