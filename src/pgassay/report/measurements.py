"""What was measured: every response's trials in a table, the primary's also over blocks and seconds.

Beyond `charts.DOTS_MAX` trials lines would hide each other: one of the blocks' medians stands for them.

Space is that at the end of the windows, a column a treatment, and what would be left of it compressed; medians. The lab
records each relation's bytes as a counter, `relation.table.NAME_bytes` or `relation.index.NAME_bytes`, since no
study can know their names beforehand. What a codec would leave of tables, indexes and WAL is read from a sample of each
trial's own files (`load.compressibility`), so it holds on any drive: on one that does not compress it is what one that
does would have made of the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING, Any

from pgassay.report import formatting, seconds
from pgassay.report.answer import joined, phrase_of
from pgassay.report.section import Brief, Drawing, Figure, Part, Section, Table, Values
from pgassay.report.trials import by_treatment, grouped, middle, valid_by_place
from pgassay.study.responses import Response, Status

if TYPE_CHECKING:
    from pgassay.report.findings import Findings

_HEIGHT = 160
"""Pixels of a panel over the blocks."""
_ROUNDING = 1e-9
"""Values that differ by a smaller share say the same."""
_BLOCKS = "What moves all lines together is the machine; effects are taken inside each block, where it cancels."
_MEDIANS = "The median of all treatments in each block: what moves it is the machine, and cancels in effects."


def _describe(findings: "Findings") -> Iterator[Part]:
    every = tuple(dict.fromkeys((findings.primary, *findings.secondary)))
    yield Values({"summaries": {response.name: findings.summaries(response) for response in every}})
    yield Brief(f"medians, spread and every trial: {joined([phrase_of(each).name for each in every])}")
    yield summary(findings, findings.primary)
    bounded = any(each.effect.bounded for each in findings.verdicts)  # then the verdict has a figure
    yield Figure("over-blocks", lambda: _over_blocks(findings), key=0 if bounded else 3)
    yield Figure("per-second", lambda: seconds.drawing(findings))
    for response in findings.secondary:
        yield summary(findings, response)


def summary(findings: "Findings", response: Response) -> Table:
    """The published form of one response: average, deviation, least, median, greatest and number of trials."""
    primary, every = response.name == findings.study.primary, findings.summaries(response)
    rows = []
    for row in every if primary else [row for row in every if row.n] or every:
        place = row.place.name
        baseline = " (baseline)" if row.treatment and row.treatment == findings.baseline else ""
        average, stdev, *cells = formatting.quantities((row.avg, row.stdev, row.min, row.median, row.max), response)
        rows.append((f"{place}{baseline}", f"{average} ± {stdev}", *cells, str(row.n)))
    title = f"{formatting.titled(response)}{'' if primary else ' (secondary)'}"
    return Table(("treatment", "avg ± stdev", "min", "median", "max", "trials"), rows, title)


def _over_blocks(findings: "Findings") -> Drawing | None:
    """The primary of each valid trial; None where all are alike, or in a single block."""
    import altair as alt

    from pgassay.report import charts

    response, study = findings.primary, findings.study
    known = [
        (trial, value)
        for trial in findings.trials
        if trial.status is Status.VALID and (value := trial.responses.get(response.name)) is not None
    ]
    divisor, unit = formatting.scale_of((value for _, value in known), response)
    rows: list[dict[str, Any]] = [
        {
            "treatment": trial.treatment,
            "condition": formatting.place(trial.condition, trial.covariate),
            "block": trial.block,
            "trial": trial.number,
            "value": value / divisor,
        }
        for trial, value in known
    ]
    values = [row["value"] for row in rows]
    alike = not rows or max(values) - min(values) <= _ROUNDING * max(map(abs, values))
    if alike or len({row["block"] for row in rows}) < 2:
        return None
    treatments, caption = tuple(treatment.name for treatment in study.treatments), _BLOCKS
    if len(rows) > charts.DOTS_MAX:
        treatments, caption = ("median of all treatments",), _MEDIANS
        blocks = grouped(rows, lambda row: (row["block"], row["condition"]))
        rows = [
            {**mine[0], "treatment": treatments[0], "trial": None, "value": median(row["value"] for row in mine)}
            for mine in blocks.values()
        ]
    places = tuple(dict.fromkeys(arm.place.cell.name for arm in study.arms))
    free = len(places) > 1 and charts.apart(rows, "condition")
    domain = charts.domain_of(row["value"] for row in rows)
    scale = alt.Scale(zero=False) if free else alt.Scale(domain=domain, nice=False, zero=False)
    title = charts.wrapped(f"{response.title}, {unit}" if unit else response.title, _HEIGHT)
    axis = alt.Axis(format=",.10~r", grid=True)
    if response.unit == "share":
        axis = alt.Axis(labelExpr="format(datum.value * 100, ',.10~r') + ' %'", grid=True)
    line = alt.Chart().mark_line(point=alt.OverlayMarkDef(size=40))
    line = line.encode(
        x=alt.X("block:O", title="block (repetition)", axis=alt.Axis(labelAngle=0, grid=False)),
        y=alt.Y("value:Q", scale=scale, title=title, axis=axis),
        color=charts.colour(treatments),
        shape=charts.shape(treatments),
        tooltip=[charts.tip(each) for each in ("treatment:N", "block:Q", "trial:Q", "value:Q")],
    )
    chart = charts.layered([line], rows, _HEIGHT, "condition", places)
    name = f"{formatting.capital(response.title)} over the blocks{charts.by(treatments)}"
    return Drawing(name, caption, chart.resolve_scale(y="independent") if free else chart)


SECTION = Section("measurements", "Measurements", _describe, link="Measurements")


_PREFIX, _SUFFIX = "relation.", "_bytes"
_WHOLES = (("database_bytes", "database"), ("table_bytes", "all tables"), ("index_bytes", "all indexes"),
           ("wal_directory_bytes", "pg_wal"))  # fmt: skip
ROWS_MAX = 12
"""Of single tables and indexes; the largest ones."""


def _space(findings: "Findings") -> Iterator[Part]:
    """A table for each condition and covariate point; nothing where no trial recorded any size."""
    database = findings.responses.get(_WHOLES[0][0])
    if sizes := [row.median for row in findings.summaries(database) if row.n] if database else []:
        least, most = formatting.size(min(sizes)), formatting.size(max(sizes))
        yield Brief(f"database {least}" if least == most else f"database {least} to {most}, by table and index")
    treatments, baseline = [each.name for each in findings.study.treatments], findings.baseline
    for place, trials in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(trials)
        relations: dict[str, dict[str, float]] = {}
        counters = dict.fromkeys(chain.from_iterable(trial.counters for trial in trials))
        for name in (each for each in counters if each.startswith(_PREFIX)):
            kind, _, relation = name.removeprefix(_PREFIX).removesuffix(_SUFFIX).partition(".")
            medians = {each: middle(trial.counters.get(name) for trial in of.get(each, ())) for each in treatments}
            relations[f"{kind} {relation}"] = {each: size for each, size in medians.items() if size is not None}
        if not relations:
            continue
        rows = []
        for name, title in _WHOLES:
            if name in findings.responses:
                medians = {each: middle(trial.responses.get(name) for trial in of.get(each, ())) for each in treatments}
                if any(size is not None for size in medians.values()):
                    rows.append(_size_row(title, medians, treatments, baseline))
        largest = sorted(relations, key=lambda each: -max(relations[each].values(), default=0.0))
        rows += [_size_row(name, relations[name], treatments, baseline) for name in largest[:ROWS_MAX]]
        notes = ["tables include TOAST and maps; in brackets the ratio to the baseline; pg_wal includes recycled files"]
        if len(largest) > ROWS_MAX:
            notes.append(f"{len(largest) - ROWS_MAX} smaller relations are only in the trials' counters")
        yield Table(("", *(each or "median" for each in treatments)), rows, formatting.place(*place), notes)


def _size_row(
    title: str, sizes: Mapping[str, float | None], treatments: Sequence[str], baseline: str
) -> tuple[str, ...]:
    whole = sizes.get(baseline)
    cells = []
    for treatment in treatments:
        size = sizes.get(treatment)
        if size is None:
            cells.append(formatting.MISSING)
            continue
        quotient = f" ({size / whole:.3g})" if whole and treatment != baseline else ""
        cells.append(f"{formatting.size(size)}{quotient}")
    return (title, *cells)


SPACE = Section("space", "Space at the end of the window", _space, secondary=True)

_KINDS = (("heap", "tables"), ("index", "indexes"), ("wal", "WAL since the last checkpoint"))


def _compression(findings: "Findings") -> Iterator[Part]:
    """A table for each place, bytes and ratios of each treatment; nothing where no trial was asked."""
    yield Brief("logical and compressed bytes of each kind of file, by treatment")
    treatments = [each.name for each in findings.study.treatments]
    plain: list[dict[str, Any]] = []
    for (condition, covariate), trials in valid_by_place(findings.trials, findings.study.arms).items():
        of = by_treatment(trials)
        cells: dict[tuple[str, str], str] = {}
        for treatment in treatments:
            kinds = {}
            for kind, _ in _KINDS:
                names = (f"stored.{kind}_logical_bytes", f"stored.{kind}_compressed_bytes")
                logical, stored = (
                    middle(trial.counters.get(name) for trial in of.get(treatment, ())) for name in names
                )
                ratio = logical / stored if logical and stored else None
                cells[treatment, kind] = formatting.MISSING
                if ratio is not None:
                    sizes = f"{formatting.size(logical)} ÷ {formatting.size(stored)}"
                    cells[treatment, kind] = f"{sizes} = {ratio:.2f}"
                kinds[kind] = {"logical_bytes": logical, "compressed_bytes": stored, "ratio": ratio}
            if any(each["logical_bytes"] or each["compressed_bytes"] for each in kinds.values()):
                place = {"treatment": treatment, "condition": condition, "covariate": covariate}
                plain.append({**place, "kinds": kinds})
        if any(each != formatting.MISSING for each in cells.values()):
            rows = [(title, *(cells[each, kind] for each in treatments)) for kind, title in _KINDS]
            notes = ("file size ÷ compressed size = ratio; 4 KiB blocks, estimated from a sample of the files",)
            yield Table(
                ("", *(each or "median" for each in treatments)), rows, formatting.place(condition, covariate), notes
            )
    yield Values({"stored_kinds": plain})


COMPRESSION = Section("compression", "Compressibility of tables, indexes and WAL", _compression, secondary=True)
