"""Server-sent events of one run: its progress when the record changes, its seconds as they come.

The page's figure of seconds is here, too: Vega-Lite in the report's look, whose rows are sent as they come.

Nothing is looked at while nobody watches. A browser that loses the connection comes back by itself and gets all
again (HTML Living Standard, "Server-sent events").

Servers that take turns tell of each turn; a trial that has the machine to itself tells of each second. Counters are
cumulative, so two readings make a rate; one that went down was reset and makes none.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool

from pgassay import untrusted
from pgassay.errors import PgassayError
from pgassay.live.catalogue import signature
from pgassay.live.progress import Watched, report_failed
from pgassay.outgoing import values
from pgassay.record import directory, live_sample, trials
from pgassay.record.directory import holder
from pgassay.record.disk import RealDisk
from pgassay.record.journal import Kind
from pgassay.record.live_sample import LiveSample
from pgassay.record.reading import Run
from pgassay.report.colours import PALETTE
from pgassay.report.json_values import finite

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
        """The last arm that was begun under each number."""
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
