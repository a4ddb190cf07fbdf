"""The report as one self-contained HTML file that opens offline, and each figure as PNG and SVG beside it.

The page carries Vega and every specification inside; it fetches nothing. Layout and words are in templates/page.html.
"""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

import jinja2

from pgassay.analysis.explanation import amount
from pgassay.report import (
    adoption,
    cache,
    comparing,
    configuration,
    crash_safety,
    drives,
    ladder,
    losses,
    one_factor,
    published,
    space,
    stored_kinds,
    tradeoff,
    vega,
    words,
)
from pgassay.report.companions_text import parts
from pgassay.report.courses import doubts, told
from pgassay.report.curve_text import curve_sentences
from pgassay.report.figures import Figure, figures
from pgassay.report.findings import Findings, varied_names
from pgassay.report.hostfacts import host_rows
from pgassay.report.trials import measured
from pgassay.report.trials_table import rows_of, shown

PAGE = "report.html"
FIGURES = "figures"
SCALE = 2
"""Pixels of a PNG per point: sharp on a projector."""


def write(findings: Findings, directory: Path, *, pictures: bool = True) -> Path:
    """Write `report.html` (and `figures/*.png`, `*.svg`) into `directory`; returns the page's path."""
    made = figures(findings)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / PAGE
    path.write_text(html(findings, made), encoding="utf-8")
    if pictures:
        write_pictures(made, directory / FIGURES)
    return path


def write_pictures(made: Sequence[Figure], folder: Path) -> None:
    """Every figure as PNG and SVG."""
    import vl_convert  # a renderer of its own, which a page alone does not need

    folder.mkdir(exist_ok=True)
    for figure in made:
        specification = dict(figure.specification)
        (folder / f"{figure.name}.png").write_bytes(vl_convert.vegalite_to_png(specification, scale=SCALE))
        (folder / f"{figure.name}.svg").write_text(vl_convert.vegalite_to_svg(specification), encoding="utf-8")


def html(findings: Findings, made: Sequence[Figure]) -> str:
    """The page's text."""
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(_template),
    )
    environment.filters["sentence"] = words.sentence
    treatments = configuration.treatments_of(findings.trials)
    template = environment.from_string(_template("page.html"))
    specifications = json.dumps({figure.name: figure.specification for figure in made}).replace("</", "<\\/")
    return template.render(
        findings=findings,
        study=findings.study,
        header=findings.run.header,
        figures={figure.name: figure for figure in made},
        style=_template("page.css"),
        specifications=specifications,
        bundle=vega.script().replace("</script", "<\\/script"),
        words=words,
        measured=measured,
        kinds=_kinds(findings),
        configuration=configuration.merged(
            treatments, configuration.side_by_side(findings.trials, varied_names(findings.study))
        ),
        treatments=treatments,
        read_back=configuration.levels_read_back(findings.trials),
        adoption=_adoption(findings),
        host=host_rows(findings.run.host),
        parts=(
            *parts(findings.companions, findings.primary, findings.baseline),
            *one_factor.parts(findings),
            *tradeoff.parts(findings),
            *drives.parts(findings),
            *stored_kinds.parts(findings),
            *space.parts(findings),
        ),
        layout=comparing.layout(findings.study),
        order=comparing.order(findings.study),
        seconds_told=told(findings.run.responses),
        published=published.beside(findings),
        lost=losses.sentence(findings.trials),
        equality="" if findings.imported else comparing.equality(findings.study),
        cache_parts=tuple(cache.parts(findings)),
        curve_sentences=tuple(curve_sentences(findings.companions, findings.primary, findings.study.design.resolution)),
        doubts=(
            *crash_safety.warnings(findings.study),
            *findings.overloads,
            *doubts(findings.trials, findings.courses, findings.run.responses),
        ),
        trial_rows=shown(rows_of(findings)),
        trials_all=len(findings.trials),
        cost_tables=_cost_tables(findings),
        amount=amount,
        ladders=ladder.ladders_of(findings),
        rung=ladder.shown,
    )


def _template(name: str) -> str:
    return (resources.files("pgassay.report") / "templates" / name).read_text(encoding="utf-8")


def _kinds(findings: Findings) -> Mapping[str, int]:
    counted: dict[str, int] = {}
    for trial in findings.trials:
        counted[trial.status] = counted.get(trial.status, 0) + 1
    return counted


def _adoption(findings: Findings) -> Sequence[tuple[str, str, Sequence[str]]]:
    """Treatments that won somewhere, or if none did every one, each once with its verdicts and how to apply it.

    None that gives up crash safety, whatever it won.
    """
    every = findings.study.treatments
    by_name = {treatment.name: treatment for treatment in every if not crash_safety.risks(treatment.levels)}
    texts: dict[str, list[str]] = {}
    safe = [judged for judged in findings.verdicts if judged.effect.treatment in by_name]
    won = [judged for judged in safe if judged.verdict.kind == "better"]
    for judged in won or safe:
        place = words.place(judged.effect.condition, judged.effect.covariate)
        text = f"{place}: {judged.verdict.text}" if place else judged.verdict.text
        texts.setdefault(judged.effect.treatment, []).append(text)
    adopted = adoption.adopted_by(findings.trials)
    return [(name, "; ".join(found), adoption.advice(by_name[name], adopted)) for name, found in texts.items()]


def _cost_tables(findings: Findings) -> Sequence[tuple[str, Sequence[tuple[str, str, Sequence[str]]]]]:
    """A table for each condition and covariate point (its name empty where there are none)."""
    places = dict.fromkeys(arm.place.cell for arm in findings.study.arms)
    return [(words.place(*place), _cost_table(findings, *place)) for place in places]


def _cost_table(findings: Findings, condition: str, covariate: str) -> Sequence[tuple[str, str, Sequence[str]]]:
    """A row a cost: title, unit, then `median (effect)` for each treatment."""
    treatments = [treatment.name for treatment in findings.study.treatments]
    here = (condition, covariate)
    rows = []
    for response in findings.responses.values():
        if not response.cost:
            continue
        summaries = [row for row in findings.summaries(response) if (row.condition, row.covariate) == here]
        medians = {row.treatment: row.median for row in summaries}
        if not medians:
            continue
        mine = [each for each in findings.costs if (each.condition, each.covariate) == here]
        effects = {each.treatment: each for each in mine if each.response == response.name}
        cells = []
        for name in treatments:
            text = words.quantity(medians.get(name), response)
            if name in effects and effects[name].bounded:
                text += f" ({words.effect(effects[name], response)})"
            cells.append(text)
        rows.append((response.title, words.unit(response), cells))
    return rows
