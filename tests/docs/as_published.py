"""The tables of docs/published-studies.md and its evidence: what the published studies take, and what a run can judge.

Plans are what `pgassay run … --as-published --dry-run --json` printed, kept in docs/as-published;
`test_as_published.py` fails where a study has changed since.
"""

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgassay.analysis.claims import Mark, instances, is_paired, missing_levels, sides, treatment_of
from pgassay.analysis.compare import is_speed, refusal_by_levels
from pgassay.lab import measurements
from pgassay.lab.arms import setup_of
from pgassay.lab.catalogue import every_factor
from pgassay.lab.scale_model import Machine, modelled
from pgassay.load import drivers
from pgassay.probe.registry import every_probe
from pgassay.report import formatting
from pgassay.report.published import FITTED
from pgassay.study import builtin
from pgassay.study.document import Overrides, read, resolve
from pgassay.study.levels import Level
from pgassay.study.model import Claim, Study
from pgassay.study.parsing import parse
from pgassay.study.responses import Response
from tests.load.loads import fake_tools

KEPT = Path(__file__).parents[2] / "docs" / "as-published"
GALLERY = KEPT.with_name("gallery")
OF_TODAY = (
    "full-page-writes", "random-page-cost", "io-method", "checksums", "versions", "recovery-time", "keys",
    "toast-compression", "group-commit", "volumes", "wal-block",
)  # fmt: skip
"""The studies of the questions of today, in the order of their table."""
SIZE = "as-published"
_BOTH = "drive.data=normal=directory:/var/lib/pgassay/normal,compressing=directory:/var/lib/pgassay/compressing"
_MODEL = ("load.duration=10s", "load.warmup=2s")


@dataclass(frozen=True)
class Planned:
    """A plan that is kept: which of the five published studies it is of, and what was said on the command line."""

    published: int
    study: str
    fixed: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    scale_to: str = ""

    @property
    def file(self) -> Path:
        """Where the plan is kept."""
        return KEPT / f"{self.study}{'-model' if self.scale_to else ''}.json"

    @property
    def plan(self) -> Mapping[str, Any]:
        """What the dry run printed."""
        found: Mapping[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))
        return found

    def parsed(self) -> Study:
        """The study as it is today, in the size that was planned; a model is left as large as its original."""
        overrides = Overrides(size=SIZE, fixed=self.fixed, levels=self.levels)
        document = resolve(self.study, read(self.study, builtin.find(self.study)[1]), overrides)
        return parse(self.study, document, every_factor())

    def sized(self) -> Study:
        """The study as it is today, in the size that was planned, as a model on two cores if it is one."""
        said = Overrides(size=SIZE, fixed=self.fixed, levels=self.levels, scale_to=self.scale_to or None)
        document = resolve(self.study, read(self.study, builtin.find(self.study)[1]), said)
        found = modelled(self.study, document, every_factor(), PLANNING)
        small = document if found is None else found.document
        return parse(self.study, small, every_factor())

    @staticmethod
    def claims(study: Study) -> list[Claim]:
        """Its findings, on each drive that is what the authors' was, and at each level that one is about."""
        return [one for claim in study.claims for one in instances(claim, study)]

    @property
    def command(self) -> str:
        """What makes the plan."""
        said = [f"--scale-to {self.scale_to}"] if self.scale_to else []
        said += [f"--levels {each}" for each in self.levels] + [f"--set {each}" for each in self.fixed]
        return " ".join((f"pgassay run {self.study} --{SIZE}", *said, "--dry-run"))


PLANNING = Machine(cores=2, memory_bytes=24 << 30)
"""The machine of the kept plans, as far as a model goes by it."""
WHOLE = (
    Planned(1, "page-size"),
    Planned(2, "cores"),
    Planned(2, "disk"),
    Planned(3, "fillfactor-drive", ("drive.state=fresh",), (_BOTH,)),
    Planned(
        3,
        "wal-drive",
        ("drive.data=compressing=directory:/var/lib/pgassay/compressing", "drive.state=fresh"),
        ("drive.wal=beside,compressing=directory:/var/lib/pgassay/wal",),
    ),
    Planned(4, "cache"),
    Planned(5, "tpcc-fillfactor", ("drive.state=fresh",), (_BOTH,)),
)
MODELS = (
    Planned(
        3, "fillfactor-drive", _MODEL, ("load.scenario=oltp_update_non_index,oltp_delete", "load.threads=4"), "800MB"
    ),
    Planned(3, "wal-drive", _MODEL, ("load.threads=1,32",), "800MB"),
    Planned(5, "tpcc-fillfactor", _MODEL, ("load.warehouses=13500",), "800MB"),
)


def row(cells: Iterable[str]) -> str:
    """One row of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def plans(of: Sequence[Planned]) -> list[str]:
    """A row for each plan: trials, their length, what lies on the drives; then what the planning machine lacked."""
    heads = ("study", "arms × blocks", "a trial", "the fewest blocks take", "data, snapshots and WAL")
    lines = [row(heads), "|---|---|---|---|---|"]
    missing = dict[str, list[str]]()
    for each in of:
        plan = each.plan
        trial_s, whole_s = plan["trial_s"], plan["time_min_s"]
        needed = [plan["needed_bytes"], *(other["needed_bytes"] for other in plan["elsewhere"])]
        lines.append(
            row(
                (
                    f"{each.published}: `{each.study}`",
                    f"{len(plan['arms'])} × {plan['blocks_min']} to {plan['blocks_max']}"
                    if plan["blocks_max"] != plan["blocks_min"]
                    else f"{len(plan['arms'])} × {plan['blocks_min']}",
                    formatting.duration(trial_s) if trial_s else "as long as its probes take",
                    formatting.duration(whole_s) if whole_s else "known after the first trial",
                    " and ".join(formatting.size(amount) for amount in needed),
                )
            )
        )
        for said in map(_without_place, plan["missing"]):
            missing.setdefault(said, []).append(f"`{each.study}`")
    listed = [f"- {', '.join(studies)}: {said}" for said, studies in missing.items()]
    return [*lines, "", "What the planning machine lacked:", "", *listed] if listed else lines


def _without_place(said: str) -> str:
    """What is missing, without the directory of the planning machine and what is free there."""
    return said.rpartition(", ")[2] if said.startswith('"') else said


def commands() -> list[str]:
    """The commands that made the plans, as code."""
    return ["```", *(each.command for each in (*WHOLE, *MODELS)), "```"]


def untestable(claim: Claim, study: Study) -> str:
    """Why a run of the study cannot test a claim, as far as can be told before it; empty where it can."""
    if claim.untestable:
        return claim.untestable
    if absent := missing_levels(claim, study):
        return f"it is about {', '.join(absent)}, which this size does not have"
    met = sides(claim, study) if is_paired(claim, study) else not claim.against or treatment_of(claim.against, study)
    if not met:
        return "no arm of this size is what it compares with"
    if claim.response in FITTED:
        return ""
    response = responses(study).get(claim.response)
    if response is None:
        return f"{claim.response} is not measured"
    arm = next(iter(study.arms))
    mine, theirs = (
        {**study.levels_of(arm), **{name: Level(typed, typed) for name, typed in levels.items()}}
        for levels in (claim.treatment, claim.against)
    )
    return refusal_by_levels(theirs, mine) if is_speed(response) else ""


def responses(study: Study) -> Mapping[str, Response]:
    """What a run of the study measures: its load's own responses and the probes'."""
    options = [setup_of(study, study.arms[0], every_factor()).load]
    asked = measurements.responses(options)
    own = drivers.make(options[0], fake_tools()).responses
    return {each.name: each for each in (*own, *every_probe().responses, *asked)}


def judged() -> list[str]:
    """A row for each published study: how many of its findings each size can judge."""
    lines = [row(("study", "as published", "with `--quick`", "as a scale model")), "|---|---|---|---|"]
    models = {each.study: each for each in MODELS}
    for each in WHOLE:
        model = _judged(models[each.study].parsed()) if each.study in models else "needs none"
        cells = (_judged(each.parsed()), _judged(quick(each.study)), model)
        lines.append(row((f"{each.published}: `{each.study}`", *cells)))
    return lines


def of_today() -> list[str]:
    """Of each question of today how many findings the gallery's run judged, and a row for each of these."""
    lines = [row(("study", "run, finding", "judged", "here")), "|---|---|---|---|"]
    for name in OF_TODAY:
        kept = json.loads((GALLERY / f"{name}.json").read_text(encoding="utf-8"))
        claims = kept.get("claims", ())
        settled = [each for each in claims if each["mark"] in (Mark.REPRODUCED, Mark.CONTRADICTED)]
        run = kept["facts"].rpartition("; ")[2]
        lines.append(row((f"`{name}`", run, f"{len(settled)} of {len(claims)}" if claims else "no claims", "")))
        lines += [row(("", each["text"], each["mark"], each["found"].removeprefix("here "))) for each in settled]
    return lines


def _judged(study: Study) -> str:
    found = Planned.claims(study)
    return f"{sum(not untestable(claim, study) for claim in found)} of {len(found)}"


def quick(name: str) -> Study:
    """A study in its quick size."""
    document = resolve(name, read(name, builtin.find(name)[1]), Overrides("quick"))
    return parse(name, document, every_factor())


def whole(of: Sequence[Planned]) -> list[tuple[int, Study]]:
    """The studies of these plans as they are today, with the number of the published study that each is of."""
    return [(each.published, each.parsed()) for each in of]


def quick_ones() -> list[tuple[int, Study]]:
    """The published studies in their quick sizes."""
    return [(each.published, quick(each.study)) for each in WHOLE]


def claims(of: Sequence[tuple[int, Study]]) -> list[str]:
    """For each study how many published findings such a run judges, and why not the others."""
    lines = list[str]()
    for published, study in of:
        reasons = Counter(why for claim in Planned.claims(study) if (why := untestable(claim, study)))
        line = f"- {published}: `{study.name.removesuffix('-quick')}`: {_judged(study)}"
        lines.append(f"{line}, but not" if reasons else line)
        for why, count in reasons.items():
            lines += textwrap.wrap(f"    - {count}: {why}", 150, subsequent_indent="      ", break_on_hyphens=False)
    return lines
