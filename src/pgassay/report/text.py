"""The report on a terminal: question, verdicts, the published table, why, and what to distrust; about a screen."""

from collections.abc import Iterator, Sequence

from pgassay.report import (
    cache,
    comparing,
    crash_safety,
    drives,
    ladder,
    losses,
    one_factor,
    space,
    stored_kinds,
    tradeoff,
    words,
)
from pgassay.report.companions_text import parts
from pgassay.report.courses import doubts
from pgassay.report.curve_text import curve_sentences
from pgassay.report.findings import Findings
from pgassay.report.trials import measured
from pgassay.study.responses import Response, Status

LADDERS_MAX = 4
"""On a terminal; more are many screens."""


def render(findings: Findings) -> str:
    """The whole text, ending with a newline."""
    return "\n".join(_lines(findings)) + "\n"


def _lines(findings: Findings) -> Iterator[str]:
    study = findings.study
    yield study.title
    yield study.question
    yield ""
    yield from _verdicts(findings)
    yield ""
    yield from table(findings, findings.primary)
    for response in findings.secondary:
        yield ""
        yield from table(findings, response)
    yield ""
    yield from _why(findings)
    yield from _ladders(findings)
    yield from _beside(findings)
    if findings.claims:
        yield ""
        yield "Published claims"
        for judged in findings.claims:
            yield f"  {judged.claim.text}"
            yield f"    published: {judged.claim.published or 'no figure'}; {judged.text}"
            if judged.why:
                yield f"    why: {judged.why}"
    yield ""
    yield from _caveats(findings)


def _verdicts(findings: Findings) -> Iterator[str]:
    if not findings.verdicts and findings.study.covariates:
        yield f"{words.titled(findings.primary, '')} along {', '.join(findings.study.covariates)}"
        resolution = findings.study.design.resolution
        for sentence in curve_sentences(findings.companions, findings.primary, resolution):
            yield f"  {sentence}"
        return
    yield f"Verdicts on {findings.primary.title} against {findings.baseline}"
    rows = []
    for judged in findings.verdicts:
        effect = judged.effect
        place = effect.place.name
        rows.append(
            [place, words.effect(effect, findings.primary), words.counted(effect.blocks, "block"), judged.verdict.text]
        )
    yield from _columns(rows)
    if findings.verdicts:
        first = findings.verdicts[0].effect
        yield f"  in brackets: {first.level:.0%} intervals, for all of them together; {first.method}"
    if lost := losses.sentence(findings.trials):
        yield f"  {lost}"


def table(findings: Findings, response: Response) -> Iterator[str]:
    """The published form for one response."""
    label = "" if response.name == findings.study.primary else " (secondary)"
    yield f"{words.titled(response)}{label}"
    rows = [["treatment", "avg ± stdev", "min", "median", "max", "trials"]]
    primary = response.name == findings.study.primary
    for row in measured(findings.summaries(response), primary=primary):
        place = row.place.name
        spread = words.quantity(row.stdev, response)
        cells = [words.quantity(value, response) for value in (row.min, row.median, row.max)]
        rows.append([place, f"{words.quantity(row.avg, response)} ± {spread}", *cells, str(row.n)])
    yield from _columns(rows)


def _why(findings: Findings) -> Iterator[str]:
    yield findings.work.of("Why (costs of a transaction; secondary)")
    if not findings.imported:
        yield f"  {comparing.equality(findings.study)}"
    for explanation in findings.explanations:
        yield f"  {explanation.text}"
    if findings.verdicts and not findings.explanations:
        yield f"  {words.NO_COST}"


def _ladders(findings: Findings) -> Iterator[str]:
    every = ladder.ladders_of(findings)
    if len(every) > LADDERS_MAX:
        yield ""
        yield f"The write ladders of {len(every)} combinations are on the page and in --json"
        return
    for found in every:
        yield ""
        place = f": {found.place}" if found.place else ""
        yield f"The write ladder{place} (medians; the page and --json give the sources)"
        yield from _columns(ladder.text(found, findings.work))


def _beside(findings: Findings) -> Iterator[str]:
    layout = comparing.layout(findings.study)
    if layout:
        yield ""
        yield f"Factors {layout}"
    beside = parts(findings.companions, findings.primary, findings.baseline)
    for part in (
        *cache.parts(findings),
        *beside,
        *one_factor.parts(findings),
        *tradeoff.parts(findings),
        *drives.parts(findings),
        *stored_kinds.parts(findings),
        *space.parts(findings),
    ):
        yield ""
        yield f"{part.title} (secondary)"
        yield from _columns(part.rows)
        yield from (f"  {note}" for note in part.notes)


def _caveats(findings: Findings) -> Iterator[str]:
    trials = findings.trials
    valid = sum(trial.status is Status.VALID for trial in trials)
    counted = f"{words.counted(len(trials), 'trial')} in {words.counted(findings.blocks, 'block')}"
    yield f"{counted}, {valid} valid; ended: {findings.end}"
    for regime in findings.regimes:
        yield f"true for: {regime}"
    yield from findings.remarks
    if findings.disturbance:
        yield findings.disturbance
    if findings.study.design.fixed_order and not findings.imported:
        yield comparing.order(findings.study)
    yield from crash_safety.warnings(findings.study)
    if findings.overhead:
        yield findings.overhead
    yield from findings.overloads
    yield from doubts(trials, findings.courses, findings.run.responses)
    yield from findings.seconds.unread
    for trial in (*findings.spoilt, *findings.outcomes):
        reasons = "; ".join(f"{reason.code}: {reason.detail}" for reason in trial.reasons)
        yield f"trial {trial.number} ({trial.treatment}) {trial.status}: {reasons}"
    for arm, reason in findings.dropped.items():
        yield f"dropped: {arm}: {reason}"
    for judged in findings.verdicts:
        if judged.effect.left_out:
            place = words.place(judged.effect.treatment, judged.effect.condition, judged.effect.covariate)
            yield f"{place}: {'; '.join(judged.effect.left_out)}"


def _columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> Iterator[str]:
    if not rows:
        yield f"{indent}(none)"
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.ljust(width) if i == 0 or i == len(row) - 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield (indent + "  ".join(cells)).rstrip()
