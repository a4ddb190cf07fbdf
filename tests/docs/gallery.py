"""The gallery of the documentation's site: a page for each built-in study, with what a real run of it said.

`python -m tests.docs.gallery RUN…` takes the verdicts out of records and keeps them in docs/gallery, a small file a
study; pages and thumbnails are drawn from these when the site is built. A study of which no run is kept says so.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import isfinite
from pathlib import Path

import msgspec

import pgassay
from pgassay.analysis.effects import Effect
from pgassay.analysis.verdicts import Kind
from pgassay.errors import PgassayError
from pgassay.report import formatting, headline
from pgassay.report.vega import GREY, PALETTE
from pgassay.study import builtin, document
from pgassay.study.responses import Scale
from tests.docs.as_published import MODELS, WHOLE
from tests.docs.pages import ROOT
from tests.docs.tables import code, row

KEPT = ROOT / "docs" / "gallery"
INDEX = "reference/gallery.md"
FOLDER = "reference/gallery"
PICTURES = {"fillfactor": ("docs/images/report.png", "the first screen of the report of `make demo`, a real run")}
"""What is kept of the pages of real runs."""
BARS_MAX = 8
"""A thumbnail shows so many comparisons; the page lists all."""
_WIDTH, _ROW, _TEXT = 320, 18, 150
_COLOURS = {Kind.BETTER: PALETTE[2], Kind.WORSE: PALETTE[1], Kind.EQUIVALENT: PALETTE[0]}


class Comparison(msgspec.Struct, frozen=True):
    """What a run said of one treatment; numbers in per cent, None for a difference and where it told nothing."""

    treatment: str
    condition: str
    verdict: Kind
    text: str
    estimate: float | None
    low: float | None
    high: float | None
    blocks: int


class JudgedClaim(msgspec.Struct, frozen=True):
    """A finding of the study's authors, and what the run says of it; `mark` as in "reproduced"."""

    text: str
    source: str
    mark: str
    found: str


class Digest(msgspec.Struct, frozen=True):
    """What the gallery keeps of a run: the answer, its comparisons, and where they come from."""

    study: str
    response: str
    finished: bool
    sentences: tuple[str, ...]
    facts: str
    made: str
    command: str
    doubts: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    claims: tuple[JudgedClaim, ...] = ()
    """Without any in digests from before they were kept."""


def digest(path: Path) -> Digest:
    """What a record says; raises `PgassayError` where there is none."""
    findings = pgassay.Run.open(path).findings()
    header = findings.run.header
    return Digest(
        study=header.study,
        response=findings.primary.title,
        finished=findings.finished,
        sentences=tuple(map(formatting.sentence, headline.headline_of(findings).sentences)),
        facts=headline.facts(findings).line,
        made=f"started {header.started_utc}, seed {header.seed}, pgassay {header.program_version}",
        command=_without_places(header.command),
        doubts=tuple(re.sub(r'"/[^"]*"', "DIR", each) for each in findings.remarks),
        comparisons=tuple(
            Comparison(
                effect.treatment, effect.place.cell.name, judged.verdict.kind, judged.verdict.text,
                *_per_cent(effect), effect.blocks,
            )
            for judged in findings.verdicts
            for effect in [judged.effect]
        ),
        claims=tuple(
            JudgedClaim(each.claim.text, each.claim.source, str(each.mark), each.text.removeprefix(f"{each.mark}: "))
            for each in findings.claims
        ),
    )  # fmt: skip


def _per_cent(effect: Effect) -> tuple[float | None, float | None, float | None]:
    values = (effect.estimate, effect.low, effect.high)
    if effect.scale is not Scale.RATIO or not effect.informative or not all(map(isfinite, values)):
        return None, None, None  # a difference has its response's unit: the verdict's words have it
    first, *ends = (100 * (value - 1) for value in values)
    return first, ends[0], ends[1]


def _without_places(command: Sequence[str]) -> str:
    """The command of a run, without the directories of the machine that it ran on."""
    named = ["pgassay" if index == 0 else word for index, word in enumerate(command)]
    return " ".join("DIR" if "/" in word else word for word in named)


def kept() -> dict[str, Digest]:
    """The digests of the repository, by study."""
    return {path.stem: msgspec.json.decode(path.read_bytes(), type=Digest) for path in sorted(KEPT.glob("*.json"))}


def of_runs(runs: Path) -> dict[str, Digest]:
    """The last started run of each study below a folder; what is no record, or has no trial yet, is passed over."""
    found: dict[str, tuple[str, Path]] = {}
    for path in (each.parent for each in sorted(runs.glob("*/run.json"))):
        try:
            trials = pgassay.Run.open(path).trials().height
        except PgassayError as error:
            print(f"pgassay: {path.name} is not in the gallery: {error.message}", file=sys.stderr)
            continue
        head = json.loads((path / "run.json").read_text(encoding="utf-8"))
        if trials:
            found[head["study"]] = max(found.get(head["study"], ("", path)), (head["started_utc"], path))
    return {study: digest(path) for study, (_, path) in found.items()}


def thumbnail(found: Digest) -> str:
    """The comparisons as an SVG of a few kilobytes: intervals around the line of no difference, told in per cent."""
    told = [each for each in found.comparisons if each.estimate is not None]
    shown = told[:BARS_MAX]
    height = _ROW * (len(shown) + 1) + 4
    ends = [abs(value) for each in shown for value in (each.low, each.high) if value is not None]
    reach = max(ends, default=1.0) or 1.0
    middle, unit = (_WIDTH + _TEXT) / 2, (_WIDTH - _TEXT) / 2 / reach * 0.95
    parts = [f'<path d="M{middle:.0f} 2V{height - _ROW}" stroke="{GREY}"/>']
    for index, each in enumerate(shown):
        y = _ROW * index + _ROW / 2 + 2
        low, estimate, high = (middle + (value or 0.0) * unit for value in (each.low, each.estimate, each.high))
        colour = _COLOURS.get(each.verdict, GREY)
        name = _short(f"{each.treatment} {each.condition}".strip())
        parts += [
            f'<text x="2" y="{y + 4:.0f}">{escape(name)}</text>',
            f'<path d="M{low:.1f} {y:.0f}H{high:.1f}" stroke="{colour}" stroke-width="3"/>',
            f'<circle cx="{estimate:.1f}" cy="{y:.0f}" r="4" fill="{colour}"/>',
        ]
    more = f"; {len(told) - len(shown)} more on its page" if len(told) > len(shown) else ""
    foot = f"{found.response}: ±{reach:.3g} %{more}" if shown else "no interval yet"
    parts.append(f'<text x="2" y="{height - 5}">{escape(foot)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="sans-serif" font-size="11" fill="{GREY}">{"".join(parts)}</svg>\n'
    )


def _short(name: str) -> str:
    most = _TEXT // 6
    return name if len(name) <= most else f"…{name[1 - most :]}"


def index(shown: Mapping[str, Digest]) -> Iterator[str]:
    """All studies: question, answer and thumbnail."""
    yield from ("# Gallery", "")
    yield "Every built-in study has a page. Answers are those of real runs' records; where none is kept, that is said."
    for name in builtin.names():
        read = document.read(name, builtin.find(name)[1])
        link = f"[{read['study']['title']}](gallery/{name}.md)"
        yield from ("", f"## {name}", "", f"{link}: *{read['study']['question']}*")
        if found := shown.get(name):
            yield from ("", f"![intervals of {name}](gallery/{name}.svg){{ loading=lazy }}", "")
            yield _answer(found) + (" Its page says what to distrust in it." if found.doubts else "")
        else:
            yield from ("", f"The repository keeps no run of `{name}`.")


def page(name: str, found: Digest | None) -> Iterator[str]:
    """A study: its question, what it varies, what a run of it said, and the findings that a run judges."""
    read = document.read(name, builtin.find(name)[1])
    varied = [each for each in document.names_in(read) if each not in read.get("fixed", {})]
    yield from (f"# {name}", "", f"**{read['study']['title']}.** *{read['study']['question']}*", "")
    yield f"- varies {', '.join(map(code, varied))}"
    yield f"- decides by {code(read['responses']['primary'])}"
    yield f"- run it: `pgassay run {name}`" + (" (`--quick` for a first look)" if "quick" in read else "")
    for planned in (each for each in (*WHOLE, *MODELS) if each.study == name):
        size = f"a scale model of {planned.scale_to}" if planned.scale_to else "as published"
        arms = len(planned.plan["arms"])
        yield f"- plan by a real dry run, {size}: {arms} arms ([more](../../docs/published-studies.md))"
    yield from ("", "## A run of it", "")
    yield from _said(found) if found else (f"The repository keeps no run of `{name}`.",)
    if name in PICTURES:
        path, said = PICTURES[name]
        yield from ("", f"![{said}](../../{path}){{ width=420 loading=lazy }}", "", f"{said[0].upper()}{said[1:]}.")
    if found and found.claims:
        yield from ("", "## Findings of its authors", "", row(("finding", "source", "this run", "why")))
        yield "|---|---|---|---|"
        yield from (row(map(plain, (each.text, each.source, each.mark, each.found))) for each in found.claims)
    elif claims := [each["text"] for each in read.get("claims", [])]:
        yield from ("", "## Findings of its authors that a run judges", "")
        yield from (f"- {plain(text)}" for text in claims)


def _answer(found: Digest) -> str:
    return plain(" ".join(f"{each}." for each in found.sentences))


def _said(found: Digest) -> Iterator[str]:
    yield from (_answer(found), "", f"![intervals of {found.study}]({found.study}.svg)", "")
    yield row(("treatment", "condition", "verdict", "interval", "blocks"))
    yield "|---|---|---|---|---|"
    for each in found.comparisons:
        ends = "–" if each.low is None or each.high is None else f"{each.low:+.3g} % to {each.high:+.3g} %"
        yield row(map(plain, (each.treatment, each.condition, each.text, ends, str(each.blocks))))
    ended = "" if found.finished else " It was ended before its design did."
    yield from ("", f"{plain(found.facts)}; {plain(found.made)}.{ended} Started as `{found.command}`.")
    if found.doubts:
        yield from ("", "What to distrust in it:", "", *(f"- {plain(each)}" for each in found.doubts))


def plain(text: str) -> str:
    """Text of a record or a study as text of a page."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("*", "\\*")


def files(runs: Path | None) -> dict[str, str]:
    """The index, a page for each study and a thumbnail for each run that is kept or given, by path on the site."""
    shown = {**kept(), **(of_runs(runs) if runs else {})}
    made = {INDEX: index(shown)} | {f"{FOLDER}/{name}.md": page(name, shown.get(name)) for name in builtin.names()}
    drawn = {f"{FOLDER}/{name}.svg": thumbnail(shown[name]) for name in builtin.names() if name in shown}
    return {path: "\n".join(lines) + "\n" for path, lines in made.items()} | drawn


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep what the given runs of built-in studies say."""
    parser = argparse.ArgumentParser(description="keep the verdicts of runs for the gallery")
    parser.add_argument("runs", type=Path, nargs="+")
    for path in parser.parse_args(arguments).runs:
        found = digest(path)
        if found.study not in builtin.names():
            parser.error(f"{path} is a run of {found.study}, which is not built in")
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{found.study}.json").write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
