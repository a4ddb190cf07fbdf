"""How far a run is, from its record alone, and the events that a page of it gets while it runs.

The answer is computed again after each block and no oftener: it changes with whole blocks. Until the first look at the
data is due it says so, and shows no verdict.

Server-sent events: progress when the record changes, seconds as they come. The page's figure of seconds is here, too:
Vega-Lite in the report's look, whose rows are sent as they come. Nothing is looked at while nobody watches. A browser
that loses the connection comes back by itself and gets all again (HTML Living Standard, "Server-sent events").

Servers that take turns tell of each turn; a trial that has the machine to itself tells of each second. Counters are
cumulative, so two readings make a rate; one that went down was reset and makes none.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool

from pgassay import untrusted
from pgassay.analysis.boundaries import FIRST_LOOK
from pgassay.errors import PgassayError
from pgassay.outgoing import values
from pgassay.record import directory, live_sample, trials
from pgassay.record.directory import holder
from pgassay.record.disk import RealDisk
from pgassay.record.journal import FILE as JOURNAL_FILE
from pgassay.record.journal import Entry, Kind, Step, decisions_in
from pgassay.record.live_sample import LiveSample
from pgassay.record.reading import Run
from pgassay.report import formatting, power_cuts, verdict
from pgassay.report.contents import KEPT_FILE
from pgassay.report.findings import Findings
from pgassay.report.headline import headline_of
from pgassay.report.json_values import finite
from pgassay.report.trials import Remaining
from pgassay.report.vega import PALETTE, drawable
from pgassay.study.model import Study
from pgassay.study.responses import Status

NOTHING_YET = "Nothing has been measured yet"
PREPARING = "preparing"

FINISHED, INTERRUPTED, RUNNING, KILLED = "finished", "interrupted", "running", "ended unexpectedly"
SAID_MAX = 200
"""The last ones of the journal's lines are shown."""
_SAID: Mapping[str, str] = {
    Status.VALID: "done", Status.INVALID: "discarded", Status.OUTCOME: "failed",
}  # fmt: skip


@dataclass(frozen=True)
class ScheduledTrial:
    """A trial of the schedule: `state` is done, running, discarded, failed, or given up; `why` belongs to it."""

    number: int
    block: int
    arm: str
    state: str
    why: str = ""


@dataclass(frozen=True)
class JournalLine:
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
    places: Sequence[ScheduledTrial]
    said: Sequence[JournalLine]
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
                    JournalLine(f"{datetime.fromtimestamp(entry.wall_ns / 1e9, UTC):%H:%M:%S}", text)
                    for entry in run.journal
                    if (text := _words(entry))
                )[-SAID_MAX:],
                stop_asked=directory.stop_is_asked(run.disk, run.path),
                can_stop=state == RUNNING,
                left=_left(run, study) if state == RUNNING and study is not None else "",
            )


def signature(path: Path) -> object:
    """Another value whenever the record, or the sections that are kept with it, were written to."""
    found = []
    for name in (directory.HEADER_FILE, JOURNAL_FILE, KEPT_FILE):
        with suppress(OSError):
            known = (path / name).stat()
            found.append((name, known.st_mtime_ns, known.st_size))
    return found


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


def _whole(run: Run, places: Sequence[ScheduledTrial]) -> int:
    """How many blocks are whole: the last one that was begun is where something else was decided after its trials."""
    begun = max((each.block for each in places), default=0)
    started = max((each.seq for each in run.journal if each.kind == Kind.TRIAL_STARTED), default=0)
    later = [each.data for each in run.journal if each.kind == Kind.DECISION and each.seq > started]
    ended = any(
        each.get("step") == Step.STOP or (each.get("step") in (Step.NEXT, Step.BLOCK) and each.get("block") != begun)
        for each in later
    )
    return begun if ended else max(0, begun - 1)


def _places(run: Run, *, going: bool) -> Iterator[ScheduledTrial]:
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
            yield ScheduledTrial(number, trial.block, trial.arm, _SAID.get(trial.status, str(trial.status)), why)
        elif isinstance(block, int):
            now = going and trial is None and last[number] == entry.seq and entry.seq > since
            yield ScheduledTrial(number, block, str(entry.data.get("arm", "")), "running" if now else "given up")


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


ROWS = "seconds"
"""The name of the data that the page fills."""
PANELS = (
    "transactions per second", "latency, ms", "WAL, MB/s", "device: written, MB/s", "device: read, MB/s", "backends",
)  # fmt: skip
WAITS = ("on cpu", "client", "lock", "wal flush", "data read", "data write", "lwlock")
"""What backends are counted by, as `probe.server_views` names it."""
_PANEL_PX = 84
_TPS, _LATENCY, _WAL, _WRITTEN, _READ, _BACKENDS = PANELS
_PROGRESS = re.compile(r"progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+) ms\b.*")
_PROGRESS_FILE = "pgbench.err"
_TAIL_BYTES = 1 << 16
_MB = 1 << 20
_NOT_WAITS = frozenset({"looks", "all"})


@dataclass(frozen=True)
class Row:
    """A point of a line: its panel, its series, seconds since the first line of its trial or block, its value."""

    panel: str
    series: str
    second: float
    value: float


@dataclass
class _Trial:
    arm: str
    offset: int = 0
    progress_s: float = 0.0


class Seconds:
    """What is new since it was last asked, for one who watches."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._trials: dict[str, _Trial] = {}
        self._began_ns: int | None = None
        self._last: dict[tuple[str, str], LiveSample] = {}

    def more(self) -> tuple[bool, list[Row]]:
        """Do others run than before, none of them known, so that what was shown is over? And the new points.

        The trials of a block in turns come and go one by one; what is shown of the others stays.
        """
        try:
            staged = trials.scan(RealDisk(), self._run).staging
        except OSError:
            return False, []
        fresh = bool(staged) and not set(staged) & set(self._trials)
        if fresh:
            self._began_ns = None
            self._last.clear()
        if set(staged) - set(self._trials):
            arms = self._arms()
            new = {name: _Trial(arms.get(int(name.rpartition("-")[2]), name)) for name in staged}
            self._trials = {**new, **self._trials}
        self._trials = {name: self._trials[name] for name in staged}
        rows: list[Row] = []
        for name, trial in self._trials.items():
            folder = self._run / trials.DIRECTORY / name
            found, trial.offset = live_sample.read(folder, trial.offset)
            for each in found:
                rows += self._rows(trial.arm, each)
            rows += _pgbench_progress(folder, trial)
        return fresh, rows

    def _arms(self) -> Mapping[int, str]:
        try:
            journal = Run.open(self._run, leave_out=True).journal
        except Exception:  # whatever is wrong with the record stands elsewhere on the page
            return {}
        begun = (each.data for each in journal if each.kind == Kind.TRIAL_STARTED)
        return {each["number"]: str(each.get("arm", "")) for each in begun if isinstance(each.get("number"), int)}

    def _rows(self, arm: str, now: LiveSample) -> Iterator[Row]:
        self._began_ns = now.monotonic_ns if self._began_ns is None else self._began_ns
        second = (now.monotonic_ns - self._began_ns) / 1e9
        if now.source == "slices":
            for name, panel, unit in (
                ("tps", _TPS, 1.0), ("latency_ms", _LATENCY, 1.0),
                ("written_bytes_per_s", _WRITTEN, _MB), ("read_bytes_per_s", _READ, _MB),
            ):  # fmt: skip
                value = now.values.get(name)
                if value is not None:
                    yield Row(panel, arm, second, value / unit)
            return
        before = self._last.get((arm, now.source))
        self._last[arm, now.source] = now
        if before is None or now.monotonic_ns <= before.monotonic_ns:
            return
        passed_s = (now.monotonic_ns - before.monotonic_ns) / 1e9
        gone = {
            name: value - sooner
            for name, value in now.values.items()
            if value is not None and (sooner := before.values.get(name)) is not None and value >= sooner
        }
        for source, name, panel in (
            ("wal", "wal_bytes", _WAL), ("diskstats", "written_bytes", _WRITTEN), ("diskstats", "read_bytes", _READ),
        ):  # fmt: skip
            if now.source == source and name in gone:
                yield Row(panel, arm, second, gone[name] / passed_s / _MB)
        looks = gone.get("looks", 0.0)
        if now.source == "waits" and looks > 0:
            yield from (
                Row(_BACKENDS, name.replace("_", " "), second, value / looks)
                for name, value in gone.items()
                if name not in _NOT_WAITS
            )


def _pgbench_progress(folder: Path, trial: _Trial) -> Iterator[Row]:
    """The lines of pgbench's progress report that were not there before; other loads have none."""
    try:
        with untrusted.open_file(folder / _PROGRESS_FILE, links=False) as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            text = file.read(_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return
    for found in map(_PROGRESS.fullmatch, text.splitlines()):
        if found is None or (second := float(found[1])) <= trial.progress_s:
            continue
        trial.progress_s = second
        yield Row(_TPS, trial.arm, second, float(found[2]))
        yield Row(_LATENCY, trial.arm, second, float(found[3]))


EVERY_S = 1.0
QUIET_S = 15.0
"""After so long without news a comment keeps the connection open."""
_AGAIN_MS = 2000


async def events(
    watched: Watched, every_s: float = EVERY_S, ending: Callable[[], bool] = lambda: False
) -> AsyncGenerator[bytes, None]:
    """Events `progress`, `seconds` and `fault`, as long as somebody reads them.

    While the server is `ending` the record is looked at once more: so a page hears that its run has finished.
    """
    seconds_of_trials = Seconds(watched.path)
    known: object = None

    def news() -> bytes:
        """The events of one look, one turn of a thread a second; empty where nothing changed."""
        nonlocal known
        found = b""
        now = signature(watched.path), holder(watched.path), directory.stop_is_asked(RealDisk(), watched.path)
        if now != known:
            known = now
            try:
                found = event("progress", watched.progress())
            except (PgassayError, OSError) as failure:
                found = event("fault", {"text": str(failure)})
            except Exception as failure:  # others may have written the record, and a page that goes on is worth more
                found = event("fault", {"text": report_failed(failure)})
        fresh, rows = seconds_of_trials.more()
        return found + event("seconds", {"fresh": fresh, "rows": rows}) if fresh or rows else found

    yield f"retry: {_AGAIN_MS}\n\n".encode()
    quiet_s = 0.0
    while True:
        last = ending()
        found = await run_in_threadpool(news)
        quiet_s = 0.0 if found else quiet_s + every_s
        if quiet_s >= QUIET_S:
            found, quiet_s = b": still here\n\n", 0.0
        if found:
            yield found
        if last:
            return
        await asyncio.sleep(every_s)


def event(name: str, value: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(values(finite(value))))


def seconds(arms: Sequence[str], *, in_turns: bool) -> Mapping[str, Any]:
    """Lines by second, a panel each for what is known of the trial, `arms` as the report colours them; rows: `ROWS`.

    Of servers that take turns nobody counts backends.
    """
    import altair as alt

    from pgassay.report import charts

    def lines(chosen: str, scale: Any, columns: int = 1) -> Any:
        """The panels that an expression chooses, with a scale of colours and a legend of their own."""
        return (
            alt.Chart()
            .transform_filter(chosen)
            .mark_line(point=alt.OverlayMarkDef(size=12))
            .encode(
                x=alt.X("second:Q", title="seconds", scale=alt.Scale(zero=False, nice=False)),
                y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=3)),
                color=alt.Color("series:N", title=None, scale=scale,
                                legend=alt.Legend(orient="top", columns=columns, labelLimit=300)),
            )
            .properties(height=_PANEL_PX, width=charts.WIDTH)
            .facet(data=alt.NamedData(name=ROWS), row=charts.panels("panel", PANELS))
            .resolve_scale(y="independent")
        )  # fmt: skip

    shades = [PALETTE[place % len(PALETTE)] for place in range(len(arms))]
    backends = f"datum.panel == '{PANELS[-1]}'"
    figure = lines(f"!({backends})", alt.Scale(domain=list(arms), range=shades))
    if not in_turns:
        waits = lines(backends, alt.Scale(domain=list(WAITS), range=list(PALETTE[: len(WAITS)])), columns=4)
        figure = alt.vconcat(figure, waits).resolve_scale(color="independent")
    return {**charts.specified(figure), "description": "What the trial does, second by second"}
