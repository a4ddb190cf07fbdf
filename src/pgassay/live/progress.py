"""How far a run is, from its record alone: the answer so far, its schedule, its decisions, and what runs now.

The answer is computed again after each block and no oftener: it changes with whole blocks. Until the first look at the
data is due it says so, and shows no verdict.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.live.catalogue import FINISHED, INTERRUPTED
from pgassay.record import directory
from pgassay.record.directory import holder
from pgassay.record.journal import Entry, Kind, Step, decisions_in
from pgassay.record.reading import Run
from pgassay.report import formatting, power_cuts, verdict
from pgassay.report.findings import Findings
from pgassay.report.headline import headline_of
from pgassay.report.trials import Remaining
from pgassay.report.vega import drawable
from pgassay.study.model import Study
from pgassay.study.responses import Status

NOTHING_YET = "Nothing has been measured yet"
PREPARING = "preparing"

RUNNING, KILLED = "running", "ended unexpectedly"
SAID_MAX = 200
"""The last ones of the journal's lines are shown."""
_SAID: Mapping[str, str] = {
    Status.VALID: "done", Status.INVALID: "discarded", Status.OUTCOME: "failed",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A trial of the schedule: `state` is done, running, discarded, failed, or given up; `why` belongs to it."""

    number: int
    block: int
    arm: str
    state: str
    why: str = ""


@dataclass(frozen=True)
class Said:
    """A line of the journal in words, with the time of day (UTC)."""

    at: str
    text: str


@dataclass(frozen=True)
class Answer:
    """What is known so far, and the forest of the primary response as Vega-Lite; empty before there is one."""

    sentences: Sequence[str] = ()
    figure: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """All of it, as a page shows it; `note` says why there is no verdict yet."""

    state: str
    note: str
    doing: str
    blocks_max: int
    answer: Answer
    places: Sequence[Place]
    said: Sequence[Said]
    stop_asked: bool
    can_stop: bool
    left: str = ""
    """How long it may go on, by the pace so far."""


class Watched:
    """A run that somebody looks at; what several of them ask for is computed once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._answered: tuple[object, Answer, Study | None, bool] = (None, Answer(), None, False)

    def progress(self) -> Progress:
        """As the record is now; raises `RecordError` where it cannot be read."""
        with self._lock:
            run = Run.open(self.path, leave_out=True)
            state = state_of(run)
            places = list(_places(run, going=state == RUNNING))
            whole = _whole(run, places)
            key = (whole, state, sum(each.state not in ("running", "given up") for each in places) == 0)
            if self._answered[0] != key:
                self._answered = (key, *_answer(run))
            _, answer, study, by_cuts = self._answered
            # Below the first look there is no verdict, whatever the numbers look like.
            early = f"no verdict before block {FIRST_LOOK}: {formatting.counted(whole, 'whole block')} so far"
            going = [each for each in places if each.state == "running"]
            doing = f"block {going[-1].block}: {', '.join([each.arm for each in going])}" if going else PREPARING
            return Progress(
                state=state,
                note="" if by_cuts or state == FINISHED or whole >= FIRST_LOOK else early,
                doing=doing if state == RUNNING else "",
                blocks_max=0 if study is None else study.design.blocks_max,
                answer=answer,
                places=places,
                said=tuple(
                    Said(f"{datetime.fromtimestamp(entry.wall_ns / 1e9, UTC):%H:%M:%S}", text)
                    for entry in run.journal
                    if (text := _words(entry))
                )[-SAID_MAX:],
                stop_asked=directory.stop_is_asked(run.disk, run.path),
                can_stop=state == RUNNING,
                left=_left(run, study) if state == RUNNING and study is not None else "",
            )


def state_of(run: Run) -> str:
    last = run.journal[-1].kind
    if last == Kind.FINISHED:
        return FINISHED
    if holder(run.path) is not None:
        return RUNNING
    return INTERRUPTED if last == Kind.INTERRUPTED else KILLED


def _answer(run: Run) -> tuple[Answer, Study | None, bool]:
    """The headline and the forest, the study as it is run, and whether each power cut is judged by itself.

    A record that cannot be judged says why.
    """
    try:
        findings = Findings(run)
        if not findings.trials:
            return Answer((NOTHING_YET,)), findings.study, False
        said = Answer(tuple(map(formatting.sentence, headline_of(findings).sentences)), _forest(findings))
        return said, findings.study, power_cuts.decide(findings)
    except Exception as failure:  # a page that goes on is worth more than one that ends
        return Answer((report_failed(failure),)), None, False


def _forest(findings: Findings) -> Mapping[str, Any]:
    """The report's main figure; empty while no interval tells anything."""
    from pgassay.report import charts

    found = verdict.drawing(findings)
    if found is None:
        return {}
    figure: Mapping[str, Any] = drawable({**charts.specified(found.chart), "description": found.title})
    return figure


def _left(run: Run, study: Study) -> str:
    left = Remaining(study)
    for trial in run.trials:
        left.add(trial)
    for each in decisions_in(run.journal):
        if each.step is Step.DROP:
            left.drop()
    return str(left)


def _whole(run: Run, places: Sequence[Place]) -> int:
    """How many blocks are whole: the last one that was begun is where something else was decided after its trials."""
    begun = max((each.block for each in places), default=0)
    started = max((each.seq for each in run.journal if each.kind == Kind.TRIAL_STARTED), default=0)
    later = [each.data for each in run.journal if each.kind == Kind.DECISION and each.seq > started]
    ended = any(
        each.get("step") == Step.STOP or (each.get("step") in (Step.NEXT, Step.BLOCK) and each.get("block") != begun)
        for each in later
    )
    return begun if ended else max(0, begun - 1)


def _places(run: Run, *, going: bool) -> Iterator[Place]:
    """Every trial that was begun, in order; a number that was begun twice was given up the first time."""
    known = {trial.number: trial for trial in run.trials}
    begun = [each for each in run.journal if each.kind == Kind.TRIAL_STARTED]
    last = {each.data.get("number"): each.seq for each in begun}
    since = max((each.seq for each in run.journal if each.kind in (Kind.RESUMED, Kind.RUN_STARTED)), default=0)
    for entry in begun:
        number = entry.data.get("number")
        if not isinstance(number, int):
            continue
        trial = known.get(number)
        block = entry.data.get("block")
        if trial is not None and last[number] == entry.seq:
            why = "; ".join(f"{each.code}: {each.detail}" for each in trial.reasons)
            yield Place(number, trial.block, trial.arm, _SAID.get(trial.status, str(trial.status)), why)
        elif isinstance(block, int):
            now = going and trial is None and last[number] == entry.seq and entry.seq > since
            yield Place(number, block, str(entry.data.get("arm", "")), "running" if now else "given up")


def _words(entry: Entry) -> str:
    data = entry.data
    match entry.kind:
        case Kind.RUN_STARTED:
            return "the run began"
        case Kind.PREPARED:
            seconds = data.get("seconds")
            return f"data prepared in {formatting.duration(seconds if isinstance(seconds, int | float) else None)}"
        case Kind.RESUMED:
            return "the run goes on"
        case Kind.INTERRUPTED:
            return f"interrupted: {data.get('reason', '')}"
        case Kind.FINISHED:
            return f"finished: {data.get('reason', '')}"
        case Kind.DECISION:
            return _decision(data)
    return ""


def _decision(data: Mapping[str, Any]) -> str:
    block, arms = data.get("block"), data.get("arms")
    match data.get("step"):
        case Step.NEXT:
            again = f", attempt {data.get('attempt')}" if data.get("attempt", 1) != 1 else ""
            return f"block {block}: {data.get('arm')}{again}"
        case Step.BLOCK:
            listed = ", ".join(map(str, arms)) if isinstance(arms, Sequence) else ""
            return f"block {block}, in turns: {listed}"
        case Step.DROP:
            return f"{data.get('arm')} leaves: {data.get('reason', '')}"
        case Step.STOP:
            return f"stop: {data.get('reason', '')}"
    return ""


def report_failed(error: Exception) -> str:
    """A record that no report can be made of, though it can be opened."""
    return f"no report can be made of this run: {type(error).__name__}: {error}"
