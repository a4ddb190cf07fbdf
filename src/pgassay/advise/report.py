"""An advice for readers: in words, as values for scripts, as lines for postgresql.auto.conf, and on a page.

Lines or points with reasons and intervals, their risks, what does not matter, how it was found. Numbers are the
confirmation's, never the search's; what the search expected is only there to show the shrinkage. Of one objective there
are lines, of several points to choose from.

What stands below its section on the page of its confirmation compares whole configurations, the recommended one being
the baseline; a reader wants the gain first, setting by setting. Of several objectives there is a picture of the points
to choose from, a panel for each pair of objectives, with crosses of their simultaneous intervals. Altair is imported
only to draw.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from math import exp, isfinite
from typing import TYPE_CHECKING, Any

from pgassay.advise.budget import REFERENCES, blocks_of
from pgassay.advise.folder import LINES_FILE
from pgassay.advise.front import Point
from pgassay.advise.front import Standing as PointStanding
from pgassay.advise.knowledge import Risk, Setting, known_settings
from pgassay.advise.laboratory import REPORT
from pgassay.advise.proof import Line, shown_to_help
from pgassay.advise.screening import LINES, Screened, Standing
from pgassay.advise.task import Compared, Task, inverted, refused_rows, refused_table
from pgassay.advise.walk import Advice
from pgassay.analysis.effects import Effect
from pgassay.analysis.verdicts import Kind
from pgassay.report import contents, verdict
from pgassay.report.formatting import counted, duration, number, ratio_interval
from pgassay.report.json_values import effect_values
from pgassay.report.page import PAGE
from pgassay.report.section import Block, Code, Drawing, Figure, Folded, Section, Sentences, Table
from pgassay.report.vega import GREY, INK, PALETTE, drawable

if TYPE_CHECKING:
    from pgassay.report.findings import Findings
    from pgassay.study.model import Study

_OTHERS = ("default", "rule of thumb")
"""What an advice is confirmed against, along with the start."""


def auto_confs(task: Task, advice: Advice, objectives: Sequence[str]) -> dict[str, str]:
    """Lines for postgresql.auto.conf, each under its reason, by the name of their file: a file for each point.

    Of one objective it is one file: a comment alone where nothing was confirmed.
    """
    if task.others:
        found = {}
        for point in advice.front:
            conf = f"# point {point.label}: {_effects(point, objectives)} against the start, all lines together\n"
            for name, value in point.configuration.changes_from(task.space.start).items():
                conf += _conf_line(task, name, value, line_standing(task, point, name, objectives))
            found[f"point-{point.label}.conf"] = conf
        return found
    if not advice.confirmed:
        return {LINES_FILE: "# pgassay advise: no change was confirmed to help\n"}
    kept = [line for line in advice.lines if line.kept]
    lines = (_conf_line(task, line.name, line.value, gain(line, objectives[0])) for line in kept)
    return {LINES_FILE: "".join(lines)}


def _conf_line(task: Task, name: str, value: str, why: str) -> str:
    setting = setting_in(task, name)
    reason = setting.reason or "no reason is known"
    return f"# {why}; {reason}; takes effect by {setting.apply}\n{setting.line(value)}\n"


def render(task: Task, advice: Advice, objectives: Sequence[str], folder: str) -> str:
    lines = [headline(advice, objectives), ""]
    if advice.points:
        lines += _points_text(task, advice, objectives)
    elif not task.others:
        lines += [auto_confs(task, advice, objectives)[LINES_FILE].rstrip("\n"), ""]
    lines += proof_sentences(task, advice, objectives)
    for at, objective in enumerate(objectives):
        of = f" for {objective}" if task.others else ""
        mine = [each for each in advice.known if each.objective == at]
        placebos, active, open_ = (
            [each for each in mine if each.standing is kind]
            for kind in (Standing.PLACEBO, Standing.ACTIVE, Standing.OPEN)
        )
        count = counted(len(placebos), "setting")
        lines.append(f"do not matter{of} within ±{100 * task.margin:.3g} % from start to far level: {count}")
        lines += [f"  {screened_words(each)}" for each in placebos]
        if open_:
            names = ", ".join(each.name for each in open_)
            lines.append(f"may matter{of}, which was not resolved: {names}")
        if active:
            lines += [f"matter{of}:", *(f"  {screened_words(each)}" for each in active)]
    searched, lost = counted(advice.trials, "configuration"), counted(advice.failed, "trial")
    lines.append(f"searched: {searched}; {lost} without a result")
    if advice.refused:
        lines.append("refused or failed:")
    lines += [f"  {what}: {cause}, {often}: {why}" for what, cause, why, often in refused_rows(advice.refused)]
    if task.space.left_out:
        lines.append(f"not tried: {', '.join(task.space.left_out)} (pgassay advise --dry-run says why)")
    if advice.points:
        lines.append(f"picture: {folder}/{advice.study}/{REPORT}/{PAGE}")
    return "\n".join([*lines, f"record: {folder}"]) + "\n"


def _points_text(task: Task, advice: Advice, objectives: Sequence[str]) -> Iterator[str]:
    head, rows = table(advice, objectives)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    yield "against the start; intervals hold for all of these points and objectives together, at 95 %"
    yield ""
    for point in advice.points:
        if point.searched:
            yield f"{point.label}: {changes(task, point)}"
            if point.costs:
                yield f"  costs against the start: {'; '.join(point.costs)}"
    if advice.front:
        yield "a point is confirmed as a whole, and of its lines:"
    for point in advice.front:
        for name, value in point.configuration.changes_from(task.space.start).items():
            yield f"  {point.label}: {name} = {value}: {line_standing(task, point, name, objectives)}"


def proof_sentences(task: Task, advice: Advice, objectives: Sequence[str]) -> Iterator[str]:
    """What the fresh trials showed in addition to the headline, what the lines risk, and which lines went."""
    yield from task.remarks
    objective = objectives[0]
    for name in _OTHERS:
        if advice.confirmed and name in advice.proof:
            against = advice.proof[name]
            failed = f"it fails: {against.verdict.text}" if against.verdict.kind is Kind.FAILED else ""
            yield f"against the {name}: {failed or f'{objective} {ratio_interval(*inverted(against))}'}"
    if advice.chosen is not None and advice.searched is not None:
        seen = advice.searched if task.higher else -advice.searched
        found = ratio_interval(*inverted(advice.chosen))
        yield f"shrinkage: the search expected ×{number(exp(seen))} over the start; fresh trials of it found {found}"
    for point in advice.front:
        both = zip(objectives, point.searched, strict=True)
        expected = ", ".join(f"{name} ×{number(exp(each))}" for name, each in both)
        yield f"shrinkage of {point.label}: the search expected {expected}"
    for each in advice.kept:
        yield f"limit {each.limit}: a further trial of what is left keeps it: {chance(each.probability)}"
    if advice.confirmed or advice.front:
        recommended = [
            *(line.name for line in advice.lines if line.kept),
            *(name for point in advice.front for name in point.configuration.changes_from(task.space.start)),
        ]
        settings = [setting_in(task, name) for name in dict.fromkeys(recommended)]
        risks = [f"{each.name}: {each.risks}" for each in settings if each.risk is not Risk.SAFE]
        yield f"risks: {'; '.join(risks) if risks else 'none of these lines trades durability'}"
    for level in advice.levels:
        other = level.chosen if level.taken == level.usual else level.usual
        along = ratio_interval(level.found.effect, level.found.low, level.found.high) if level.found else "not measured"
        why = f"along with the other lines {level.usual} to {level.chosen} {along}"
        yield f"{level.name} = {level.taken} and not {other}: {why}"
    if advice.confirmed and advice.outdone:
        by = advice.outdone
        yield (
            f"the {by.by} was shown to do better than the lines of the search, and was taken as a whole:"
            f" {ratio_interval(*inverted(by.found))} against them"
        )
    yield from _removed(task, advice)
    if advice.idle:
        lines = ", ".join(f"{name} = {value}" for name, value in advice.idle.items())
        yield f"left out before the proof, since next to nothing was expected of it: {lines}"


def _removed(task: Task, advice: Advice) -> Iterator[str]:
    """The lines that went: those that nothing showed to help, and those that do not along with the others."""
    screened = {each.name: each for each in advice.screened}
    nothing: list[str] = []
    elsewhere: dict[str, list[str]] = {}
    for line in advice.lines:
        if not line.kept:
            found = screened.get(line.name)
            shown = found and shown_to_help(task.space, found, line.value, higher=task.higher)
            lines = nothing
            if found and shown:
                along = found.along_with
                place = f"in the screening along with {along}" if along else "over all of the screening"
                lines = elsewhere.setdefault(place, [])
            lines.append(f"{line.name} = {line.value} ({without(line)})")
    if nothing:
        yield f"tried and removed, nothing showed that it helps: {', '.join(nothing)}"
    for place, lines in elsewhere.items():
        yield f"removed, since it helps {place} and not along with the other lines: {', '.join(lines)}"


def headline(advice: Advice, objectives: Sequence[str]) -> str:
    both, objective = " and ".join(objectives), objectives[0]
    if len(objectives) > 1:
        if not advice.points:
            return f"nothing to choose: nothing was found that may be better by {both}"
        if not advice.front:
            return f"no point to choose from: none was confirmed to be better than the start by {both}"
        if len(advice.front) == 1:
            return f"one point, {advice.front[0].label}: {_effects(advice.front[0], objectives)} against the start"
        return f"{len(advice.front)} points to choose from by {both}: {', '.join(each.label for each in advice.front)}"
    if advice.best is None:
        return "nothing to change: no setting of this space was shown to matter for this load"
    if not advice.confirmed:
        found = advice.proof.get("start") or advice.chosen
        if found is None:
            return "no change was confirmed to help"
        what = "all lines of the search together" if advice.recommended is None else "what was left of the lines"
        more = "; a longer --budget may resolve it" if found.verdict.kind is Kind.UNRESOLVED else ""
        seen = ratio_interval(*inverted(found))
        if advice.helps:
            limits = ", ".join(f"{each.limit} ({chance(each.probability)})" for each in advice.kept)
            return f"no change is advised: {what} made {objective} {seen} against the start, and may not keep {limits}"
        return f"no change was confirmed to help: {what} made {objective} {seen} against the start{more}"
    kept = counted(sum(each.kept for each in advice.lines), "line")
    answer = f"{kept}: {objective} {ratio_interval(*inverted(advice.proof['start']))} against the start"
    faster = [each for each in _OTHERS if each in advice.proof and advice.proof[each].verdict.kind is Kind.BETTER]
    return f"{answer}; the {' and the '.join(faster)} did better still" if faster else answer


def plan(task: Task, objectives: Sequence[str]) -> str:
    """What would be tried, and how the budget is spent."""
    steps, names = task.amounts, [each.name for each in task.space.dimensions]
    proof = (
        f" at most {duration(steps.lines_s)} of lines in and out and {duration(steps.confirmation_s)} of confirmation"
    )
    if len(objectives) > 1:
        points = steps.least.finalists
        proof = (
            f" {counted(points, 'point')} of the front in a confirmation of at most"
            f" {counted(blocks_of(steps, points + REFERENCES), 'block')}"
        )
    turned = f" ({counted(len(task.turned), 'setting')} by servers in turns)" if task.turned else ""
    lines = [
        f"advice for {' and '.join(objectives)}: {counted(len(names), 'setting')}: {', '.join(names)}",
        f"screening of {2 * steps.least.screening_pairs} configurations{turned}, a search in {steps.batches}"
        f" batches,{proof}",
        f"at least {duration(steps.needed_s)}; seed {task.seed}",
    ]
    lines += task.remarks
    lines += [f"not tried: {name}: {why}" for name, why in task.space.left_out.items()]
    return "\n".join(lines) + "\n"


def values(task: Task, advice: Advice, objectives: Sequence[str], folder: str) -> dict[str, Any]:
    return {
        "format": 1,
        **(_points_values if task.others else _lines_values)(task, advice, objectives),
        "screened": [screened_values(each, objectives) for each in advice.screened],
        "refused": [asdict(each) for each in advice.refused],
        "left_out": dict(task.space.left_out),
        "start": dict(task.space.start.values),
        "study": advice.study if advice.proof or advice.points else None,
        "record": folder,
    }


def _lines_values(task: Task, advice: Advice, objectives: Sequence[str]) -> dict[str, Any]:
    return {
        "objective": objectives[0],
        "confirmed": advice.confirmed,
        "settings": {each.name: each.value for each in advice.lines if each.kept} if advice.confirmed else {},
        "lines": [
            {
                "name": each.name, "value": each.value, "start": each.start, "kept": each.kept,
                "together": each.together, "taken_from": each.taken_from or None,
                "screened": each.kept and each.screened is not None and each.screened.along_with != LINES,
                "without": _compared(each.without) if each.without else None,
                "costs_without": list(each.without.costs) if each.without else [],
            }
            for each in advice.lines
        ],
        "proof": {name: _compared(found) for name, found in advice.proof.items()},
        "limits": [{"limit": each.limit, "probability": each.probability} for each in advice.kept],
        "shrinkage": {
            "searched": exp(advice.searched if task.higher else -advice.searched) if advice.searched else None,
            "chosen": _compared(advice.chosen) if advice.chosen else None,
        },
        "levels": [
            {"name": each.name, "usual": each.usual, "chosen": each.chosen, "taken": each.taken}
            for each in advice.levels
        ],
        "outdone_by": advice.outdone.by if advice.outdone else None,
        "in_and_out": [screened_values(each, objectives) for each in advice.in_and_out],
        "known": [
            {**screened_values(each, objectives), "beside_lines": each.along_with == LINES} for each in advice.known
        ],
    }  # fmt: skip


def _points_values(task: Task, advice: Advice, objectives: Sequence[str]) -> dict[str, Any]:
    start = task.space.start
    return {
        "objectives": list(objectives),
        "confirmed": bool(advice.front),
        "front": [each.label for each in advice.front],
        "points": [
            {
                "label": each.label, "standing": each.standing.value, "by": each.by or None,
                "settings": each.configuration.changes_from(start),
                "shown": {name: [objectives[at] for at in of] for name, of in each.shown.items()},
                "effects": [effect_values(effect) for effect in each.effects], "costs": list(each.costs),
                "keep": {one.limit: one.probability for one in each.kept},
                "searched": {name: exp(seen) for name, seen in zip(objectives, each.searched, strict=False)},
            }
            for each in advice.points
        ],
    }  # fmt: skip


def _compared(found: Compared) -> dict[str, Any]:
    return {"verdict": found.verdict.kind.value, "text": found.verdict.text, **effect_values(found.effect)}


def screened_values(each: Screened, objectives: Sequence[str]) -> dict[str, Any]:
    """An effect of a screening for scripts; of several objectives with its own."""
    of = {"objective": objectives[each.objective]} if len(objectives) > 1 else {}
    return of | {
        "name": each.name, "start": each.start, "far": each.far, "effect": each.effect, "low": each.low,
        "high": each.high, "standing": each.standing.value, "beside": each.along_with or None,
    }  # fmt: skip


def chance(probability: float) -> str:
    """A probability as a reader sees it; never quite none or all."""
    if not isfinite(probability):
        return "not known"
    return "> 99 %" if probability > 0.99 else "< 1 %" if probability < 0.01 else f"{100 * probability:.0f} %"


def setting_in(task: Task, name: str) -> Setting:
    """What is known of a setting, by the space or else by us."""
    own = {each.name: each.setting for each in task.space.dimensions}
    return own[name] if name in own else known_settings()[name]


def gain(line: Line, objective: str) -> str:
    """What a line earns: the configuration with it against that without it."""
    if line.taken_from:
        return f"a line of the {line.taken_from}, which was shown to do better as a whole; not tried by itself"
    if line.screened:
        by = "in and out along with the other lines" if line.screened.along_with == LINES else "by the screening"
        return f"shown {by} ({screened_words(line.screened)}); in the confirmation {without(line)}"
    if line.together:
        return f"kept with the other lines that are missed only together; alone {without(line)}"
    if line.without is None or line.without.verdict.kind is Kind.FAILED:
        return "without it the server fails"
    return f"{objective} {ratio_interval(*inverted(line.without))} with it"


def without(line: Line) -> str:
    """What leaving a line out did, or what its trials in and out say where nothing showed that it helps."""
    if line.without is None and line.screened is not None:
        return f"in and out: {ratio_interval(line.screened.effect, line.screened.low, line.screened.high)}"
    if line.without is None:
        return "not measured"
    effect = line.without.effect
    return f"without it {ratio_interval(effect.estimate, effect.low, effect.high)}, {line.without.verdict.kind}"


def screened_words(each: Screened) -> str:
    where = f" along with {each.along_with}" if each.along_with else ""
    return f"{each.name} {each.start} to {each.far}{where}: {ratio_interval(each.effect, each.low, each.high)}"


def line_standing(task: Task, point: Point, name: str, objectives: Sequence[str]) -> str:
    """Is a line of a point shown to help, and by what? No trial leaves it out of its point."""
    if len(point.configuration.changes_from(task.space.start)) == 1:
        return "its only line"
    by = " and ".join(objectives[at] for at in point.shown.get(name, ()))
    return f"shown by the screening to help {by}" if by else "not shown to help by itself"


def table(advice: Advice, objectives: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: every configuration that was confirmed, with its intervals against the start."""
    limits = [each.limit for each in advice.points[0].kept] if advice.points else []
    head = ["point", *objectives, *(f"keeps {each}" for each in limits), "standing"]
    rows = []
    for point in advice.points:
        effects = [effect_words(each) for each in point.effects] or ["the start" for _ in objectives]
        chances = [chance(each.probability) for each in point.kept]
        rows.append([point.label, *effects, *chances, standing(point)])
    return head, rows


def standing(point: Point) -> str:
    by = f" by {point.by}" if point.standing is PointStanding.DOMINATED else ""
    return f"{point.standing.value}{by}"


def changes(task: Task, point: Point) -> str:
    lines = point.configuration.changes_from(task.space.start)
    return ", ".join(f"{name} = {value}" for name, value in lines.items()) or "nothing"


def effect_words(effect: Effect) -> str:
    return ratio_interval(effect.estimate, effect.low, effect.high) if effect.bounded else "not measured"


def _effects(point: Point, objectives: Sequence[str]) -> str:
    both = zip(objectives, point.effects, strict=True)
    return ", ".join(f"{name} {effect_words(each)}" for name, each in both)


_ROW, _HEIGHT = 24, 320
_PANEL = "{0} (right) against {1} (up)"
_SHADES = {Standing.ACTIVE: PALETTE[0], Standing.OPEN: INK, Standing.PLACEBO: GREY}
WORDS = {Standing.ACTIVE: "matters", Standing.OPEN: "open", Standing.PLACEBO: "does not matter"}
"""Of a screened setting, for readers."""


def sections(task: Task, advice: Advice, objectives: Sequence[str]) -> tuple[Section, ...]:
    """The answer and the advice, for `page.write`: they stand before everything else.

    Points to choose from take the place of the run's verdicts, whose intervals are of fewer comparisons: one page has
    one interval for an effect.
    """

    def blocks(findings: "Findings") -> Iterator[Block]:
        titles = {each: findings.responses[each].title for each in objectives}
        yield Sentences(tuple(proof_sentences(task, advice, objectives)))
        yield from _points_blocks(task, advice, titles) if task.others else _lines_blocks(task, advice, objectives)
        yield configurations(findings.study)
        for at, (objective, title) in enumerate(titles.items()):
            figure = _settings_figure(task, advice, at, objective, title)
            yield Folded(f"The settings by {title}", (figure,)) if task.others else figure
        found: dict[str, list[Screened]] = {}
        for each in _sorted(advice.known):
            found.setdefault(each.name, []).append(each)
        rows = []
        for name, effects in found.items():
            first, *_ = effects = sorted(effects, key=lambda each: each.objective)
            cells = (
                cell
                for each in effects
                for cell in (ratio_interval(each.effect, each.low, each.high), WORDS[each.standing])
            )
            seen = f"along with {first.along_with}" if first.along_with else "over all of the screening"
            rows.append([name, first.start, first.far, *cells, seen])
        all_of = "settings and objectives" if task.others else "settings"
        note = f"intervals hold for all {all_of} together, at 95 %; within ±{100 * task.margin:.3g} % none matters"
        columns = [column for each in objectives for column in (each, "standing")]
        table = Table(["setting", "start", "far level", *columns, "seen"], rows, notes=(note,), texts=True)
        yield Folded("All settings that were screened", (table,))
        yield from refused_table(advice.refused)

    answer = contents.headline_instead((headline(advice, objectives),))
    if task.others:
        return answer, replace(verdict.SECTION, title="The front", describe=blocks, link="Front", open=True)
    return answer, Section("advice", "The advice", blocks, link="Advice", open=True)


def _lines_blocks(task: Task, advice: Advice, objectives: Sequence[str]) -> Iterator[Block]:
    if not advice.confirmed:
        return
    rows = [
        [
            each.name, each.start, each.value, gain(each, objectives[0]),
            setting_in(task, each.name).reason,
            # Why it may help, and no proof.
            f"without it: {'; '.join(each.without.costs)}" if each.without and each.without.costs
            else "no cost surely moved",
        ]
        for each in advice.lines if each.kept
    ]  # fmt: skip
    yield Table(["setting", "start", "advised", "what it earns", "why it may help", "costs"], rows, texts=True)
    lines = auto_confs(task, advice, objectives)[LINES_FILE]
    yield Folded("The lines for postgresql.auto.conf", (Code(lines, "postgresql.auto.conf"),))


def _points_blocks(task: Task, advice: Advice, titles: Mapping[str, str]) -> Iterator[Block]:
    objectives = tuple(titles)
    head, rows = table(advice, objectives)
    shown = [
        [*row, changes(task, each), "; ".join(each.costs) or "–"] for row, each in zip(rows, advice.points, strict=True)
    ]
    yield Figure("front-points", lambda: points_drawing(advice, tuple(titles.values())), key=1)
    notes = (
        "ratios to the start; intervals hold for all of these points and objectives together, at 95 %",
        "a limit's probability is that of one further trial",
    )
    yield Table([*head, "changes", "costs that moved"], shown, "Points to choose from", notes)
    if not advice.front:
        return
    lines = [
        [each.label, f"{name} = {value}", line_standing(task, each, name, objectives)]
        for each in advice.front
        for name, value in each.configuration.changes_from(task.space.start).items()
    ]
    yield Table(["point", "line", "standing"], lines, "Their lines", texts=True)
    confs = auto_confs(task, advice, objectives)
    for each in advice.front:
        yield Folded(f"Lines of {each.label}", (Code(confs[f"point-{each.label}.conf"], "postgresql.auto.conf"),))


def _settings_figure(task: Task, advice: Advice, at: int, objective: str, title: str) -> Figure:
    screened = [each for each in advice.known if each.objective == at]

    def effects() -> Drawing | None:
        found = drawing(screened, title, task.margin)
        return replace(found, title=f"{found.title}: {title}") if found and task.others else found

    if task.others:
        return Figure(f"screened-{objective}", effects)
    return Figure("screened-settings", effects, key=1)


def configurations(study: "Study") -> Folded:
    """The settings of each configuration of the study, once: everywhere else they go by their names."""
    factors = {name for each in study.treatments for name in each.levels}
    rows = [
        [each.name, *(each.levels[name].typed if name in each.levels else "default" for name in sorted(factors))]
        for each in study.treatments
    ]
    head = ["configuration", *(each.removeprefix("server.") for each in sorted(factors))]
    return Folded("What each configuration sets", (Table(head, rows, texts=True),))


def drawing(screened: Sequence[Screened], title: str, margin: float) -> Drawing | None:
    """What each setting does alone, from its start to its far level; None where nothing was screened."""
    found = rows_of(screened)
    if not found:
        return None
    import altair as alt

    from pgassay.report import charts

    axis = alt.Axis(labelExpr="datum.value == 0 ? '0' : format(datum.value, '+,.3~r')")
    x = alt.X("effect:Q", title=charts.wrapped(f"{title}, %", charts.NARROW), axis=axis)
    y = alt.Y("name:N", title=None, sort=[each["name"] for each in found], axis=alt.Axis(labelOverlap=False))
    once = alt.Chart().transform_filter(f"datum.name == {json.dumps(drawable(found[0]['name']))}")
    shade = alt.Color("shade:N", scale=None, legend=None)
    tips = [charts.tip("name:N", "setting"), charts.tip("levels:N"), charts.tip("standing:N"), charts.tip("effect:Q")]
    low, high = (alt.XDatum(100.0 * end) for end in (-margin, margin))
    layers = [
        once.mark_rect(color=GREY, opacity=0.15).encode(x=low, x2=high),
        once.mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(x=alt.XDatum(0)),
        alt.Chart().mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=shade),
        alt.Chart().mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=shade, tooltip=tips),
    ]
    return Drawing(
        "What each setting does alone",
        "Change from the setting's start to its far level, in per cent, over all rows of the screening "
        "or, where those could not tell, along with the advised lines. Lines: "
        "intervals that hold for all settings together. "
        f"Shaded: within ±{100 * margin:.3g} % a setting does not matter (grey).",
        charts.layered(layers, found, _ROW * len(found)),
    )


def points_drawing(advice: Advice, titles: Sequence[str]) -> Drawing | None:
    """A panel for each pair of objectives; None where nothing has an interval."""
    found = point_rows(advice, titles)
    if not found:
        return None
    import altair as alt

    from pgassay.report import charts

    shade = alt.Color("shade:N", scale=None, legend=None)
    axis = alt.Axis(labelExpr="datum.value == 0 ? '0' : format(datum.value, '+,.3~r')")
    tips = [charts.tip("label:N", "point"), charts.tip("standing:N"), charts.tip("x:Q"), charts.tip("y:Q")]
    base = alt.Chart()
    panels = {}
    for panel in dict.fromkeys(str(each["panel"]) for each in found):
        rows = [each for each in found if each["panel"] == panel]
        x = alt.X("x:Q", title=charts.wrapped(f"{rows[0]['x_title']}, %", charts.NARROW), axis=axis)
        y = alt.Y("y:Q", title=charts.wrapped(f"{rows[0]['y_title']}, %", _HEIGHT), axis=axis)
        layers = [
            alt.Chart().mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(x=alt.XDatum(0)),
            alt.Chart().mark_rule(color=INK, strokeWidth=1, opacity=0.4).encode(y=alt.YDatum(0)),
            base.mark_rule(strokeWidth=1.5).encode(x=alt.X("x_low:Q"), x2="x_high:Q", y=y, color=shade),
            base.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("y_low:Q"), y2="y_high:Q", color=shade),
            base.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, color=shade, tooltip=tips),
            base.mark_text(align="left", dx=8, dy=-9).encode(x=x, y=y, text="label:N", color=alt.value(INK)),
        ]
        panels[panel] = charts.layered(layers, rows, _HEIGHT)
    several = [shown.properties(title=panel) for panel, shown in panels.items()]
    return Drawing(
        "The front: " + " against ".join(titles),
        "Changes against the start (lines at 0), in per cent. Crosses: intervals that hold for all points and "
        "objectives together. Grey: dominated, not shown to be better in anything, or a limit is not kept.",
        alt.vconcat(*several) if len(panels) > 1 else next(iter(panels.values())),
    )


def point_rows(advice: Advice, titles: Sequence[str]) -> list[dict[str, Any]]:
    """What is drawn: each point in each pair of objectives, in per cent against the start."""
    found = []
    for first, second in combinations(range(len(titles)), 2):
        panel = _PANEL.format(titles[first], titles[second])
        for point in advice.points:
            effects = [point.effects[at] if point.effects else None for at in (first, second)]
            if any(each is not None and not each.bounded for each in effects):
                continue
            row: dict[str, Any] = {
                "panel": panel, "label": point.label, "standing": standing(point),
                "shade": {PointStanding.FRONT: PALETTE[0], PointStanding.REFERENCE: INK}.get(point.standing, GREY),
                "x_title": titles[first], "y_title": titles[second],
            }  # fmt: skip
            for axis, each in zip("xy", effects, strict=True):
                ends = (each.estimate, each.low, each.high) if each else (1.0, 1.0, 1.0)
                row |= zip((axis, f"{axis}_low", f"{axis}_high"), map(_percent, ends), strict=True)
            found.append(row)
    wide = any(each[f"{axis}_high"] != each[f"{axis}_low"] for each in found for axis in "xy")
    return found if wide else []


def rows_of(screened: Sequence[Screened]) -> list[dict[str, Any]]:
    """What is drawn: a row for each setting, the largest effect first, in per cent."""
    return [
        {
            "name": each.name, "levels": f"{each.start} to {each.far}", "standing": WORDS[each.standing],
            "shade": _SHADES[each.standing], "effect": _percent(each.effect), "low": _percent(each.low),
            "high": _percent(each.high),
        }
        for each in _sorted(screened)
    ]  # fmt: skip


def _sorted(screened: Sequence[Screened]) -> list[Screened]:
    return sorted(screened, key=lambda each: -max(each.effect, 1.0 / each.effect))


def _percent(ratio: float) -> float:
    return 100.0 * (ratio - 1.0)
