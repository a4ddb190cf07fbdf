"""Printing the plan of a run, as text or JSON."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TextIO

from pgassay import outgoing
from pgassay.analysis.numbers import bound_per_cent
from pgassay.host.storage import UNKNOWN
from pgassay.lab.plan import SEQUENTIAL, Elsewhere, MethodForecast, Plan, RiskForecast
from pgassay.lab.runner import COUNTED_BLOCKS
from pgassay.postgres.builds.builder import MissingBuild
from pgassay.record.calibrations import TURNS
from pgassay.report import formatting, likeness
from pgassay.study.document import ALONG, COUNT_LEVELS

LISTED = 8
"""Arms that the plan names; the others are counted."""
_SHOWN_S = 5.0
"""Preparing that takes longer than this is shown apart."""


def print_plan(plan: Plan, *, as_json: bool, stream: TextIO | None = None) -> None:
    """Print the plan on `stream` (default: standard output), as text or JSON."""
    stream = stream or sys.stdout
    if as_json:
        print(json.dumps(asdict(plan), indent=2, default=str), file=stream)
        return
    known = ((each, f" from {each['source']}" if "source" in each else "") for each in plan.postgres)
    postgres = "; ".join(
        f"{each['version']} in {each['bindir']} ({each['found_by']}{source})" for each, source in known
    )
    along = plan.fixed.get("load.count", "").startswith(ALONG)
    budget = f", budget {formatting.duration(plan.budget_s)}" if plan.budget_s else ""
    precise = "" if plan.precision is None else f"; until its interval is within ±{plan.precision * 100:.3g} %"
    others = [name for name in plan.settle if name != plan.primary]
    settled = f"; until settled, too: {', '.join(others)}" if others else ""
    lines = [
        f"{plan.title}: {plan.question}",
        f"  baseline    {plan.baseline}",
        *_listed("treatments", plan.arms),
        f"  held        {', '.join(f'{name}={_short(typed)}' for name, typed in plan.fixed.items())}",
        f"  response    {plan.primary}{precise}{until_safe(plan.risk)}{settled}",
        f"  postgres    {postgres or 'built first'}{'' if plan.servers else f'; {plan.account}'}",
        *unbuilt_lines(plan.unbuilt),
        *_servers(plan),
        f"  clusters    {_place(plan)}",
        *(f"              {_place(each)}" for each in plan.elsewhere),
        f"  blocks      {_span(str(plan.blocks_min), str(plan.blocks_max))}, {lengths(plan)}{budget}",
        *reboot_lines(plan),
        f"  pairing     {plan.pairing}",
        # Only times are calibrated.
        *([] if plan.fixed.get("load.count") in COUNT_LEVELS else [f"  noise       {_noise(plan)}"]),
        *forecast_lines(plan.forecasts),
        *(
            [f"  counts      a counted trial after each in the first {COUNTED_BLOCKS} blocks, on top of that time"]
            * along
        ),
        f"  seed        {plan.seed}",
        *_listed("block 1", plan.first_block),
        *([f"  defaults    {plan.defaults}"] if plan.defaults else []),
        *_titled("model", likeness.in_words(plan.scale_model) if plan.scale_model is not None else ()),
        *_listed("differs", plan.differs),
        *(f"  warning     {warning}" for warning in plan.warnings),
        *(f"  missing     {each}" for each in plan.missing),
    ]
    print(outgoing.lines(lines), end="", file=stream)


def _servers(plan: Plan) -> list[str]:
    said = []
    for name, known in plan.servers.items():
        rights = "superuser" if known["superuser"] else "no superuser"
        where = "on this machine" if known["here"] else "elsewhere"
        called = f"{name}: " if name else ""
        said.append(f"{called}{known['address']} ({where}), {known['version']}, role {known['role']} ({rights})")
    return [*_titled("server", said), *_titled("changes", plan.changes)]


def _place(place: Plan | Elsewhere) -> str:
    needed, free = formatting.size(place.needed_bytes), formatting.size(place.free_bytes)
    if place.filesystem == UNKNOWN:
        return f"databases of that server, about {needed}"
    return f"{place.data_directory} ({place.filesystem} on {place.device}), about {needed} of {free} free"


def unbuilt_lines(missing: Sequence[MissingBuild]) -> list[str]:
    if not missing:
        return []
    each_s = missing[0].seconds
    time = (
        "some minutes each"
        if each_s is None
        else f"about {formatting.duration(each_s * len(missing))} by the builds made here"
    )
    programs = formatting.counted(len(missing), "PostgreSQL")
    first = f"{programs} into {missing[0].cache}, {time} (or beforehand: pgassay postgres build)"
    return _listed("to build", [first, *(f"{each.name}; source: {each.source}" for each in missing)])


def reboot_lines(plan: Plan) -> list[str]:
    if not plan.reboots_max:
        return []
    counts = _span(str(plan.reboots_min), formatting.counted(plan.reboots_max, "reboot"))
    return [f"  reboots     none, where its authors made {counts}, one after each block"]


def until_safe(risk: RiskForecast | None) -> str:
    if risk is None:
        return ""
    bound = f"below {bound_per_cent(risk.below)} % a cut"
    time = "" if risk.time_s is None else f", {formatting.duration(risk.time_s)}"
    least = (
        f"{risk.epochs:,} epochs without any, {risk.cuts:,} cuts in {formatting.counted(risk.blocks, 'block')}{time}"
    )
    ends = (
        ""
        if risk.ends_first is None
        else f"; the run ends before, after {formatting.counted(risk.ends_first, 'block')}"
    )
    return f"; until a cut did damage, or damage is {bound}: {least}{ends}"


def _listed(title: str, names: Sequence[str]) -> list[str]:
    """A line a name; of many the first ones, since --json has all."""
    return _titled(title, [*names[:LISTED], *([f"… and {len(names) - LISTED} more"] if len(names) > LISTED else [])])


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    return [f"  {title if number == 0 else '':<10}  {line}" for number, line in enumerate(lines)]


def _short(typed: str) -> str:
    """Of a list with a line each (the scripts of a captured load) the first one, since --json has all."""
    first, *more = typed.splitlines() or [""]
    return f"{first} and {len(more)} more" if more else first


def _span(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def lengths(plan: Plan) -> str:
    """How long a trial and the whole take; transactions take any time, unless a calibration has seen them."""
    if plan.trial_s is None:
        return "their length is unknown until the first trial"
    whole = _span(formatting.duration(plan.time_min_s), formatting.duration(plan.time_max_s))
    length, loaded = formatting.duration(plan.trial_s), formatting.duration(plan.load_s)
    under = "" if loaded == length else f", {loaded} of it under load"
    if plan.layout_bytes:
        laid_out = (
            f"{formatting.duration(plan.layout_s)} for laying out its file of {formatting.size(plan.layout_bytes)}"
        )
        under = f"{under}, {laid_out}" if under else f", {laid_out}"
    source = ", as calibrated" if plan.trial_calibrated else under
    if plan.paced_by:
        source += f", by {formatting.counted(plan.paced_by, 'run')} here"
    first = plan.preparation_s
    prepared = f", {formatting.duration(first)} of it for snapshots" if first >= _SHOWN_S else ""
    ageing = f", {formatting.duration(plan.ageing_s)} for ageing the drives" if plan.ageing_s else ""
    return f"a trial about {length}{source}: {whole}{prepared}{ageing}"


_METHODS: Mapping[str, str] = {
    SEQUENTIAL: "one server after the other",
    TURNS: "servers in turns",
}


def forecast_lines(forecasts: Sequence[MethodForecast]) -> list[str]:
    """A line a way that this machine was calibrated in; none where only one way is known: then `noise` says it."""
    if not any(each.method != SEQUENTIAL for each in forecasts):
        return []
    lines = []
    for each in forecasts:
        if each.width is None:
            found = "too few blocks for an interval"
        else:
            high = "more" if each.high is None else f"{each.high * 100:.2g} %"
            low = "less" if each.low is None else f"{each.low * 100:.2g}"
            found = f"about ±{each.width * 100:.2g} % (between ±{low} and {high})"
        lines.append(
            f"{_METHODS[each.method]}: {found} after {formatting.counted(each.blocks, 'block')}; {each.source}"
        )
    return _titled("forecast", lines)


def _noise(plan: Plan) -> str:
    """What this machine's noise makes of the asked resolution, or that it is not known."""
    if plan.noise is None:
        return "not known here: pgassay calibrate shows how many blocks a resolution needs"
    needs = []
    for what, blocks in (
        ("to tell such a difference", plan.difference_blocks),
        ("to show that there is none", plan.equivalence_blocks),
    ):
        if blocks is None:
            needs.append(f"more blocks than can be run {what}")
        else:
            time = "" if plan.block_s is None else f" ({formatting.duration(blocks * plan.block_s)})"
            needs.append(f"{formatting.counted(blocks, 'block')}{time} {what}")
    wanted = f"±{plan.resolution * 100:.3g} %"
    return f"{plan.noise * 100:.2g} % ({plan.noise_source}); {wanted} needs " + ", ".join(needs)
